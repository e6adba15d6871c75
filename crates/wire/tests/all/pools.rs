//! Blocks go back to their pool, and are used again.

use std::collections::BTreeSet;
use std::sync::Arc;

use stackwright_wire::{BufferTree, Message, Pool, Region, SegmentLayout, SingleBuffer, Unshared};

fn octets<M: Message>(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

/// Where the pool's next block lies; it is put back.
fn address<M: Message>(pool: &Pool<M>) -> usize {
    let block = pool.take();
    let address = block.as_ptr().addr();
    pool.give(block);
    address
}

/// Both kinds, each with a pool of blocks of 64 octets, of which the first one taken lies at the
/// address that is told.
fn with_a_pool(single: fn(&Pool<SingleBuffer>, usize), tree: fn(&Pool<BufferTree>, usize)) {
    let pool = Pool::new(64, 4);
    single(&pool, address(&pool));
    let pool = Pool::new(64, 4);
    tree(&pool, address(&pool));
}

/// What was made for a message is used again for one that is about as long, and not for a far
/// shorter one.
#[test]
fn blocks_of_other_lengths_are_used_again_where_they_fit() {
    fn again<M: Message>(pool: &Pool<M>, _: usize) {
        assert!(pool.again(1).is_none(), "nothing was given back");
        for (length, wanted, fits) in [
            (1000, 1000, true),
            (1000, 256, true),
            (1000, 255, false),
            (1000, 1001, false),
            (255, 0, true),
            (256, 0, false),
        ] {
            assert!(pool.again(length).is_none(), "it is asked for");
            let message = M::with_headroom(length - 1, &[7]);
            message.reclaim(pool);
            assert_eq!(pool.again(wanted).is_some(), fits, "{wanted} of {length}");
            assert_eq!(pool.again(length).is_none(), fits, "what does not fit stays");
            M::with_headroom(length - 1, &[7]).reclaim(pool);
            assert!(pool.again(length).is_some(), "as many are kept as were wanted");
        }
        // A short one and a long one are not in each other's way.
        for length in [60, 10_000] {
            assert!(pool.again(length).is_none());
            M::with_headroom(0, &vec![7; length]).reclaim(pool);
        }
        assert!(pool.again(40).is_some_and(|block| block.len() == 60));
        assert!(pool.again(9_000).is_some_and(|block| block.len() == 10_000));
        M::with_headroom(100, &[7; 100]).reclaim(pool);
        let copy = pool.copy(b"hello");
        assert_eq!(octets(&copy), b"hello");
        copy.reclaim(pool);
        M::with_headroom(0, &[7; 1000]).reclaim(pool);
        assert_eq!(octets(&pool.copy(b"hello")), b"hello");
    }
    with_a_pool(again::<SingleBuffer>, again::<BufferTree>);
}

#[test]
fn a_pool_keeps_so_much_and_no_more() {
    fn kept<M: Message>(length: usize) -> usize {
        let (pool, many) = (Pool::<M>::new(64, 4), if length < 1_000_000 { 1000 } else { 20 });
        M::with_headroom(0, &vec![7; length]).reclaim(&pool);
        assert!((0..many).all(|_| pool.again(length).is_none()), "nobody asked for it");
        (0..many).for_each(|_| M::with_headroom(0, &vec![7; length]).reclaim(&pool));
        std::iter::from_fn(|| pool.again(length)).count()
    }
    /// What was kept makes room for what is given now, down to as many blocks.
    fn makes_room<M: Message>() -> [usize; 2] {
        let pool = Pool::<M>::new(64, 4);
        for length in [10_000, 1_000] {
            (0..1000).for_each(|_| drop(pool.again(length)));
            (0..1000).for_each(|_| M::with_headroom(0, &vec![7; length]).reclaim(&pool));
        }
        [10_000, 1_000].map(|length| std::iter::from_fn(|| pool.again(length)).count())
    }
    assert_eq!([makes_room::<BufferTree>(), makes_room::<SingleBuffer>()], [[63, 65]; 2]);
    let lengths = [100, 10_000, 1_100_000, 17_000_000];
    assert_eq!(lengths.map(kept::<BufferTree>), [128, 128, 15, 0]);
    assert_eq!(lengths.map(kept::<SingleBuffer>), [128, 128, 15, 0]);
}

/// Where there are too many blocks, they are of a length of which there are many: few long ones
/// stay.
#[test]
fn short_blocks_do_not_drive_out_long_ones() {
    let pool = Pool::<BufferTree>::new(64, 4);
    for (length, count) in [(1 << 18, 8), (10_000, 200), (100, 200)] {
        (0..count).for_each(|_| drop(pool.again(length)));
        (0..count).for_each(|_| BufferTree::with_headroom(0, &vec![7; length]).reclaim(&pool));
    }
    let left =
        [1 << 18, 10_000, 100].map(|length| std::iter::from_fn(|| pool.again(length)).count());
    assert_eq!(left, [8, 63, 65]);
}

/// A block goes back to its pool from the last message that holds it.
#[test]
fn blocks_go_back() {
    fn back<M: Message>(pool: &Pool<M>, place: usize) {
        let mut message = M::from_block(pool.take(), 32, 40);
        message.push_front(32);
        message.reclaim(pool);
        assert_eq!(address(pool), place);
        M::from_block(pool.take(), 32, 40).into_blocks(|block| pool.give(block));
        assert_eq!(address(pool), place);
    }
    with_a_pool(back::<SingleBuffer>, back::<BufferTree>);

    let pool = Pool::new(64, 4);
    let place = address(&pool);
    let mut rest = BufferTree::from_block(pool.take(), 0, 64);
    rest.split_to(10).reclaim(&pool);
    assert_ne!(address(&pool), place, "the rest still holds the block");
    let nothing = rest.split_to(0);
    let all = rest.split_to(54);
    let copy = all.share();
    all.into_blocks(|_| panic!("a copy still holds the block"));
    copy.reclaim(&pool);
    assert_eq!(address(&pool), place);
    let mut packets = BufferTree::from_block(vec![0; 400].into(), 0, 400);
    packets.drop_gaps(&SegmentLayout::new(200, 20));
    packets.join(BufferTree::with_headroom(0, &[7; 100]));
    let mut lengths = Vec::new();
    packets.into_blocks(|block| lengths.push(block.len()));
    assert_eq!(lengths, [400, 100]);
    assert!(nothing.is_empty() && rest.is_empty(), "and they hold nothing");
}

#[test]
fn what_is_written_in_place_is_taken_next_the_last_one_first() {
    fn written<M: Message>(pool: &Pool<M>, used: usize) {
        let lies = pool.write_next(3, |blocks| {
            for (octet, block) in (1..).zip(blocks.iter_mut()) {
                block.fill(octet);
            }
            blocks.last().map(|block| block.as_ptr().addr())
        });
        assert_eq!(lies, Some(used), "what was used before is taken before what is new");
        for octet in [3, 2, 1] {
            assert!(pool.take().iter().all(|at| *at == octet));
        }
    }
    with_a_pool(written, written);
}

#[test]
fn a_pool_keeps_as_many_blocks_as_it_was_told_or_as_were_written_at_once() {
    fn keeps<M: Message>(pool: &Pool<M>) -> usize {
        let take = || (0..20).map(|_| pool.take()).collect::<Vec<_>>();
        for mut block in take() {
            block.fill(7);
            pool.give(block);
        }
        take().iter().filter(|block| block[0] == 7).count()
    }
    fn kept<M: Message>(pool: &Pool<M>, _: usize) {
        assert_eq!(keeps(pool), 4);
        pool.write_next(9, |_| ());
        assert_eq!(keeps(pool), 9);
    }
    with_a_pool(kept, kept);
}

/// All blocks of a message go back, whatever lies between them.
#[test]
fn all_blocks_of_a_message_go_back() {
    let pool = Pool::<BufferTree>::new(128, 8);
    let places =
        |blocks: &[Unshared]| BTreeSet::from_iter(blocks.iter().map(|block| block.as_ptr().addr()));
    for pieces in 1..=8 {
        let blocks: Vec<_> = (0..pieces).map(|_| pool.take()).collect();
        let before = places(&blocks);
        let mut message = BufferTree::default();
        for block in blocks {
            message.join(BufferTree::from_block(block, 0, 128));
            let region = Region { source: Arc::new("a file"), offset: 1000, length: 3 };
            message.join(BufferTree::from_region(region).expect("a buffer tree holds regions"));
        }
        message.reclaim(&pool);
        let blocks: Vec<_> = (0..pieces).map(|_| pool.take()).collect();
        assert_eq!(places(&blocks), before);
        blocks.into_iter().for_each(|block| pool.give(block));
    }
}

/// A message without octets has its block as headroom, and gives it back; so does one whose octets
/// were all taken away.
#[test]
fn a_message_without_octets_keeps_its_block() {
    fn kept<M: Message>(pool: &Pool<M>, place: usize) {
        let mut message = M::from_block(pool.take(), 40, 40);
        assert!(message.is_empty() && message.leaves().next().is_none());
        assert_eq!(message.push_front(40).as_ptr().addr(), place);
        message.advance(40);
        assert_eq!(message.push_front(8).as_ptr().addr(), place + 32);
        message.truncate(0);
        assert_eq!(message.push_front(8).as_ptr().addr(), place + 24);
        message.advance(8);
        assert!(message.is_empty() && message.leaves().next().is_none());
        message.reclaim(pool);
        assert_eq!(address(pool), place);
    }
    with_a_pool(kept::<SingleBuffer>, kept::<BufferTree>);
}

/// A copy has its headroom, in a block of the pool where it fits into one.
#[test]
fn copies_lie_in_blocks_of_the_pool() {
    fn copied<M: Message>(pool: &Pool<M>, place: usize) {
        let message = M::with_headroom(0, &[7; 40]);
        let mut copy = message.copy_into(pool, 24);
        assert_eq!(copy.push_front(24).as_ptr().addr(), place);
        copy.advance(24);
        assert_eq!(octets(&copy), [7; 40]);
        let mut larger = message.copy_into(pool, 25);
        larger.push_front(25).fill(8);
        larger.advance(25);
        assert_eq!(octets(&larger), [7; 40]);
        larger.reclaim(pool);
        copy.reclaim(pool);
        assert_eq!(address(pool), place, "and no other block was given to it");
    }
    with_a_pool(copied::<SingleBuffer>, copied::<BufferTree>);
}
