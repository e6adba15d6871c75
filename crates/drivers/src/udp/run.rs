//! Datagrams that leave by one system call.

use stackwright_contract::Handle;
use stackwright_contract::services::{self, Ecn, Room};
use stackwright_wire::{Leaf, Message, Pool};

use super::{Association, LONGEST, NAME, Socket};

/// So many that lie in one piece leave as they are: to put others behind them, all would have to be copied.
const ENOUGH: usize = 8;

/// What waits to leave: a datagram, or a run of them.
pub(super) struct Waiting<M> {
    pub(super) association: Handle,
    /// The datagrams: each has `stride` octets, but the last, which may have fewer.
    message: M,
    stride: usize,
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
    /// The datagrams that leave next, of which `first` is for `open`.
    pub(super) fn run(&self, first: &Waiting<M>, open: &Association, most: usize) -> Run {
        let Waiting { association, stride, ecn, .. } = *first;
        // No run of empty ones: behind each other they are nothing. What waits may be more than leaves at once.
        let most = if stride > 0 && stride <= open.batched {
            self.offload.max_gso_segments().min(LONGEST / stride).min(most)
        } else {
            1
        };
        let mut room =
            Room { octets: (most * stride).min(first.message.len()), messages: most.min(first.count) };
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

    /// The octets of a run, one datagram behind the other: where they lie, if they do so in one piece, or else in `into`, which is
    /// a block of `pool` then.
    pub(super) fn octets<'a>(
        &'a self,
        run: &Run,
        into: &'a mut Option<M::Block>,
        pool: &Pool<M>,
    ) -> &'a [u8] {
        let whole = run.room.octets;
        let first = self.queue.front().and_then(|waiting| waiting.message.leaves().next());
        if let Some(Leaf::Octets(octets)) = first
            && let Some(octets) = octets.get(..whole)
        {
            return octets;
        }
        let into = into.get_or_insert_with(|| pool.take());
        let mut end = 0;
        for leaf in self.queue.iter().flat_map(|waiting| waiting.message.leaves()) {
            let Leaf::Octets(octets) = leaf else {
                panic!("{NAME}: a region of a file came, and the facts do not promise to send it")
            };
            let octets = &octets[..octets.len().min(whole - end)];
            into[end..end + octets.len()].copy_from_slice(octets);
            end += octets.len();
            if end == whole {
                break;
            }
        }
        &into[..end]
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
