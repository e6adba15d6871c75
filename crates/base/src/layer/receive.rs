//! From below, upward: arrivals, messages, ends.

use alloc::vec::Vec;

use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Ended, Room};
use stackwright_contract::{Context, Handle, Outlet, Participant};
use stackwright_wire::Message;

use super::lower::Lower;
use super::{Awaiting, Hooks, Layer, MessageOf};
use crate::opening::Enabled as _;

impl<H: Hooks> Layer<H> {
    #[cold]
    pub(super) fn listening_below(&mut self, lower: Handle, local: Participant, out: &mut impl Outlet<Self>) {
        let Some(door) = self.lowers.door(lower) else { return };
        door.local = Some(local);
        for key in &door.enabled {
            let Some(enabled) = self.base.enabled().get_mut(&(lower, key.clone())) else { continue };
            for listener in &enabled.names {
                out.indicate(DatagramsIndication::Listening { listener: *listener, local });
            }
        }
    }

    #[cold]
    pub(super) fn opened_below(
        &mut self,
        lower: Handle,
        local: Participant,
        remote: Participant,
        room: Room,
        out: &mut impl Outlet<Self>,
    ) {
        match self.lowers.names.get(lower) {
            Some(Lower::Association) => {
                let Some(association) = self.lowers.association(lower) else { return };
                for association in association.opened(local, room) {
                    out.indicate(DatagramsIndication::Opened { association, local, remote, room: H::ROOM });
                }
            }
            // For whom he comes, his first message tells.
            Some(Lower::Awaited { door }) => {
                let door = *door;
                self.lowers.arrived(lower, remote, local, room);
                if let Some(door) = self.lowers.door(door) {
                    door.awaited -= 1;
                }
                self.lowers.await_below(door, out);
            }
            _ => {}
        }
    }

    #[inline]
    pub(super) fn more_room_below(&mut self, lower: Handle, room: Room, out: &mut impl Outlet<Self>) {
        let Layer { base, lowers, .. } = self;
        lowers.more_room(lower, room, out, |name, room, out| {
            if let Some(link) = base.get_mut(name) {
                link.give(name, room, out);
            }
        });
    }

    #[inline]
    pub(super) fn pop(
        &mut self,
        cx: &Context,
        lower: Handle,
        mut message: MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) {
        // What came is handled before this returns: the room is free again.
        let room = Room { octets: message.len(), messages: 1 };
        match message.pull::<H::Header>() {
            Ok(header) => self.lead(cx, lower, header, message, out),
            Err(_) => cx.dropped(H::FACTS.name, "a header that cannot be read"),
        }
        match self.lowers.association(lower) {
            Some(association) if association.users == 0 => self.lowers.close_unused(lower, out),
            Some(_) => out.request(DatagramsRequest::Receive { association: lower, room }),
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
        message: MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) {
        let name = match self.base.find(&(lower, H::key(&header))) {
            Some(name) => name,
            None => match self.arrive(cx, lower, &header, out) {
                Some(name) => name,
                None => return cx.dropped(H::FACTS.name, "a message for which nobody is here"),
            },
        };
        self.at(cx, name, out, |hooks, at| hooks.pop(at, header, message));
    }

    /// The first message of somebody: he gets a name, where one waits.
    #[cold]
    #[inline(never)]
    fn arrive(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        out: &mut impl Outlet<Self>,
    ) -> Option<Handle> {
        let asked = H::passive_key(header);
        let below = self.lowers.association(lower)?;
        let (local, remote, door) = (below.local?, below.remote, below.door);
        // An association that we opened came through no listener: whoever listens for that key takes what arrives on it.
        let door = door.or_else(|| self.lowers.door_of(&asked))?;
        let enabled = self.base.enabled().get_mut(&(door, asked))?;
        let Awaiting { association: name, room, .. } = enabled.awaiting.pop_front()?;
        if let Some(door) = self.lowers.door(door) {
            door.wanted -= 1;
        }
        self.awaited.remove(name);
        if let Err(why) = self.install(cx, name, lower, H::key(header), room) {
            Self::refuse(cx, name, why, "an arrival whose key is taken", out);
            return None;
        }
        if let Some(below) = self.lowers.association(lower) {
            below.users += 1;
        }
        out.indicate(DatagramsIndication::Opened { association: name, local, remote, room: H::ROOM });
        Some(name)
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
                let carried: Vec<Handle> =
                    self.base.iter().filter(|(_, link)| link.lower == lower).map(|(name, _)| name).collect();
                for name in carried {
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
                    let Some(enabled) = self.base.enabled().disable_all(&(lower, key)) else { continue };
                    for Awaiting { association, .. } in enabled.awaiting {
                        self.awaited.remove(association);
                        out.indicate(DatagramsIndication::Ended { name: association, why });
                    }
                    for name in enabled.names {
                        self.listeners.remove(name);
                        out.indicate(DatagramsIndication::Ended { name, why });
                    }
                }
            }
            None => cx.dropped(H::FACTS.name, "a word for a name that has ended"),
        }
    }
}
