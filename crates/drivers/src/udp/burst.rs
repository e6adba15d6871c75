//! Datagrams that leave by one system call.

use std::io::IoSlice;

use stackwright_contract::Handle;
use stackwright_contract::services::{Batch, Credit, Ecn};
use stackwright_wire::{Leaf, Message, Pool};

use super::{LONGEST, NAME, Socket};

/// The limits of a burst that is sent without a copy: its most pieces, and their least mean length
/// in octets. For the kernel, a shorter piece costs as much as a copy of its octets.
const PIECES_MOST: usize = 16;
const PIECE_LEAST: usize = 2048;

/// From this count on, contiguous datagrams leave as they are: to append others, all would have to
/// be copied.
const ENOUGH: usize = 8;

/// What is wrong with a message that holds a region.
const REGION: &str = "a region of a file came, and the facts do not promise to send it";

/// A datagram, or several, that waits to leave.
pub(super) struct Waiting<M> {
    pub(super) association: Handle,
    /// The datagrams: each has `segment_size` octets, except the last, which may have fewer.
    octets: M,
    pub(super) segment_size: usize,
    count: usize,
    ecn: Ecn,
}

impl<M: Message> Waiting<M> {
    #[inline]
    pub(super) fn new(association: Handle, messages: Batch<M>, ecn: Ecn) -> Self {
        let (segment_size, count) = (messages.longest(), messages.count());
        Waiting { association, octets: messages.into_octets(), segment_size, count, ecn }
    }
}

/// The datagrams at the front of the queue that leave together: for one peer, equally long except
/// the last, which may be shorter, and with one ECN codepoint.
pub(super) struct Burst {
    pub(super) association: Handle,
    /// The octets of each datagram.
    pub(super) segment_size: usize,
    /// The number of datagrams, and their octets.
    pub(super) credit: Credit,
    pub(super) ecn: Ecn,
}

impl<M: Message> Socket<M> {
    /// Returns the burst that begins with `first`, of at most `most` datagrams.
    pub(super) fn burst(&self, first: &Waiting<M>, most: usize) -> Burst {
        let Waiting { association, segment_size, ecn, .. } = *first;
        // More datagrams than leave at once are split into equal parts. A batch from one sender
        // arrives so.
        let messages = first.count.div_ceil(first.count.div_ceil(most).max(1));
        let mut credit =
            Credit { octets: (messages * segment_size).min(first.octets.len()), messages };
        for next in self.queue.iter().skip(1) {
            let octets = next.octets.len();
            let is_whole = credit.octets == credit.messages * segment_size;
            let fits = credit.messages + next.count <= most && credit.octets + octets <= LONGEST;
            let alike = next.segment_size == segment_size
                || next.count == 1 && octets < segment_size && octets > 0;
            let alike = alike && next.ecn == ecn;
            if next.association != association
                || first.count >= ENOUGH
                || !is_whole
                || !fits
                || !alike
            {
                break;
            }
            credit =
                Credit { octets: credit.octets + octets, messages: credit.messages + next.count };
        }
        Burst { association, segment_size, credit, ecn }
    }

    /// Returns the octets of a burst if they are contiguous.
    #[inline]
    pub(super) fn piece(&self, burst: &Burst) -> Option<&[u8]> {
        match self.queue.front()?.octets.leaves().next()? {
            Leaf::Octets(octets) => octets.get(..burst.credit.octets),
            Leaf::Region(_) => None,
        }
    }

    /// Returns the pieces of a burst and their number if they are few, and none of them is short
    /// except the last.
    pub(super) fn pieces(&self, burst: &Burst) -> Option<([IoSlice<'_>; PIECES_MOST], usize)> {
        let (mut pieces, mut count) = ([IoSlice::new(&[]); PIECES_MOST], 0);
        let (mut left, mut fits) = (burst.credit.octets, true);
        for waiting in &self.queue {
            waiting.octets.leaves().for_each(|leaf| {
                let octets = octets(leaf);
                let octets = &octets[..octets.len().min(left)];
                if octets.is_empty() {
                    return;
                }
                left -= octets.len();
                let is_short = octets.len() < PIECE_LEAST && left > 0;
                match pieces.get_mut(count) {
                    Some(piece) if !is_short => (*piece, count) = (IoSlice::new(octets), count + 1),
                    _ => fits = false,
                }
            });
            if left == 0 || !fits {
                break;
            }
        }
        fits.then_some((pieces, count))
    }

    /// Copies the octets of a burst into a block.
    pub(super) fn gather<'a>(&self, burst: &Burst, into: &'a mut M::Block) -> &'a [u8] {
        let into = &mut into[..burst.credit.octets];
        let mut end = 0;
        for waiting in &self.queue {
            if end == into.len() {
                break;
            }
            let left = waiting.octets.len().min(into.len() - end);
            let copied = waiting.octets.copy_to(&mut into[end..end + left]);
            assert!(copied == left, "{NAME}: {REGION}");
            end += left;
        }
        into
    }

    /// Removes a burst that has left from the queue.
    pub(super) fn left(&mut self, burst: &Burst, pool: &Pool<M>) {
        let mut messages = burst.credit.messages;
        while messages > 0
            && let Some(first) = self.queue.front_mut()
        {
            if messages < first.count {
                first.octets.advance(messages * first.segment_size);
                first.count -= messages;
                return;
            }
            messages -= first.count;
            if let Some(first) = self.queue.pop_front() {
                first.octets.reclaim(pool);
            }
        }
    }
}

fn octets(leaf: Leaf<'_>) -> &[u8] {
    match leaf {
        Leaf::Octets(octets) => octets,
        Leaf::Region(_) => panic!("{NAME}: {REGION}"),
    }
}
