//! Ends: from the end above to the end below.

use core::mem;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{DatagramsRequest, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Header, Message};

use crate::state::{Above, Below, LastWord, Lingering, Out, Stage};
use crate::{Ordered, OrderedHeader};

impl<M: Message> Ordered<M> {
    /// Ends a name above. Without a `last` datagram for the peer, the association is closed below
    /// at once.
    pub(crate) fn end(
        &mut self,
        cx: &Context,
        name: Handle,
        why: Ended,
        last: Option<LastWord>,
        out: Out<'_, M>,
    ) {
        let above = self.above.remove(name);
        if let Some(Above::Association(association)) = &above
            && let Some(ticket) = association.closes
        {
            self.timers.cancel(ticket);
        }
        match (above, last) {
            (None, _) => return,
            (Some(Above::Association(association)), Some(last)) => {
                let below = association.below;
                let ticket = self.timers.schedule(cx.now() + self.config.timeout, below);
                let unanswered =
                    matches!(association.stage, Stage::Asking { .. }) && !last.dismissed;
                let link = association.link;
                let lingering = Lingering { link, last, said: false, unanswered, ticket };
                if let Some(place) = self.below.get_mut(below) {
                    *place = Below::Lingering(lingering);
                }
                self.part(below, out);
            }
            (Some(Above::Association(association)), None) => {
                self.close_below(association.below, out)
            }
            (Some(Above::Awaited(awaited)), _) => {
                if let Some(arrival) = awaited.arrival {
                    self.timers.cancel(arrival.ticket);
                }
                self.close_below(awaited.below, out);
            }
            (Some(Above::Listener { .. }), _) => {}
        }
        out.indicate(StreamsIndication::Ended { name, why });
    }

    /// Sends the last datagram if there is credit, and closes below if both sides have sent theirs.
    pub(crate) fn part(&mut self, below: Handle, out: Out<'_, M>) {
        let Some(Below::Lingering(lingering)) = self.below.get_mut(below) else { return };
        if !lingering.said && !lingering.unanswered && lingering.link.fits() {
            lingering.said = true;
            let label = OrderedHeader {
                kind: lingering.last.kind,
                offset: lingering.last.code.into(),
                credit: 0,
            };
            lingering.link.send(below, &label, M::with_headroom(OrderedHeader::LENGTH, &[]), out);
        }
        if lingering.said && lingering.last.dismissed {
            self.close_below(below, out);
        }
    }

    /// Closes an association below that has no association above any more.
    pub(crate) fn close_below(&mut self, below: Handle, out: Out<'_, M>) {
        let Some(place) = self.below.get_mut(below) else { return };
        if let Below::Lingering(lingering) = mem::replace(place, Below::Closing) {
            self.timers.cancel(lingering.ticket);
        }
        out.request(DatagramsRequest::Close { name: below });
    }

    /// Handles the timeout of an association below.
    pub(crate) fn expired(&mut self, cx: &Context, below: Handle, out: Out<'_, M>) {
        match self.below.get(below) {
            Some(Below::Lingering(_)) => self.close_below(below, out),
            Some(Below::Association { above: name }) => {
                let name = *name;
                if matches!(self.above.get(name), Some(Above::Association(_))) {
                    // It was closed, and the peer does not reach its end.
                    return self.end(cx, name, Ended::Expired, Some(LastWord::reset(0)), out);
                }
                cx.dropped(crate::NAME, "an arrival that says nothing");
                self.await_another(name, out);
            }
            _ => {}
        }
    }
}
