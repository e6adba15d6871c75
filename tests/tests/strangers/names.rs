//! Folders of ten thousand files, and names that are hard to say: through our server, by clients of
//! others, by hand and by ours.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use libtest_mimic::Trial;
use stackwright_programs::control::Control;
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{our_client, stranger, trial};

const MANY: usize = 10_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("names/10000/by-hand".into(), &[], false, many_by_hand),
        trial("names/10000/ours".into(), &[], false, many_ours),
        trial("names/10000/curl".into(), &["curl"], false, many_curl),
        trial("names/10000/lftp".into(), &["lftp"], false, many_lftp),
        trial("names/odd/by-hand".into(), &[], false, odd_by_hand),
        trial("names/odd/ours".into(), &[], false, odd_ours),
        trial("names/odd/curl".into(), &["curl"], false, odd_curl),
        trial("names/odd/lftp".into(), &["lftp"], false, odd_lftp),
        trial("names/control-characters".into(), &[], false, control_characters),
    ]
}

/// A server of a folder with many files.
fn many() -> (Scratch, Server, BTreeSet<String>) {
    let folder = Scratch::new();
    fs::create_dir(folder.join("many")).expect("a folder of ours");
    let names: BTreeSet<String> = (0..MANY).map(|nth| format!("file {nth}")).collect();
    for name in &names {
        fs::write(folder.join(&format!("many/{name}")), "").expect("a folder of ours");
    }
    let server = ours(folder.path(), false, &[]);
    (folder, server, names)
}

/// The names at the end of lines are those.
#[track_caller]
fn ends_with(text: &str, names: &BTreeSet<String>) {
    let found = text.lines().map(|line| match line.rfind("file ") {
        Some(at) => line[at..].trim_end().to_owned(),
        None => panic!("{line:?}"),
    });
    let found: Vec<String> = found.collect();
    assert_eq!(found.len(), names.len(), "each once");
    assert!(found.into_iter().collect::<BTreeSet<_>>() == *names);
}

fn many_by_hand() {
    let (_folder, server, names) = many();
    let mut control = Control::guest(server.address).expect("a login");
    for command in ["LIST many", "MLSD many", "NLST many", "LIST many/file*", "NLST many/*"] {
        let mut text = String::new();
        let mut data = control.begin(command).expect("a listing");
        data.read_to_string(&mut text).expect("a listing");
        drop(data);
        control.expect(226).expect("the listing's end");
        ends_with(&text, &names);
    }
}

fn many_ours() {
    let (_folder, server, names) = many();
    ends_with(&run(our_client("ls").arg(server.url("many/"))).succeeded().text(), &names);
}

fn many_curl() {
    let (_folder, server, names) = many();
    for option in ["--list-only", "--disable-eprt"] {
        let curl = run(stranger("curl").args(["-sS", option]).arg(server.url("many/")));
        ends_with(&curl.succeeded().text(), &names);
    }
}

fn many_lftp() {
    let (_folder, server, names) = many();
    for mlsd in ["no", "yes"] {
        let script = format!(
            "set ftp:use-mlsd {mlsd}; set ftp:ssl-allow no; open {}; cls -1 many; bye",
            server.url("")
        );
        ends_with(&run(stranger("lftp").args(["-e", &script])).succeeded().text(), &names);
    }
}

/// Names that a shell, a URL, a listing or FTP itself could take for something else.
fn odd() -> (Scratch, Server, Vec<String>) {
    let folder = Scratch::new();
    let names: Vec<String> = [
        "two  blanks",
        " a blank before",
        "a blank behind ",
        "-rf",
        "--help",
        "Grüße, 世界 🌍",
        "quote\"and'apostrophe",
        "back\\slash",
        "100% #1 & more; $HOME `x` |y| <z>",
        "[a]*?{b,c}~",
        "drwxr-xr-x 2 root root 4096 Jan 1 00:00 trap",
        "a -> b",
        "...",
    ]
    .map(String::from)
    .into_iter()
    .chain(["x".repeat(255), "é".repeat(127)])
    .collect();
    for name in &names {
        fs::write(folder.path().join(name), name).expect("a folder of ours");
    }
    let server = ours(folder.path(), false, &["--writable"]);
    (folder, server, names)
}

fn odd_by_hand() {
    let (_folder, server, names) = odd();
    let mut control = Control::guest(server.address).expect("a login");
    for name in &names {
        let fetched = control.retrieve(name).unwrap_or_else(|why| panic!("{name:?}: {why}"));
        assert_eq!(fetched, name.as_bytes(), "{name:?}");
        control.ask(&format!("RNFR {name}")).and_then(|reply| reply.is(350)).expect("a name");
        control.ask("RNTO other").and_then(|reply| reply.is(250)).expect("another name");
        control.ask("RNFR other").and_then(|reply| reply.is(350)).expect("the other name");
        control.ask(&format!("RNTO {name}")).and_then(|reply| reply.is(250)).expect("its name");
    }
    for (command, before) in [("NLST", ""), ("MLSD", " ")] {
        let mut text = String::new();
        let mut data = control.begin(command).expect("a listing");
        data.read_to_string(&mut text).expect("a listing");
        drop(data);
        control.expect(226).expect("the listing's end");
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), names.len(), "{command}");
        for name in &names {
            let shown = |line: &&&str| line.ends_with(&format!("{before}{name}"));
            assert!(lines.iter().any(|line| shown(&line)), "{command} {name:?}");
        }
    }
}

/// The address of a file, with each octet escaped that could be misunderstood.
fn escaped(server: &Server, name: &str) -> String {
    let escaped = name.bytes().map(|octet| match octet {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(octet).to_string(),
        octet => format!("%{octet:02X}"),
    });
    server.url(&escaped.collect::<String>())
}

#[track_caller]
fn has_fetched(outcome: Outcome, name: &str) {
    assert_eq!(String::from_utf8_lossy(&outcome.succeeded().output), name);
}

fn odd_ours() {
    let (folder, server, names) = odd();
    for name in &names {
        let target = Scratch::new();
        let arrived = target.join("arrived");
        run(our_client("get").arg(escaped(&server, name)).arg(&arrived)).succeeded();
        assert_eq!(fs::read(&arrived).expect("the file"), name.as_bytes());
        fs::remove_file(folder.path().join(name)).expect("a file of ours");
        run(our_client("put").arg(&arrived).arg(escaped(&server, name))).succeeded();
        assert_eq!(fs::read(folder.path().join(name)).expect("the file"), name.as_bytes());
    }
    let listed = run(our_client("ls").arg(server.url(""))).succeeded().text();
    assert_eq!(listed.lines().count(), names.len());
}

fn odd_curl() {
    let (_folder, server, names) = odd();
    for name in &names {
        has_fetched(run(stranger("curl").arg("-sS").arg(escaped(&server, name))), name);
    }
}

fn odd_lftp() {
    let (_folder, server, names) = odd();
    // lftp's own commands do not take a name that begins with a blank, whichever way it is quoted.
    for name in names.iter().filter(|name| !name.starts_with(' ')) {
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
        let script = format!(
            "set ftp:ssl-allow no; set cmd:fail-exit yes; open {}; cat \"./{quoted}\"; bye",
            server.url("")
        );
        has_fetched(run(stranger("lftp").args(["-e", &script])), name);
    }
}

/// Names that would be two lines, or that a terminal would obey, are not told, and none is made.
fn control_characters() {
    let folder = Scratch::new();
    for name in ["a\nb", "a\rb", "a\r\n226 Done.\r\nb", "a\tb", "\x1b[31m", "plain"] {
        fs::write(folder.path().join(name), "").expect("a folder of ours");
    }
    let server = ours(folder.path(), false, &["--writable"]);
    let mut control = Control::guest(server.address).expect("a login");
    for command in ["LIST", "NLST", "MLSD", "NLST *"] {
        let mut text = String::new();
        let mut data = control.begin(command).expect("a listing");
        data.read_to_string(&mut text).expect("a listing");
        drop(data);
        control.expect(226).expect("the listing's end");
        assert_eq!(text.lines().count(), 1, "{command}: {text:?}");
        assert!(text.ends_with("plain\r\n"), "{command}: {text:?}");
    }
    let told = control.ask("STAT .").expect("a listing in a reply").text;
    assert!(!told.contains("226 Done."), "{told}");
    for verb in ["MKD", "STOR", "RNFR", "DELE", "CWD", "SIZE"] {
        let _data = control.passive().expect("a port");
        let reply = control.ask(&format!("{verb} a\rb")).expect("a reply");
        assert!(matches!(reply.code, 501 | 550), "{verb}: {reply:?}");
    }
    assert_eq!(folder.names().len(), 6, "{:?}", folder.names());
}
