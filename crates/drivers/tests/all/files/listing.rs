//! Folders.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use stackwright_contract::services::{
    FileKind, FilesIndication, FilesRequest, FolderEntry, Keep, Purpose,
};
use stackwright_contract::{Instant, Listener};

use crate::files::bench::bench;

fn names(entries: &[FolderEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn a_folder_is_listed_in_the_order_of_names() {
    let mut bench = bench();
    assert_eq!(bench.list("/"), Ok(vec![]));
    for name in ["b", "a", "ö", "Z", ".hidden", "c d"] {
        bench.put(name, "123");
    }
    fs::create_dir(bench.path("folder")).expect("a folder");
    bench.put("folder/below", "");
    let entries = bench.list("").expect("a list");
    assert_eq!(names(&entries), [".hidden", "Z", "a", "b", "c d", "folder", "ö"]);
    assert_eq!((entries[1].status.kind, entries[1].status.size), (FileKind::File, 3));
    assert_eq!((entries[5].status.kind, entries[5].status.size), (FileKind::Folder, 0));
    assert_eq!(names(&bench.list("folder").expect("a list")), ["below"]);
    bench.silent();
}

#[test]
fn the_status_in_a_list_is_that_of_stat() {
    let mut bench = bench();
    fs::create_dir_all(bench.path("d/below")).expect("folders");
    bench.put("d/file", "123");
    bench.put("target", "12345");
    fs::write(bench.outside("secret"), "1234567").expect("a file outside");
    symlink("../target", bench.path("d/inside")).expect("a link");
    symlink("..", bench.path("d/up")).expect("a link");
    symlink("../../secret", bench.path("d/outside")).expect("a link");
    symlink("/etc/passwd", bench.path("d/absolute")).expect("a link");
    symlink("nowhere", bench.path("d/dangling")).expect("a link");
    symlink("loop", bench.path("d/loop")).expect("a link");
    let entries = bench.list("d").expect("a list");
    for entry in entries.iter().filter(|entry| entry.status.kind != FileKind::Link) {
        assert_eq!(bench.stat(&format!("d/{}", entry.name)), Ok(entry.status), "{}", entry.name);
    }
    let kinds: Vec<_> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.status.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("absolute", FileKind::Link),
            ("below", FileKind::Folder),
            ("dangling", FileKind::Link),
            ("file", FileKind::File),
            ("inside", FileKind::Link),
            ("loop", FileKind::Link),
            ("outside", FileKind::Link),
            ("up", FileKind::Link),
        ]
    );
    let targets: Vec<_> = entries.iter().map(|entry| entry.target.as_deref()).collect();
    assert_eq!(targets[..4], [Some("/etc/passwd"), None, Some("nowhere"), None]);
    assert_eq!(targets[4..], ["../target", "loop", "../../secret", ".."].map(Some));
    for (link, kind, size) in [
        ("inside", FileKind::File, 5),
        ("up", FileKind::Folder, 0),
        ("dangling", FileKind::Other, 0),
        ("outside", FileKind::Other, 0),
    ] {
        let status = bench.stat(&format!("d/{link}")).expect("a status");
        assert_eq!((status.kind, status.size), (kind, size), "{link}");
    }
}

#[test]
fn a_target_that_is_no_text_is_not_told() {
    let mut bench = bench();
    for (link, target) in [("a", &b"line\nend"[..]), ("b", b"\x1b[2J"), ("c", b"\xff")] {
        symlink(OsStr::from_bytes(target), bench.path(link)).expect("a link");
    }
    for entry in bench.list("").expect("a list") {
        assert_eq!((entry.status.kind, entry.target), (FileKind::Link, None), "{}", entry.name);
    }
}

#[test]
fn the_same_file_has_the_same_number_under_each_name() {
    let mut bench = bench();
    bench.put("a", "");
    bench.put("b", "");
    fs::hard_link(bench.path("a"), bench.path("again")).expect("a second name");
    symlink("a", bench.path("link")).expect("a link");
    let mut unique = |path| bench.stat(path).expect("a status").unique.expect("a number");
    assert_eq!(unique("a"), unique("again"));
    assert_eq!(unique("a"), unique("link"));
    assert_ne!(unique("a"), unique("b"));
    assert_ne!(unique("a"), unique("/"));
}

#[test]
fn ten_thousand_entries_come_in_pieces() {
    let mut bench = bench();
    for index in 0..10_000 {
        bench.put(&format!("{index:05}"), "");
    }
    let pieces = bench.pieces("").expect("a list");
    assert!(pieces.iter().all(|piece| piece.len() <= 256));
    let entries = pieces.concat();
    let mut names = names(&entries);
    names.sort_unstable();
    assert!(names.iter().enumerate().all(|(index, name)| **name == format!("{index:05}")));
    assert_eq!(names.len(), 10_000);
}

#[test]
fn up_to_4096_entries_are_sorted() {
    let mut bench = bench();
    for index in 0..4096 {
        bench.put(&format!("{index:04}"), "");
    }
    let entries = bench.list("").expect("a list");
    assert_eq!(entries.len(), 4096);
    assert!(entries.is_sorted_by(|one, other| one.name < other.name));
    bench.put("one too many", "");
    assert_eq!(bench.list("").expect("a list").len(), 4097);
}

#[test]
fn entries_that_vanish_are_skipped() {
    let mut bench = bench();
    for index in 0..1000 {
        bench.put(&format!("{index:04}"), "");
    }
    let (file, _) = bench.open("", Purpose::List).expect("opened");
    bench.ask(FilesRequest::Next { file });
    let FilesIndication::Entries { entries, .. } = bench.hear() else { panic!("entries") };
    assert_eq!(names(&entries)[255], "0255");
    // More than one piece is gone: an empty answer now would be taken for the end.
    for index in 256..900 {
        fs::remove_file(bench.path(&format!("{index:04}"))).expect("removed");
    }
    let mut rest = Vec::new();
    loop {
        bench.ask(FilesRequest::Next { file });
        let FilesIndication::Entries { entries, .. } = bench.hear() else { panic!("entries") };
        if entries.is_empty() {
            break;
        }
        rest.extend(entries);
    }
    assert_eq!(rest.len(), 100);
    assert_eq!(rest[0].name, "0900");
}

#[test]
fn a_folder_that_vanishes_ends() {
    let mut bench = bench();
    fs::create_dir(bench.path("d")).expect("a folder");
    bench.put("d/a", "");
    let (file, _) = bench.open("d", Purpose::List).expect("opened");
    fs::remove_dir_all(bench.path("d")).expect("removed");
    bench.ask(FilesRequest::Next { file });
    let FilesIndication::Entries { entries, .. } = bench.hear() else { panic!("entries") };
    assert_eq!(entries, []);
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
}

#[derive(Default, Clone)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Listener for Notes {
    fn dropped(&mut self, _now: Instant, _protocol: &'static str, _reason: &'static str) {}
    fn event(&mut self, _now: Instant, protocol: &'static str, what: std::fmt::Arguments<'_>) {
        self.0.lock().unwrap().push(format!("{protocol}: {what}"));
    }
}

#[test]
fn names_that_no_path_leads_to_are_left_out() {
    let mut bench = bench();
    bench.put("good", "");
    for name in [&b"\xff\xfe"[..], b"lat\xednski", b"line\nend", b"\x1b[2J", b"bell\x07", b"tab\t"]
    {
        fs::write(bench.path("").join(OsStr::from_bytes(name)), "")
            .expect("a file with a bad name");
    }
    let notes = Notes::default();
    bench.driver.context().listen(Box::new(notes.clone()));
    assert_eq!(names(&bench.list("").expect("a list")), ["good"]);
    assert_eq!(
        *notes.0.lock().unwrap(),
        ["disk: 6 names cannot be told and were left out of a list"]
    );
}

#[test]
fn files_under_creation_are_hidden() {
    let mut bench = bench();
    bench.open("new", Purpose::Resume).expect("opened");
    let hidden = bench.on_disk();
    assert_eq!(hidden.len(), 1);
    assert_eq!(bench.list(""), Ok(vec![]));
    let denied = Err(stackwright_contract::services::Failure::Denied);
    assert_eq!(bench.fetch(&hidden[0]), denied);
    assert_eq!(bench.stat(&hidden[0]).map(|_| ()), denied.clone().map(|_| ()));
    assert_eq!(bench.remove(&hidden[0]), denied.clone().map(|_| ()));
    assert_eq!(bench.rename(&hidden[0], "mine"), denied.map(|_| ()));
    assert_eq!(bench.on_disk(), hidden);
}
