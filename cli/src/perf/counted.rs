//! Messages that count how many octets of payload are copied, where `--copies` asks for it.
//!
//! Stacks are the same whatever their messages are, and copy payload only by methods of
//! [`Message`], or note it there. So the count is that of the stack itself, and one that counts
//! nothing has nothing to look at.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use stackwright::wire::{
    BufferTree, Leaf, Message, Pool, Region, SegmentLayout, SegmentsMut, Unshared,
};

use super::transport::Measured;
use crate::stacks;

std::thread_local! {
    static BLOCKS: Arc<Pool<Counted>> = stacks::pool();
    /// `None`: no messages of this thread count.
    static COPIED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Takes what this thread has copied since this was last asked, in octets; `None` where its
/// messages do not count. Each end of a measurement has one thread, so it is what that end has
/// copied.
///
/// Headers count where they are copied together with payload, and so do packets that have none.
pub(super) fn take_copied() -> Option<u64> {
    COPIED.with(|copied| copied.replace(copied.get().map(|_| 0)))
}

fn count(octets: usize) {
    COPIED.set(Some(COPIED.get().unwrap_or(0) + octets as u64));
}

/// A [`BufferTree`] that counts.
#[derive(Debug)]
pub(super) struct Counted(BufferTree);

impl Measured for Counted {
    fn blocks() -> Arc<Pool<Self>> {
        count(0); // a thread that copies nothing counts, too
        BLOCKS.with(Arc::clone)
    }
}

impl Counted {
    /// Alters the message, and counts the octets that were neither here nor in `others` before.
    fn altered(&mut self, others: Addresses, alter: impl FnOnce(&mut BufferTree)) {
        let mut before = others;
        before.extend(addresses(&self.0));
        alter(&mut self.0);
        // Pieces of one block do not overlap within a message, but others may be the same.
        before.sort_unstable_by_key(|was| was.start);
        let stays = |now: &Range<usize>| {
            let (mut octets, mut upto) = (0, now.start);
            for was in &before {
                let (start, end) = (was.start.max(upto), was.end.min(now.end));
                octets += end.saturating_sub(start);
                upto = upto.max(end);
            }
            octets
        };
        count(addresses(&self.0).map(|now| now.len() - stays(&now)).sum());
    }
}

/// Where octets are.
type Addresses = Vec<Range<usize>>;

/// Where the octets of a message are, piece by piece.
fn addresses(message: &BufferTree) -> impl Iterator<Item = Range<usize>> {
    message.leaves().filter_map(|leaf| match leaf {
        Leaf::Octets(octets) => {
            let start = octets.as_ptr().addr();
            Some(start..start + octets.len())
        }
        Leaf::Region(_) => None,
    })
}

impl Message for Counted {
    const HOLDS_REGIONS: bool = BufferTree::HOLDS_REGIONS;
    const SHARES: bool = BufferTree::SHARES;
    type Block = Unshared;

    // What copies.

    fn with_headroom(headroom: usize, payload: &[u8]) -> Self {
        count(payload.len());
        Counted(BufferTree::with_headroom(headroom, payload))
    }

    fn note_copied(octets: usize) {
        count(octets);
    }

    fn copy_to(&self, octets: &mut [u8]) -> usize {
        let copied = self.0.copy_to(octets);
        count(copied);
        copied
    }

    fn append_to(&self, octets: &mut Vec<u8>) {
        let before = octets.len();
        self.0.append_to(octets);
        count(octets.len() - before);
    }

    // What may copy.

    fn front(&mut self, wanted: usize) -> Option<&[u8]> {
        // It is asked for each header, nearly all of which are in one piece.
        let first = self.0.leaves().next();
        if matches!(first, Some(Leaf::Octets(octets)) if octets.len() < wanted) {
            self.altered(Vec::new(), |message| {
                message.front(wanted);
            });
        }
        self.0.front(wanted)
    }

    fn join(&mut self, rest: Self) {
        let others = addresses(&rest.0).collect();
        self.altered(others, |message| message.join(rest.0));
    }

    fn drop_gaps(&mut self, layout: &SegmentLayout) {
        self.altered(Vec::new(), |message| message.drop_gaps(layout));
    }

    // What does not.

    fn from_block(block: Unshared, start: usize, end: usize) -> Self {
        Counted(BufferTree::from_block(block, start, end))
    }

    fn from_region(region: Region) -> Result<Self, Region> {
        BufferTree::from_region(region).map(Counted)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push_front(&mut self, octets: usize) -> &mut [u8] {
        self.0.push_front(octets)
    }

    fn push_each(&mut self, octets: usize, header: &[u8]) -> bool {
        self.0.push_each(octets, header)
    }

    fn unshared(&mut self) -> Option<&mut [u8]> {
        self.0.unshared()
    }

    fn segments_mut(&mut self) -> SegmentsMut<'_> {
        self.0.segments_mut()
    }

    fn messages(&self, octets: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.0.messages(octets)
    }

    fn advance(&mut self, octets: usize) {
        self.0.advance(octets);
    }

    fn truncate(&mut self, octets: usize) {
        self.0.truncate(octets);
    }

    fn split_to(&mut self, octets: usize) -> Self {
        Counted(self.0.split_to(octets))
    }

    fn take(&mut self) -> Self {
        Counted(self.0.take())
    }

    fn strip_each(&mut self, octets: usize, header: &[u8]) -> bool {
        self.0.strip_each(octets, header)
    }

    fn with_gaps(&self, before: usize, count: usize) -> Option<Self> {
        self.0.with_gaps(before, count).map(Counted)
    }

    fn share(&self) -> Self {
        Counted(self.0.share())
    }

    fn behind(&mut self, header: &[u8]) -> Self {
        Counted(self.0.behind(header))
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.0.leaves()
    }

    fn each(&self, take: impl FnMut(&[u8])) {
        self.0.each(take);
    }

    fn reclaim(self, pool: &Pool<Self>) {
        self.0.into_blocks(|block| pool.give(block));
    }

    fn into_blocks(self, take: impl FnMut(Unshared)) {
        self.0.into_blocks(take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what `copies` makes, and how many octets it copies.
    fn counted<T>(copies: impl FnOnce() -> T) -> (T, u64) {
        count(0);
        take_copied();
        let made = copies();
        (made, take_copied().expect("it counts"))
    }

    #[test]
    fn each_copy_counts_and_nothing_else() {
        let (mut message, octets) = counted(|| Counted::with_headroom(64, &[7; 1000]));
        assert_eq!(octets, 1000);
        let (twin, octets) = counted(|| {
            message.push_front(8).fill(1);
            message.advance(8);
            let mut twin = message.share();
            twin.truncate(900);
            let rest = twin.split_to(400);
            (twin.front(100).is_some(), rest.len(), twin)
        });
        assert_eq!(octets, 0);
        let (copied, octets) = counted(|| message.copy_to(&mut [0; 300]));
        assert_eq!((copied, octets), (300, 300));
        assert_eq!(counted(|| twin.2.append_to(&mut vec![0; 7])).1, 500);
        let pool = stacks::pool::<Counted>();
        // Into new memory, and into what that leaves.
        for _ in 0..2 {
            assert_eq!(counted(|| pool.copy(&[1; 50]).reclaim(&pool)).1, 50);
        }
        assert_eq!(counted(|| message.copy_into(&pool, 10)).1, 1000);
    }

    /// Octets that are joined stay where they are, unless they are few; a header is read in one
    /// piece.
    #[test]
    fn what_changes_its_place_is_copied() {
        let made = |octets: usize| Counted::with_headroom(0, &vec![7; octets]);
        let (mut message, long, short) = (made(1000), made(500), made(20));
        assert_eq!(counted(|| message.join(long)).1, 0);
        assert_eq!(counted(|| message.join(short)).1, 20);
        assert_eq!(counted(|| message.front(990).is_some()).1, 0);
        assert_eq!(counted(|| message.front(1010).is_some()), (true, 1010));
        let (mut rest, mut other) = (made(300), made(10));
        let mut head = rest.split_to(200);
        assert_eq!(counted(|| head.join(rest)).1, 0, "it is one piece again");
        assert_eq!(counted(|| other.join(made(5))).1, 5 + 5, "made, and appended");
        // All but the first of short ones are copied together.
        for (segment, copied) in [(100, 0), (50, 200)] {
            let mut packets = made(5 * (segment + 10));
            let layout = SegmentLayout::new(segment + 10, 10);
            assert_eq!(counted(|| packets.drop_gaps(&layout)).1, copied);
            assert_eq!(packets.len(), 5 * segment);
        }
    }
}
