//! Clients that mean harm, or fall over, against our server: it survives, it stays small, it serves
//! the others, and nothing appears that was not sent whole.

mod data;
pub(crate) mod encrypted;
mod lines;
mod names;

use std::fs;

use libtest_mimic::Trial;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::Control;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::trial;
use data::Cut;

/// How much the server may grow by what one hostile client does, in kilobytes.
const GROWTH: u64 = 16 * 1024;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, Hostility); 20] = [
        ("long-line", lines::long_line),
        ("unterminated-line", lines::unterminated_line),
        ("telnet-commands", lines::telnet_commands),
        ("abort/urgent", |prey| lines::abort(prey, true)),
        ("abort/plain", |prey| lines::abort(prey, false)),
        ("abort/idle", lines::abort_when_idle),
        ("names/control-characters", names::control_characters),
        ("names/dot-dot", names::dot_dot),
        ("names/symbolic-links", names::symbolic_links),
        ("bounce", data::bounce),
        ("passive/thief", data::thief),
        ("never-reads", data::never_reads),
        ("never-connects", data::never_connects),
        ("commands-without-end", lines::commands_without_end),
        ("crowd-of-empty-lines", lines::crowd_of_empty_lines),
        ("dropped-at-every-octet", lines::dropped_at_every_octet),
        ("upload/ends", data::upload_ends),
        ("upload/reset", |prey| data::upload_cut(prey, Cut::DataReset)),
        ("upload/control-lost", |prey| data::upload_cut(prey, Cut::ControlLost)),
        ("upload/server-killed", |prey| data::upload_cut(prey, Cut::ServerKilled)),
    ];
    let encrypted: [(&str, fn()); 5] = [
        ("behind-auth", encrypted::behind_auth),
        ("no-handshake", encrypted::no_handshake),
        ("passive-thief", encrypted::thief),
        ("never-reads", encrypted::never_reads),
        ("never-reads-tickets", encrypted::never_reads_tickets),
    ];
    let graph = || lines::crowd_of_empty_lines(&Prey::with(&["--stack", "serve"]));
    let graph = trial("hostile-client/crowd-of-empty-lines/graph".into(), &[], false, graph);
    all.map(|(name, run)| {
        trial(format!("hostile-client/{name}"), &[], false, move || run(&Prey::new()))
    })
    .into_iter()
    .chain([graph])
    .chain(encrypted.map(|(name, run)| {
        trial(format!("hostile-client/tls/{name}"), &["openssl", "python3"], false, run)
    }))
    .collect()
}

type Hostility = fn(&Prey);

/// A server of its own for each trial, with a secret beside the folder that it serves.
pub(crate) struct Prey {
    outside: Scratch,
    pub(crate) server: Server,
}

const BIG: usize = 50_000_000;

impl Prey {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(options: &[&str]) -> Self {
        let outside = Scratch::new();
        let root = outside.join("root");
        fs::create_dir_all(root.join("inside")).expect("a folder of ours");
        fs::write(root.join("small"), octets(2, 10_000)).expect("a folder of ours");
        fs::write(outside.join("secret"), "secret").expect("a folder of ours");
        let server = ours(&root, false, &[&["--writable"], options].concat());
        Self { outside, server }
    }

    /// A file that no socket buffer swallows.
    fn with_big(&self) -> Vec<u8> {
        let content = octets(3, BIG);
        fs::write(self.outside.join("root/big"), &content).expect("room for a file");
        content
    }

    fn guest(&self) -> Control {
        Control::guest(self.server.address).expect("a login")
    }

    pub(crate) fn memory(&self) -> u64 {
        self.server.running.status("VmRSS")
    }

    /// The names in the served folder, besides those that were there.
    fn new_names(&self) -> Vec<String> {
        let names = fs::read_dir(self.outside.join("root")).expect("the folder").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !["inside", "small", "big"].contains(&&**name)).collect()
    }

    /// After everything: a well-behaved client is served, and what lies outside is as it was.
    #[track_caller]
    fn unharmed(&self) {
        let small = self.guest().retrieve("small").expect("a server that still serves");
        assert_same(&small, &octets(2, 10_000));
        assert_eq!(self.outside.names(), ["root", "secret"]);
        assert_same(&fs::read(self.outside.join("secret")).expect("the secret"), b"secret");
    }
}
