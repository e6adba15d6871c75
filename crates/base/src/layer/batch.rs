//! Messages that the layer below delivers together. Those that follow each other and are for the
//! same association are popped together: the effect is that of single messages.

use stackwright_contract::services::{Batch, BatchMessages, PropertiesOf, Transfer as _};
use stackwright_contract::{Context, Handle, Outlet};

use super::receive::UNREADABLE;
use super::{Envelope as _, Hooks, Layer, MessageOf};

impl<H: Hooks> Layer<H> {
    /// Handles several messages, in order. Their credit is given back at the end.
    #[inline(never)]
    pub(super) fn pop_batch(
        &mut self,
        cx: &Context,
        lower: Handle,
        batch: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Uses>,
        out: &mut impl Outlet<Self>,
    ) {
        let credit = H::Uses::cost(&batch);
        let (mut left, mut next) = (batch.into_iter(), None);
        loop {
            let opened = next.take().or_else(|| left.next().map(open::<H>));
            match opened {
                Some(Some(opened)) => {
                    next =
                        self.lead_several(cx, lower, opened, properties, &mut left, out).map(Some)
                }
                Some(None) => cx.dropped(H::FACTS.name, UNREADABLE),
                None => break,
            }
            self.lowers.look_whether_used(lower);
        }
        // The messages have been handled: their credit is given back.
        if let Some(association) = self.lowers.association(lower) {
            association.delivered(lower, credit, out);
        }
    }

    /// Handles a message and those that follow it for the same association. Returns the first one
    /// that is not.
    #[inline(always)]
    fn lead_several(
        &mut self,
        cx: &Context,
        lower: Handle,
        (header, mut message): Opened<H>,
        properties: PropertiesOf<H::Uses>,
        left: &mut BatchMessages<MessageOf<H>>,
        out: &mut impl Outlet<Self>,
    ) -> Option<Opened<H>> {
        let key = H::key(&header);
        let name = self.whose(cx, lower, &header, &mut message, out)?;
        let mut other = None;
        self.at_arrival(cx, name, properties, out, |hooks, at| {
            hooks.pop_batch(at, header, message, left);
            // Once the association has ended, what follows is not for it.
            while !at.is_over()
                && let Some(message) = left.next()
            {
                match open::<H>(message) {
                    Some((header, message)) if H::key(&header) == key => {
                        hooks.pop_batch(at, header, message, left);
                    }
                    Some(opened) => {
                        other = Some(opened);
                        break;
                    }
                    None => cx.dropped(H::FACTS.name, UNREADABLE),
                }
            }
            hooks.popped(at);
        });
        other
    }
}

/// A message whose header was read.
type Opened<H> = (<H as Hooks>::Header, MessageOf<H>);

#[inline(always)]
fn open<H: Hooks>(mut message: MessageOf<H>) -> Option<Opened<H>> {
    let header = H::Header::open(&mut message).ok()?;
    Some((header, message))
}
