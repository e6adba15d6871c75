//! The protocol of `ports.rs` without a base: as one would write it, with the same map and the same
//! tables.

use std::collections::VecDeque;

use stackwright_base::map::{Map, MapKind};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Facts, Handle, Mirror, Names, Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::{Header, Message, SingleBuffer};

use crate::Maps;
use crate::ports::Label;

const FIRST: Credit = Credit { octets: 64 << 10, messages: 16 };
const BELOW: Credit = Credit { octets: 1 << 20, messages: 1024 };
/// How much of it is used before it is given back.
const GIVEN_BACK: Credit = Credit { octets: BELOW.octets / 4, messages: BELOW.messages / 4 };
const NAME: &str = "ports, by hand";

struct Association {
    lower: Handle,
    theirs: u16,
    ours: u16,
    up: Credit,
    down: Credit,
}

struct Lower {
    remote: Participant,
    open: bool,
    users: usize,
    waiting: Vec<Handle>,
    credit: Credit,
    used: Credit,
    backlog: VecDeque<(Handle, SingleBuffer)>,
}

pub(crate) struct ByHand {
    next: u16,
    associations: Mirror<Association>,
    keys: <Maps as MapKind>::Of<(Handle, (u16, u16)), Handle>,
    lowers: Names<Lower>,
}

impl Default for ByHand {
    fn default() -> Self {
        ByHand {
            next: 1024,
            associations: Mirror::default(),
            keys: Map::new(1),
            lowers: Names::default(),
        }
    }
}

impl ByHand {
    fn open(&mut self, name: Handle, remote: Participant, up: Credit, out: &mut impl Outlet<Self>) {
        let address = remote.internet().expect("an Internet address");
        let below = Participant::from(std::net::SocketAddr::new(address.ip(), 7));
        let there =
            self.lowers.iter().find(|(_, lower)| lower.remote == below).map(|(name, _)| name);
        let lower = there.unwrap_or_else(|| {
            let lower = Lower {
                remote: below,
                open: false,
                users: 0,
                waiting: Vec::new(),
                credit: Credit::default(),
                used: Credit::default(),
                backlog: VecDeque::new(),
            };
            let association = self.lowers.name(lower);
            out.request(DatagramsRequest::Open {
                association,
                remote: below,
                credit: BELOW,
                local: None,
            });
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
    fn send(
        &mut self,
        cx: &Context,
        name: Handle,
        mut message: SingleBuffer,
        out: &mut impl Outlet<Self>,
    ) {
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
        if !lower.backlog.is_empty()
            || !lower.open
            || lower.credit.octets < length
            || lower.credit.messages == 0
        {
            return lower.backlog.push_back((name, message));
        }
        lower.credit.octets -= length;
        lower.credit.messages -= 1;
        out.request(DatagramsRequest::Send {
            association: association.lower,
            batch: message.into(),
            properties: MessageProperties::default(),
        });
        association.down.octets += octets;
        association.down.messages += 1;
        out.indicate(DatagramsIndication::Credit {
            association: name,
            credit: Credit { octets, messages: 1 },
        });
    }

    #[inline]
    fn more_room(&mut self, name: Handle, credit: Credit, out: &mut impl Outlet<Self>) {
        let Some(lower) = self.lowers.get_mut(name) else { return };
        lower.credit.octets += credit.octets;
        lower.credit.messages += credit.messages;
        while let Some((_, front)) = lower.backlog.front()
            && lower.credit.octets >= front.len()
            && lower.credit.messages > 0
            && let Some((association, message)) = lower.backlog.pop_front()
        {
            lower.credit.octets -= message.len();
            lower.credit.messages -= 1;
            let credit = Credit { octets: message.len() - Label::LENGTH, messages: 1 };
            out.request(DatagramsRequest::Send {
                association: name,
                batch: message.into(),
                properties: MessageProperties::default(),
            });
            if let Some(state) = self.associations.get_mut(association) {
                state.down.octets += credit.octets;
                state.down.messages += 1;
                out.indicate(DatagramsIndication::Credit { association, credit });
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
                                batch: message.into(),
                                properties: MessageProperties::default(),
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
                if state.used.octets >= GIVEN_BACK.octets
                    || state.used.messages >= GIVEN_BACK.messages
                {
                    let credit = std::mem::take(&mut state.used);
                    out.request(DatagramsRequest::Credit { association: lower, credit });
                }
            }
            None => {}
        }
    }

    #[cold]
    fn forget(&mut self, lower: Handle, out: &mut impl Outlet<Self>) {
        self.lowers.forget(lower);
        out.request(DatagramsRequest::Close { name: lower });
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
            DatagramsRequest::Send { association, batch: messages, .. } => {
                self.send(cx, association, messages.into_single(), out)
            }
            DatagramsRequest::Credit { association, credit } => {
                if let Some(state) = self.associations.get_mut(association) {
                    state.up.octets += credit.octets;
                    state.up.messages += credit.messages;
                }
            }
            DatagramsRequest::Open { association, remote, credit, .. } => {
                self.open(association, remote, credit, out)
            }
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
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                self.delivered(cx, association, messages.into_single(), out)
            }
            DatagramsIndication::Credit { association, credit } => {
                self.more_room(association, credit, out)
            }
            DatagramsIndication::Opened { association, credit, local, .. } => {
                let Some(lower) = self.lowers.get_mut(association) else { return };
                (lower.open, lower.credit) = (true, credit);
                for name in std::mem::take(&mut lower.waiting) {
                    let remote = lower.remote;
                    out.indicate(DatagramsIndication::Opened {
                        association: name,
                        local,
                        remote,
                        credit: FIRST,
                        path: PathLimits::UNBOUNDED,
                    });
                }
            }
            _ => cx.dropped(NAME, "not here"),
        }
    }
}
