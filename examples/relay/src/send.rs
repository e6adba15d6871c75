//! To the other side, as far as there is room.

use stackwright_contract::services::{Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::state::{Pair, State};
use crate::words::{Arrival, Direction};
use crate::{NAME, Out, Relay};

impl<M, W, F> Relay<M, W, F>
where
    M: Message,
    W: FnMut(Arrival) -> Option<Participant>,
    F: FnMut(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>,
{
    /// What waits leaves in that direction, as far as there is room; behind the last of a side that
    /// is over, the other one is closed.
    pub(crate) fn go_on(
        &mut self,
        cx: &Context,
        pair: Handle,
        direction: Direction,
        out: Out<'_, M, W, F>,
    ) {
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
            if dropped.is_none() && (opens || to.credit.messages == 0 || to.credit.octets < octets)
            {
                return;
            }
            let association = to.name;
            let Some(first) = to.waiting.pop_front() else { break };
            match dropped {
                Some(reason) => cx.dropped(NAME, reason),
                None => {
                    to.credit.octets -= octets;
                    to.credit.messages -= 1;
                    pair.passed[direction as usize] += 1;
                    let (messages, properties) = (first.message.into(), first.properties);
                    out.request(DatagramsRequest::Send {
                        association,
                        batch: messages,
                        properties,
                    });
                }
            }
            Self::give_back(pair, direction, first.octets, out);
        }
        if pair.from(direction).state == State::Over {
            let to = pair.to(direction);
            if matches!(to.state, State::Opening | State::Open) {
                to.state = State::Closing;
                out.request(DatagramsRequest::Close { name: to.name });
            }
        }
    }

    /// Who sends in that direction may send so much more.
    pub(crate) fn give_back(
        pair: &mut Pair<M>,
        direction: Direction,
        octets: usize,
        out: Out<'_, M, W, F>,
    ) {
        let from = pair.from(direction);
        if from.state == State::Open {
            let credit = Credit { octets, messages: 1 };
            out.request(DatagramsRequest::Credit { association: from.name, credit });
        }
    }

    /// Nobody is taken any more, and everybody is let go.
    pub(crate) fn stop(&mut self, cx: &Context, out: Out<'_, M, W, F>) {
        match self.listener() {
            Some(name) => out.request(DatagramsRequest::Close { name }),
            None => cx.dropped(NAME, "stop: it does not listen"),
        }
        let pairs: alloc::vec::Vec<_> = self.pairs.iter().map(|(name, _)| name).collect();
        for pair in pairs {
            let Some(pair) = self.pairs.get_mut(pair) else { continue };
            for side in pair.living() {
                side.state = State::Closing;
                out.request(DatagramsRequest::Close { name: side.name });
            }
        }
    }
}
