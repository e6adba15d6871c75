//! Our client with servers that encrypt, of which vsftpd and proftpd refuse a data connection that
//! does not resume the session of its control connection.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, assert_same};
use stackwright_programs::encrypted::{
    Certificates, Encryption, LOCALHOST, proftpd, proftpd_modules, pure_ftpd, vsftpd,
};
use stackwright_programs::processes::run;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, may_mount};

use crate::interrupted::{LEFT, leave_part, resumed_at};
use crate::setting::{Setting, ignorable, our_client};

/// A server that nobody here wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Daemon {
    Vsftpd,
    PureFtpd,
    Proftpd,
}

impl Daemon {
    fn program(self) -> &'static str {
        match self {
            Daemon::Vsftpd => "vsftpd",
            Daemon::PureFtpd => "pure-ftpd",
            Daemon::Proftpd => "proftpd",
        }
    }

    /// Why there is nothing to try, if there is not.
    fn is_missing(self) -> Option<&'static str> {
        match self {
            Daemon::PureFtpd if !may_mount() => {
                Some("pure-ftpd serves one folder only; this needs to mount")
            }
            Daemon::Proftpd if proftpd_modules().is_none() => Some("missing: proftpd-mod-crypto"),
            _ => None,
        }
    }
}

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for daemon in [Daemon::Vsftpd, Daemon::PureFtpd, Daemon::Proftpd] {
        for implicit in [false, true] {
            if implicit && daemon == Daemon::PureFtpd {
                continue; // it has none
            }
            for only_12 in [false, true] {
                let mode = if implicit { "implicit" } else { "explicit" };
                let version = if only_12 { "1.2" } else { "1.3" };
                let name = format!("tls/{}/{mode}/{version}", daemon.program());
                let with = setting.clone();
                let programs = ["openssl", daemon.program()];
                trials.push(ignorable(name, &programs, false, move || {
                    if let Some(why) = daemon.is_missing() {
                        return Some(why.into());
                    }
                    moves(&Scene::new(&with, daemon, implicit, only_12));
                    None
                }));
            }
        }
    }
    trials
}

struct Scene<'a> {
    setting: &'a Setting,
    daemon: Daemon,
    server: Server,
    implicit: bool,
    only_12: bool,
    certificates: Certificates,
    fingerprint: String,
    near: Scratch,
    _configuration: Scratch,
}

impl<'a> Scene<'a> {
    fn new(setting: &'a Setting, daemon: Daemon, implicit: bool, only_12: bool) -> Self {
        let (certificates, configuration) = (Certificates::new(), Scratch::new());
        let identity = &certificates.issue(LOCALHOST, 2);
        let fingerprint = identity.fingerprint();
        let encryption = Encryption { identity, implicit, only_12 };
        let folder = setting.folder().path();
        let server = match daemon {
            Daemon::Vsftpd => vsftpd(folder, &encryption, &configuration),
            Daemon::PureFtpd => pure_ftpd(folder, &encryption, &configuration),
            Daemon::Proftpd => proftpd(folder, &encryption),
        };
        let server = server.unwrap_or_else(|why| panic!("{why}"));
        Scene {
            setting,
            daemon,
            server,
            implicit,
            only_12,
            certificates,
            fingerprint,
            near: Scratch::new(),
            _configuration: configuration,
        }
    }

    fn url(&self, host: &str, path: &str) -> String {
        let scheme = if self.implicit { "ftps" } else { "ftp" };
        format!("{scheme}://{host}:{}/{path}", self.server.address.port())
    }

    /// Our client, which trusts the certificate alone.
    fn pinned(&self, verb: &str) -> Command {
        let mut command = our_client(verb);
        command.args(["--pin", &self.fingerprint, "--json", "--retries", "0"]);
        command
    }
}

fn moves(scene: &Scene<'_>) {
    fetched(scene);
    fetched_by_name(scene);
    listed(scene);
    resumed(scene);
    many(scene);
    // pure-ftpd lets no guest store.
    if scene.daemon != Daemon::PureFtpd {
        stored(scene);
    }
}

fn fetched(scene: &Scene<'_>) {
    let size = SIZES[6];
    for active in [false, true] {
        let arrived = scene.near.join("arrived");
        let mut get = scene.pinned("get");
        get.arg("--verbose").args(active.then_some("--active"));
        get.arg(scene.url("127.0.0.1", &size.file())).arg(&arrived);
        let told = run(&mut get).succeeded();
        assert_same(&fs::read(&arrived).expect("the file"), scene.setting.content(size));
        let dialogue = String::from_utf8_lossy(&told.complaints).into_owned();
        let version = if scene.only_12 { "\"TLS 1.2\"" } else { "\"TLS 1.3\"" };
        let handshakes: Vec<_> =
            dialogue.lines().filter(|line| line.contains("is secure")).collect();
        assert!(handshakes.len() > 1, "{dialogue}");
        assert!(handshakes.iter().all(|line| line.contains(version)), "{dialogue}");
        // Each data connection resumes, each control connection begins anew; pure-ftpd keeps no
        // sessions of TLS 1.3.
        let resumed = handshakes.iter().filter(|line| line.contains("resumed: true")).count();
        if scene.daemon != Daemon::PureFtpd || scene.only_12 {
            assert_eq!(2 * resumed, handshakes.len(), "{dialogue}");
        }
        assert!(dialogue.contains("▸ PROT P"), "{dialogue}");
        fs::remove_file(arrived).expect("the file");
    }
}

/// The system trusts the authority, and the certificate names the host.
fn fetched_by_name(scene: &Scene<'_>) {
    let size = SIZES[6];
    let mut get = our_client("get");
    get.env("SSL_CERT_FILE", scene.certificates.authority()).env_remove("SSL_CERT_DIR");
    get.arg("--json").args((!scene.implicit).then_some("--tls"));
    let arrived = scene.near.join("by-name");
    run(get.arg(scene.url("localhost", &size.file())).arg(&arrived)).succeeded();
    assert_same(&fs::read(&arrived).expect("the file"), scene.setting.content(size));
    // Otherwise it does not.
    let mut get = our_client("get");
    get.env("SSL_CERT_FILE", scene.certificates.self_signed().certificate);
    get.env_remove("SSL_CERT_DIR").arg("--json").args((!scene.implicit).then_some("--tls"));
    let refused = scene.near.join("refused");
    run(get.arg(scene.url("localhost", &size.file())).arg(&refused)).exited(4);
    assert!(!refused.exists());
}

fn listed(scene: &Scene<'_>) {
    let listed = run(scene.pinned("ls").arg(scene.url("127.0.0.1", ""))).succeeded().text();
    for size in SIZES {
        assert!(listed.contains(&size.file()), "{} is not in {listed}", size.file());
    }
}

/// Goes on where a run that was killed has left something.
fn resumed(scene: &Scene<'_>) {
    let size = SIZES[6];
    let (url, near) = (scene.url("127.0.0.1", &size.file()), Scratch::new());
    let arrived = near.join("resumed");
    leave_part(scene.pinned("get").arg(&url).arg(&arrived), &near);
    let told = run(scene.pinned("get").arg(&url).arg(&arrived)).succeeded().text();
    assert!(resumed_at(&told).is_some_and(|octets| octets >= LEFT), "{told}");
    assert_same(&fs::read(&arrived).expect("the file"), scene.setting.content(size));
}

/// More data connections than a server gives tickets of TLS 1.3 (proftpd gives them with the
/// control connection alone, and refuses what does not resume): each file arrives at once.
fn many(scene: &Scene<'_>) {
    let mode = if scene.implicit { "implicit" } else { "explicit" };
    let name = format!("in/many-{}-{mode}-{}", scene.daemon.program(), scene.only_12);
    let folder = scene.setting.folder().join(&name);
    fs::create_dir(&folder).expect("a folder of ours");
    for nth in 0..12_u64 {
        fs::write(folder.join(format!("f{nth}")), nth.to_string()).expect("a folder of ours");
    }
    for parallel in ["1", "4"] {
        let near = Scratch::new();
        let mirror = |from: &str, to: &str| {
            run(scene.pinned("mirror").args(["--parallel", parallel, from, to])).succeeded();
        };
        let here = near.path().to_str().expect("a text");
        mirror(&scene.url("127.0.0.1", &name), here);
        for nth in 0..12_u64 {
            let fetched = fs::read(near.join(&format!("f{nth}"))).expect("the file");
            assert_same(&fetched, nth.to_string().as_bytes());
        }
        // pure-ftpd lets no guest store.
        if scene.daemon != Daemon::PureFtpd {
            let stored = format!("{name}-{parallel}");
            mirror(here, &scene.url("127.0.0.1", &stored));
            let stored = scene.setting.folder().join(&stored);
            assert_eq!(fs::read_dir(&stored).expect("a folder").count(), 12);
            fs::remove_dir_all(stored).expect("a folder of ours");
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

fn stored(scene: &Scene<'_>) {
    for size in [SIZES[6], SIZES[0]] {
        let mode = if scene.implicit { "implicit" } else { "explicit" };
        let name =
            format!("in/{}-{mode}-{}-{}", scene.daemon.program(), scene.only_12, size.file());
        let mut put = scene.pinned("put");
        put.arg(scene.setting.folder().join(&size.file()));
        run(put.arg(scene.url("127.0.0.1", &name))).succeeded();
        let stored = scene.setting.folder().join(&name);
        assert_same(&fs::read(&stored).expect("the file"), scene.setting.content(size));
        fs::remove_file(stored).expect("the file");
    }
}
