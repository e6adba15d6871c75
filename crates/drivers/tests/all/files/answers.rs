//! Each request and its answer.

use std::fs;
use std::sync::Arc;

use stackwright_contract::services::{Failure, FilesIndication, FilesRequest, Keep, Purpose};
use stackwright_drivers::files::DiskOptions;
use stackwright_wire::{BufferTree, Leaf, Message, Region, SingleBuffer};

use crate::files::bench::{BLOCK, Bench, bench, octets, pattern, writable};

#[test]
fn a_file_is_read() {
    let mut bench = bench();
    let content = pattern(3 * BLOCK + 17);
    bench.put("a", &content);
    let (file, size) =
        bench.open("/a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    assert_eq!(size, Some(content.len() as u64));
    assert_eq!(bench.read(file, 0, BLOCK), content[..BLOCK]);
    assert_eq!(bench.read(file, 5, 4096), content[5..4101]);
    assert_eq!(bench.read(file, 5, 4097), content[5..4102]);
    assert_eq!(bench.read(file, 0, 3 * BLOCK), content[..3 * BLOCK], "longer than a block");
    assert_eq!(bench.read(file, 3 * BLOCK as u64, BLOCK), content[3 * BLOCK..], "short at the end");
    assert_eq!(bench.read(file, content.len() as u64 - 1, 1), content[content.len() - 1..]);
    for beyond in [content.len() as u64, u64::from(u32::MAX), i64::MAX as u64, u64::MAX] {
        assert_eq!(bench.read(file, beyond, BLOCK), [], "{beyond}");
        assert_eq!(bench.read(file, beyond, 1), [], "{beyond}");
    }
    assert_eq!(bench.close(file, Keep::Nothing), Ok(()));
    bench.silent();
}

#[test]
fn an_empty_file_is_read() {
    let mut bench = bench();
    bench.put("empty", "");
    assert_eq!(
        bench
            .open("empty", Purpose::Read { as_octets: false, versioned: false })
            .map(|(_, size)| size),
        Ok(Some(0))
    );
    assert_eq!(bench.fetch("empty"), Ok(vec![]));
}

#[test]
fn reads_use_blocks_of_the_pool_and_small_ones_do_not() {
    let mut bench = bench();
    bench.put("a", pattern(2 * BLOCK));
    let block = bench.pool.take();
    let place = block.as_ptr();
    bench.pool.give(block);
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");

    bench.ask_read(file, 0, BLOCK);
    let (_, message) = bench.hear_read(file);
    let at = |message: &BufferTree| match message.leaves().next() {
        Some(Leaf::Octets(octets)) => octets.as_ptr(),
        _ => panic!("octets"),
    };
    assert_eq!(at(&message), place, "read into the block that was free");
    message.reclaim(&bench.pool);

    bench.ask_read(file, 0, 100);
    let (_, message) = bench.hear_read(file);
    assert_ne!(at(&message), place);

    // The few last octets do not keep a block.
    bench.ask_read(file, 2 * BLOCK as u64 - 100, BLOCK);
    let (_, message) = bench.hear_read(file);
    assert_eq!(message.len(), 100);
    let block = bench.pool.take();
    assert_eq!(block.as_ptr(), place);
}

#[test]
fn reads_are_answered_with_regions_where_the_options_say_so() {
    let mut bench =
        Bench::<BufferTree>::with(DiskOptions { regions: true, ..DiskOptions::default() });
    let content = pattern(1000);
    bench.put("a", &content);
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    bench.ask_read(file, 100, 1 << 40);
    let (_, message) = bench.hear_read(file);
    let leaves: Vec<_> = message.leaves().collect();
    assert!(
        matches!(leaves[..], [Leaf::Region(Region { offset: 100, length: 900, .. })]),
        "{leaves:?}"
    );
    assert_eq!(bench.read(file, 10, 20), content[10..30]);
    for beyond in [1000, i64::MAX as u64, u64::MAX] {
        assert_eq!(bench.read(file, beyond, 10), []);
    }
    // A region keeps its file, also when it is closed and gone.
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    fs::remove_file(bench.path("a")).expect("removed");
    assert_eq!(octets(&message), content[100..]);
}

#[test]
fn what_is_looked_at_is_read_as_octets_in_any_case() {
    let mut bench =
        Bench::<BufferTree>::with(DiskOptions { regions: true, ..DiskOptions::default() });
    bench.put("a", pattern(1000));
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: true, versioned: false }).expect("opened");
    bench.ask_read(file, 100, 100);
    let (_, message) = bench.hear_read(file);
    assert!(message.leaves().all(|leaf| matches!(leaf, Leaf::Octets(_))));
    assert_eq!(octets(&message), pattern(1000)[100..200]);
}

#[test]
fn a_file_that_says_it_is_empty_is_read_to_its_end() {
    for regions in [false, true] {
        let options = DiskOptions { regions, ..DiskOptions::default() };
        let mut bench = Bench::<BufferTree>::below("/proc/self", options);
        let expected = fs::read("/proc/self/cmdline").expect("this program's");
        for length in [BLOCK, 7] {
            let (file, size) = bench
                .open("cmdline", Purpose::Read { as_octets: false, versioned: false })
                .expect("opened");
            assert_eq!(size, None);
            let mut content = Vec::new();
            loop {
                let more = bench.read(file, content.len() as u64, length);
                if more.is_empty() {
                    break;
                }
                content.extend(more);
            }
            assert_eq!(content, expected);
            assert_eq!(bench.close(file, Keep::Nothing), Ok(()));
        }
    }
}

#[test]
fn regions_are_no_octets_and_need_no_worker() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions {
        regions: true,
        at_once: 1,
        ..DiskOptions::default()
    });
    let content = pattern(2000);
    bench.put("a", &content);
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    for offset in [0, 400, 800, 1200] {
        bench.ask_read(file, offset, 400);
        let Some(FilesIndication::Read { message, .. }) = bench.told() else {
            panic!("a worker reads")
        };
        assert_eq!(octets(&message), content[offset as usize..][..400]);
    }
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
}

#[test]
fn messages_of_octets_only_never_get_regions() {
    let mut bench = Bench::<SingleBuffer>::with(DiskOptions { regions: true, ..writable() });
    let content = pattern(2 * BLOCK);
    bench.store("a", &content).expect("stored");
    assert_eq!(bench.fetch("a"), Ok(content));
}

#[test]
fn a_file_is_created() {
    let mut bench = bench();
    let (file, size) = bench.open("new", Purpose::Create { from: 0 }).expect("opened");
    assert_eq!(size, Some(0));
    let content = pattern(BLOCK + 3);
    assert_eq!(bench.write(file, 0, BufferTree::with_headroom(9, &content)), Ok(BLOCK + 3));
    assert_eq!(bench.write(file, BLOCK as u64 + 3, BufferTree::with_headroom(0, b"end")), Ok(3));
    assert_eq!(bench.write(file, 0, BufferTree::with_headroom(0, b"")), Ok(0));
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.got("new"), Some([&content[..], b"end"].concat()));
    assert_eq!(bench.on_disk(), ["new"]);
    bench.silent();
}

#[test]
fn a_file_is_created_with_sync() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { sync: true, ..writable() });
    fs::create_dir(bench.path("d")).expect("a folder");
    assert_eq!(bench.store("d/new", b"kept"), Ok(()));
    assert_eq!(bench.got("d/new").as_deref(), Some(&b"kept"[..]));
}

#[test]
fn a_message_of_many_pieces_is_written() {
    let mut bench = bench();
    bench.put("source", pattern(300_000));
    let mut message = BufferTree::default();
    let mut expected = Vec::new();
    for index in 0..50_usize {
        let piece = vec![index as u8; index * 100 + 1];
        expected.extend_from_slice(&piece);
        message.join(BufferTree::with_headroom(0, &piece));
        if index % 20 == 7 {
            let source = Arc::new(fs::File::open(bench.path("source")).expect("the source"));
            let region = Region { source, offset: 11, length: 150_000 };
            expected.extend_from_slice(&pattern(300_000)[11..150_011]);
            message.join(BufferTree::from_region(region).expect("a rope holds regions"));
        }
    }
    let file = bench.create("new").expect("opened");
    assert_eq!(bench.write(file, 0, message), Ok(expected.len()));
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.got("new"), Some(expected));
}

#[test]
fn a_region_that_is_short_spoils_the_file() {
    let mut bench = bench();
    bench.put("source", "short");
    let source = Arc::new(fs::File::open(bench.path("source")).expect("the source"));
    let region = Region { source, offset: 0, length: 6 };
    let file = bench.create("new").expect("opened");
    let message = BufferTree::from_region(region).expect("a rope holds regions");
    assert_eq!(bench.write(file, 0, message), Err(Failure::Short));
    assert_eq!(bench.on_disk(), ["source"]);
    // And one of nobody knows what.
    let region = Region { source: Arc::new(7_u8), offset: 0, length: 1 };
    let file = bench.create("new").expect("opened");
    let message = BufferTree::from_region(region).expect("a rope holds regions");
    assert_eq!(bench.write(file, 0, message), Err(Failure::Unsupported));
    assert_eq!(bench.on_disk(), ["source"]);
}

#[test]
fn a_written_message_gives_its_block_back() {
    let mut bench = bench();
    let block = bench.pool.take();
    let place = block.as_ptr();
    let file = bench.create("new").expect("opened");
    assert_eq!(bench.write(file, 0, BufferTree::from_block(block, 0, BLOCK)), Ok(BLOCK));
    let block = bench.pool.take();
    assert_eq!(block.as_ptr(), place);
}

#[test]
fn offsets_that_no_file_has_are_full() {
    for offset in [i64::MAX as u64, u64::MAX, u64::MAX - 2] {
        let mut bench = bench();
        let file = bench.create("new").expect("opened");
        let message = BufferTree::with_headroom(0, b"abc");
        assert_eq!(bench.write(file, offset, message), Err(Failure::Full), "{offset}");
        assert_eq!(bench.on_disk(), [""; 0]);
    }
}

#[test]
fn answers_of_one_file_come_in_the_order_asked() {
    let mut bench = bench();
    let content = pattern(BLOCK);
    let files: Vec<_> = (0..5)
        .map(|index| {
            let name = format!("{index}");
            bench.put(&name, &content);
            bench
                .open(&name, Purpose::Read { as_octets: false, versioned: false })
                .expect("opened")
                .0
        })
        .collect();
    for offset in 0..200 {
        for &file in &files {
            // Lengths that take very different ways.
            bench.ask_read(file, offset, if offset % 3 == 0 { 60_000 } else { 7 });
        }
    }
    for &file in &files {
        bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    }
    let mut next = vec![0; files.len()];
    let mut closed = 0;
    while closed < files.len() {
        match bench.hear() {
            FilesIndication::Read { file, offset, message } => {
                assert_eq!(offset, next[file.index as usize]);
                let start = offset as usize;
                assert_eq!(octets(&message), content[start..start + message.len()]);
                next[file.index as usize] += 1;
                message.reclaim(&bench.pool);
            }
            FilesIndication::Closed { file, result } => {
                assert_eq!((next[file.index as usize], result), (200, Ok(())));
                closed += 1;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn everything_may_be_asked_before_the_file_is_open() {
    let mut bench = bench();
    bench.put("old", pattern(1000));
    let file = bench.ask_open("old", Purpose::Create { from: 500 });
    bench.ask(FilesRequest::Write {
        file,
        offset: 500,
        message: BufferTree::with_headroom(0, b"new"),
    });
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    assert!(matches!(bench.hear(), FilesIndication::Opened { size: Some(500), .. }));
    assert!(matches!(bench.hear(), FilesIndication::Written { octets: 3, .. }));
    assert_eq!(bench.hear_closed(file), Ok(()));
    assert_eq!(bench.got("old"), Some([&pattern(500)[..], b"new"].concat()));
}

#[test]
fn hundreds_of_files_are_open_at_once() {
    let mut bench = bench();
    for index in 0..300 {
        bench.put(&format!("old-{index}"), format!("{index}"));
    }
    let old: Vec<_> = (0..300)
        .map(|index| {
            bench.ask_open(
                &format!("old-{index}"),
                Purpose::Read { as_octets: false, versioned: false },
            )
        })
        .collect();
    let new: Vec<_> = (0..100)
        .map(|index| bench.ask_open(&format!("new-{index}"), Purpose::Create { from: 0 }))
        .collect();
    for _ in 0..400 {
        assert!(matches!(bench.hear(), FilesIndication::Opened { .. }));
    }
    for (index, &file) in old.iter().enumerate() {
        assert_eq!(bench.read(file, 0, 100), format!("{index}").as_bytes());
    }
    for (index, &file) in new.iter().enumerate() {
        let message = BufferTree::with_headroom(0, format!("{index}").as_bytes());
        bench.write(file, 0, message).expect("written");
    }
    for &file in old.iter().chain(&new) {
        assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    }
    assert_eq!(bench.on_disk().len(), 400);
    assert_eq!(bench.got("new-99").as_deref(), Some(&b"99"[..]));
    bench.silent();
}

#[test]
fn one_name_too_many_is_denied() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { names: 2, ..writable() });
    bench.put("a", "a");
    let (one, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    assert_eq!(
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }),
        Err(Failure::Denied)
    );
    assert_eq!(bench.stat("a"), Err(Failure::Denied));
    assert_eq!(bench.remove("a"), Err(Failure::Denied));
    assert_eq!(bench.close(one, Keep::Whole), Ok(()));
    assert!(bench.stat("a").is_ok());
}

#[test]
fn a_file_that_shrinks_is_shorter() {
    for regions in [false, true] {
        let mut bench = Bench::<BufferTree>::with(DiskOptions { regions, ..writable() });
        bench.put("a", pattern(10_000));
        let (file, _) =
            bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
        assert_eq!(bench.read(file, 0, 5000).len(), 5000);
        let same = fs::OpenOptions::new().write(true).open(bench.path("a")).expect("the file");
        same.set_len(6000).expect("shrunk");
        assert_eq!(bench.read(file, 5000, 5000), pattern(6000)[5000..]);
        same.set_len(100).expect("shrunk");
        assert_eq!(bench.read(file, 6000, 4000), []);
        same.set_len(7000).expect("grown");
        assert_eq!(bench.read(file, 6000, 4000), [0; 1000]);
        assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    }
}

#[test]
fn a_file_that_vanishes_is_read_to_its_end() {
    let mut bench = bench();
    bench.put("a", pattern(10_000));
    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    assert_eq!(bench.read(file, 0, 5000).len(), 5000);
    assert_eq!(bench.remove("a"), Ok(()));
    assert_eq!(bench.read(file, 5000, 10_000), pattern(10_000)[5000..]);
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.fetch("a"), Err(Failure::NotFound));
}

#[test]
fn a_file_that_moves_much_is_handed_from_the_stacks_thread_to_a_worker() {
    let mut bench = Bench::<BufferTree>::with(DiskOptions { at_once: 30_000, ..writable() });
    let content = pattern(100_000);
    // Asked in one breath, before, across and behind the hand-over: the answers come in the order
    // asked.
    let file = bench.create("a").expect("created");
    for (offset, piece) in content.chunks(10_000).enumerate() {
        let message = BufferTree::with_headroom(0, piece);
        bench.ask(FilesRequest::Write { file, offset: offset as u64 * 10_000, message });
    }
    bench.ask(FilesRequest::Close { file, keep: Keep::Whole });
    for _ in 0..10 {
        assert!(matches!(bench.hear(), FilesIndication::Written { octets: 10_000, .. }));
    }
    assert_eq!(bench.hear_closed(file), Ok(()));
    assert!(bench.got("a").is_some_and(|got| got == content));

    let (file, _) =
        bench.open("a", Purpose::Read { as_octets: false, versioned: false }).expect("opened");
    for start in (0..110_000).step_by(10_000) {
        bench.ask_read(file, start, 10_000);
    }
    for start in (0..110_000).step_by(10_000) {
        let (offset, message) = bench.hear_read(file);
        assert_eq!(offset, start);
        assert_eq!(
            octets(&message),
            content[(start as usize).min(100_000)..(start as usize + 10_000).min(100_000)]
        );
    }
    assert_eq!(bench.close(file, Keep::Nothing), Ok(()));

    // Little is done without any thread; a creation that takes octets over begins on one.
    bench.store("b", b"little").expect("stored");
    let (file, size) = bench.open("a", Purpose::Create { from: 50_000 }).expect("taken over");
    assert_eq!(size, Some(50_000));
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert_eq!(bench.got("a").map(|got| got.len()), Some(50_000));
}
