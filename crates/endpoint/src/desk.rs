//! What the stack has told and the application has not asked for yet.

use std::collections::VecDeque;

use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, Ended, Quality, Room,
};
use stackwright_contract::{Handle, Names, Outlet, Participant, Protocol, RequestOf};
use stackwright_wire::Message;

use crate::blocking::association::Statistics;

/// The side above a stack: names, and what was told of them.
pub(crate) struct Desk<M> {
    pub(crate) names: Names<Named<M>>,
    /// Who arrived and was not accepted yet.
    pub(crate) arrived: VecDeque<Handle>,
    /// How many may arrive before they are accepted, and how many names wait for them.
    arrivals_most: usize,
    awaited: usize,
    listener: Option<Handle>,
    /// First room upward on each association.
    room: Room,
    /// What is to be asked when the stack is silent.
    pub(crate) asks: Vec<DatagramsRequest<M>>,
    /// Something was told since this was set to `false`.
    pub(crate) told: bool,
}

/// What a name stands for.
pub(crate) enum Named<M> {
    /// A listener: where it listens, once that is known.
    Listener(Result<Option<Participant>, Ended>),
    /// Waits for somebody who arrives.
    Awaited,
    Link(Link<M>),
}

/// An association as the application sees it.
pub(crate) struct Link<M> {
    pub(crate) state: State,
    pub(crate) ends: Option<(Participant, Participant)>,
    /// How much may be sent; and at most, when nothing is on its way.
    pub(crate) room: Room,
    pub(crate) room_most: Room,
    pub(crate) inbox: VecDeque<(M, Quality)>,
    pub(crate) statistics: Statistics,
    /// Nobody will ask for it any more.
    pub(crate) forsaken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Opening,
    Open,
    /// Closed by the application; the last word is awaited.
    Closing,
    Ended(Ended),
}

impl<M> Link<M> {
    fn new(state: State) -> Self {
        Link {
            state,
            ends: None,
            room: Room::default(),
            room_most: Room::default(),
            inbox: VecDeque::new(),
            statistics: Statistics::default(),
            forsaken: false,
        }
    }
}

impl<M: Message> Desk<M> {
    pub(crate) fn new(room: Room, arrivals_most: usize) -> Self {
        let (names, arrived, asks) = (Names::new(), VecDeque::new(), Vec::new());
        Desk { names, arrived, arrivals_most, awaited: 0, listener: None, room, asks, told: false }
    }

    /// A name for a listener, which is asked for.
    pub(crate) fn listen(&mut self, local: Participant) -> Handle {
        let listener = self.names.name(Named::Listener(Ok(None)));
        self.asks.push(DatagramsRequest::Listen { listener, local });
        listener
    }

    /// A name for an association, which is asked for.
    pub(crate) fn open(&mut self, remote: Participant) -> Handle {
        let association = self.names.name(Named::Link(Link::new(State::Opening)));
        self.asks.push(DatagramsRequest::Open { association, remote, room: self.room });
        association
    }

    pub(crate) fn link(&mut self, name: Handle) -> Option<&mut Link<M>> {
        match self.names.get_mut(name) {
            Some(Named::Link(link)) => Some(link),
            _ => None,
        }
    }

    /// As many names wait for arrivals as more of them are kept.
    pub(crate) fn await_arrivals(&mut self) {
        let Some(listener) = self.listener else { return };
        while self.awaited + self.arrived.len() < self.arrivals_most {
            self.awaited += 1;
            let association = self.names.name(Named::Awaited);
            self.asks.push(DatagramsRequest::Await { listener, association, room: self.room });
        }
    }

    /// The application is done with an association.
    pub(crate) fn forsake(&mut self, name: Handle) {
        let Some(link) = self.link(name) else { return };
        link.inbox.clear();
        link.forsaken = true;
        match link.state {
            State::Ended(_) => drop(self.names.forget(name)),
            State::Closing => {}
            State::Opening | State::Open => {
                link.state = State::Closing;
                self.asks.push(DatagramsRequest::Close { association: name });
            }
        }
    }

    fn hear(&mut self, indication: DatagramsIndication<M>) {
        self.told = true;
        match indication {
            DatagramsIndication::Listening { listener, local } => {
                if let Some(Named::Listener(place)) = self.names.get_mut(listener) {
                    *place = Ok(Some(local));
                    self.listener = Some(listener);
                    self.await_arrivals();
                }
            }
            DatagramsIndication::Opened { association: name, local, remote, room } => {
                if let Some(named @ Named::Awaited) = self.names.get_mut(name) {
                    *named = Named::Link(Link::new(State::Opening));
                    self.awaited -= 1;
                    self.arrived.push_back(name);
                }
                let Some(link) = self.link(name) else { return };
                (link.ends, link.room, link.room_most) = (Some((local, remote)), room, room);
                if link.state == State::Opening {
                    link.state = State::Open;
                }
            }
            DatagramsIndication::Room { association, room } => {
                if let Some(link) = self.link(association) {
                    link.room.octets += room.octets;
                    link.room.messages += room.messages;
                }
            }
            DatagramsIndication::Delivered { association, message, quality } => {
                if let Some(link) = self.link(association).filter(|link| !link.forsaken) {
                    link.statistics.received.octets += message.len();
                    link.statistics.received.messages += 1;
                    link.inbox.push_back((message, quality));
                }
            }
            DatagramsIndication::Ended { name, why } => self.ended(name, why),
        }
    }

    fn ended(&mut self, name: Handle, why: Ended) {
        match self.names.get_mut(name) {
            Some(Named::Listener(place)) => {
                *place = Err(why);
                self.listener = None;
            }
            Some(Named::Link(link)) if !link.forsaken => link.state = State::Ended(why),
            named => {
                self.awaited -= usize::from(matches!(named, Some(Named::Awaited)));
                self.names.forget(name);
            }
        }
    }
}

impl<M: Message, P: Protocol<Provides = Datagrams<M>>> Outlet<P> for Desk<M> {
    fn indicate(&mut self, indication: DatagramsIndication<M>) {
        self.hear(indication);
    }

    fn request(&mut self, _nothing_is_below: RequestOf<P>) {}
}
