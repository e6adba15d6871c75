//! Nothing outside the root is ever touched, and what is no file is never opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use stackwright_contract::services::{Failure, FileKind, Keep, Purpose};

use crate::files::bench::{Bench, bench, is_root};

/// Everything that can be done with a path, refused for the same reason.
fn refused(bench: &mut Bench, path: &str, why: Failure) {
    assert_eq!(bench.fetch(path), Err(why), "read {path:?}");
    assert_eq!(bench.create(path), Err(why), "create {path:?}");
    assert_eq!(bench.open(path, Purpose::Create { from: 1 }), Err(why), "resume {path:?}");
    assert_eq!(bench.list(path), Err(why), "list {path:?}");
    assert_eq!(bench.stat(path), Err(why), "stat {path:?}");
    assert_eq!(bench.rename(path, "mine"), Err(why), "rename {path:?}");
    assert_eq!(bench.rename("own", path), Err(why), "rename to {path:?}");
    assert_eq!(bench.remove(path), Err(why), "remove {path:?}");
}

/// A root with a file of its own beside a folder that is nobody's business.
fn besieged() -> Bench {
    let bench = bench();
    bench.put("own", "own");
    fs::create_dir(bench.outside("outside")).expect("a folder");
    fs::write(bench.outside("outside/secret"), "secret").expect("a file");
    bench
}

fn untouched(bench: &Bench) {
    let names: Vec<_> = fs::read_dir(bench.outside("outside"))
        .expect("the folder outside")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["secret"]);
    assert_eq!(fs::read(bench.outside("outside/secret")).expect("the secret"), b"secret");
}

#[test]
fn paths_that_lead_out_are_denied() {
    let mut bench = besieged();
    fs::create_dir(bench.path("d")).expect("a folder");
    for path in
        ["..", "../outside/secret", "/../outside/secret", "d/../../outside/secret", "./.././x"]
    {
        refused(&mut bench, path, Failure::Denied);
    }
    untouched(&bench);
    assert_eq!(bench.on_disk(), ["d", "own"]);
    // What stays inside is no way out, even through what does not exist.
    assert_eq!(bench.fetch("d/../own").as_deref(), Ok(&b"own"[..]));
    assert_eq!(bench.fetch("//nowhere/.././/own/").as_deref(), Ok(&b"own"[..]));
}

#[test]
fn absolute_paths_begin_at_the_root() {
    let mut bench = besieged();
    assert_eq!(bench.fetch("/own").as_deref(), Ok(&b"own"[..]));
    let absolute = bench.outside("outside/secret").to_str().expect("a path in UTF-8").to_owned();
    assert_eq!(bench.fetch(&absolute), Err(Failure::NotFound));
    assert_eq!(bench.fetch("/etc/passwd"), Err(Failure::NotFound));
}

#[test]
fn names_that_are_none_are_refused() {
    let mut bench = besieged();
    let long = "x".repeat(256);
    for path in ["a\0b", "own\0", "own\r", "own\nown", "a/\u{7f}/b", "\u{1b}[2J", "\u{9b}2J", &long]
    {
        refused(&mut bench, path, Failure::BadName);
    }
    refused(&mut bench, &"x/".repeat(3000), Failure::BadName);
    let longest = "y".repeat(255);
    assert_eq!(bench.store(&longest, b"fits"), Ok(()));
    assert_eq!(bench.fetch(&longest).as_deref(), Ok(&b"fits"[..]));
    assert_eq!(bench.store(&"日".repeat(85), b"fits"), Ok(()));
}

#[test]
fn links_that_lead_out_are_denied() {
    let mut bench = besieged();
    let absolute = bench.outside("outside");
    for (link, target) in [("relative", Path::new("../outside")), ("absolute", &absolute)] {
        symlink(target, bench.path(link)).expect("a link");
        refused(&mut bench, &format!("{link}/secret"), Failure::Denied);
        assert_eq!(bench.create(&format!("{link}/new")), Err(Failure::Denied));
        assert_eq!(bench.list(link), Err(Failure::Denied));
        let file = format!("file-{link}");
        symlink(target.join("secret"), bench.path(&file)).expect("a link");
        assert_eq!(bench.fetch(&file), Err(Failure::Denied));
        assert_eq!(bench.create(&file), Err(Failure::Denied));
        assert_eq!(bench.open(&file, Purpose::Create { from: 3 }), Err(Failure::Denied));
        assert_eq!(
            bench.stat(&file).map(|status| (status.kind, status.size)),
            Ok((FileKind::Other, 0))
        );
    }
    // A dangling link must not bring a file to life out there.
    symlink("../outside/new", bench.path("dangling")).expect("a link");
    symlink("nowhere", bench.path("dead")).expect("a link");
    symlink(".own.0000000000000000.part", bench.path("hidden")).expect("a link");
    bench.put(".own.0000000000000000.part", "a part");
    for link in ["dangling", "dead", "hidden"] {
        for purpose in [Purpose::Create { from: 0 }, Purpose::Append, Purpose::Resume] {
            assert_eq!(bench.open(link, purpose), Err(Failure::Denied), "{link}");
        }
        assert_eq!(bench.open(link, Purpose::New), Err(Failure::Exists), "{link}");
    }
    untouched(&bench);
    // The links themselves are ours.
    assert_eq!(bench.rename("file-absolute", "moved"), Ok(()));
    assert_eq!(bench.remove("moved"), Ok(()));
    assert_eq!(bench.remove("relative"), Ok(()));
    untouched(&bench);
}

#[test]
fn links_that_stay_inside_are_followed() {
    let mut bench = besieged();
    fs::create_dir_all(bench.path("d/deep")).expect("folders");
    bench.put("d/file", "inside");
    symlink("d/file", bench.path("file")).expect("a link");
    symlink("d/deep", bench.path("deep")).expect("a link");
    symlink("../../own", bench.path("d/deep/up")).expect("a link");
    symlink("deep/up", bench.path("chain")).expect("a link");
    assert_eq!(bench.fetch("file").as_deref(), Ok(&b"inside"[..]));
    assert_eq!(bench.fetch("deep/up").as_deref(), Ok(&b"own"[..]));
    assert_eq!(bench.fetch("chain").as_deref(), Ok(&b"own"[..]));
    assert_eq!(bench.store("deep/new", b"new"), Ok(()));
    assert_eq!(bench.got("d/deep/new").as_deref(), Some(&b"new"[..]));
    assert_eq!(bench.list("deep").map(|entries| entries.len()), Ok(2));
    assert_eq!(bench.create("deep"), Err(Failure::BadName), "it leads to a folder");
    assert_eq!(bench.store("chain", b"through two links"), Ok(()));
    assert_eq!(bench.got("own").as_deref(), Some(&b"through two links"[..]));
    assert!(fs::symlink_metadata(bench.path("d/deep/up")).expect("there").is_symlink());
    symlink("loop", bench.path("loop")).expect("a link");
    assert_eq!(bench.create("loop"), Err(Failure::BadName));
}

#[test]
fn a_folder_that_becomes_a_link_never_leads_out() {
    let mut bench = besieged();
    fs::create_dir(bench.path("door")).expect("a folder");
    bench.put("door/secret", "decoy!");
    bench.put("door/inside", "");
    symlink("../outside", bench.path("trap")).expect("a link");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (stop, door, trap) = (Arc::clone(&stop), bench.path("door"), bench.path("trap"));
        thread::spawn(move || {
            let mut swaps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &door, CWD, &trap, RenameFlags::EXCHANGE).expect("swapped");
                swaps += 1;
            }
            // So that what is removed at the end is the folder.
            if swaps % 2 == 1 {
                renameat_with(CWD, &door, CWD, &trap, RenameFlags::EXCHANGE).expect("swapped");
            }
            swaps
        })
    };
    let mut entered = 0;
    let mut refused = 0;
    let begun = Instant::now();
    let mut round = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        round += 1;
        match bench.fetch("door/secret") {
            Ok(content) => {
                assert_eq!(content, b"decoy!");
                entered += 1;
            }
            Err(why) => {
                assert_ne!(why, Failure::Broken);
                refused += 1;
            }
        }
        if let Ok(entries) = bench.list("door") {
            assert!(
                entries.iter().any(|entry| entry.name == "inside"),
                "that was the other folder"
            );
        }
        match bench.create("door/secret") {
            Ok(file) if round % 2 == 0 => drop(bench.close(file, Keep::Nothing)),
            Ok(file) => {
                bench
                    .write(file, 0, stackwright_wire::Message::with_headroom(0, b"decoy!"))
                    .expect("written");
                // The folder that was opened has the name, whatever its own name is now.
                assert_eq!(bench.close(file, Keep::Whole), Ok(()));
            }
            Err(_) => refused += 1,
        }
        if bench.store("door/new", b"new").is_ok() {
            let _ = bench.remove("door/new");
        }
        let _ = bench.rename("door/new", "door/newer");
        let _ = bench.remove("door/newer");
        let _ = bench.remove("trap/new");
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().expect("the swapper");
    untouched(&bench);
    assert!(
        swaps > 100 && entered > 10 && refused > 10,
        "{swaps} swaps, {entered} in, {refused} refused"
    );
}

#[test]
fn pipes_sockets_and_devices_are_never_opened() {
    let mut bench = besieged();
    mknodat(CWD, bench.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o666), 0)
        .expect("a pipe");
    let _socket = UnixListener::bind(bench.path("socket")).expect("a socket");
    let mut names = vec!["pipe", "socket"];
    if is_root() {
        // The device of zeros. Where the file system has no devices, the others must do.
        let device = rustix::fs::makedev(1, 5);
        let mode = Mode::from_raw_mode(0o666);
        if mknodat(CWD, bench.path("device"), FileType::CharacterDevice, mode, device).is_ok() {
            names.push("device");
        }
    }
    symlink("pipe", bench.path("link")).expect("a link");
    names.push("link");
    for name in names {
        assert_eq!(bench.fetch(name), Err(Failure::Denied), "{name}");
        assert_eq!(bench.create(name), Err(Failure::Denied), "{name}");
        assert_eq!(bench.open(name, Purpose::Create { from: 1 }), Err(Failure::Denied), "{name}");
        assert_eq!(bench.list(name), Err(Failure::BadName), "{name}");
        assert_eq!(
            bench.stat(name).map(|status| (status.kind, status.size)),
            Ok((FileKind::Other, 0)),
            "{name}"
        );
    }
    assert_eq!(bench.remove("pipe"), Ok(()));
}

#[test]
fn the_root_stays_the_same_folder() {
    let mut bench = besieged();
    fs::rename(bench.path(""), bench.outside("moved")).expect("moved");
    symlink("outside", bench.outside("root")).expect("a link");
    assert_eq!(bench.fetch("own").as_deref(), Ok(&b"own"[..]));
    assert_eq!(bench.fetch("secret"), Err(Failure::NotFound));
}

#[test]
fn what_the_user_may_not_is_denied() {
    use std::os::unix::fs::PermissionsExt;
    if is_root() {
        eprintln!("skipped: root may do everything");
        return;
    }
    let mut bench = besieged();
    fs::set_permissions(bench.path("own"), fs::Permissions::from_mode(0o000)).expect("permissions");
    assert_eq!(bench.fetch("own"), Err(Failure::Denied));
    fs::create_dir(bench.path("folder")).expect("a folder");
    let mode = |mode| fs::set_permissions(bench.path("folder"), fs::Permissions::from_mode(mode));
    mode(0o600).expect("permissions");
    let seen = [bench.stat("folder"), bench.stat("folder/.")].map(|status| status.err());
    assert_eq!(seen, [None, Some(Failure::Denied)], "it can be seen, and not entered");
}
