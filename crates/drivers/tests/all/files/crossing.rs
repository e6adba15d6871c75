//! Last words come once, what crosses them is dropped, and no wake-up is lost.

use std::thread;

use stackwright_contract::services::{Failure, FilesIndication, FilesRequest, Keep, Purpose};
use stackwright_contract::{Handle, Protocol};
use stackwright_drivers::files::{Disk, DiskOptions};
use stackwright_wire::{BufferTree, Message};

use crate::files::bench::{BLOCK, Bench, bench, pattern, writable};

fn message(content: &[u8]) -> BufferTree {
    BufferTree::with_headroom(0, content)
}

#[test]
fn its_facts() {
    let facts = Disk::<BufferTree>::FACTS;
    assert_eq!(facts.name, "disk");
    assert!(facts.gives.has(stackwright_contract::Guarantees::WHOLE_FILES));
}

#[test]
fn words_for_dead_names_are_dropped() {
    let mut bench = bench();
    bench.put("a", "a");
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    let before = bench.driver.context().dropped_count();
    bench.ask(FilesRequest::Read { file, offset: 0, length: 1 });
    bench.ask(FilesRequest::Next { file });
    bench.ask(FilesRequest::Write { file, offset: 0, message: message(b"late") });
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    let never = Handle { index: 1000, generation: 7 };
    bench.ask(FilesRequest::Close { file: never, keep: Keep::Whole });
    assert_eq!(bench.driver.context().dropped_count() - before, 5);
    bench.silent();
    // The next generation of that index is not meant by them.
    let (again, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    assert_eq!((again.index, again.generation > file.generation), (file.index, true));
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    assert_eq!(bench.read(again, 0, 1), b"a");
}

#[test]
fn words_after_close_are_dropped() {
    let mut bench = bench();
    bench.put("a", "a");
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    bench.ask(FilesRequest::Read { file, offset: 0, length: 1 });
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    assert_eq!(bench.hear_closed(file), Ok(()));
    assert_eq!(bench.driver.context().dropped_count(), 2);
    bench.silent();
}

#[test]
fn what_crosses_a_failure_is_swallowed() {
    let mut bench = bench();
    let file = bench.ask_open("nowhere/a", Purpose::Create { from: 0 });
    let block = bench.pool.take();
    let place = block.as_ptr();
    bench.ask(FilesRequest::Write {
        file,
        offset: 0,
        message: BufferTree::from_block(block, 0, BLOCK),
    });
    bench.ask(FilesRequest::Read { file, offset: 0, length: BLOCK });
    bench.ask(FilesRequest::Next { file });
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    assert_eq!(bench.hear_closed(file), Err(Failure::NotFound));
    bench.silent();
    assert_eq!(bench.driver.context().dropped_count(), 4);
    let free = [bench.pool.take(), bench.pool.take()];
    assert!(free.iter().any(|block| block.as_ptr() == place), "their blocks come back");
}

#[test]
fn a_question_is_no_file() {
    let mut bench = bench();
    let token = bench.name();
    bench.ask(FilesRequest::Stat { token, path: "/".into(), part: false, is_file: false });
    bench.ask(FilesRequest::Close { file: token, keep: Keep::Whole });
    assert!(matches!(bench.hear(), FilesIndication::Stated { result: Ok(_), .. }));
    bench.names.forget(token);
    assert_eq!(bench.driver.context().dropped_count(), 1);
    bench.silent();
}

#[test]
fn a_burst_larger_than_a_turn_is_told_whole() {
    let mut bench = bench();
    let tokens: Vec<_> = (0..3000)
        .map(|_| {
            let token = bench.name();
            bench.ask(FilesRequest::Stat { token, path: "/".into(), part: false, is_file: false });
            token
        })
        .collect();
    // All of them are answered before the first is heard.
    thread::sleep(std::time::Duration::from_millis(200));
    let mut told = vec![false; tokens.len()];
    for _ in &tokens {
        let FilesIndication::Stated { token, result: Ok(_) } = bench.hear() else {
            panic!("a status")
        };
        assert!(!std::mem::replace(&mut told[token.index as usize], true), "told twice");
        bench.names.forget(token);
    }
    bench.silent();
}

#[test]
fn no_wake_up_is_lost() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { workers: 4, ..writable() });
    bench.put("a", pattern(100));
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    // Bursts of all sizes end while the thread goes to sleep: one that is not woken runs out of
    // patience.
    for round in 0..10_000_u64 {
        for _ in 0..round % 4 {
            let token = bench.name();
            bench.ask(FilesRequest::Stat { token, path: "a".into(), part: false, is_file: false });
        }
        bench.ask_read(file, round % 100, 1);
        for _ in 0..=round % 4 {
            match bench.hear() {
                FilesIndication::Stated { token, result } => {
                    assert!(result.is_ok());
                    bench.names.forget(token);
                }
                FilesIndication::Read { offset, .. } => assert_eq!(offset, round % 100),
                other => panic!("{other:?}"),
            }
        }
    }
    bench.silent();
}

#[test]
fn a_disk_that_nobody_asks_starts_no_thread() {
    let bench = bench();
    drop(bench);
    let mut bench = Bench::<BufferTree>::with(writable());
    assert_eq!(bench.stat("../x"), Err(Failure::Denied), "answered without a thread");
}

#[test]
#[should_panic(expected = "a read of nothing")]
fn a_read_of_nothing_is_a_bug() {
    let mut bench = bench();
    bench.put("a", "a");
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    bench.ask_read(file, 0, 0);
}
