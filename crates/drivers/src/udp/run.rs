//! Datagrams that leave by one system call.

use std::io::IoSlice;

use stackwright_contract::Handle;
use stackwright_contract::services::{self, Ecn, Room};
use stackwright_wire::{Leaf, Message, Pool};

use super::{LONGEST, NAME, Socket};

/// In so many pieces at most a run leaves from where it lies. A piece that is shorter than the other number costs the kernel as much as
/// its octets do when they are copied.
const PIECES_MOST: usize = 16;
const PIECE_LEAST: usize = 2048;

/// So many that lie in one piece leave as they are: to put others behind them, all would have to be copied.
const ENOUGH: usize = 8;

/// What waits to leave: a datagram, or a run of them.
pub(super) struct Waiting<M> {
    pub(super) association: Handle,
    /// The datagrams: each has `stride` octets, but the last, which may have fewer.
    message: M,
    pub(super) stride: usize,
    count: usize,
    ecn: Ecn,
}

impl<M: Message> Waiting<M> {
    #[inline]
    pub(super) fn one(association: Handle, message: M, ecn: Ecn) -> Self {
        let stride = message.len();
        Waiting { association, message, stride, count: 1, ecn }
    }

    #[inline]
    pub(super) fn several(association: Handle, run: services::Run<M>) -> Self {
        let (stride, count, ecn) = (run.next_octets(), run.messages(), run.ecn());
        Waiting { association, message: run.into_octets(), stride, count, ecn }
    }
}

/// So many of the first datagrams that wait: for one peer, equally long but for the last, which may be shorter, and with one word of
/// congestion.
pub(super) struct Run {
    pub(super) association: Handle,
    /// How many octets each has.
    pub(super) stride: usize,
    /// How many there are, and their octets.
    pub(super) room: Room,
    pub(super) ecn: Ecn,
}

impl<M: Message> Socket<M> {
    /// The datagrams that leave next, of which `first` is the first: at most `most`.
    pub(super) fn run(&self, first: &Waiting<M>, most: usize) -> Run {
        let Waiting { association, stride, ecn, .. } = *first;
        // What waits may be more than leaves at once: then it leaves in equal parts. What its sender wrote together arrives so.
        let messages = first.count.div_ceil(first.count.div_ceil(most).max(1));
        let mut room = Room { octets: (messages * stride).min(first.message.len()), messages };
        for next in self.queue.iter().skip(1) {
            let octets = next.message.len();
            let is_whole = room.octets == room.messages * stride;
            let fits = room.messages + next.count <= most && room.octets + octets <= LONGEST;
            let alike = next.stride == stride || next.count == 1 && octets < stride && octets > 0;
            let alike = alike && next.ecn == ecn;
            if next.association != association || first.count >= ENOUGH || !is_whole || !fits || !alike {
                break;
            }
            room = Room { octets: room.octets + octets, messages: room.messages + next.count };
        }
        Run { association, stride, room, ecn }
    }

    /// The octets of a run, one datagram behind the other, where they lie in one piece.
    #[inline]
    pub(super) fn piece(&self, run: &Run) -> Option<&[u8]> {
        match self.queue.front()?.message.leaves().next()? {
            Leaf::Octets(octets) => octets.get(..run.room.octets),
            Leaf::Region(_) => None,
        }
    }

    /// Where they lie in few pieces, none of which is short but the last: those, and how many there are.
    pub(super) fn pieces(&self, run: &Run) -> Option<([IoSlice<'_>; PIECES_MOST], usize)> {
        let (mut pieces, mut count) = ([IoSlice::new(&[]); PIECES_MOST], 0);
        let (mut left, mut fits) = (run.room.octets, true);
        for waiting in &self.queue {
            waiting.message.leaves().for_each(|leaf| {
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

    /// Wherever they lie: they are copied into a block.
    pub(super) fn gather<'a>(&self, run: &Run, into: &'a mut M::Block) -> &'a [u8] {
        let mut end = 0;
        for octets in self.leaves() {
            let octets = &octets[..octets.len().min(run.room.octets - end)];
            into[end..end + octets.len()].copy_from_slice(octets);
            end += octets.len();
            if end == run.room.octets {
                break;
            }
        }
        &into[..end]
    }

    /// What waits, in order.
    fn leaves(&self) -> impl Iterator<Item = &[u8]> {
        self.queue.iter().flat_map(|waiting| waiting.message.leaves()).map(octets)
    }

    /// A run has left.
    pub(super) fn left(&mut self, run: &Run, pool: &Pool<M>) {
        let mut messages = run.room.messages;
        while messages > 0
            && let Some(first) = self.queue.front_mut()
        {
            if messages < first.count {
                first.message.advance(messages * first.stride);
                first.count -= messages;
                return;
            }
            messages -= first.count;
            if let Some(first) = self.queue.pop_front() {
                first.message.reclaim(pool);
            }
        }
    }
}

fn octets(leaf: Leaf<'_>) -> &[u8] {
    match leaf {
        Leaf::Octets(octets) => octets,
        Leaf::Region(_) => panic!("{NAME}: a region of a file came, and the facts do not promise to send it"),
    }
}
