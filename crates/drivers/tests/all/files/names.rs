//! Status and names: queries, renaming, removal, refusals.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use stackwright_contract::services::{Failure, FileKind, FilesRequest, Purpose};
use stackwright_drivers::files::DiskOptions;
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{BLOCK, Bench, bench};

#[test]
fn a_status_is_told() {
    let mut bench = bench();
    bench.put("a", "12345");
    fs::create_dir(bench.path("d")).expect("a folder");
    let told = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(bench.path("a")).and_then(|file| file.set_modified(told)).expect("a time");
    let status = bench.stat("a").expect("a status");
    assert_eq!(
        (status.kind, status.size, status.modified),
        (FileKind::File, 5, Some(1_000_000_000))
    );
    let before_time = UNIX_EPOCH - Duration::from_secs(10);
    fs::File::open(bench.path("a"))
        .and_then(|file| file.set_modified(before_time))
        .expect("a time");
    assert_eq!(bench.stat("a").map(|status| status.modified), Ok(None));
    assert_eq!(bench.stat("a/.").err(), Some(Failure::BadName), "that is no folder");
    assert_eq!(bench.stat("b/.").err(), Some(Failure::NotFound));
    for folder in ["d", "/", "", "d/..", "d/.", "/.", "."] {
        let status = bench.stat(folder).expect("a status");
        assert_eq!((status.kind, status.size), (FileKind::Folder, 0), "{folder:?}");
        assert!(status.modified.is_some());
    }
    assert_eq!(bench.stat("b"), Err(Failure::NotFound));
    assert_eq!(bench.stat("b/c"), Err(Failure::NotFound));
    assert_eq!(bench.stat("a/c"), Err(Failure::BadName));
}

#[test]
fn names_are_moved_and_removed() {
    let mut bench = bench();
    bench.put("a", "a");
    bench.put("b", "b");
    fs::create_dir(bench.path("d")).expect("a folder");
    assert_eq!(bench.rename("a", "b"), Ok(()), "what has the name is replaced");
    assert_eq!(bench.got("b").as_deref(), Some(&b"a"[..]));
    assert_eq!(bench.rename("b", "d/c"), Ok(()));
    assert_eq!(bench.rename("b", "x"), Err(Failure::NotFound));
    assert_eq!(bench.rename("d/c", "nowhere/c"), Err(Failure::NotFound));
    assert_eq!(bench.rename("d/c", "d"), Err(Failure::NotEmpty));
    bench.put("f", "f");
    assert_eq!(bench.rename("f", "d"), Err(Failure::BadName), "a file cannot replace a folder");
    assert_eq!(bench.remove("f"), Ok(()));
    assert_eq!(bench.rename("d", "d/below"), Err(Failure::BadName), "into itself");
    assert_eq!(bench.rename("d", "/"), Err(Failure::Denied));
    assert_eq!(bench.rename("/", "e"), Err(Failure::Denied));
    assert_eq!(bench.remove("d"), Err(Failure::NotEmpty));
    assert_eq!(bench.rename("d", "e"), Ok(()));
    assert_eq!(bench.remove("e/c"), Ok(()));
    assert_eq!(bench.remove("e"), Ok(()));
    assert_eq!(bench.remove("e"), Err(Failure::NotFound));
    assert_eq!(bench.remove("/"), Err(Failure::Denied));
    assert_eq!(bench.on_disk(), [""; 0]);
    bench.silent();
}

#[test]
fn what_has_the_wrong_kind_does_not_fit() {
    let mut bench = bench();
    bench.put("a", "a");
    fs::create_dir(bench.path("d")).expect("a folder");
    assert_eq!(
        bench.open("d", Purpose::Read { as_octets: false, versioned: false }),
        Err(Failure::BadName)
    );
    assert_eq!(bench.open("a", Purpose::List), Err(Failure::BadName));
    assert_eq!(bench.create("d"), Err(Failure::BadName));
    assert_eq!(bench.create("/"), Err(Failure::BadName));
    assert_eq!(bench.create("a/b"), Err(Failure::BadName));
    assert_eq!(bench.create("nowhere/b"), Err(Failure::NotFound));
    assert_eq!(
        bench.open("b", Purpose::Read { as_octets: false, versioned: false }),
        Err(Failure::NotFound)
    );
    assert_eq!(bench.open("b", Purpose::List), Err(Failure::NotFound));
    assert_eq!(bench.on_disk(), ["a", "d"]);
}

#[test]
fn questions_for_the_wrong_purpose_end_the_file() {
    let mut bench = bench();
    bench.put("a", "a");
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    let message = BufferTree::with_headroom(0, b"b");
    assert_eq!(bench.write(file, 0, message), Err(Failure::Unsupported));
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    bench.ask(FilesRequest::Next { file });
    assert_eq!(bench.hear_closed(file), Err(Failure::Unsupported));
    for length in [1, BLOCK] {
        let file = bench.create("new").expect("opened");
        bench.ask_read(file, 0, length);
        assert_eq!(bench.hear_closed(file), Err(Failure::Unsupported));
    }
    assert_eq!(bench.on_disk(), ["a"]);
    bench.silent();
}

#[test]
fn without_the_option_nothing_is_changed() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions::default());
    bench.put("a", "a");
    assert_eq!(bench.create("new"), Err(Failure::Denied));
    assert_eq!(bench.rename("a", "b"), Err(Failure::Denied));
    assert_eq!(bench.remove("a"), Err(Failure::Denied));
    assert_eq!(bench.fetch("a").as_deref(), Ok(&b"a"[..]));
    assert_eq!(bench.on_disk(), ["a"]);
    bench.silent();
}

#[test]
fn links_are_written_through_and_moved_and_removed_themselves() {
    let mut bench = bench();
    bench.put("a", "a");
    for link in ["one", "two", "three"] {
        symlink("a", bench.path(link)).expect("a link");
    }
    assert_eq!(bench.store("one", b"new"), Ok(()));
    assert_eq!(bench.rename("two", "four"), Ok(()));
    assert_eq!(bench.remove("three"), Ok(()));
    assert_eq!(bench.got("a").as_deref(), Some(&b"new"[..]));
    assert_eq!(bench.on_disk(), ["a", "four", "one"]);
    for link in ["one", "four"] {
        assert!(fs::symlink_metadata(bench.path(link)).expect("there").is_symlink());
    }
}
