//! Messages: octets with headroom, so that each layer writes its header where it is transmitted
//! from.
//!
//! ```text
//!            ◂── push                        start              end
//! ├──────────── headroom ──────────────────────┼──── octets ─────┤
//!                                              pull ──▸
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `single_buffer.rs` | [`SingleBuffer`]: one buffer that nobody else holds |
//! | `tree/` | [`BufferTree`]: a rope of slices that others may hold too, and of regions of files |
//! | `segments.rs` | gapped buffers: where the segments of messages lie in a block |
//! | `block.rs`, `pool.rs`, `region.rs` | the memory of messages, its reuse, and octets in a file |
//! | `lock.rs` | what threads that run one stack in turn change |
//! | `copies.rs` | how much payload was copied (feature `copies`) |
//!
//! A stack has exactly one kind of message; protocols are written for any. They copy payload only
//! by the methods of [`Message`] that say so, or [count it](count_copied).

mod block;
mod copies;
mod lock;
mod pool;
mod region;
mod segments;
mod single_buffer;
mod tree;

pub use block::Block;
pub use copies::count_copied;
#[cfg(feature = "copies")]
pub use copies::take_copied;
pub use pool::Pool;
pub use region::Region;
pub use segments::{SegmentLayout, SegmentsMut};
pub use single_buffer::SingleBuffer;
pub use tree::{BufferTree, Unshared};

use alloc::vec::Vec;

use crate::header::{Header, Malformed};

/// One piece of a message.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// Octets in memory.
    Octets(&'a [u8]),
    /// Octets that are still in a file.
    Region(&'a Region),
}

impl Leaf<'_> {
    fn len(&self) -> usize {
        match self {
            Leaf::Octets(octets) => octets.len(),
            Leaf::Region(region) => region.length,
        }
    }
}

/// Octets on their way through a stack, with headroom in front of them.
pub trait Message: Sized + Send + 'static {
    /// Whether a leaf may be a region of a file.
    const HOLDS_REGIONS: bool;

    /// Whether [`share`](Message::share) and [`split_to`](Message::split_to) copy nothing.
    const SHARES: bool;

    /// The memory that such a message is made of, and that a [`Pool`] keeps.
    type Block: Block;

    /// Returns a copy of `payload` with `headroom` octets of headroom.
    fn with_headroom(headroom: usize, payload: &[u8]) -> Self;

    /// Returns the octets `start..end` of `block`, without a copy; what is before them is headroom.
    /// There may be none: a message of headers alone begins so.
    ///
    /// # Panics
    /// Where `start..end` is not within `block`.
    fn from_block(block: Self::Block, start: usize, end: usize) -> Self;

    /// Returns a region of a file as a message.
    ///
    /// # Errors
    /// Returns the region where this kind of message holds octets only.
    fn from_region(region: Region) -> Result<Self, Region>;

    /// Returns its length in octets.
    fn len(&self) -> usize;

    /// Returns whether it has no octets.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns its first `octets` octets, contiguous; `None` where it has fewer, or where they are
    /// still in a file.
    fn front(&mut self, octets: usize) -> Option<&[u8]>;

    /// Prepends `octets` octets, whose content is unspecified, and lends them to be written.
    ///
    /// They are in the headroom, if that is as long and nobody else holds the block; else memory is
    /// allocated.
    fn push_front(&mut self, octets: usize) -> &mut [u8];

    /// Prepends `header` to each message of `octets` octets in a [gapped
    /// buffer](Message::drop_gaps). Returns whether it did: each message has to be whole and to
    /// have a gap for it, and nobody else may hold the block.
    fn push_each(&mut self, _octets: usize, _header: &[u8]) -> bool {
        false
    }

    /// Lends all its octets to be altered in place, as a cipher does; `None` where they are not
    /// contiguous, or where somebody else holds them.
    fn unshared(&mut self) -> Option<&mut [u8]>;

    /// Lends its octets to be altered in place, segment by segment, each with the gap before it.
    /// There are none where somebody else holds the memory, or where it is in several blocks.
    fn segments_mut(&mut self) -> SegmentsMut<'_> {
        self.unshared().map_or_else(SegmentsMut::default, SegmentsMut::contiguous)
    }

    /// Returns the octets of each message of `octets` octets that it holds, piece by piece. The
    /// last message may be shorter. Each ends before a region.
    ///
    /// # Panics
    /// Where `octets` is 0.
    fn messages(&self, octets: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>>;

    /// Drops its first `octets` octets.
    ///
    /// # Panics
    /// Where it has fewer.
    fn advance(&mut self, octets: usize);

    /// Keeps only its first `octets` octets; nothing happens where it has no more.
    fn truncate(&mut self, octets: usize);

    /// Splits its first `octets` octets off and returns them.
    ///
    /// # Panics
    /// Where it has fewer.
    #[must_use]
    fn split_to(&mut self, octets: usize) -> Self;

    /// Returns all its octets, and leaves none.
    #[must_use]
    fn take(&mut self) -> Self {
        self.split_to(self.len())
    }

    /// Appends `rest`, without a copy where it is right behind in the same block.
    ///
    /// # Panics
    /// Where `rest` holds a region of a file and this kind of message does not.
    fn join(&mut self, rest: Self);

    /// Keeps only the segments of the packets that it consists of. Where this kind of message can,
    /// it becomes a gapped buffer: nothing is copied, and what lies before each segment stays as a
    /// gap.
    ///
    /// # Panics
    /// Where the last packet is shorter than its gap.
    #[inline]
    fn drop_gaps(&mut self, layout: &SegmentLayout) {
        split_segments(self, layout);
    }

    /// Takes `header` off each message of `octets` octets in a [gapped buffer](Message::drop_gaps).
    /// Returns whether it did: each message has to be whole, to begin with it, and to have more.
    fn strip_each(&mut self, _octets: usize, _header: &[u8]) -> bool {
        false
    }

    /// Returns the first `count` segments of a [gapped buffer](Message::drop_gaps) with the gaps
    /// between them and `before` octets of the gap before them: one slice, as a batch of packets is
    /// transmitted. Returns `None` where there are fewer, or where it has no gaps.
    #[must_use]
    fn with_gaps(&self, _before: usize, _count: usize) -> Option<Self> {
        None
    }

    /// Returns the same octets once more, as a retransmission needs them: shared where this kind of
    /// message [can](Message::SHARES), else copied.
    #[must_use]
    fn share(&self) -> Self;

    /// Returns the same octets once more behind `header`: how a packet is made of what its sender
    /// keeps. The header is in the headroom, if that is as long and nobody else holds the block.
    #[inline]
    #[must_use]
    fn behind(&mut self, header: &[u8]) -> Self {
        self.push_front(header.len()).copy_from_slice(header);
        let packet = self.share();
        self.advance(header.len());
        packet
    }

    /// Returns its pieces in order, none of them empty.
    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>>;

    /// Calls `take` with all octets in memory, piece by piece, as a check is fed. A piece may be
    /// empty.
    #[inline]
    fn each(&self, mut take: impl FnMut(&[u8])) {
        self.leaves().for_each(|leaf| {
            if let Leaf::Octets(octets) = leaf {
                take(octets);
            }
        });
    }

    /// Returns the memory to `pool` where nobody else holds it.
    fn reclaim(self, pool: &Pool<Self>);

    /// Calls `take` with its memory, block by block, where nobody else holds it: another kind of
    /// message may be made of the same blocks.
    fn into_blocks(self, take: impl FnMut(Self::Block));

    // The next two are always inlined, and with them `encode` and `decode`: only so does a field
    // that is not read cost nothing.

    /// Prepends `header`.
    #[inline(always)]
    fn push<H: Header>(&mut self, header: &H) {
        header.encode(self.push_front(H::LENGTH));
    }

    /// Decodes a header at the front and drops it.
    ///
    /// # Errors
    /// Returns what is wrong with it; the message is unchanged then.
    #[inline(always)]
    fn pull<H: Header>(&mut self) -> Result<H, Malformed> {
        let header = match self.front(H::LENGTH) {
            Some(octets) => H::decode(octets),
            None => Err(Malformed::TooShort),
        };
        if header.is_ok() {
            self.advance(H::LENGTH);
        }
        header
    }

    /// Copies its first octets into `octets` and returns how many, as far as they are in memory: it
    /// stops at a region.
    fn copy_to(&self, octets: &mut [u8]) -> usize {
        copy_leaves(self, octets)
    }

    /// Appends a copy of all its octets in memory to `octets`.
    #[inline]
    fn append_to(&self, octets: &mut Vec<u8>) {
        let before = octets.len();
        self.each(|piece| octets.extend_from_slice(piece));
        count_copied(octets.len() - before);
    }

    /// Returns a copy of its octets with `headroom` octets of headroom, in a block of `pool`, or in
    /// a new one where those are too small: how a packet is cut from what its sender keeps.
    ///
    /// # Panics
    /// Where it holds a region of a file.
    #[must_use]
    fn copy_into(&self, pool: &Pool<Self>, headroom: usize) -> Self {
        let end = headroom + self.len();
        let mut block = if end <= pool.block() { pool.take() } else { Self::Block::zeroed(end) };
        let copied = self.copy_to(&mut block[headroom..end]);
        assert!(copied == self.len(), "a region of a file is not in memory");
        Self::from_block(block, headroom, end)
    }
}

/// Does [`Message::drop_gaps`] segment by segment.
fn split_segments<M: Message>(message: &mut M, layout: &SegmentLayout) {
    let (mut packets, mut index) = (message.take(), 0);
    while !packets.is_empty() {
        let (octets, gap) = (packets.len().min(layout.stride()), layout.gap(index));
        packets.advance(gap);
        message.join(packets.split_to(octets - gap));
        index = (index + 1) % layout.segments();
    }
}

/// Does [`Message::copy_to`] piece by piece.
fn copy_leaves(message: &impl Message, octets: &mut [u8]) -> usize {
    let mut copied = 0;
    for leaf in message.leaves() {
        let Leaf::Octets(piece) = leaf else { break };
        let length = piece.len().min(octets.len() - copied);
        octets[copied..copied + length].copy_from_slice(&piece[..length]);
        copied += length;
    }
    count_copied(copied);
    copied
}
