//! A created file appears under its name whole, or not at all.

use std::env;
use std::fs;
use std::process::Command;

use stackwright_contract::services::{Failure, FilesIndication, FilesRequest, Keep, Purpose};
use stackwright_drivers::files::DiskOptions;
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{BLOCK, Bench, bench, nameless_files, pattern, writable};

fn message(content: &[u8]) -> BufferTree {
    BufferTree::with_headroom(0, content)
}

#[test]
fn a_file_that_is_not_kept_leaves_no_trace() {
    let mut bench = bench();
    bench.put("old", "old");
    for name in ["new", "old"] {
        let file = bench.create(name).expect("opened");
        bench.write(file, 0, message(b"half")).expect("written");
        assert_eq!(bench.close(file, Keep::Nothing), Err(Failure::GivenUp));
    }
    assert_eq!(bench.on_disk(), ["old"]);
    assert_eq!(bench.got("old").as_deref(), Some(&b"old"[..]));
    bench.silent();
}

#[test]
fn the_old_file_stays_until_the_new_one_is_closed() {
    let mut bench = bench();
    bench.put("a", "old");
    let (reader, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    let file = bench.create("a").expect("opened");
    bench.write(file, 0, message(b"new and longer")).expect("written");
    assert_eq!(bench.fetch("a").as_deref(), Ok(&b"old"[..]));
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.fetch("a").as_deref(), Ok(&b"new and longer"[..]));
    // Whoever reads the old one reads it to its end.
    assert_eq!(bench.read(reader, 0, 100), b"old");
}

#[test]
fn of_two_that_create_one_name_the_last_one_closed_has_it() {
    let mut bench = bench();
    let one = bench.create("a").expect("opened");
    let two = bench.create("a").expect("opened");
    bench.write(one, 0, message(b"one")).expect("written");
    bench.write(two, 0, message(b"two")).expect("written");
    assert_eq!(bench.close(two, Keep::Whole), Ok(()));
    assert_eq!(bench.got("a").as_deref(), Some(&b"two"[..]));
    assert_eq!(bench.close(one, Keep::Whole), Ok(()));
    assert_eq!(bench.got("a").as_deref(), Some(&b"one"[..]));
    assert_eq!(bench.on_disk(), ["a"]);
}

#[test]
fn a_name_that_became_a_folder_is_not_replaced() {
    let mut bench = bench();
    let file = bench.create("a").expect("opened");
    fs::create_dir(bench.path("a")).expect("a folder");
    assert_eq!(bench.close(file, Keep::Whole), Err(Failure::BadName));
    assert_eq!(bench.on_disk(), ["a"]);
}

#[test]
fn a_folder_that_vanishes_takes_its_files_along() {
    let mut bench = bench();
    fs::create_dir(bench.path("d")).expect("a folder");
    let file = bench.create("d/a").expect("opened");
    fs::remove_dir_all(bench.path("d")).expect("removed");
    bench.write(file, 0, message(b"nowhere")).expect("written");
    assert_eq!(bench.close(file, Keep::Whole), Err(Failure::NotFound));
    assert_eq!(bench.on_disk(), [""; 0]);
}

#[test]
fn a_dropped_disk_leaves_no_unfinished_file() {
    let mut bench = bench();
    bench.put("old", pattern(20 << 20));
    let files: Vec<_> =
        (0..20).map(|index| bench.create(&format!("{index}")).expect("opened")).collect();
    for file in files {
        bench.ask(FilesRequest::Write { file, offset: 0, message: message(&pattern(BLOCK)) });
    }
    let kept = bench.ask_open("kept", Purpose::Create { from: 0 });
    bench.ask(FilesRequest::Write { file: kept, offset: 0, message: message(b"kept") });
    bench.ask(FilesRequest::Close { file: kept, keep: Keep::Whole });
    for _ in 0..4 {
        bench.ask_open("old", Purpose::Create { from: 20 << 20 });
    }
    let Bench { disk, home, .. } = bench;
    drop(disk);
    let mut names: Vec<_> = fs::read_dir(home.path().join("root"))
        .expect("the root")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["kept", "old"], "what was asked is done, what was not closed is gone");
    assert_eq!(fs::metadata(home.path().join("root/old")).expect("old").len(), 20 << 20);
}

#[test]
fn a_crash_leaves_the_name_alone() {
    const HOME: &str = "STACKWRIGHT_CRASHES_IN";
    if let Some(home) = env::var_os(HOME) {
        // This is the process that crashes.
        let driver = stackwright_drivers::Driver::new(1).expect("a poll");
        drop(driver);
        let home =
            tempfile::Builder::new().disable_cleanup(true).tempdir_in(home).expect("a folder");
        let mut bench = Bench::<BufferTree>::at(home, writable());
        bench.put("old", "old");
        for name in ["old", "new"] {
            let file = bench.create(name).expect("opened");
            bench.write(file, 0, message(b"half")).expect("written");
        }
        std::process::abort();
    }
    let home = tempfile::tempdir().expect("a folder");
    let status = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "files::whole_or_nothing::a_crash_leaves_the_name_alone"])
        .env(HOME, home.path())
        .output()
        .expect("a second process")
        .status;
    assert!(!status.success());
    let crashed =
        fs::read_dir(home.path()).expect("a folder").next().expect("one").expect("one").path();
    let root = crashed.join("root");
    assert!(!root.join("new").exists());
    assert_eq!(fs::read(root.join("old")).expect("old"), b"old");
    if nameless_files(&root) {
        assert_eq!(fs::read_dir(&root).expect("the root").count(), 1, "nothing is left over");
    }
    // The next run lists what is whole, and creates the same names.
    let again = tempfile::tempdir().expect("a folder");
    fs::rename(&root, again.path().join("root")).expect("moved");
    let mut bench = Bench::<BufferTree>::at(again, writable());
    let names: Vec<_> =
        bench.list("").expect("a list").into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["old"]);
    assert_eq!(bench.store("new", b"whole"), Ok(()));
}

#[test]
fn octets_are_taken_over() {
    let mut bench = bench();
    let content = pattern(20 << 20); // several shares
    bench.put("a", &content);
    for from in [1, 5000, 8 << 20, content.len()] {
        let (file, size) = bench.open("a", Purpose::Create { from: from as u64 }).expect("opened");
        assert_eq!(size, Some(from as u64));
        bench.write(file, from as u64, message(b"and more")).expect("written");
        assert_eq!(bench.got("a").map(|old| old.len()), Some(content.len()));
        assert_eq!(bench.close(file, Keep::Whole), Ok(()));
        assert_eq!(bench.got("a"), Some([&content[..from], b"and more"].concat()));
        bench.put("a", &content);
    }
    assert_eq!(bench.on_disk(), ["a"]);
}

#[test]
fn what_is_appended_comes_behind_the_old_file() {
    // The first file may be written on the stack's own thread; the copy is always a worker's.
    for at_once in [0, 1 << 20] {
        let mut bench = Bench::<BufferTree>::with(DiskOptions { at_once, ..writable() });
        let (file, size) = bench.open("a", Purpose::Append).expect("opened");
        assert_eq!(size, Some(0), "there is none");
        bench.write(file, 0, message(&pattern(10 << 20))).expect("written");
        assert_eq!(bench.close(file, Keep::Whole), Ok(()));
        let (file, size) = bench.open("a", Purpose::Append).expect("opened");
        assert_eq!(size, Some(10 << 20));
        bench.write(file, 10 << 20, message(b"and more")).expect("written");
        assert_eq!(bench.got("a").map(|old| old.len()), Some(10 << 20));
        assert_eq!(bench.close(file, Keep::Whole), Ok(()));
        assert_eq!(bench.got("a"), Some([&pattern(10 << 20)[..], b"and more"].concat()));
        assert_eq!(bench.on_disk(), ["a"]);
    }
}

#[test]
fn a_new_file_replaces_nothing() {
    let mut bench = bench();
    bench.put("a", "old");
    fs::create_dir(bench.path("d")).expect("a folder");
    for name in ["a", "d"] {
        assert_eq!(bench.open(name, Purpose::New), Err(Failure::Exists));
    }
    let files: Vec<_> =
        (0..3).map(|_| bench.open("new", Purpose::New).expect("nothing has it yet").0).collect();
    for (index, &file) in files.iter().enumerate() {
        bench.write(file, 0, message(&[b'0' + index as u8])).expect("written");
    }
    // All at once, by two workers: one of them gets the name.
    for &file in &files {
        bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    }
    let mut results = Vec::new();
    for _ in &files {
        let FilesIndication::Closed { file, result } = bench.hear() else { panic!("closed") };
        results.push((result, file));
    }
    let kept: Vec<_> = results.iter().filter(|(result, _)| result.is_ok()).collect();
    let refused = results.iter().filter(|(result, _)| *result == Err(Failure::Exists)).count();
    assert_eq!((kept.len(), refused), (1, 2));
    let winner = files.iter().position(|&file| file == kept[0].1).expect("one of them");
    assert_eq!(bench.got("new"), Some(vec![b'0' + winner as u8]));
    assert_eq!(bench.on_disk(), ["a", "d", "new"]);
}

#[test]
fn a_file_that_is_too_short_is_not_taken_over() {
    let mut bench = bench();
    bench.put("a", "12345");
    for from in [6, 1 << 40, u64::MAX] {
        assert_eq!(bench.open("a", Purpose::Create { from }), Err(Failure::Short));
    }
    assert_eq!(bench.open("b", Purpose::Create { from: 1 }), Err(Failure::NotFound));
    assert_eq!(bench.on_disk(), ["a"]);
    assert_eq!(bench.got("a").as_deref(), Some(&b"12345"[..]));
    bench.silent();
}

#[test]
fn others_have_their_turn_while_octets_are_taken_over() {
    let mut bench = Bench::<BufferTree>::with(stackwright_drivers::files::DiskOptions {
        workers: 1,
        ..writable()
    });
    // A sparse file: much to copy, little to store it for the test.
    let old = fs::File::create(bench.path("old")).expect("a file");
    old.set_len(256 << 20).expect("a length");
    let (reader, _) =
        bench.open("old", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    // While the worker is busy with a long read, the copy and the questions gather in its queue.
    bench.ask_read(reader, 0, 16 << 20);
    let file = bench.ask_open("old", Purpose::Create { from: 256 << 20 });
    for _ in 0..5 {
        let token = bench.name();
        bench.ask(FilesRequest::Stat { token, path: "old".into(), part: false, is_file: false });
    }
    bench.hear_read(reader);
    for _ in 0..5 {
        let FilesIndication::Stated { token, .. } = bench.hear() else {
            panic!("answered before the copy is done")
        };
        bench.names.forget(token);
    }
    // And it goes no further than somebody waits for it.
    bench.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    assert_eq!(bench.hear_closed(file), Err(Failure::GivenUp));
    assert_eq!(bench.on_disk(), ["old"]);
}

#[test]
fn a_full_disk_is_told_and_leaves_no_trace() {
    let Some(mut bench) = Bench::<BufferTree>::small(writable()) else { return };
    bench.store("old", &pattern(1000)).expect("stored");
    let file = bench.create("old").expect("opened");
    let mut offset = 0;
    let why = loop {
        match bench.write(file, offset, message(&pattern(BLOCK))) {
            Ok(octets) => offset += octets as u64,
            Err(why) => break why,
        }
        assert!(offset < 2 << 20, "more than the disk holds");
    };
    assert_eq!(why, Failure::Full);
    assert!(offset > 500_000);
    assert_eq!(bench.on_disk(), ["old"]);
    assert_eq!(bench.got("old"), Some(pattern(1000)));
    // Many at once: each file hears of it once, and the room is there again afterwards.
    let files: Vec<_> =
        (0..4).map(|index| bench.create(&format!("{index}")).expect("opened")).collect();
    for &file in &files {
        for block in 0..20 {
            let message = message(&pattern(BLOCK));
            bench.ask(FilesRequest::Write { file, offset: block * BLOCK as u64, message });
        }
        bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    }
    let mut closed = 0;
    while closed < files.len() {
        match bench.hear() {
            FilesIndication::Written { .. } => {}
            FilesIndication::Closed { file, result } => {
                assert_eq!(result, Err(Failure::Full), "1.25 MiB do not fit, whoever comes first");
                bench.names.forget(file);
                closed += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    bench.silent();
    assert_eq!(bench.on_disk(), ["old"]);
    assert_eq!(bench.store("whole", &pattern(900_000)), Ok(()));
    drop(bench);
}
