//! From below, upward: arrivals, messages, ends.

use alloc::vec::Vec;

use stackwright_contract::services::{
    AssociationIndication, Batch, Credit, Ended, PropertiesOf, Transfer as _,
};
use stackwright_contract::{Context, Handle, Outlet, Participant, PathLimits};
use stackwright_wire::Message as _;

use super::lower::Lower;
use super::{Arrival, Awaiting, Envelope as _, Hooks, Layer, MessageOf, Origin, Place as _, Spot};
use crate::opening::Enabled as _;

/// Why a message is dropped whose header says nothing.
pub(super) const UNREADABLE: &str = "a header that cannot be read";

/// A refusal may have so many octets, even where it answers less.
const REFUSAL_MOST: usize = 64;

impl<H: Hooks> Layer<H> {
    #[cold]
    pub(super) fn listening_below(
        &mut self,
        lower: Handle,
        local: Participant,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(door) = self.lowers.door(lower) else { return };
        door.local = Some(local);
        for key in &door.enabled {
            let Some(enabled) = self.base.enabled().get_mut(&(lower, key.clone())) else {
                continue;
            };
            for listener in &enabled.names {
                out.indicate(AssociationIndication::Listening { listener: *listener, local });
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
        match self.lowers.names.get(lower) {
            Some(Lower::Association) => {
                let Some(association) = self.lowers.association(lower) else { return };
                for name in association.opened(local, path, credit) {
                    if let Some(link) = self.base.get_mut(name) {
                        link.remote = remote;
                    }
                    self.opens(cx, name, out);
                }
                // What was sent, and who wanted room, before it was open.
                self.more_room_below(cx, lower, Credit::default(), out);
            }
            // For whom he comes, his first message tells.
            Some(Lower::Awaited { door }) => {
                let door = *door;
                self.lowers.arrived(lower, remote, local, path, credit);
                if let Some(door) = self.lowers.door(door) {
                    door.awaited -= 1;
                }
                self.lowers.await_below(door, out);
            }
            _ => {}
        }
    }

    /// The path below has changed: every association on it hears of it that the layer above knows
    /// to be open.
    #[cold]
    pub(super) fn changed_below(
        &mut self,
        lower: Handle,
        path: PathLimits,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(association) = self.lowers.association(lower) else { return };
        association.path = path;
        for (name, link) in self.base.iter().filter(|(_, link)| link.lower == lower) {
            if link.unopened.is_empty() {
                let path = H::path(&link.own, path);
                out.indicate(AssociationIndication::Changed { association: name, path });
            }
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

    /// Those that want room below hear of it, in the order in which they asked. For whom none is
    /// left, it is his turn next.
    #[cold]
    fn room_came(&mut self, cx: &Context, lower: Handle, out: &mut impl Outlet<Self>) {
        // Who asks from now on hears of the next room.
        let wanting = self.lowers.association(lower).map_or(0, |below| below.wanting.len());
        for _ in 0..wanting {
            let next = self.lowers.association(lower).and_then(|below| below.next_wanting());
            let Some(name) = next else { return };
            self.at(cx, self.living(name), out, |hooks, at| {
                if at.wanted_room() {
                    hooks.room_came(at);
                }
            });
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
        match self.lowers.association(lower) {
            Some(association) if association.users == 0 => self.lowers.close_unused(lower, out),
            // What came has been handled: the room is free again.
            Some(association) => association.delivered(lower, credit, out),
            None => {}
        }
    }

    /// A message goes to its association.
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

    /// Whose message that is. `None`: nobody's, and it has been dealt with.
    #[inline(always)]
    pub(super) fn whose(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) -> Option<Handle> {
        match self.base.find(&(Self::key_scope(lower), H::key(header))) {
            Some(name) => {
                if H::KEY_ALONE {
                    self.roam(name, lower, header, out);
                }
                Some(name)
            }
            None => self.arrive(cx, lower, header, message, out),
        }
    }

    /// A message for an association came from a peer that is not its own, perhaps: the protocol
    /// decides whether the association moves there.
    fn roam(
        &mut self,
        name: Handle,
        lower: Handle,
        header: &H::Header,
        out: &mut impl Outlet<Self>,
    ) {
        let Layer { hooks, base, lowers, .. } = self;
        let (Some(link), Some(below)) = (base.get_mut(name), lowers.association(lower)) else {
            return;
        };
        if link.lower == lower || !hooks.follows(&mut link.own, below.remote, header) {
            return;
        }
        let left = core::mem::replace(&mut link.lower, lower);
        link.remote = below.remote;
        below.users += 1;
        if link.wants_room {
            below.wanting.push_back(name);
        }
        if let Some(left) = lowers.association(left) {
            left.wanting.retain(|wants| *wants != name);
        }
        lowers.release(left, name, out);
    }

    /// The first message of somebody: he gets a name, where one waits and he is welcome. Otherwise
    /// it is dealt with.
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
        let Some((spot, remote)) = self.expected(lower, header) else {
            self.refuse_arrival(cx, lower, header, message, out);
            return None;
        };
        match self.hooks.arrival(cx, remote, header, message) {
            Arrival::Welcome => {}
            Arrival::Ignored(reason) => {
                cx.dropped(H::FACTS.name, reason);
                return None;
            }
            Arrival::Answered(answer) => {
                // It does not wait for room: strangers would fill memory with what is said to them.
                if self.lowers.send(lower, answer.into(), Default::default(), out).is_err() {
                    cx.dropped(H::FACTS.name, "an answer for which there is no room below");
                }
                return None;
            }
        }
        let Awaiting { association: name, credit, .. } =
            self.base.enabled().get_mut(&spot)?.awaiting.pop_front()?;
        if let Some(door) = self.lowers.door(spot.0) {
            door.wanted -= 1;
        }
        self.awaited.remove(name);
        let key = H::key(header);
        let link = self.link(cx, &key, lower, remote, Origin::Arrived, credit);
        if let Err(why) = self.install(name, key, link) {
            Self::refuse(cx, name, why, "an arrival whose key is taken", out);
            return None;
        }
        if let Some(below) = self.lowers.association(lower) {
            below.users += 1;
        }
        self.at(cx, name, out, |_, at| at.opened());
        Some(name)
    }

    /// A message for which no association is here, and no name waits: its sender is told so, where
    /// the protocol can.
    fn refuse_arrival(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) {
        cx.dropped(H::FACTS.name, "a message for which nobody is here");
        let longest = message.len().max(REFUSAL_MOST);
        let Some(remote) = self.lowers.association(lower).map(|below| below.remote) else { return };
        let Some(answer) = self.hooks.refuse(cx, remote, header, message) else { return };
        if answer.len() > longest {
            return cx.dropped(H::FACTS.name, "a refusal that is longer than what called it forth");
        }
        if self.lowers.send(lower, answer.into(), Default::default(), out).is_err() {
            cx.dropped(H::FACTS.name, "an answer for which there is no room below");
        }
    }

    /// The layer below will deliver no more. Every association on it is told.
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

    /// The associations that stand on one below.
    fn carried(&self, lower: Handle) -> Vec<Handle> {
        self.base.iter().filter(|(_, link)| link.lower == lower).map(|(name, _)| name).collect()
    }

    /// Where somebody listens for who comes so, and a name waits; and who he is.
    fn expected(&mut self, lower: Handle, header: &H::Header) -> Option<(Spot<H>, Participant)> {
        let asked = H::passive_key(header);
        let below = self.lowers.association(lower)?;
        let (remote, door) = (below.remote, below.door);
        below.local?;
        // An association that we opened came through no listener: whoever listens for that key
        // takes what arrives on it.
        let spot = (door.or_else(|| self.lowers.door_of(&asked))?, asked);
        let enabled = self.base.enabled().get_mut(&spot)?;
        (!enabled.awaiting.is_empty()).then_some((spot, remote))
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
            Some(Lower::Closing) => {}
            Some(Lower::Association) => {
                self.lowers.forget(lower);
                for name in self.carried(lower) {
                    // What was reset before it was open was refused.
                    let is_open = self.base.get(name).is_some_and(|link| link.unopened.is_empty());
                    let why = match why {
                        Ended::Reset(code) if !is_open => Ended::Refused(code),
                        why => why,
                    };
                    self.end(name, why, out);
                }
            }
            Some(Lower::Awaited { door }) => {
                if let Some(door) = self.lowers.door(door) {
                    door.awaited -= 1;
                }
            }
            Some(Lower::Door(door)) => {
                for key in door.enabled {
                    let Some(enabled) = self.base.enabled().disable_all(&(lower, key)) else {
                        continue;
                    };
                    for Awaiting { association, .. } in enabled.awaiting {
                        self.awaited.remove(association);
                        out.indicate(AssociationIndication::Ended { name: association, why });
                    }
                    for name in enabled.names {
                        self.listeners.remove(name);
                        out.indicate(AssociationIndication::Ended { name, why });
                    }
                }
            }
            None => cx.dropped(H::FACTS.name, "a word for a name that has ended"),
        }
    }
}
