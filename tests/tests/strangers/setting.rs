//! What the trials share: one folder with a file of each size, and the servers that serve it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use libtest_mimic::{Completion, Failed, Trial};
use stackwright_programs::content::{SIZES, Sized};
use stackwright_programs::processes::{find, stackwright};
use stackwright_programs::scratch::{Scratch, open_to_all};
use stackwright_programs::servers::{Server, Vsftpd, has_ipv6, ours, pure_ftpd, vsftpd};

/// Made on first use: a run of one trial starts one server.
pub(crate) struct Setting {
    folder: OnceLock<Scratch>,
    contents: [OnceLock<Vec<u8>>; SIZES.len()],
    vsftpd: [OnceLock<Server>; 2],
    pure_ftpd: [OnceLock<Server>; 2],
    ours: [OnceLock<Server>; 2],
}

impl Setting {
    pub(crate) fn new() -> Self {
        Self {
            folder: OnceLock::new(),
            contents: [const { OnceLock::new() }; SIZES.len()],
            vsftpd: Default::default(),
            pure_ftpd: Default::default(),
            ours: Default::default(),
        }
    }

    /// The served folder. In its folder `in` everybody may write: vsftpd writes as somebody else,
    /// and refuses a root that a guest may write.
    pub(crate) fn folder(&self) -> &Scratch {
        self.folder.get_or_init(|| {
            let folder = Scratch::new();
            for size in SIZES {
                fs::write(folder.join(&size.file()), self.content(size))
                    .expect("room for the files");
            }
            open_to_all(&folder.join("in"));
            folder
        })
    }

    pub(crate) fn content(&self, size: Sized) -> &[u8] {
        let place = SIZES.iter().position(|other| *other == size).expect("one of the sizes");
        self.contents[place].get_or_init(|| size.content())
    }

    pub(crate) fn vsftpd(&self, six: bool) -> &Server {
        self.vsftpd[usize::from(six)]
            .get_or_init(|| vsftpd(self.folder().path(), six, Vsftpd::AsItComes))
    }

    pub(crate) fn pure_ftpd(&self, six: bool) -> &Server {
        self.pure_ftpd[usize::from(six)].get_or_init(|| pure_ftpd(self.folder().path(), six))
    }

    pub(crate) fn ours(&self, six: bool) -> &Server {
        self.ours[usize::from(six)]
            .get_or_init(|| ours(self.folder().path(), six, &["--writable", "--no-sync"]))
    }
}

/// A trial that needs `programs`, and IPv6 if `six`: without them it is ignored, or with `CI=true`
/// fails.
pub(crate) fn trial(
    name: String,
    programs: &[&str],
    six: bool,
    run: impl FnOnce() + Send + 'static,
) -> Trial {
    ignorable(name, programs, six, || {
        run();
        None
    })
}

/// A trial that may also find out for itself that it has nothing to try, and why.
pub(crate) fn ignorable<R>(name: String, programs: &[&str], six: bool, run: R) -> Trial
where
    R: FnOnce() -> Option<String> + Send + 'static,
{
    let mut missing: Vec<_> =
        programs.iter().filter(|name| find(name).is_none()).map(ToString::to_string).collect();
    if six && !has_ipv6() {
        missing.push("IPv6".into());
    }
    Trial::ignorable_test(name, move || {
        if missing.is_empty() {
            return Ok(run().map_or(Completion::Completed, Completion::ignored_with));
        }
        let reason = format!("missing: {}", missing.join(", "));
        if env::var("CI").is_ok_and(|value| value == "true") {
            return Err(Failed::from(reason));
        }
        Ok(Completion::ignored_with(reason))
    })
}

/// How a name writes the family.
pub(crate) fn family(six: bool) -> &'static str {
    if six { "ipv6" } else { "ipv4" }
}

/// How a name writes who connects.
pub(crate) fn mode(active: bool) -> &'static str {
    if active { "active" } else { "passive" }
}

/// Our client.
pub(crate) fn our_client(verb: &str) -> Command {
    let mut command = Command::new(stackwright());
    command.arg(verb);
    command
}

/// A stranger by its name.
pub(crate) fn stranger(program: &str) -> Command {
    // A trial that asks for it has said so, and is ignored where it is missing.
    Command::new(find(program).unwrap_or_else(|| PathBuf::from(program)))
}
