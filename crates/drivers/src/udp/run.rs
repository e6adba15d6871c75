//! Datagrams that leave by one system call.

use stackwright_contract::Handle;
use stackwright_contract::services::Room;
use stackwright_wire::{Leaf, Message, Pool};

use super::{Association, LONGEST, NAME, Socket};

/// So many of the first datagrams that wait: for one peer, equally long but for the last, which may be shorter.
pub(super) struct Run {
    pub(super) association: Handle,
    /// How many octets each has.
    pub(super) stride: usize,
    /// How many there are, and their octets.
    pub(super) room: Room,
}

impl<M: Message> Socket<M> {
    /// The datagrams that leave next, of which `first` is said to be for `open`.
    pub(super) fn run(&self, association: Handle, open: &Association, most: usize) -> Run {
        let mut waiting = self.queue.iter();
        let stride = waiting.next().map_or(0, |(_, message)| message.len());
        let mut room = Room { octets: stride, messages: 1 };
        // No run of empty ones: behind each other they are nothing.
        if stride > 0 && stride <= open.batched {
            let most = self.offload.max_gso_segments().min(most);
            for (whose, message) in waiting {
                let octets = message.len();
                let fits = room.messages < most && room.octets + octets <= LONGEST;
                if *whose != association || octets > stride || octets == 0 || !fits {
                    break;
                }
                room = Room { octets: room.octets + octets, messages: room.messages + 1 };
                if octets < stride {
                    break;
                }
            }
        }
        Run { association, stride, room }
    }

    /// The octets of a run, one datagram behind the other: where they lie, if there is one that lies in one piece, or else in
    /// `into`, which is a block of `pool` then.
    pub(super) fn octets<'a>(
        &'a self,
        run: &Run,
        into: &'a mut Option<M::Block>,
        pool: &Pool<M>,
    ) -> &'a [u8] {
        if let (1, Some((_, message))) = (run.room.messages, self.queue.front()) {
            let mut leaves = message.leaves();
            if let (Some(Leaf::Octets(octets)), None) = (leaves.next(), leaves.next()) {
                return octets;
            }
        }
        let into = into.get_or_insert_with(|| pool.take());
        let mut end = 0;
        for (_, message) in self.queue.iter().take(run.room.messages) {
            for leaf in message.leaves() {
                let Leaf::Octets(octets) = leaf else {
                    panic!("{NAME}: a region of a file came, and the facts do not promise to send it")
                };
                into[end..end + octets.len()].copy_from_slice(octets);
                end += octets.len();
            }
        }
        &into[..end]
    }
}
