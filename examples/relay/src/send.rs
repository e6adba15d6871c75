//! To the other side, as far as there is room.

use stackwright_contract::services::{DatagramsRequest, Quality, Room};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::state::{Pair, State, Use};
use crate::words::{Arrival, Direction};
use crate::{NAME, Out, Relay};

impl<M, W, F> Relay<M, W, F>
where
    M: Message,
    W: FnMut(Arrival) -> Option<Participant>,
    F: FnMut(Direction, M, Quality) -> Option<(M, Quality)>,
{
    /// What waits leaves in that direction, as far as there is room; behind the last of a side that is over, the other one is
    /// closed.
    pub(crate) fn go_on(&mut self, cx: &Context, pair: Handle, direction: Direction, out: Out<'_, M, W, F>) {
        let Some(pair) = self.pairs.get_mut(pair) else { return };
        loop {
            let to = pair.to(direction);
            let Some(first) = to.waiting.front() else { break };
            let (octets, opens) = (first.message.len(), to.state == State::Opening);
            let dropped = match to.state {
                State::Closing | State::Over => Some("a datagram for an association that is over"),
                State::Open if octets > to.room_most.octets => {
                    Some("a datagram longer than the other side takes")
                }
                _ => None,
            };
            if dropped.is_none() && (opens || to.room.messages == 0 || to.room.octets < octets) {
                return;
            }
            let association = to.name;
            let Some(first) = to.waiting.pop_front() else { break };
            match dropped {
                Some(reason) => cx.dropped(NAME, reason),
                None => {
                    to.room.octets -= octets;
                    to.room.messages -= 1;
                    pair.passed[direction as usize] += 1;
                    let (messages, quality) = (first.message.into(), first.quality);
                    out.request(DatagramsRequest::Send { association, messages, quality });
                }
            }
            Self::give_back(pair, direction, first.octets, out);
        }
        if pair.from(direction).state == State::Over {
            let to = pair.to(direction);
            if matches!(to.state, State::Opening | State::Open) {
                to.state = State::Closing;
                out.request(DatagramsRequest::Close { association: to.name });
            }
        }
    }

    /// Who sends in that direction may send so much more.
    pub(crate) fn give_back(pair: &mut Pair<M>, direction: Direction, octets: usize, out: Out<'_, M, W, F>) {
        let from = pair.from(direction);
        if from.state == State::Open {
            let room = Room { octets, messages: 1 };
            out.request(DatagramsRequest::Receive { association: from.name, room });
        }
    }

    /// Nobody is taken any more, and everybody is let go.
    pub(crate) fn stop(&mut self, cx: &Context, out: Out<'_, M, W, F>) {
        match self.names.iter().find(|(_, what)| matches!(what, Use::Listener)) {
            Some((listener, _)) => out.request(DatagramsRequest::Unlisten { listener }),
            None => cx.dropped(NAME, "stop: it does not listen"),
        }
        let pairs: alloc::vec::Vec<_> = self.pairs.iter().map(|(name, _)| name).collect();
        for pair in pairs {
            let Some(pair) = self.pairs.get_mut(pair) else { continue };
            for side in pair.living() {
                side.state = State::Closing;
                out.request(DatagramsRequest::Close { association: side.name });
            }
        }
    }
}
