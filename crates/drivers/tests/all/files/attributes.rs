//! What a file has besides its octets; and folders.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::time::{Duration, UNIX_EPOCH};

use stackwright_contract::services::{Attribute, Failure, FileKind, Keep, Purpose};
use stackwright_drivers::files::DiskOptions;
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{Bench, bench, is_root, writable};

fn mode(bench: &Bench, name: &str) -> u32 {
    fs::metadata(bench.path(name)).expect("there").permissions().mode() & 0o7777
}

fn set_mode(bench: &Bench, name: &str, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(bench.path(name), permissions).expect("permissions");
}

#[test]
fn a_file_that_is_replaced_hands_its_permissions_on() {
    for sync in [false, true] {
        let mut bench = Bench::<BufferTree>::with(DiskOptions { sync, ..writable() });
        bench.put("a", "old");
        for wanted in [0o600, 0o640, 0o755, 0o444, 0o666] {
            for purpose in [Purpose::Create { from: 0 }, Purpose::Append, Purpose::Resume] {
                set_mode(&bench, "a", wanted);
                let (file, _) = bench.open("a", purpose).expect("opened");
                assert_eq!(bench.close(file, Keep::Whole), Ok(()));
                assert_eq!(mode(&bench, "a"), wanted, "{purpose:?}");
            }
        }
        // What runs as its owner is not written by strangers.
        set_mode(&bench, "a", 0o4755);
        assert_eq!(bench.store("a", b"new"), Ok(()));
        assert_eq!(mode(&bench, "a"), 0o755);
        // A new file has what any program's would have.
        bench.put("by another program", "");
        for purpose in [Purpose::Create { from: 0 }, Purpose::New, Purpose::Resume] {
            let (file, _) = bench.open("new", purpose).expect("opened");
            assert_eq!(bench.close(file, Keep::Whole), Ok(()));
            assert_eq!(mode(&bench, "new"), mode(&bench, "by another program"));
            assert_eq!(bench.remove("new"), Ok(()));
        }
    }
}

#[test]
fn the_permissions_at_the_end_count() {
    let mut bench = bench();
    bench.put("a", "old");
    let one = bench.create("a").expect("opened");
    let two = bench.create("b").expect("opened");
    set_mode(&bench, "a", 0o600);
    bench.put("b", "by another");
    set_mode(&bench, "b", 0o600);
    assert_eq!(bench.close(one, Keep::Whole), Ok(()));
    assert_eq!(bench.close(two, Keep::Whole), Ok(()));
    assert_eq!((mode(&bench, "a"), mode(&bench, "b")), (0o600, 0o600));
    assert_eq!(bench.on_disk(), ["a", "b"]);
}

#[test]
fn a_secret_file_is_never_shown_while_it_is_replaced() {
    let mut bench = bench();
    bench.put("a", "old");
    set_mode(&bench, "a", 0o600);
    let (file, _) = bench.open("a", Purpose::Resume).expect("opened");
    bench.write(file, 0, BufferTree::with_headroom(0, b"secret")).expect("written");
    assert_eq!(mode(&bench, &bench.on_disk()[0]), 0o600);
}

#[test]
fn a_file_that_is_replaced_hands_its_owner_on() {
    if !is_root() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    let mut bench = bench();
    bench.put("a", "old");
    chown(bench.path("a"), Some(1234), Some(2345)).expect("given away");
    set_mode(&bench, "a", 0o660);
    assert_eq!(bench.store("a", b"new"), Ok(()));
    let metadata = fs::metadata(bench.path("a")).expect("there");
    assert_eq!((metadata.uid(), metadata.gid(), mode(&bench, "a")), (1234, 2345, 0o660));
}

#[test]
fn attributes_are_set() {
    let mut bench = bench();
    bench.put("a", "a");
    fs::create_dir(bench.path("d")).expect("a folder");
    symlink("../a", bench.path("d/link")).expect("a link");
    for path in ["a", "d", "d/link"] {
        assert_eq!(bench.set(path, Attribute::Modified(1_234_567_890)), Ok(()));
        assert_eq!(bench.set(path, Attribute::Mode(0o710)), Ok(()));
        let status = bench.stat(path).expect("a status");
        assert_eq!((status.modified, status.mode), (Some(1_234_567_890), Some(0o710)));
        assert_eq!(bench.set(path, Attribute::Mode(0)), Ok(()));
        assert_eq!(bench.set(path, Attribute::Mode(0o755)), Ok(()), "what no one may read");
        for mode in [0o1000, 0o4755, 0o2755, u16::MAX] {
            assert_eq!(bench.set(path, Attribute::Mode(mode)), Err(Failure::Denied));
        }
        assert_eq!(bench.stat(path).map(|status| status.mode), Ok(Some(0o755)));
        assert_eq!(bench.set(path, Attribute::Modified(0)), Ok(()));
    }
    // When it was read is another matter.
    let read = UNIX_EPOCH + Duration::from_secs(77);
    let times = fs::FileTimes::new().set_accessed(read);
    fs::File::options()
        .write(true)
        .open(bench.path("a"))
        .expect("a")
        .set_times(times)
        .expect("set");
    assert_eq!(bench.set("a", Attribute::Modified(5)), Ok(()));
    assert_eq!(fs::metadata(bench.path("a")).expect("a").accessed().expect("a time"), read);
    assert_eq!(bench.set("a", Attribute::Modified(u64::MAX)), Err(Failure::Denied));
    assert_eq!(bench.set("nothing", Attribute::Modified(5)), Err(Failure::NotFound));
    assert_eq!(bench.set("/", Attribute::Mode(0o777)), Err(Failure::Denied));
    bench.silent();
}

#[test]
fn attributes_outside_are_not_set() {
    let mut bench = bench();
    fs::write(bench.outside("secret"), "secret").expect("a file");
    fs::set_permissions(bench.outside("secret"), fs::Permissions::from_mode(0o600)).expect("set");
    symlink("../secret", bench.path("out")).expect("a link");
    symlink("nowhere", bench.path("dead")).expect("a link");
    for path in ["out", "dead", "../secret"] {
        assert_eq!(bench.set(path, Attribute::Mode(0o777)), Err(Failure::Denied), "{path}");
        assert_eq!(bench.set(path, Attribute::Modified(1)), Err(Failure::Denied), "{path}");
    }
    let metadata = fs::metadata(bench.outside("secret")).expect("there");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_ne!(metadata.mtime(), 1);
}

#[test]
fn folders_are_made() {
    let mut bench = bench();
    bench.put("a", "a");
    symlink("nowhere", bench.path("dead")).expect("a link");
    assert_eq!(bench.make_folder("d"), Ok(()));
    assert_eq!(bench.make_folder("d/below"), Ok(()));
    for taken in ["d", "a", "dead", "/", "d/below/.."] {
        assert_eq!(bench.make_folder(taken), Err(Failure::Exists), "{taken}");
    }
    assert_eq!(bench.make_folder("no/where"), Err(Failure::NotFound));
    assert_eq!(bench.make_folder("a/b"), Err(Failure::BadName));
    assert_eq!(bench.make_folder("../x"), Err(Failure::Denied));
    assert_eq!(bench.make_folder("line\nend"), Err(Failure::BadName));
    assert_eq!(bench.stat("d/below").map(|status| status.kind), Ok(FileKind::Folder));
    assert_eq!(bench.remove("d"), Err(Failure::NotEmpty));
}

#[test]
fn the_room_is_that_of_the_file_system() {
    let mut bench = bench();
    let room = bench.room("/").expect("some room");
    let told = rustix::fs::statvfs(bench.path("")).expect("a status");
    let told = told.f_bavail * told.f_frsize;
    assert!(room.abs_diff(told) < 1 << 30, "{room}, {told}: others use it too");
    bench.put("a", "");
    assert_eq!(bench.room("a"), Err(Failure::BadName));
    assert_eq!(bench.room("b"), Err(Failure::NotFound));
    let mut bench = Bench::<BufferTree>::with(DiskOptions::default());
    assert!(bench.room("/").is_ok());
    assert_eq!(bench.make_folder("d"), Err(Failure::Denied), "nothing may be changed");
    assert_eq!(bench.set("/", Attribute::Mode(0)), Err(Failure::Denied));
}
