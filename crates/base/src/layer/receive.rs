//! From below, upward: arrivals, messages, ends.

use alloc::vec::Vec;

use stackwright_contract::services::{
    AssociationIndication, Batch, Credit, Ended, PropertiesOf, Transfer as _,
};
use stackwright_contract::{
    Context, Duration, Handle, Outlet, Participant, Party, PathLimits, Trouble,
};
use stackwright_wire::Message as _;

use super::strangers::STRANGE_LEAST;
use super::{Arrival, Envelope as _, Hooks, Layer, ListenKey, MessageOf, Origin, Unexpected};
use crate::opening::Enabled as _;

/// Why a message is dropped whose header cannot be read.
pub(super) const UNREADABLE: &str = "a header that cannot be read";

/// The octets that a refusal may have in any case, even if it answers less.
const REFUSAL_MOST: usize = 64;

impl<H: Hooks> Layer<H> {
    #[cold]
    pub(super) fn listening_below(
        &mut self,
        lower: Handle,
        local: Participant,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(listener) = self.lowers.listener(lower) else { return };
        listener.local = Some(local);
        for key in &listener.enabled {
            let Some(enabled) = self.base.enabled().get_mut(&(lower, key.clone())) else {
                continue;
            };
            let local = H::listens_at(key, local);
            for name in enabled.iter() {
                out.indicate(AssociationIndication::Listening { listener: *name, local });
            }
        }
    }

    #[cold]
    pub(super) fn opened_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        local: Participant,
        remote: Participant,
        (path, credit): (PathLimits, Credit),
        out: &mut impl Outlet<Self>,
    ) {
        // Its first message tells for which listener it comes.
        if let Some(listener) = self.lowers.names.waits_at(lower) {
            self.lowers.arrived(lower, remote, local, path, credit);
            return self.lowers.await_below(listener, out);
        }
        if !self.lowers.opened(lower, local, path, credit) {
            return;
        }
        for name in self.carried(lower) {
            if let Some(link) = self.base.get_mut(name) {
                link.remote = remote;
            }
            self.opens(cx, name, out);
        }
        // Messages that were sent, and names that waited for credit, before it was open.
        self.more_room_below(cx, lower, Credit::default(), out);
    }

    /// Handles a change of the path below: every association on it that the layer above knows to be
    /// open is told.
    #[cold]
    pub(super) fn changed_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        below: PathLimits,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(association) = self.lowers.association(lower) else { return };
        association.path = below;
        for name in self.carried(lower) {
            let open = self.base.get(name).filter(|link| link.unopened.is_empty());
            if let Some(link) = open {
                let path = H::path(&link.own, below);
                out.indicate(AssociationIndication::Changed { association: name, path });
            }
            self.at(cx, name, out, |hooks, at| hooks.changed(at, below));
        }
    }

    /// Handles a report of trouble on the path below: it is for the association that the quoted
    /// octets name, or for all on that path where they name none.
    #[cold]
    pub(super) fn reported_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        (by, what): (Participant, Trouble),
        quoted: [u8; 8],
        out: &mut impl Outlet<Self>,
    ) {
        let meant = match H::quoted(&quoted) {
            Some(key) => self.base.find(&(Self::key_scope(lower), key)).into_iter().collect(),
            None => self.carried(lower),
        };
        for name in meant {
            self.at(cx, name, out, |hooks, at| hooks.reported(at, by, what, &quoted));
        }
    }

    #[inline]
    pub(super) fn more_room_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        credit: Credit,
        out: &mut impl Outlet<Self>,
    ) {
        let Layer { base, lowers, .. } = self;
        let wanted = lowers.more_room(lower, credit, out, |name, credit, out| {
            if let Some(link) = base.get_mut(name) {
                link.give(name, credit, out);
            }
        });
        if wanted {
            self.room_came(cx, lower, out);
        }
    }

    /// Calls the associations that wait for credit below, in the order of their turns. One for
    /// which none is left comes first the next time. Behind one that sends only when the batch is
    /// done, the others wait until then: what it leaves is theirs.
    #[cold]
    pub(super) fn room_came(&mut self, cx: &Context, lower: Handle, out: &mut impl Outlet<Self>) {
        // An association that asks from now on waits for the next credit.
        let wanting = self.lowers.association(lower).map_or(0, |below| below.wanting.len());
        for _ in 0..wanting {
            let next = self.lowers.association(lower).and_then(|below| below.next_wanting());
            let Some(name) = next else { return };
            self.at(cx, self.living(name), out, |hooks, at| {
                if at.wanted_room() {
                    hooks.room_came(at);
                }
            });
            if self.base.get(name).is_some_and(|link| link.due) {
                let others = self.lowers.association(lower).map(|below| !below.wanting.is_empty());
                if others == Some(true) {
                    self.woken.push(lower);
                }
                return;
            }
        }
    }

    #[inline]
    pub(super) fn pop(
        &mut self,
        cx: &Context,
        lower: Handle,
        message: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Uses>,
        out: &mut impl Outlet<Self>,
    ) {
        let credit = H::Uses::cost(&message);
        let mut message = message.into_octets();
        match H::Header::open(&mut message) {
            Ok(header) => self.lead(cx, lower, header, message, properties, out),
            Err(_) => cx.dropped(H::FACTS.name, UNREADABLE),
        }
        // The messages have been handled: their credit is given back.
        if let Some(association) = self.lowers.association(lower) {
            let is_used = !association.users.is_empty();
            association.delivered(lower, credit, out);
            if !is_used {
                self.lowers.look_whether_used(lower);
            }
        }
    }

    /// Passes a message to its association.
    #[inline(always)]
    fn lead(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: H::Header,
        mut message: MessageOf<H>,
        properties: PropertiesOf<H::Uses>,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(name) = self.whose(cx, lower, &header, &mut message, out) else { return };
        self.at_arrival(cx, name, properties, out, |hooks, at| {
            hooks.pop(at, header, message);
            hooks.popped(at);
        });
    }

    /// Returns the association of a message; `None` if there is none, and the message has been
    /// dealt with.
    #[inline(always)]
    pub(super) fn whose(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) -> Option<Handle> {
        if let Some(name) = H::named(header) {
            return match self.is_at(lower, name) {
                true => Some(name),
                false => self.arrive(cx, lower, header, message, out),
            };
        }
        match self.base.find(&(Self::key_scope(lower), H::key(header))) {
            Some(name) => {
                if H::KEY_ALONE {
                    self.roam(name, lower, header);
                }
                Some(name)
            }
            None => self.arrive(cx, lower, header, message, out),
        }
    }

    /// Returns whether a name is that of an association on this one below.
    #[inline]
    fn is_at(&self, lower: Handle, name: Handle) -> bool {
        self.base.get(name).is_some_and(|link| link.lower == lower)
    }

    /// Handles a message that may come from another peer than the association's own: the protocol
    /// decides whether the association moves there.
    fn roam(&mut self, name: Handle, lower: Handle, header: &H::Header) {
        let Layer { hooks, base, lowers, .. } = self;
        let (Some(link), Some(below)) = (base.get_mut(name), lowers.association(lower)) else {
            return;
        };
        // One that waits for its own association below hears of that first.
        let moves = link.lower != lower && link.unopened.is_empty();
        if moves && hooks.follows(&mut link.own, below.remote, header) {
            self.relocate(name, lower);
        }
    }

    /// Handles the first message of a peer: the association gets a name, if one waits and the
    /// protocol accepts the peer. Otherwise the message is dealt with.
    #[cold]
    #[inline(never)]
    fn arrive(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) -> Option<Handle> {
        if let Some(whose) = self.claim(cx, lower, header, message, out) {
            return whose;
        }
        let Some((listen_key, ends, waits)) = self.expected(lower, header) else {
            self.refuse_arrival(cx, lower, header, message, Unexpected::NoListener, out);
            return None;
        };
        // Where nobody gives way, the sender is told that it is not expected.
        if !waits && !self.has_strangers() {
            self.refuse_arrival(cx, lower, header, message, Unexpected::NoName, out);
            return None;
        }
        let (_, remote) = ends;
        let displaces = match self.hooks.arrival(cx, ends, header, message) {
            Arrival::Welcome => false,
            Arrival::Displaces => true,
            Arrival::Ignored(reason) => {
                cx.dropped(H::FACTS.name, reason);
                return None;
            }
            Arrival::Answered(answer) => {
                self.answer(cx, lower, answer, out);
                return None;
            }
        };
        if !waits {
            self.displace(cx, STRANGE_LEAST, out);
            cx.dropped(H::FACTS.name, "a message for which no name waits yet");
            return None;
        }
        if displaces {
            self.displace(cx, Duration::ZERO, out);
        }
        let listeners = self.base.enabled().get_mut(&listen_key)?;
        let (name, listener, credit) = self.arrivals.arrive_at_any(listeners)?;
        if let Some(below) = self.lowers.listener(listen_key.0) {
            below.wanted -= 1;
        }
        let key = H::key(header);
        let mut link = self.link(cx, name, &key, (lower, remote), Origin::Arrived, credit);
        link.awaited = Some((listener, credit));
        if let Err(why) = self.install(name, key, link) {
            Self::refuse(cx, name, why, "an arrival whose key is taken", out);
            return None;
        }
        if let Some(below) = self.lowers.association(lower) {
            below.uses(name);
        }
        self.enter_stranger(name, cx.now());
        self.at(cx, name, out, |hooks, at| hooks.arrived(at));
        Some(name)
    }

    /// Handles a message for which there is no association, and no name waits: its sender is told,
    /// if the protocol can say so.
    fn refuse_arrival(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        why: Unexpected,
        out: &mut impl Outlet<Self>,
    ) {
        cx.dropped(H::FACTS.name, "a message for which nobody is here");
        let longest = message.len().max(REFUSAL_MOST);
        let Some(below) = self.lowers.association(lower) else { return };
        let ends = (below.local.unwrap_or(below.remote), below.remote);
        let Some(answer) = self.hooks.refuse(cx, ends, header, message, why) else { return };
        if answer.len() > longest {
            return cx.dropped(H::FACTS.name, "a refusal that is longer than what called it forth");
        }
        self.answer(cx, lower, answer, out);
    }

    /// Sends an answer to a message of no association. It does not wait for credit: unknown peers
    /// could fill memory with answers.
    pub(super) fn answer(
        &mut self,
        cx: &Context,
        lower: Handle,
        answer: MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) {
        if self.lowers.send(lower, answer.into(), H::answers_bear(), out).is_err() {
            cx.dropped(H::FACTS.name, "an answer for which there is no room below");
        }
    }

    /// Handles that the layer below delivers no more: every association on it is told.
    #[cold]
    pub(super) fn finished_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        out: &mut impl Outlet<Self>,
    ) {
        for name in self.carried(lower) {
            self.at(cx, name, out, |hooks, at| hooks.finished_below(at));
        }
    }

    /// Returns the associations that use one below.
    fn carried(&mut self, lower: Handle) -> Vec<Handle> {
        self.lowers.association(lower).map(|below| below.users.clone()).unwrap_or_default()
    }

    /// Returns the enable object that expects this message; its own address and its peer's; and
    /// whether a name waits there.
    fn expected(
        &mut self,
        lower: Handle,
        header: &H::Header,
    ) -> Option<(ListenKey<H>, (Participant, Participant), bool)> {
        let asked = H::passive_key(header);
        let below = self.lowers.association(lower)?;
        let (local, remote, came) = (below.local?, below.remote, below.listener);
        // It came through one listener, or none where we opened it: any listener there for that key
        // takes what arrives on it.
        let listener = came
            .filter(|listener| self.lowers.is_listener_of(*listener, &asked))
            .or_else(|| self.lowers.listener_of(&asked, local))?;
        let listen_key = (listener, asked);
        let listeners = self.base.enabled().get_mut(&listen_key)?;
        let waits = listeners.iter().any(|listener| self.arrivals.awaited(*listener) > 0);
        Some((listen_key, (local, remote), waits))
    }

    #[cold]
    pub(super) fn ended_below(
        &mut self,
        cx: &Context,
        lower: Handle,
        why: Ended,
        out: &mut impl Outlet<Self>,
    ) {
        match self.lowers.names.forget(lower) {
            Some(Party::Open(())) => {
                let below = self.lowers.forget(lower);
                for name in below.map(|below| below.users).unwrap_or_default() {
                    // What was reset before it was open was refused.
                    let is_open = self.base.get(name).is_some_and(|link| link.unopened.is_empty());
                    let why = match why {
                        Ended::Reset(code) if !is_open => Ended::Refused(code),
                        why => why,
                    };
                    self.end(name, why, out);
                }
            }
            Some(Party::Awaited(_)) => {}
            Some(Party::Listener(listener)) => {
                for key in listener.enabled {
                    let Some(enabled) = self.base.enabled().disable_all(&(lower, key)) else {
                        continue;
                    };
                    for listener in enabled {
                        self.arrivals.end(listener, why).for_each(|word| out.indicate(word));
                    }
                }
            }
            None => cx.dropped(H::FACTS.name, "a word for a name that has ended"),
        }
    }
}
