//! From above, downward: openings, listeners, messages, closing.
//!
//! Whatever happens once per association is marked as cold: out of line, it stays off the fast path
//! of the messages.

use alloc::vec::Vec;

use stackwright_contract::services::{
    AssociationIndication, Batch, Code, Credit, Ended, PropertiesOf, Transfer as _,
};
use stackwright_contract::{Context, Handle, Outlet, Participant};

use super::{Below, Hooks, Layer, Link, ListenKey, MessageOf, Origin, Place as _, charged};
use crate::features::{Opening, Session};
use crate::opening::Enabled as _;
use crate::session::Removed;

/// Why a request is dropped whose association has ended.
pub(super) const OVER: &str = "a word for an association that is over";

impl<H: Hooks> Layer<H> {
    #[cold]
    pub(super) fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: Credit,
        out: &mut impl Outlet<Self>,
    ) {
        self.hear(out);
        if Self::SELECTION.opening == Opening::Absent {
            return Self::refuse(cx, name, Ended::Unavailable, "open: `opening` is Absent", out);
        }
        let Below { local, remote, key } = match self.hooks.open(cx, name, local, remote) {
            Ok(below) => below,
            Err(why) => return Self::refuse(cx, name, why, "open: the protocol refuses it", out),
        };
        let ends = (local, remote);
        // Names that are not distinguished share the one endpoint, and with it the association
        // below.
        let shared = match Self::SELECTION.session {
            Session::Absent => self.base.iter().next().map(|(_, link)| link.lower),
            Session::Present(_) => None,
        };
        let (lower, key) = match shared {
            Some(lower) if self.lowers.join(lower, name) => (lower, key),
            _ => match self.free_key(ends, key.clone()) {
                Some(key) => (self.lowers.share(ends, name, out), key),
                None if H::SPREADS => (self.lowers.open(ends, name, out), key),
                // It is refused below.
                None => (self.lowers.share(ends, name, out), key),
            },
        };
        let link = self.link(cx, name, &key, (lower, remote), Origin::Asked, credit);
        if let Err(why) = self.install(name, key, link) {
            self.lowers.release(lower, name);
            return Self::refuse(
                cx,
                name,
                why,
                "open: an association of that key is there already",
                out,
            );
        }
        // If the association below is open already, this one can send.
        if self.lowers.association(lower).is_some_and(|below| below.local.is_some()) {
            self.opens(cx, name, out);
        }
    }

    /// Hears strangers, where the protocol does, from the first time on.
    fn hear(&mut self, out: &mut impl Outlet<Self>) {
        if let Some(at) = H::hears()
            && !core::mem::replace(&mut self.hears, true)
        {
            self.lowers.hear(at, out);
        }
    }

    /// Returns a key that is free on the association below that is shared between `ends`.
    fn free_key(
        &mut self,
        ends: (Option<Participant>, Participant),
        key: H::Key,
    ) -> Option<H::Key> {
        let Layer { base, hooks, lowers, .. } = self;
        match lowers.shared(ends) {
            Some(lower) if matches!(Self::SELECTION.session, Session::Present(_)) => {
                let scope = Self::key_scope(lower);
                hooks.free_key(key, |key| base.find(&(scope, key.clone())).is_some())
            }
            _ => Some(key),
        }
    }

    /// Begins an association that this side opened and that can send below.
    pub(super) fn opens(&mut self, cx: &Context, name: Handle, out: &mut impl Outlet<Self>) {
        self.at(cx, name, out, |hooks, at| {
            if hooks.opened(at) {
                at.opened();
            }
        });
    }

    pub(super) fn link(
        &mut self,
        cx: &Context,
        name: Handle,
        key: &H::Key,
        (lower, remote): (Handle, Participant),
        origin: Origin,
        up: Credit,
    ) -> Link<H> {
        let own = self.hooks.create(cx, name, key, remote, origin, up);
        let down = charged::<H::Provides>(self.hooks.first_room());
        Link {
            lower,
            remote,
            up,
            down,
            owed: 0,
            unopened: Vec::new(),
            awaited: None,
            due: false,
            wants_room: false,
            bears: Default::default(),
            own,
        }
    }

    pub(super) fn install(
        &mut self,
        name: Handle,
        key: H::Key,
        link: Link<H>,
    ) -> Result<(), Ended> {
        let (lower, first) = (link.lower, link.down);
        let key = (Self::key_scope(lower), key);
        if matches!(Self::SELECTION.session, Session::Present(_)) && self.base.find(&key).is_some()
        {
            self.hooks.gone(link.own);
            return Err(Ended::Unavailable);
        }
        let not_needed = self.base.install(name, key, link).map_err(|_| Ended::Unavailable)?;
        let joined = not_needed.is_some();
        if let Some(link) = not_needed {
            self.hooks.gone(link.own);
        }
        if let Some(link) = self.base.get_mut(name) {
            if joined {
                // A name that joins an endpoint has credit of its own.
                link.down += first;
            }
            link.unopened.push((name, first));
        }
        Ok(())
    }

    #[cold]
    pub(super) fn listen(
        &mut self,
        cx: &Context,
        listener: Handle,
        local: Participant,
        out: &mut impl Outlet<Self>,
    ) {
        if Self::SELECTION.opening != Opening::ActivePassive {
            return Self::refuse(
                cx,
                listener,
                Ended::Unavailable,
                "listen: `opening` is not ActivePassive",
                out,
            );
        }
        self.hear(out);
        let Layer { hooks, lowers, .. } = self;
        let (local, key) = match hooks.listen(cx, local, |at, key| lowers.is_taken(at, key)) {
            Ok(place) => place,
            Err(why) => {
                return Self::refuse(cx, listener, why, "listen: the protocol refuses it", out);
            }
        };
        let listen_key = (self.lowers.listen(local, key.clone(), out), key);
        let enabled = self.base.enabled().enable(listen_key.clone(), Vec::new);
        let Some(enabled) = enabled else { unreachable!("ActivePassive has enable objects") };
        enabled.push(listener);
        let name = listen_key.0;
        let local = self.lowers.listener(name).and_then(|below| below.local);
        let local = local.map(|local| H::listens_at(&listen_key.1, local));
        self.arrivals.listen(listener, listen_key);
        if let Some(local) = local {
            out.indicate(AssociationIndication::Listening { listener, local });
        }
        if H::REFUSES || H::KEY_ALONE {
            self.lowers.await_below(name, out);
        }
    }

    #[cold]
    pub(super) fn expect(
        &mut self,
        cx: &Context,
        listener: Handle,
        association: Handle,
        credit: Credit,
        out: &mut impl Outlet<Self>,
    ) {
        if self.arrivals.listener(listener).is_none() {
            cx.dropped(H::FACTS.name, "await: no such listener");
        }
        self.await_name(listener, association, credit, out);
    }

    /// Lets a name wait at a listener, for the first time or again.
    fn await_name(
        &mut self,
        listener: Handle,
        name: Handle,
        credit: Credit,
        out: &mut impl Outlet<Self>,
    ) {
        if let Some(word) = self.arrivals.expect(listener, name, credit) {
            return out.indicate(word); // nobody listens any more
        }
        let Some(&(lower, _)) = self.arrivals.listener(listener) else { return };
        if let Some(below) = self.lowers.listener(lower) {
            below.wanted += 1;
        }
        self.lowers.await_below(lower, out);
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        cx: &Context,
        name: Handle,
        message: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Provides>,
        out: &mut impl Outlet<Self>,
    ) {
        let pushed = self.at(cx, name, out, |hooks, at| {
            at.taken(H::Provides::cost(&message), hooks);
            hooks.push(at, message.into_octets(), properties);
        });
        if pushed.is_none() {
            cx.dropped(H::FACTS.name, OVER);
        }
    }

    /// Handles several messages; one by one if the protocol does not take them together.
    #[inline(never)]
    pub(super) fn push_batch(
        &mut self,
        cx: &Context,
        name: Handle,
        messages: Batch<MessageOf<H>>,
        mut properties: PropertiesOf<H::Provides>,
        out: &mut impl Outlet<Self>,
    ) {
        let credit = H::Provides::cost(&messages);
        let pushed = self.at(cx, name, out, |hooks, at| {
            hooks.push_batch(at, messages, properties).map(|()| at.taken(credit, hooks))
        });
        match pushed {
            Some(Ok(())) => {}
            Some(Err(messages)) => {
                for message in messages {
                    self.push(cx, name, message.into(), properties, out);
                    properties = H::Provides::of_next(properties);
                }
            }
            None => (0..credit.messages).for_each(|_| cx.dropped(H::FACTS.name, OVER)),
        }
    }

    #[inline]
    pub(super) fn more_room_above(
        &mut self,
        cx: &Context,
        name: Handle,
        credit: Credit,
        out: &mut impl Outlet<Self>,
    ) {
        self.at(cx, name, out, |hooks, at| {
            at.takes_more(credit);
            hooks.room(at);
        });
    }

    #[cold]
    pub(super) fn close(&mut self, cx: &Context, name: Handle, out: &mut impl Outlet<Self>) {
        if self.close_listening(name, out) {
            return;
        }
        self.waits_no_more(name);
        match self.at(cx, name, out, |hooks, at| hooks.close(at)) {
            None => cx.dropped(H::FACTS.name, OVER),
            Some(true) => self.end(name, Ended::Finished, out),
            Some(false) => {} // the protocol ends it later
        }
    }

    #[cold]
    pub(super) fn abort(
        &mut self,
        cx: &Context,
        name: Handle,
        code: Code,
        out: &mut impl Outlet<Self>,
    ) {
        if self.close_listening(name, out) {
            return;
        }
        self.waits_no_more(name);
        match self.at(cx, name, out, |hooks, at| hooks.abort(at, code)) {
            None => cx.dropped(H::FACTS.name, OVER),
            Some(true) => self.end(name, Ended::Aborted, out),
            Some(false) => {} // the protocol ends it later
        }
    }

    #[cold]
    pub(super) fn finish(&mut self, cx: &Context, name: Handle, out: &mut impl Outlet<Self>) {
        if self.at(cx, name, out, |hooks, at| hooks.finish(at)).is_none() {
            cx.dropped(H::FACTS.name, OVER);
        }
    }

    /// Ends the name of a listener, or one that waits for an arrival. Returns `false` if it is
    /// neither.
    fn close_listening(&mut self, name: Handle, out: &mut impl Outlet<Self>) -> bool {
        let listener = self.arrivals.waits_at(name).unwrap_or(name);
        let Some(listen_key) = self.arrivals.listener(listener).cloned() else { return false };
        let gone = if listener == name { self.arrivals.awaited(name) } else { 1 };
        if let Some(below) = self.lowers.listener(listen_key.0) {
            below.wanted -= gone;
        }
        for word in self.arrivals.end(name, Ended::Finished) {
            // Of those that end with a listener, it is the last.
            if word.name() == listener {
                self.disable(listener, &listen_key, out);
            }
            out.indicate(word);
        }
        true
    }

    /// Removes a listener from its enable object, which goes with the last.
    fn disable(
        &mut self,
        listener: Handle,
        listen_key: &ListenKey<H>,
        out: &mut impl Outlet<Self>,
    ) {
        if let Some(enabled) = self.base.enabled().get_mut(listen_key) {
            enabled.retain(|name| *name != listener);
        }
        if self.base.enabled().disable(listen_key).is_some() {
            self.lowers.unlisten(listen_key, out);
        }
    }

    /// Records that the layer above gives up a name: it does not wait for another arrival.
    fn waits_no_more(&mut self, name: Handle) {
        if let Some(link) = self.base.get_mut(name) {
            link.awaited = None;
        }
    }

    /// Ends an association, and tells the layer above; of one that it was not told to have arrived,
    /// the name waits again for another.
    #[cold]
    pub(super) fn end(&mut self, name: Handle, why: Ended, out: &mut impl Outlet<Self>) {
        let Some(link) = self.base.get_mut(name) else { return };
        let (lower, awaited) = (link.lower, link.awaited);
        link.unopened.retain(|(waits, _)| *waits != name);
        if let Removed::Last(link) = self.base.close(name) {
            if link.wants_room
                && let Some(below) = self.lowers.association(lower)
            {
                below.wanting.remove(name);
            }
            self.hooks.gone(link.own);
        }
        self.lowers.release(lower, name);
        match awaited {
            Some((listener, credit)) => {
                self.strangers.retain(|(stranger, _)| *stranger != name);
                self.await_name(listener, name, credit, out);
            }
            None => out.indicate(AssociationIndication::Ended { name, why }),
        }
    }
}
