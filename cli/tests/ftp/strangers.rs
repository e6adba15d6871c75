//! Real servers, where they are installed.

use std::fs;

use stackwright_programs::processes::find;
use stackwright_programs::scratch::{Scratch, open_to_all};
use stackwright_programs::servers::{Server, Vsftpd, pure_ftpd, vsftpd};

use crate::{complaints, path, say};

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
