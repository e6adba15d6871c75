//! The digest of a file.

use std::fs;

use sha2::{Digest, Sha256};
use stackwright_contract::services::{Failure, FilesIndication, FilesRequest, Keep, Purpose};
use stackwright_drivers::files::DiskOptions;
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{BLOCK, Bench, bench, pattern, writable};

#[test]
fn a_digest_is_that_of_the_octets_there_are() {
    // Also where a small file would be read on the stack's own thread.
    for at_once in [0, 1 << 30] {
        let mut bench = Bench::<BufferTree>::with(DiskOptions { at_once, ..writable() });
        let content = pattern((2 << 20) + 4711); // several shares
        let length = content.len() as u64;
        bench.put("a", &content);
        bench.put("empty", "");
        for (octets, there) in [
            (0..u64::MAX, 0..length),
            (0..length, 0..length),
            (0..1 << 20, 0..1 << 20),
            (0..(1 << 20) - 1, 0..(1 << 20) - 1),
            (5..length - 5, 5..length - 5),
            (7..7, 7..7),
            (length - 1..length + 1, length - 1..length),
            (length..u64::MAX, length..length),
            (length + 5..u64::MAX, 0..0),
            (u64::MAX - 1..u64::MAX, 0..0),
        ] {
            let there = &content[there.start as usize..there.end as usize];
            let digest: [u8; 32] = Sha256::digest(there).into();
            let told = bench.digest("a", octets.clone(), false);
            assert_eq!(told, Ok((digest, there.len() as u64)), "{octets:?}");
        }
        let nothing: [u8; 32] = Sha256::digest("").into();
        assert_eq!(bench.digest("empty", 0..u64::MAX, false), Ok((nothing, 0)));
        bench.silent();
    }
}

#[test]
fn a_part_has_a_digest_also_while_it_is_written() {
    let mut bench = bench();
    bench.put("a", "whole");
    let (file, _) = bench.open("a", Purpose::Resume).expect("opened");
    bench.write(file, 0, BufferTree::with_headroom(0, b"part")).expect("written");
    let digest = |content: &str| <[u8; 32]>::from(Sha256::digest(content));
    assert_eq!(bench.digest("a", 0..u64::MAX, true), Ok((digest("part"), 4)));
    assert_eq!(bench.digest("a", 0..u64::MAX, false), Ok((digest("whole"), 5)));
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.digest("a", 1..3, false), Ok((digest("ar"), 2)));
    assert_eq!(bench.digest("a", 1..3, true), Err(Failure::NotFound));
}

/// Of a file that would take minutes.
#[test]
fn a_digest_that_nobody_waits_for_is_given_up() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { workers: 1, ..writable() });
    let sparse = fs::File::create(bench.path("large")).expect("a file");
    sparse.set_len(1 << 40).expect("a length");
    let token = bench.name();
    let (path, octets) = ("large".into(), 0..u64::MAX);
    bench.ask(FilesRequest::Digest { token, path, octets, part: false });
    bench.ask(FilesRequest::Close { file: token, keep: Keep::Nothing });
    let FilesIndication::Digested { token: told, result } = bench.hear() else {
        panic!("the last word on a digest")
    };
    assert_eq!((told, result), (token, Err(Failure::GivenUp)));
    bench.names.forget(token);
    assert_eq!(bench.stat("large").map(|status| status.size), Ok(1 << 40), "the worker is free");
    bench.silent();
}

#[test]
fn what_is_no_file_has_no_digest() {
    let mut bench = bench();
    fs::create_dir(bench.path("d")).expect("a folder");
    assert_eq!(bench.digest("d", 0..1, false), Err(Failure::BadName));
    assert_eq!(bench.digest("nothing", 0..1, false), Err(Failure::NotFound));
    assert_eq!(bench.digest("../x", 0..1, false), Err(Failure::Denied));
}

#[test]
fn others_have_their_turn_while_a_file_is_read() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { workers: 1, ..DiskOptions::default() });
    let large = fs::File::create(bench.path("large")).expect("a file");
    large.set_len(64 << 20).expect("a length");
    let (reader, _) =
        bench.open("large", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    // While the worker is busy with a long read, what follows gathers in its queue.
    bench.ask_read(reader, 0, 16 << 20);
    let digest = bench.name();
    let path = String::from("large");
    bench.ask(FilesRequest::Digest { token: digest, path, octets: 0..u64::MAX, part: false });
    bench.ask_read(reader, 0, BLOCK);
    for _ in 0..2 {
        bench.hear_read(reader);
    }
    let FilesIndication::Digested { result, .. } = bench.hear() else { panic!("digested") };
    assert_eq!(result.map(|(_, octets)| octets), Ok(64 << 20));
}
