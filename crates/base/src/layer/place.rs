//! The context in which a hook is called: one association, its timers, the layers above and below.

use core::mem;

use stackwright_contract::services::{
    AssociationIndication, Batch, Credit, Ended, PropertiesOf, Transfer,
};
use stackwright_contract::{
    CommandError, Context, Handle, Instant, Outlet, Participant, PathLimits, Trouble,
};
use stackwright_wire::Message;

use super::lower::Lowers;
use super::turns::Turns;
use super::{Associations, Envelope as _, Hooks, Layer, Link, MessageOf, Place, charged};
use crate::base::Timers;

// Everything on the path of a message is always inlined: only then does a hook work on the
// association itself, and not through a pointer in memory.

pub(super) struct At<'a, H: Hooks, O> {
    cx: &'a Context,
    name: Handle,
    link: &'a mut Link<H>,
    timers: Timers<'a, H::Features, Associations<H>>,
    lowers: &'a mut Lowers<H>,
    due: &'a mut Turns,
    out: &'a mut O,
    /// The properties of what is popped.
    arrived: PropertiesOf<H::Uses>,
    over: Option<Ended>,
}

impl<H: Hooks> Layer<H> {
    /// Calls a hook at an association. An association that has ended is skipped.
    #[inline(always)]
    pub(super) fn at<O: Outlet<Self>, R>(
        &mut self,
        cx: &Context,
        name: Handle,
        out: &mut O,
        hook: impl FnOnce(&mut H, &mut At<'_, H, O>) -> R,
    ) -> Option<R> {
        self.at_arrival(cx, name, Default::default(), out, hook)
    }

    /// Calls a hook at an association, for a message that came with these properties.
    #[inline(always)]
    pub(super) fn at_arrival<O: Outlet<Self>, R>(
        &mut self,
        cx: &Context,
        name: Handle,
        arrived: PropertiesOf<H::Uses>,
        out: &mut O,
        hook: impl FnOnce(&mut H, &mut At<'_, H, O>) -> R,
    ) -> Option<R> {
        let Layer { hooks, base, lowers, due, .. } = self;
        let (link, timers) = base.with_timers(name)?;
        let mut at = At { cx, name, link, timers, lowers, due, out, arrived, over: None };
        let said = hook(hooks, &mut at);
        if let Some(why) = at.over {
            self.end(name, why, out);
        }
        Some(said)
    }
}

impl<H: Hooks, O> At<'_, H, O> {
    /// Adds credit of the layer above: it takes that much more.
    pub(super) fn takes_more(&mut self, credit: Credit) {
        self.link.up += credit;
    }

    /// Counts what the layer above sends.
    #[inline(always)]
    pub(super) fn taken(&mut self, sent: Credit, hooks: &H) {
        if self.link.down.covers(sent) {
            self.link.down -= sent;
        } else {
            self.uses_up(sent, charged::<H::Provides>(hooks.first_room()));
        }
    }

    /// Counts a message that is longer than all of the credit, which is there.
    #[cold]
    #[inline(never)]
    fn uses_up(&mut self, sent: Credit, all: Credit) {
        let down = &mut self.link.down;
        assert!(sent.messages == 1 && down.covers(all), "a Send keeps within the room");
        self.link.owed = sent.octets - down.octets;
        *down -= Credit { octets: down.octets, messages: 1 };
    }

    /// Returns whether the association has ended when the hook returns.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Returns whether it was due. From now on it is not.
    pub(super) fn was_due(&mut self) -> bool {
        mem::take(&mut self.link.due)
    }

    /// Returns whether it waited for credit below. From now on it does not.
    pub(super) fn wanted_room(&mut self) -> bool {
        mem::take(&mut self.link.wants_room)
    }
}

impl<H: Hooks, O: Outlet<Layer<H>>> At<'_, H, O> {
    /// Sends a message of the protocol's own that has its header already.
    #[inline(always)]
    fn send_closed(&mut self, message: MessageOf<H>) {
        let Link { lower, bears, .. } = *self.link;
        if let Err(message) = self.lowers.send(lower, message.into(), bears, self.out) {
            self.lowers.queue(self.cx, lower, message, bears, None);
        }
    }
}

impl<H: Hooks, O: Outlet<Layer<H>>> Place<H> for At<'_, H, O> {
    #[inline(always)]
    fn association(&mut self) -> &mut H::Association {
        &mut self.link.own
    }

    #[inline(always)]
    fn cx(&self) -> &Context {
        self.cx
    }

    fn remote(&self) -> Participant {
        self.link.remote
    }

    fn below(&mut self) -> Option<(Participant, PathLimits)> {
        let below = self.lowers.association(self.link.lower)?;
        Some((below.local?, below.path))
    }

    #[cold]
    fn opened(&mut self) {
        let Some(below) = self.lowers.association(self.link.lower) else { return };
        let (Some(local), None) = (below.local, self.over) else { return };
        let path = H::path(&self.link.own, below.path);
        let [local, remote] = H::ends(&self.link.own, [local, self.link.remote]);
        self.link.awaited = None;
        for (association, credit) in mem::take(&mut self.link.unopened) {
            self.out.indicate(AssociationIndication::Opened {
                association,
                local,
                remote,
                credit,
                path,
            });
        }
    }

    #[cold]
    fn add_first_room(&mut self, credit: Credit) {
        let credit = charged::<H::Provides>(credit);
        for (_, first) in &mut self.link.unopened {
            *first += credit;
            self.link.down += credit;
        }
    }

    fn send(&mut self, header: &H::Header, mut message: MessageOf<H>) {
        header.close(&mut message);
        self.send_closed(message);
    }

    #[inline]
    fn send_batch(&mut self, messages: Batch<MessageOf<H>>) {
        let Link { lower, bears, .. } = *self.link;
        if let Err(messages) = self.lowers.send(lower, messages, bears, self.out) {
            messages.into_iter().for_each(|message| self.send_closed(message));
        }
    }

    #[inline(always)]
    fn arrived(&self) -> PropertiesOf<H::Uses> {
        self.arrived
    }

    #[inline]
    fn bear(&mut self, properties: PropertiesOf<H::Uses>) {
        self.link.bears = properties;
    }

    #[inline(always)]
    fn forward(&mut self, header: &H::Header, mut message: MessageOf<H>) {
        let credit = Credit { octets: message.len(), messages: usize::from(H::Provides::MESSAGES) };
        header.close(&mut message);
        let Link { lower, bears, .. } = *self.link;
        match self.lowers.send(lower, message.into(), bears, self.out) {
            Ok(()) => self.give_room(credit),
            Err(message) => {
                self.lowers.queue(self.cx, lower, message, bears, Some((self.name, credit)));
            }
        }
    }

    #[inline(always)]
    fn deliver(&mut self, message: MessageOf<H>, properties: PropertiesOf<H::Provides>) {
        let batch = Batch::from(message);
        let cost = H::Provides::cost(&batch);
        if !self.link.up.covers(cost) {
            return self.cx.dropped(H::FACTS.name, "a message for which there is no room");
        }
        self.link.up -= cost;
        self.out.indicate(AssociationIndication::Delivered {
            association: self.name,
            batch,
            properties,
        });
    }

    fn deliver_batch(
        &mut self,
        messages: Batch<MessageOf<H>>,
        mut properties: PropertiesOf<H::Provides>,
    ) {
        let cost = H::Provides::cost(&messages);
        if !self.link.up.covers(cost) {
            for message in messages {
                self.deliver(message, properties);
                properties = H::Provides::of_next(properties);
            }
            return;
        }
        self.link.up -= cost;
        self.out.indicate(AssociationIndication::Delivered {
            association: self.name,
            batch: messages,
            properties,
        });
    }

    fn room(&self) -> Credit {
        self.link.up
    }

    #[inline(always)]
    fn give_room(&mut self, credit: Credit) {
        let credit = charged::<H::Provides>(credit);
        // An empty batch of a stream costs nothing.
        if H::Provides::MESSAGES || credit != Credit::NONE {
            self.link.give(self.name, credit, self.out);
        }
    }

    fn room_below(&self) -> Credit {
        self.lowers.room(self.link.lower)
    }

    fn room_below_most(&self) -> Credit {
        self.lowers.room_most(self.link.lower)
    }

    fn wants_room(&mut self) {
        if !mem::replace(&mut self.link.wants_room, true)
            && let Some(below) = self.lowers.association(self.link.lower)
        {
            below.wanting.push::<H>(self.name, &self.link.own);
        }
    }

    fn later(&mut self) {
        if !mem::replace(&mut self.link.due, true) {
            self.due.push::<H>(self.name, &self.link.own);
        }
    }

    fn wake(&mut self, timer: H::Timer, at: Instant) {
        self.timers.schedule(timer, at);
    }

    fn cancel(&mut self, timer: H::Timer) {
        self.timers.cancel(timer);
    }

    #[cold]
    fn report(&mut self, by: Participant, what: Trouble, quoted: [u8; 8]) {
        if self.link.unopened.is_empty() {
            let association = self.name;
            self.out.indicate(AssociationIndication::Reported { association, by, what, quoted });
        }
    }

    #[cold]
    fn controlled(&mut self, outcome: Result<u32, CommandError>) {
        self.out.indicate(AssociationIndication::Controlled { association: self.name, outcome });
    }

    #[cold]
    fn finished(&mut self) {
        self.out.indicate(AssociationIndication::Finished { association: self.name });
    }

    fn finish_below(&mut self) {
        self.lowers.finish(self.link.lower, self.out);
    }

    fn end(&mut self, why: Ended) {
        self.over = Some(why);
    }
}
