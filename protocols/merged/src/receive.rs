//! Words from below.

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::send::CREDIT_BELOW;
use crate::state::{Below, Carrier, Phase};
use crate::{Merged, NAME, Out};

/// How many names wait for associations, at most.
const AWAITED_MOST: usize = 4;

impl<M: Message> Merged<M> {
    pub(crate) fn told(&mut self, cx: &Context, indication: StreamsIndication<M>, out: Out<'_, M>) {
        let name = indication.name();
        match (self.below.get(name), indication) {
            (None, _) => cx.dropped(NAME, "a word for a name that has ended"),
            (Some(_), StreamsIndication::Ended { why, .. }) => self.ended(name, why, out),
            (Some(&Below::Listener { above }), StreamsIndication::Listening { local, .. }) => {
                if let Some(door) = self.above.listener_mut(above) {
                    door.local = local;
                    out.indicate(StreamsIndication::Listening { listener: above, local });
                    self.await_peers(out);
                }
            }
            (
                Some(Below::Awaited { .. }),
                StreamsIndication::Opened { local, remote, credit, .. },
            ) => {
                let carrier = self.carriers.name(Carrier::new(name, remote, false));
                if let Some(state) = self.below.get_mut(name) {
                    *state = Below::Carrier(carrier);
                }
                self.awaited -= 1;
                self.carried(cx, carrier, [local, remote], credit, out);
                self.await_peers(out);
            }
            (Some(&Below::Carrier(carrier)), word) => self.on_carrier(cx, carrier, word, out),
            (Some(Below::Listener { .. } | Below::Awaited { .. }), _) => {}
        }
    }

    fn on_carrier(
        &mut self,
        cx: &Context,
        carrier: Handle,
        word: StreamsIndication<M>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        match word {
            StreamsIndication::Opened { local, remote, credit, .. } => {
                self.carried(cx, carrier, [local, remote], credit, out);
            }
            StreamsIndication::Credit { credit, .. } => {
                state.credit += credit.octets;
                self.mark(carrier);
            }
            StreamsIndication::Delivered { batch, .. } => {
                let credit = Credit::of_octets(batch.octets());
                self.chunks_arrived(cx, carrier, batch.into_octets(), out);
                let is_open = self.carriers.get(carrier).filter(|state| state.phase == Phase::Open);
                if let Some(association) = is_open.and_then(|state| state.below) {
                    out.request(StreamsRequest::Credit { association, credit });
                }
            }
            // Streams that are not over will not be.
            StreamsIndication::Finished { .. } => {
                if let Some(name) = state.below.filter(|_| state.phase == Phase::Open) {
                    state.phase = Phase::Over;
                    out.request(StreamsRequest::Close { name });
                }
                self.lose_streams(carrier, Ended::Reset(0), out);
            }
            _ => {}
        }
    }

    /// An association is open: so are the streams inside that wait for it.
    fn carried(
        &mut self,
        cx: &Context,
        carrier: Handle,
        [local, remote]: [Participant; 2],
        credit: Credit,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        if state.phase != Phase::Opening {
            return;
        }
        (state.local, state.remote) = (local, remote);
        (state.credit, state.phase) = (credit.octets, Phase::Open);
        let numbers: alloc::vec::Vec<u16> = state.streams.keys().copied().collect();
        for number in numbers {
            self.begin(cx, carrier, number, out);
        }
    }

    /// Lets more peers open associations, up to as many as there may be.
    pub(crate) fn await_peers(&mut self, out: Out<'_, M>) {
        let Some(listener) = self.shared else { return };
        let arrived = self.carriers.iter().filter(|(_, carrier)| !carrier.opened_here).count();
        while self.awaited < AWAITED_MOST && self.awaited + arrived < self.config.associations_most
        {
            self.awaited += 1;
            let association = self.below.name(Below::Awaited { listener });
            out.request(StreamsRequest::Await { listener, association, credit: CREDIT_BELOW });
        }
    }

    fn ended(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        match self.below.forget(name) {
            Some(Below::Listener { above }) if self.shared == Some(name) => {
                self.shared = None;
                self.end(above, why, out);
            }
            Some(Below::Awaited { listener }) => {
                self.awaited -= 1;
                if why != Ended::Unlistened || self.shared != Some(listener) {
                    self.await_peers(out);
                }
            }
            Some(Below::Carrier(carrier)) => {
                let Some(state) = self.carriers.get_mut(carrier) else { return };
                (state.below, state.unsent) = (None, None);
                // An association that ends in good order has not ended its streams.
                let why = match (state.phase, why) {
                    (Phase::Opening, Ended::Finished | Ended::Aborted) => Ended::Unreachable,
                    (Phase::Opening, why) => why,
                    (_, Ended::Finished | Ended::Aborted | Ended::Refused(_)) => Ended::Reset(0),
                    (_, why) => why,
                };
                state.phase = Phase::Over;
                self.lose_streams(carrier, why, out);
                self.await_peers(out);
            }
            Some(Below::Listener { .. }) | None => {}
        }
    }
}
