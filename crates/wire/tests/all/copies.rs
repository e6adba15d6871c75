//! Each copy of payload counts, whatever the kind of message, and nothing else does.
#![cfg(feature = "copies")]

use stackwright_wire::{BufferTree, Message, Pool, SegmentLayout, SingleBuffer, take_copied};

/// Returns what `copies` makes, and how many octets it copies.
fn counted<T>(copies: impl FnOnce() -> T) -> (T, u64) {
    take_copied();
    let made = copies();
    (made, take_copied())
}

fn each_copy_counts_and_nothing_else<M: Message>() {
    let (mut message, octets) = counted(|| M::with_headroom(64, &[7; 1000]));
    assert_eq!(octets, 1000);
    let (twin, octets) = counted(|| {
        message.push_front(8).fill(1);
        message.advance(8);
        let mut twin = message.share();
        twin.truncate(900);
        let rest = twin.split_to(400);
        (twin.front(100).is_some(), rest.len(), twin)
    });
    assert_eq!(octets, if M::SHARES { 0 } else { 1000 + 400 });
    let (copied, octets) = counted(|| message.copy_to(&mut [0; 300]));
    assert_eq!((copied, octets), (300, 300));
    assert_eq!(counted(|| twin.2.append_to(&mut vec![0; 7])).1, 500);
    let pool = Pool::<M>::new(64 << 10, 4);
    // Into new memory, and into what that leaves.
    for _ in 0..2 {
        assert_eq!(counted(|| pool.copy(&[1; 50]).reclaim(&pool)).1, 50);
    }
    assert_eq!(counted(|| message.copy_into(&pool, 10)).1, 1000);
}

#[test]
fn each_copy_counts() {
    each_copy_counts_and_nothing_else::<BufferTree>();
    each_copy_counts_and_nothing_else::<SingleBuffer>();
}

/// Octets that are joined stay where they are, unless they are few; a header is read in one piece.
#[test]
fn what_changes_its_place_is_copied() {
    let made = |octets: usize| BufferTree::with_headroom(0, &vec![7; octets]);
    let (mut message, long, short) = (made(1000), made(500), made(20));
    assert_eq!(counted(|| message.join(long)).1, 0);
    assert_eq!(counted(|| message.join(short)).1, 20);
    assert_eq!(counted(|| message.front(990).is_some()).1, 0);
    assert_eq!(counted(|| message.front(1010).is_some()), (true, 1010));
    let mut rest = made(300);
    let mut head = rest.split_to(200);
    assert_eq!(counted(|| head.join(rest)).1, 0, "it is one piece again");
    // All but the first of short ones are copied together.
    for (segment, copied) in [(100, 0), (50, 200)] {
        let mut packets = made(5 * (segment + 10));
        let layout = SegmentLayout::new(segment + 10, 10);
        assert_eq!(counted(|| packets.drop_gaps(&layout)).1, copied);
        assert_eq!(packets.len(), 5 * segment);
    }
}
