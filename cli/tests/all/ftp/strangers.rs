//! Real servers, where they are installed.

use std::fs;
use std::process::Command;

use stackwright_programs::processes::{find, run, stackwright};
use stackwright_programs::scratch::{Scratch, open_to_all};
use stackwright_programs::servers::{Server, Vsftpd, pure_ftpd, vsftpd};

use crate::ftp::{complaints, path, say};

/// Runs `trial` with each real server that is here.
fn with_each(trial: impl Fn(&str, &Server, &Scratch)) {
    type Start = fn(&std::path::Path) -> Server;
    let servers: [(&str, Start); 2] = [
        ("vsftpd", |folder| vsftpd(folder, false, Vsftpd::Lean)),
        ("pure-ftpd", |folder| pure_ftpd(folder, false)),
    ];
    for (name, start) in servers {
        if find(name).is_none() {
            eprintln!("{name} is not installed: not tried");
            continue;
        }
        let folder = Scratch::new();
        for odd in ["with space", "[a]", "-dash"] {
            fs::create_dir(folder.join(odd)).expect("a folder of ours");
            fs::write(folder.join(odd).join("x"), odd).expect("a folder of ours");
        }
        open_to_all(&folder.join("in"));
        trial(name, &start(folder.path()), &folder);
    }
}

#[test]
fn folders_of_any_name_are_listed() {
    with_each(|name, server, _| {
        for folder in ["with%20space/", "%5Ba%5D/", "-dash/", "-dash"] {
            let told = say(&["ls", &server.url(folder)]).succeeded();
            assert!(told.text().ends_with("  x\n"), "{name} {folder}: {}", told.text());
        }
        let told = say(&["ls", &server.url("nonexistent/")]).exited(1);
        assert!(complaints(&told).contains("550"), "{name}: {}", complaints(&told));
    });
}

#[test]
fn folders_are_mirrored_and_the_shell_works() {
    with_each(|name, server, folder| {
        fs::create_dir(folder.join("docs")).expect("a folder of ours");
        fs::write(folder.join("docs/a b"), "text").expect("a folder of ours");
        fs::write(folder.join("docs/c.txt"), "more").expect("a folder of ours");
        let near = Scratch::new();
        let mirror = near.join("mirror");
        say(&["mirror", &server.url("docs"), path(&mirror)]).succeeded();
        assert_eq!(fs::read(mirror.join("a b")).expect(name), b"text");
        let told = say(&["mirror", &server.url("docs"), path(&mirror), "--dry-run"]).succeeded();
        assert!(told.text().contains("0 files to copy"), "{name}: {}", told.text());
        say(&["ls", "-l", &server.url("docs/c.txt")]).succeeded();
        say(&["get", &server.url("docs/*.txt"), path(near.path())]).succeeded();
        assert_eq!(near.names(), ["c.txt", "mirror"], "{name}");
        let script = r#"printf "cd docs\npwd\ncat 'a b'\n" | "$0" shell "$1""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(stackwright()).arg(server.url(""));
        assert_eq!(run(&mut shell).succeeded().text(), "/docs/\ntext", "{name}");
        say(&["shell", &server.url("none")]).exited(1);
    });
}

#[test]
fn files_are_fetched() {
    with_each(|name, server, folder| {
        let content: Vec<u8> = (0..500_000_u32).flat_map(u32::to_be_bytes).collect();
        fs::write(folder.join("big"), &content).expect("a folder of ours");
        let near = Scratch::new();
        say(&["get", &server.url("big"), path(&near.join("big"))]).succeeded();
        assert!(fs::read(near.join("big")).expect("it was fetched") == content, "{name}");
        say(&["get", &server.url("nope"), path(near.path())]).exited(1);
    });
}
