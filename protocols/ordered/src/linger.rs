//! Ends: the last word above, and what is still to be said below after it.

use core::mem;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{DatagramsRequest, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Header, Message};

use crate::state::{Above, Below, Lingering, Out, Stage};
use crate::{Kind, Label, Ordered};

impl<M: Message> Ordered<M> {
    /// The last word on a name above. `last` is what the peer still has to hear, and whether it need not answer that; where
    /// it is nothing, the association is closed below at once.
    pub(crate) fn end(
        &mut self,
        cx: &Context,
        name: Handle,
        why: Ended,
        last: Option<(Kind, bool)>,
        out: Out<'_, M>,
    ) {
        match (self.above.remove(name), last) {
            (None, _) => return,
            (Some(Above::Association(association)), Some((word, dismissed))) => {
                let below = association.below;
                let ticket = self.timers.schedule(cx.now() + self.config.patience, below);
                let unanswered = matches!(association.stage, Stage::Asking { .. }) && !dismissed;
                let link = association.link;
                let lingering = Lingering { link, word, said: false, unanswered, dismissed, ticket };
                if let Some(place) = self.below.get_mut(below) {
                    *place = Below::Lingering(lingering);
                }
                self.part(below, out);
            }
            (Some(Above::Association(association)), None) => self.close(association.below, out),
            (Some(Above::Awaited(awaited)), _) => {
                if let Some(arrival) = awaited.arrival {
                    self.timers.cancel(arrival.ticket);
                }
                self.close(awaited.below, out);
            }
            (Some(Above::Listener { .. }), _) => {}
        }
        out.indicate(StreamsIndication::Ended { name, why });
    }

    /// Says the last word where there is room, and closes where both have said theirs.
    pub(crate) fn part(&mut self, below: Handle, out: Out<'_, M>) {
        let Some(Below::Lingering(lingering)) = self.below.get_mut(below) else { return };
        if !lingering.said && !lingering.unanswered && lingering.link.fits() {
            lingering.said = true;
            let label = Label { kind: lingering.word, offset: 0, credit: 0 };
            lingering.link.send(below, &label, M::with_headroom(Label::LENGTH, &[]), out);
        }
        if lingering.said && lingering.dismissed {
            self.close(below, out);
        }
    }

    /// Closes an association below, about which nobody above cares any more.
    pub(crate) fn close(&mut self, below: Handle, out: Out<'_, M>) {
        let Some(place) = self.below.get_mut(below) else { return };
        if let Below::Lingering(lingering) = mem::replace(place, Below::Closing) {
            self.timers.cancel(lingering.ticket);
        }
        out.request(DatagramsRequest::Close { name: below });
    }

    /// Our patience with the peer of this association has ended.
    pub(crate) fn expired(&mut self, cx: &Context, below: Handle, out: Out<'_, M>) {
        match self.below.get(below) {
            Some(Below::Lingering(_)) => self.close(below, out),
            Some(Below::Association { above: name }) => {
                cx.dropped(crate::NAME, "an arrival that says nothing");
                self.await_another(*name, out);
            }
            _ => {}
        }
    }
}
