//! Words from below.

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Leaf, Message};

use crate::dialogue::Progress;
use crate::{Association, NAME, Opening, Out, Proxy, State};

impl<M: Message> Proxy<M> {
    pub(crate) fn told(&mut self, cx: &Context, indication: StreamsIndication<M>, out: Out<'_, M>) {
        let name = indication.name();
        let Some(association) = self.associations.get_mut(name) else {
            return out.indicate(indication);
        };
        match (indication, &mut association.state) {
            (StreamsIndication::Opened { local, credit, path, .. }, State::Opening(opening)) => {
                opening.below = Some((local, path));
                opening.down += credit.octets;
                self.say(name, out);
            }
            (StreamsIndication::Credit { credit, .. }, State::Opening(opening)) => {
                opening.down += credit.octets;
                self.say(name, out);
            }
            (StreamsIndication::Delivered { batch, .. }, State::Opening(_)) => {
                self.hear(cx, name, &batch.into_octets(), out);
            }
            (StreamsIndication::Delivered { batch, .. }, State::Open { arrived, .. }) => {
                let message = batch.into_octets();
                association.ahead -= message.len();
                match arrived {
                    Some(waiting) => waiting.join(message),
                    none => *none = Some(message),
                }
                self.settle(name, out);
            }
            // It hangs up in the middle of its answer.
            (StreamsIndication::Finished { .. }, State::Opening(_)) => {
                self.fail(name, Ended::Reset(0), out);
            }
            (StreamsIndication::Finished { .. }, State::Open { arrived, finished, .. })
                if arrived.is_some() =>
            {
                *finished = true;
            }
            (
                StreamsIndication::Ended { why: Ended::Finished, .. },
                State::Open { arrived, ended, .. },
            ) if arrived.is_some() => *ended = true,
            (StreamsIndication::Ended { why, .. }, state) => {
                let why = match state {
                    State::Failed(why) => *why,
                    State::Opening(_) if why == Ended::Finished => Ended::Reset(0),
                    _ => why,
                };
                self.associations.remove(name);
                out.indicate(StreamsIndication::Ended { name, why });
            }
            (_, State::Failed(_) | State::Opening(_)) => {
                cx.dropped(NAME, "a word about an association that is not open");
            }
            (indication, State::Open { .. }) => out.indicate(indication),
        }
    }

    /// Hears what the proxy answers.
    fn hear(&mut self, cx: &Context, name: Handle, message: &M, out: Out<'_, M>) {
        let Some(Association { ahead, state: State::Opening(opening), .. }) =
            self.associations.get_mut(name)
        else {
            return;
        };
        *ahead -= message.len();
        for leaf in message.leaves() {
            if let Leaf::Octets(octets) = leaf {
                opening.dialogue.take(octets);
            }
        }
        match opening.go_on() {
            Progress::Through(answer) => self.open(name, answer, out),
            Progress::Over(why) => {
                cx.event(NAME, format_args!("the proxy does not connect to the peer: {why}"));
                self.fail(name, why, out);
            }
            Progress::More | Progress::Say(_) => {
                // The room of what it has said.
                *ahead += message.len();
                self.say(name, out);
                let credit = Credit::of_octets(message.len());
                out.request(StreamsRequest::Credit { association: name, credit });
            }
        }
    }

    /// The proxy passes octets on: from here on the association is the application's.
    fn open(&mut self, name: Handle, answer: usize, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let remote = association.remote;
        let State::Opening(opening) = &mut association.state else { return };
        let (Some((local, path)), down) = (opening.below, opening.down) else { return };
        let behind = opening.dialogue.behind(answer);
        let arrived = (!behind.is_empty()).then(|| M::with_headroom(0, behind));
        association.state = State::Open { arrived, finished: false, ended: false };
        out.indicate(StreamsIndication::Opened {
            association: name,
            local,
            remote,
            credit: Credit::of_octets(down),
            path,
        });
        self.settle(name, out);
    }
}

impl Opening {
    /// Answers until it is the proxy's turn again.
    fn go_on(&mut self) -> Progress {
        let mut progress = self.dialogue.go_on();
        while let Progress::Say(said) = progress {
            self.unsaid.extend_from_slice(&said);
            progress = self.dialogue.go_on();
        }
        progress
    }
}
