//! A part survives, is written by one at a time, and goes when it is not needed any more.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::{env, fs};

use rustix::fs::{FlockOperation, flock};
use stackwright_contract::services::{Failure, FileVersion, FilesRequest, Keep, Purpose};
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{BLOCK, Bench, bench, pattern, writable};

const PART: &str = ".a.0000000000000000.part";

fn message(content: &[u8]) -> BufferTree {
    BufferTree::with_headroom(0, content)
}

/// Writes `content` behind what is there, and closes; returns how much was there.
fn add(
    bench: &mut Bench,
    path: &str,
    purpose: Purpose,
    content: &[u8],
    keep: Keep,
) -> Result<u64, Failure> {
    let (file, size) = bench.open(path, purpose)?;
    let size = size.expect("known");
    bench.write(file, size, message(content))?;
    bench.close(file, keep).map(|()| size)
}

#[test]
fn a_part_is_resumed_until_it_is_whole() {
    let mut bench = bench();
    bench.put("a", "old");
    assert_eq!(add(&mut bench, "a", Purpose::Resume, b"one, ", Keep::Part), Ok(0));
    assert_eq!(bench.on_disk(), [PART, "a"]);
    assert_eq!(bench.stat_of("a", true).map(|status| status.size), Ok(5));
    assert_eq!(bench.stat("a").map(|status| status.size), Ok(3));
    assert_eq!(add(&mut bench, "a", Purpose::Resume, b"two, ", Keep::Part), Ok(5));
    assert_eq!(bench.got("a").as_deref(), Some(&b"old"[..]));
    assert_eq!(add(&mut bench, "a", Purpose::Resume, b"three", Keep::Whole), Ok(10));
    assert_eq!(bench.got("a").as_deref(), Some(&b"one, two, three"[..]));
    assert_eq!(bench.on_disk(), ["a"]);
    assert_eq!(bench.stat_of("a", true), Err(Failure::NotFound));
    bench.silent();
}

/// Of which version of its source a part is the beginning is told by whatever program resumes it.
#[test]
fn a_version_is_kept_with_its_part() {
    let version = FileVersion::of(b"one");
    let noted = |bench: &mut Bench| {
        let (file, version) = bench.open_versioned("a", Purpose::Resume);
        bench.close(file, Keep::Part).expect("kept");
        version
    };
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_str().expect("text");
    let mut bench = Bench::below(root, writable());
    let (file, before) = bench.open_versioned("a", Purpose::Resume);
    assert_eq!(before, None);
    bench.ask(FilesRequest::Note { file, version });
    bench.write(file, 0, message(b"one, ")).expect("written");
    bench.close(file, Keep::Part).expect("kept");
    assert_eq!(noted(&mut bench), Some(version));
    // Another program.
    let mut bench = Bench::below(root, writable());
    assert_eq!(noted(&mut bench), Some(version));
    // One that was begun anew is not the beginning of that.
    let (file, _) = bench.open_versioned("a", Purpose::Resume);
    assert_eq!(bench.close(file, Keep::Nothing), Err(Failure::GivenUp));
    add(&mut bench, "a", Purpose::Resume, b"two, ", Keep::Part).expect("kept");
    assert_eq!(noted(&mut bench), None);
    // The file does not have it.
    let (file, _) = bench.open_versioned("a", Purpose::Resume);
    bench.ask(FilesRequest::Note { file, version });
    bench.close(file, Keep::Whole).expect("whole");
    let mut octets = [0; 64];
    let kept = rustix::fs::listxattr(folder.path().join("a"), &mut octets).expect("a list");
    assert!(!String::from_utf8_lossy(&octets[..kept]).contains("stackwright"));
}

/// What of a source is told as its version changes with every change of it.
#[test]
fn every_change_makes_another_version() {
    let mut bench = bench();
    bench.put("a", "content");
    let version = |bench: &mut Bench| {
        let purpose = Purpose::Read { as_octets: false, versioned: true };
        let (file, version) = bench.open_versioned("a", purpose);
        bench.close(file, Keep::Nothing).expect("closed");
        assert_eq!(bench.stat("a").expect("a status").version, version);
        version
    };
    let first = version(&mut bench);
    assert!(first.is_some() && first == version(&mut bench));
    let modified =
        fs::metadata(bench.path("a")).and_then(|found| found.modified()).expect("a time");
    // As long, and of the same time.
    fs::write(bench.path("a"), "CONTENT").expect("written");
    let opened = fs::File::options().write(true).open(bench.path("a")).expect("the file");
    opened.set_modified(modified).expect("a time");
    assert_ne!(version(&mut bench), first);
}

#[test]
fn what_was_created_can_be_kept_as_a_part() {
    let mut bench = bench();
    bench.put("b", "old ");
    for (path, purpose) in [
        ("a", Purpose::Create { from: 0 }),
        ("a", Purpose::New),
        ("b", Purpose::Append),
        ("b", Purpose::Create { from: 4 }),
    ] {
        let from = add(&mut bench, path, purpose, b"content", Keep::Part).expect("kept");
        assert_eq!(add(&mut bench, path, Purpose::Resume, b"!", Keep::Part), Ok(from + 7));
    }
    assert_eq!(bench.got(PART).as_deref(), Some(&b"content!"[..]), "the later one");
    assert_eq!(bench.got(".b.0000000000000000.part").as_deref(), Some(&b"old content!"[..]));
    assert_eq!(bench.on_disk().len(), 3);
}

/// Whoever begins anew loses what was kept, but nothing to the end of the program.
#[test]
fn a_file_can_be_a_part_from_its_first_octet_on() {
    let mut bench = bench();
    add(&mut bench, "a", Purpose::Resume, b"older", Keep::Part).expect("kept");
    let (file, size) = bench.open("a", Purpose::Part).expect("opened");
    assert_eq!(size, Some(0));
    bench.write(file, 0, message(b"new")).expect("written");
    assert_eq!(bench.got(PART).as_deref(), Some(&b"new"[..]));
    // While it is written, another is a file as any other.
    let other = add(&mut bench, "a", Purpose::Part, b"other", Keep::Part);
    assert_eq!(other, Err(Failure::Denied));
    assert_eq!(add(&mut bench, "a", Purpose::Part, b"whole", Keep::Whole), Ok(0));
    assert_eq!(bench.on_disk(), [PART, "a"]);
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.got("a").as_deref(), Some(&b"new"[..]));
    assert!(add(&mut bench, "a", Purpose::Part, b"given up", Keep::Nothing).is_err());
    assert_eq!(bench.on_disk(), ["a"]);
}

#[test]
fn a_part_that_is_not_needed_goes() {
    let mut bench = bench();
    for keep in [Keep::Nothing, Keep::Whole] {
        add(&mut bench, "a", Purpose::Resume, b"part", Keep::Part).expect("kept");
        let result = add(&mut bench, "a", Purpose::Resume, b"more", keep);
        assert_eq!(result.is_ok(), keep == Keep::Whole);
        assert!(!bench.path(PART).exists());
    }
    for purpose in [Purpose::Create { from: 0 }, Purpose::Append] {
        add(&mut bench, "a", Purpose::Resume, b"part", Keep::Part).expect("kept");
        add(&mut bench, "a", purpose, b"whole", Keep::Whole).expect("kept");
        assert_eq!(bench.on_disk(), ["a"]);
    }
    // One without octets is none.
    let (file, _) = bench.open("a", Purpose::Resume).expect("opened");
    assert_eq!(bench.close(file, Keep::Part), Ok(()));
    assert_eq!(bench.on_disk(), ["a"]);
}

#[test]
fn one_at_a_time_writes_a_part() {
    let mut bench = bench();
    let (file, _) = bench.open("a", Purpose::Resume).expect("opened");
    bench.write(file, 0, message(b"mine")).expect("written");
    assert_eq!(bench.open("a", Purpose::Resume), Err(Failure::Denied));
    // Neither does another replace or remove it.
    let other = add(&mut bench, "a", Purpose::Create { from: 0 }, b"other", Keep::Part);
    assert_eq!(other, Err(Failure::Denied));
    add(&mut bench, "a", Purpose::Create { from: 0 }, b"whole", Keep::Whole).expect("kept");
    assert_eq!(bench.on_disk(), [PART, "a"]);
    assert_eq!(bench.close(file, Keep::Part), Ok(()));
    assert_eq!(add(&mut bench, "a", Purpose::Resume, b"!", Keep::Whole), Ok(4));
    assert_eq!(bench.got("a").as_deref(), Some(&b"mine!"[..]));
    // Another program counts, too.
    bench.put(PART, "another's");
    let locked = fs::File::open(bench.path(PART)).expect("a part");
    flock(&locked, FlockOperation::LockExclusive).expect("a lock");
    assert_eq!(bench.open("a", Purpose::Resume), Err(Failure::Denied));
    drop(locked);
    assert_eq!(bench.open("a", Purpose::Resume).map(|(_, size)| size), Ok(Some(9)));
}

#[test]
fn a_folder_of_parts_is_empty_to_who_sees_none() {
    let mut bench = bench();
    assert_eq!(bench.make_folder("d"), Ok(()));
    add(&mut bench, "d/a", Purpose::Resume, b"part", Keep::Part).expect("kept");
    add(&mut bench, "d/b", Purpose::Resume, b"part", Keep::Part).expect("kept");
    bench.put("d/c", "whole");
    assert_eq!(bench.remove("d"), Err(Failure::NotEmpty));
    assert!(bench.stat_of("d/a", true).is_ok(), "it stays as it was");
    assert_eq!(bench.remove("d/c"), Ok(()));
    let (file, _) = bench.open("d/b", Purpose::Resume).expect("opened");
    assert_eq!(bench.remove("d"), Err(Failure::NotEmpty), "one is written");
    assert_eq!(bench.close(file, Keep::Part), Ok(()));
    assert_eq!(bench.remove("d"), Ok(()));
    assert_eq!(bench.on_disk(), [""; 0]);
}

#[test]
fn names_too_long_to_show_have_parts_of_their_own() {
    let mut bench = bench();
    let names = ["1", "2"].map(|end| "x".repeat(254) + end);
    for name in &names {
        let content = name.as_bytes();
        assert_eq!(add(&mut bench, name, Purpose::Resume, content, Keep::Part), Ok(0));
    }
    for name in &names {
        assert_eq!(add(&mut bench, name, Purpose::Resume, b"", Keep::Whole), Ok(255));
        assert_eq!(bench.fetch(name).as_deref(), Ok(name.as_bytes()));
    }
}

#[test]
fn what_is_no_file_is_no_part() {
    let mut bench = bench();
    fs::write(bench.outside("secret"), "secret").expect("a file");
    std::os::unix::fs::symlink("../secret", bench.path(PART)).expect("a link");
    assert!(bench.open("a", Purpose::Resume).is_err());
    assert!(bench.stat_of("a", true).is_err());
    fs::remove_file(bench.path(PART)).expect("removed");
    fs::hard_link(bench.outside("secret"), bench.path(PART)).expect("a second name");
    assert_eq!(bench.open("a", Purpose::Resume), Err(Failure::Denied));
    assert_eq!(fs::read(bench.outside("secret")).expect("there"), b"secret");
}

#[test]
fn a_full_disk_keeps_the_part() {
    let Some(mut bench) = Bench::<BufferTree>::small(writable()) else { return };
    let (file, _) = bench.open("a", Purpose::Resume).expect("opened");
    let mut offset = 0;
    while let Ok(octets) = bench.write(file, offset, message(&pattern(BLOCK))) {
        offset += octets as u64;
        assert!(offset < 2 << 20, "more than the disk holds");
    }
    assert!(bench.stat_of("a", true).expect("kept").size >= offset);
    let (file, size) = bench.open("a", Purpose::Resume).expect("opened");
    assert!(size.expect("known") >= offset);
    assert_eq!(bench.close(file, Keep::Nothing), Err(Failure::GivenUp));
    assert_eq!(bench.on_disk(), [""; 0]);
}

#[test]
fn a_part_survives_a_kill_and_all_else_leaves_nothing() {
    const HOME: &str = "STACKWRIGHT_IS_KILLED_IN";
    if let Some(home) = env::var_os(HOME) {
        // This is the process that is killed.
        let home =
            tempfile::Builder::new().disable_cleanup(true).tempdir_in(home).expect("a folder");
        let mut bench = Bench::<BufferTree>::at(home, writable());
        let (part, _) = bench.open("a", Purpose::Resume).expect("opened");
        bench.write(part, 0, message(b"survives")).expect("written");
        for name in ["a", "new"] {
            let file = bench.create(name).expect("opened");
            bench.write(file, 0, message(b"goes")).expect("written");
        }
        println!("\nready");
        std::thread::park();
    }
    let home = tempfile::tempdir().expect("a folder");
    let mut killed = Command::new(env::current_exe().expect("this program"))
        .args([
            "--exact",
            "--nocapture",
            "files::parts::a_part_survives_a_kill_and_all_else_leaves_nothing",
        ])
        .env(HOME, home.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a second process");
    let mut words = BufReader::new(killed.stdout.take().expect("its output"));
    let mut word = String::new();
    while word != "ready\n" {
        word.clear();
        assert!(words.read_line(&mut word).expect("a line") > 0, "it ended");
    }
    let left = fs::read_dir(home.path()).expect("a folder").next().expect("one").expect("one");
    let again = tempfile::tempdir().expect("a folder");
    fs::rename(left.path().join("root"), again.path().join("root")).expect("moved");
    let mut bench = Bench::<BufferTree>::at(again, writable());
    assert_eq!(bench.open("a", Purpose::Resume), Err(Failure::Denied), "it still writes");
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    let _ = words.read_to_string(&mut word);
    if crate::files::bench::nameless_files(&bench.path("")) {
        assert_eq!(bench.on_disk(), [PART]);
    }
    assert_eq!(add(&mut bench, "a", Purpose::Resume, b"!", Keep::Whole), Ok(8));
    assert_eq!(bench.got("a").as_deref(), Some(&b"survives!"[..]));
}
