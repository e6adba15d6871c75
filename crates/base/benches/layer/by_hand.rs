//! The protocol of `ports.rs` without a base: as one would write it, with the same map and the same tables.

use std::collections::VecDeque;

use stackwright_base::map::{Kind, Map};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Quality, Room};
use stackwright_contract::{Context, Facts, Handle, Mirror, Names, Outlet, Participant, Protocol};
use stackwright_wire::{Header, Message, SingleBuffer};

use crate::Maps;
use crate::ports::Label;

const FIRST: Room = Room { octets: 64 << 10, messages: 16 };
const BELOW: Room = Room { octets: 1 << 20, messages: 1024 };
/// How much of it is used before it is given back.
const GIVEN_BACK: Room = Room { octets: BELOW.octets / 4, messages: BELOW.messages / 4 };
const NAME: &str = "ports, by hand";

struct Association {
    lower: Handle,
    theirs: u16,
    ours: u16,
    up: Room,
    down: Room,
}

struct Lower {
    remote: Participant,
    open: bool,
    users: usize,
    waiting: Vec<Handle>,
    room: Room,
    used: Room,
    backlog: VecDeque<(Handle, SingleBuffer)>,
}

pub(crate) struct ByHand {
    next: u16,
    associations: Mirror<Association>,
    keys: <Maps as Kind>::Of<(Handle, (u16, u16)), Handle>,
    lowers: Names<Lower>,
}

impl Default for ByHand {
    fn default() -> Self {
        ByHand { next: 1024, associations: Mirror::default(), keys: Map::new(1), lowers: Names::default() }
    }
}

impl ByHand {
    fn open(&mut self, name: Handle, remote: Participant, up: Room, out: &mut impl Outlet<Self>) {
        let address = remote.internet().expect("an Internet address");
        let below = Participant::from(std::net::SocketAddr::new(address.ip(), 7));
        let there = self.lowers.iter().find(|(_, lower)| lower.remote == below).map(|(name, _)| name);
        let lower = there.unwrap_or_else(|| {
            let lower = Lower {
                remote: below,
                open: false,
                users: 0,
                waiting: Vec::new(),
                room: Room::default(),
                used: Room::default(),
                backlog: VecDeque::new(),
            };
            let association = self.lowers.name(lower);
            out.request(DatagramsRequest::Open { association, remote: below, room: BELOW });
            association
        });
        let state = self.lowers.get_mut(lower).expect("found or named above");
        state.users += 1;
        state.waiting.push(name);
        self.next += 1;
        let (theirs, ours) = (address.port(), self.next);
        self.keys.install((lower, (theirs, ours)), name);
        self.associations.insert(name, Association { lower, theirs, ours, up, down: FIRST });
    }

    #[inline]
    fn send(&mut self, cx: &Context, name: Handle, mut message: SingleBuffer, out: &mut impl Outlet<Self>) {
        let Some(association) = self.associations.get_mut(name) else {
            return cx.dropped(NAME, "a word for an association that is over");
        };
        let octets = message.len();
        assert!(
            octets <= association.down.octets && association.down.messages > 0,
            "a Send keeps within the room"
        );
        association.down.octets -= octets;
        association.down.messages -= 1;
        message.push(&Label { source: association.ours, destination: association.theirs });
        let Some(lower) = self.lowers.get_mut(association.lower) else { return };
        let length = message.len();
        if !lower.backlog.is_empty() || !lower.open || lower.room.octets < length || lower.room.messages == 0
        {
            return lower.backlog.push_back((name, message));
        }
        lower.room.octets -= length;
        lower.room.messages -= 1;
        out.request(DatagramsRequest::Send {
            association: association.lower,
            messages: message.into(),
            quality: Quality::default(),
        });
        association.down.octets += octets;
        association.down.messages += 1;
        out.indicate(DatagramsIndication::Room { association: name, room: Room { octets, messages: 1 } });
    }

    #[inline]
    fn more_room(&mut self, name: Handle, room: Room, out: &mut impl Outlet<Self>) {
        let Some(lower) = self.lowers.get_mut(name) else { return };
        lower.room.octets += room.octets;
        lower.room.messages += room.messages;
        while let Some((_, front)) = lower.backlog.front()
            && lower.room.octets >= front.len()
            && lower.room.messages > 0
            && let Some((association, message)) = lower.backlog.pop_front()
        {
            lower.room.octets -= message.len();
            lower.room.messages -= 1;
            let room = Room { octets: message.len() - Label::LENGTH, messages: 1 };
            out.request(DatagramsRequest::Send {
                association: name,
                messages: message.into(),
                quality: Quality::default(),
            });
            if let Some(state) = self.associations.get_mut(association) {
                state.down.octets += room.octets;
                state.down.messages += 1;
                out.indicate(DatagramsIndication::Room { association, room });
            }
        }
    }

    #[inline]
    fn delivered(
        &mut self,
        cx: &Context,
        lower: Handle,
        mut message: SingleBuffer,
        out: &mut impl Outlet<Self>,
    ) {
        let came = message.len();
        match message.pull::<Label>() {
            Err(_) => cx.dropped(NAME, "a header that cannot be read"),
            Ok(label) => {
                let name = self.keys.resolve(&(lower, (label.source, label.destination)));
                match name.and_then(|name| Some((name, self.associations.get_mut(name)?))) {
                    None => cx.dropped(NAME, "a message for which nobody is here"),
                    Some((association, state)) => {
                        let octets = message.len();
                        if octets > state.up.octets || state.up.messages == 0 {
                            cx.dropped(NAME, "a message for which there is no room");
                        } else {
                            state.up.octets -= octets;
                            state.up.messages -= 1;
                            out.indicate(DatagramsIndication::Delivered {
                                association,
                                messages: message.into(),
                                quality: Quality::default(),
                            });
                        }
                    }
                }
            }
        }
        match self.lowers.get_mut(lower) {
            // Somebody came for whom nobody here waits.
            Some(state) if state.users == 0 => self.forget(lower, out),
            Some(state) => {
                state.used.octets += came;
                state.used.messages += 1;
                if state.used.octets >= GIVEN_BACK.octets || state.used.messages >= GIVEN_BACK.messages {
                    let room = std::mem::take(&mut state.used);
                    out.request(DatagramsRequest::Receive { association: lower, room });
                }
            }
            None => {}
        }
    }

    #[cold]
    fn forget(&mut self, lower: Handle, out: &mut impl Outlet<Self>) {
        self.lowers.forget(lower);
        out.request(DatagramsRequest::Close { association: lower });
    }
}

impl Protocol for ByHand {
    const FACTS: Facts = Facts { header_room: Label::LENGTH, ..Facts::named(NAME) };
    type Provides = Datagrams<SingleBuffer>;
    type Uses = Datagrams<SingleBuffer>;

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<SingleBuffer>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Send { association, messages, .. } => {
                self.send(cx, association, messages.into_single(), out)
            }
            DatagramsRequest::Receive { association, room } => {
                if let Some(state) = self.associations.get_mut(association) {
                    state.up.octets += room.octets;
                    state.up.messages += room.messages;
                }
            }
            DatagramsRequest::Open { association, remote, room } => self.open(association, remote, room, out),
            // What is not measured is not written.
            _ => cx.dropped(NAME, "not here"),
        }
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<SingleBuffer>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, messages, .. } => {
                self.delivered(cx, association, messages.into_single(), out)
            }
            DatagramsIndication::Room { association, room } => self.more_room(association, room, out),
            DatagramsIndication::Opened { association, room, local, .. } => {
                let Some(lower) = self.lowers.get_mut(association) else { return };
                (lower.open, lower.room) = (true, room);
                for name in std::mem::take(&mut lower.waiting) {
                    let remote = lower.remote;
                    out.indicate(DatagramsIndication::Opened {
                        association: name,
                        local,
                        remote,
                        room: FIRST,
                    });
                }
            }
            _ => cx.dropped(NAME, "not here"),
        }
    }
}
