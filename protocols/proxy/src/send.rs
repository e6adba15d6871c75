//! Words from above.

use alloc::vec::Vec;

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::dialogue::Dialogue;
use crate::{Association, NAME, Opening, Out, Proxy, State};

/// The credit of the stream below while the proxy answers, in octets.
const ANSWER_CREDIT: usize = 1024;

impl<M: Message> Proxy<M> {
    pub(crate) fn asked(&mut self, cx: &Context, request: StreamsRequest<M>, out: Out<'_, M>) {
        let Some(config) = &self.config else { return out.request(request) };
        match request {
            // A proxy connects, and does not listen.
            StreamsRequest::Listen { listener: name, .. }
            | StreamsRequest::Await { association: name, .. } => {
                out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
            }
            StreamsRequest::Open { association: name, remote, credit, .. } => {
                let begun = remote.internet().and_then(|peer| Dialogue::begin(config, peer));
                let Some((dialogue, unsaid)) = begun else {
                    return out
                        .indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
                };
                let deadline = cx.now() + config.timeout;
                self.next = Some(self.next.map_or(deadline, |next| next.min(deadline)));
                let opening = Opening { dialogue, below: None, unsaid, down: 0, deadline };
                let association = Association {
                    remote,
                    up: credit.octets,
                    ahead: ANSWER_CREDIT,
                    commands: Vec::new(),
                    state: State::Opening(opening),
                };
                self.associations.insert(name, association);
                out.request(StreamsRequest::Open {
                    association: name,
                    remote: config.address,
                    local: None,
                    credit: Credit::of_octets(ANSWER_CREDIT),
                });
            }
            StreamsRequest::Credit { association: name, credit } => {
                let Some(association) = self.associations.get_mut(name) else {
                    return out.request(StreamsRequest::Credit { association: name, credit });
                };
                association.up += credit.octets;
                self.settle(name, out);
            }
            StreamsRequest::Control { association: name, command } => {
                match self.associations.get_mut(name) {
                    Some(association) => association.commands.push(command),
                    None => out.request(StreamsRequest::Control { association: name, command }),
                }
            }
            StreamsRequest::Close { name } => self.close(name, out),
            StreamsRequest::Abort { association: name, .. } if self.has_ended(name) => {
                self.associations.remove(name);
                out.indicate(StreamsIndication::Ended { name, why: Ended::Aborted });
            }
            StreamsRequest::Send { association: name, .. }
            | StreamsRequest::Finish { association: name }
                if self.has_ended(name) =>
            {
                cx.dropped(NAME, "a word for an association that has ended");
            }
            request => out.request(request),
        }
    }

    /// Whether the stream below has ended, and that is not told yet.
    fn has_ended(&self, name: Handle) -> bool {
        matches!(
            self.associations.get(name),
            Some(Association { state: State::Open { ended: true, .. }, .. })
        )
    }

    fn close(&mut self, name: Handle, out: Out<'_, M>) {
        match self.associations.get(name).map(|association| &association.state) {
            // To the stream below it is open; here it is not, and ends at once.
            Some(State::Opening(_)) => self.fail(name, Ended::Finished, out),
            Some(State::Failed(_)) => {}
            // What waits is discarded.
            Some(State::Open { ended: true, .. }) => {
                self.associations.remove(name);
                out.indicate(StreamsIndication::Ended { name, why: Ended::Finished });
            }
            Some(State::Open { .. }) | None => {
                self.associations.remove(name);
                out.request(StreamsRequest::Close { name });
            }
        }
    }

    /// Gives an opening up.
    pub(crate) fn fail(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        if let Some(association) = self.associations.get_mut(name) {
            association.state = State::Failed(why);
            out.request(StreamsRequest::Abort { association: name, code: 0 });
        }
    }

    /// Says to the proxy what there is credit for.
    pub(crate) fn say(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(Association { state: State::Opening(opening), .. }) =
            self.associations.get_mut(name)
        else {
            return;
        };
        let said = opening.unsaid.len().min(opening.down);
        if said == 0 {
            return;
        }
        opening.down -= said;
        let message = M::with_headroom(0, &opening.unsaid[..said]);
        opening.unsaid.drain(..said);
        out.request(StreamsRequest::Send {
            association: name,
            batch: message.into(),
            properties: Default::default(),
        });
    }

    /// Delivers what has arrived as far as the application has given credit. Once that covers what
    /// the stream below may still deliver, the association is looked at no more.
    pub(crate) fn settle(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(Association {
            up, ahead, state: State::Open { arrived, finished, ended }, ..
        }) = self.associations.get_mut(name)
        else {
            return;
        };
        if let Some(waiting) = arrived {
            let share = waiting.len().min(*up);
            if share == 0 {
                return;
            }
            *up -= share;
            let delivered = waiting.split_to(share);
            if waiting.is_empty() {
                *arrived = None;
            }
            let (waits, batch) = (arrived.is_some(), delivered.into());
            out.indicate(StreamsIndication::Delivered {
                association: name,
                batch,
                properties: Default::default(),
            });
            if waits {
                return;
            }
        }
        let is_told = core::mem::take(finished);
        let (over, credit) = (*ended, up.checked_sub(*ahead));
        if is_told {
            out.indicate(StreamsIndication::Finished { association: name });
        }
        if over {
            self.associations.remove(name);
            out.indicate(StreamsIndication::Ended { name, why: Ended::Finished });
        } else if let Some(credit) = credit {
            let commands = self.associations.remove(name).map(|association| association.commands);
            for command in commands.into_iter().flatten() {
                out.request(StreamsRequest::Control { association: name, command });
            }
            if credit > 0 {
                let credit = Credit::of_octets(credit);
                out.request(StreamsRequest::Credit { association: name, credit });
            }
        }
    }
}
