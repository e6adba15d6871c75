//! Messages: octets with room in front of them, so that each layer writes its header where it will leave from.
//!
//! ```text
//!            ◂── push                        start              end
//! ├──────────── headroom ──────────────────────┼──── octets ─────┤
//!                                              pull ──▸
//! ```
//!
//! There are two implementations. A stack has exactly one; protocols are written for any.

mod block;
mod pool;
mod region;
mod segments;
mod single_buffer;
mod tree;

pub use block::Block;
pub use pool::Pool;
pub use region::Region;
pub use segments::{SegmentLayout, SegmentsMut};
pub use single_buffer::SingleBuffer;
pub use tree::{BufferTree, Unshared};

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

/// Octets on their way through a stack.
pub trait Message: Sized + 'static {
    /// Whether a leaf may be a region of a file.
    const HOLDS_REGIONS: bool;

    /// Whether [`share`](Message::share) and [`split_to`](Message::split_to) copy nothing.
    const SHARES: bool;

    /// The memory that such a message is made from, and that a [`Pool`] keeps.
    type Block: Block;

    /// A copy of `payload`, with `headroom` octets of room in front of it.
    fn with_headroom(headroom: usize, payload: &[u8]) -> Self;

    /// The octets `start..end` of `block`, without a copy; what is before them is headroom. There may be none: a message of
    /// headers alone begins so.
    ///
    /// # Panics
    /// Where `start..end` does not lie within `block`.
    fn from_block(block: Self::Block, start: usize, end: usize) -> Self;

    /// A region of a file as a message.
    ///
    /// # Errors
    /// Gives the region back where this kind of message holds octets only.
    fn from_region(region: Region) -> Result<Self, Region>;

    /// How many octets it has.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `octets` octets in one piece; `None` where it has fewer, or where they are still in a file.
    fn front(&mut self, octets: usize) -> Option<&[u8]>;

    /// Makes the message `octets` longer in front and lends the new part, whose content is anything, to be written.
    ///
    /// It lies where the message already is, if there is headroom and nobody else holds that block; else memory is asked
    /// for.
    fn push_front(&mut self, octets: usize) -> &mut [u8];

    /// Writes `header` in front of each of the messages of so many octets that [lie](Message::laid_out) in it. Whether it did: there has to
    /// be room before each, nobody else may hold the block, and the first has to be whole.
    fn push_each(&mut self, _octets: usize, _header: &[u8]) -> bool {
        false
    }

    /// All its octets, to be altered in place: where they lie in one piece that nobody else holds. A cipher asks for it.
    fn unshared(&mut self) -> Option<&mut [u8]>;

    /// Lends its octets to be altered in place, segment by segment, each with the gap before it. There
    /// are none where somebody else holds the memory, or where it is in several blocks.
    fn segments_mut(&mut self) -> SegmentsMut<'_> {
        self.unshared().map_or_else(SegmentsMut::default, SegmentsMut::contiguous)
    }

    /// The octets of each of the messages of so many octets that it holds, one behind the other, piece by piece; the last may be shorter.
    /// Each ends before a region.
    ///
    /// # Panics
    /// Where that is 0.
    fn messages(&self, octets: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>>;

    /// Takes the first `octets` octets away.
    ///
    /// # Panics
    /// Where it has fewer.
    fn advance(&mut self, octets: usize);

    /// Keeps only the first `octets` octets; nothing happens where it has no more.
    fn truncate(&mut self, octets: usize);

    /// Splits the first `octets` octets off and gives them.
    ///
    /// # Panics
    /// Where it has fewer.
    #[must_use]
    fn split_to(&mut self, octets: usize) -> Self;

    /// Takes all octets, and leaves none.
    #[must_use]
    fn take(&mut self) -> Self {
        self.split_to(self.len())
    }

    /// Appends `rest`.
    ///
    /// # Panics
    /// Where `rest` holds a region of a file and this kind of message does not.
    fn join(&mut self, rest: Self);

    /// Keeps only the segments of the packets that it consists of. Where this kind of message can, it
    /// becomes a gapped buffer: nothing is copied, and what lies before each segment stays as a gap.
    ///
    /// # Panics
    /// Where the last packet is not longer than its gap.
    #[inline]
    fn drop_gaps(&mut self, layout: &SegmentLayout) {
        split_segments(self, layout);
    }

    /// Takes `header` off the front of each of the messages of so many octets that [lie](Message::laid_out) in it, if each begins with it,
    /// and has more. Whether it did.
    fn strip_each(&mut self, _octets: usize, _header: &[u8]) -> bool {
        false
    }

    /// Its first `count` parts with the gaps between them, and so many octets of the headroom before them: one piece, as packets are that
    /// leave together. `None`: it does not lie apart, or has fewer.
    #[must_use]
    fn with_gaps(&self, _before: usize, _count: usize) -> Option<Self> {
        None
    }

    /// The same octets once more, for who sends them again: shared where this kind of message can, else copied.
    #[must_use]
    fn share(&self) -> Self;

    /// The same octets once more, behind `header`: how a packet is made of what its sender keeps. The header lies before the
    /// octets where they are, if there is headroom and nobody else holds that block.
    #[inline]
    #[must_use]
    fn behind(&mut self, header: &[u8]) -> Self {
        self.push_front(header.len()).copy_from_slice(header);
        let packet = self.share();
        self.advance(header.len());
        packet
    }

    /// Its pieces, in order, none of them empty.
    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>>;

    /// Lends all octets in memory to `take`, piece by piece, as a check is fed. A piece may be empty.
    #[inline]
    fn each(&self, mut take: impl FnMut(&[u8])) {
        self.leaves().for_each(|leaf| {
            if let Leaf::Octets(octets) = leaf {
                take(octets);
            }
        });
    }

    /// Gives the memory back to `pool` where nobody else holds it.
    fn reclaim(self, pool: &Pool<Self>);

    // The next two are always inlined, and with them `encode` and `decode`: only in place does a field that nobody looks
    // at cost nothing.

    /// Writes `header` in front.
    #[inline(always)]
    fn push<H: Header>(&mut self, header: &H) {
        header.encode(self.push_front(H::LENGTH));
    }

    /// Reads a header from the front and takes it away.
    ///
    /// # Errors
    /// What is wrong with it; the message is as it was.
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

    /// Copies the octets in memory, from the first, into `octets`; gives how many. Stops at a region.
    fn copy_to(&self, octets: &mut [u8]) -> usize {
        copy_leaves(self, octets)
    }

    /// A copy of the octets, with `headroom` octets of room in front of them: how a packet is cut from what its sender
    /// keeps. It lies in a block of `pool`, or in a new one where those are too small.
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

/// [`Message::copy_to`], piece by piece.
fn copy_leaves(message: &impl Message, octets: &mut [u8]) -> usize {
    let mut copied = 0;
    for leaf in message.leaves() {
        let Leaf::Octets(piece) = leaf else { break };
        let length = piece.len().min(octets.len() - copied);
        octets[copied..copied + length].copy_from_slice(&piece[..length]);
        copied += length;
    }
    copied
}
