//! A peer without a protocol: a test says each word on its associations.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_ftp::reply::{Replies, Reply};
use stackwright_simulator::{Application, Asks, Habits, SimulatedStreams, StationId, World};
use stackwright_wire::{Leaf, Message};

use crate::simulated::setting::M;

/// How much a raw peer takes before the test has looked at it; it gives the room back at once.
const ROOM: usize = 1 << 20;

/// What a raw peer heard on one association, and what it may send yet.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) open: Option<(SocketAddr, SocketAddr)>,
    pub(crate) octets: Vec<u8>,
    /// The end has arrived, behind octets that it may not take.
    pub(crate) ending: bool,
    pub(crate) finished: bool,
    pub(crate) ended: Option<Ended>,
    deaf: bool,
    credit: usize,
    unsent: VecDeque<u8>,
    finishes: bool,
    said_all: bool,
}

/// The application of a raw peer.
#[derive(Default)]
pub(crate) struct Ears {
    names: BTreeMap<Handle, Heard>,
    /// Whether it takes no more than the first room on associations that are opened from now on.
    deaf: bool,
    /// Where its listeners are.
    pub(crate) listens: BTreeMap<Handle, SocketAddr>,
}

impl Application<SimulatedStreams<M>> for Ears {
    fn hear(
        &mut self,
        _cx: &Context,
        told: StreamsIndication<M>,
        asks: &mut Asks<SimulatedStreams<M>>,
    ) {
        match told {
            StreamsIndication::Listening { listener, local } => {
                self.listens.insert(listener, local.internet().expect("an Internet address"));
            }
            StreamsIndication::Opened {
                association,
                local,
                remote,
                credit: Credit { octets: credit, .. },
                ..
            } => {
                let heard = self.names.entry(association).or_default();
                heard.open = local.internet().zip(remote.internet());
                heard.credit = credit;
                heard.send(association, asks);
            }
            StreamsIndication::Credit { association, credit: Credit { octets: credit, .. } } => {
                let heard = self.names.entry(association).or_default();
                heard.credit += credit;
                heard.send(association, asks);
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                let message = batch.into_octets();
                let heard = self.names.entry(association).or_default();
                for leaf in message.leaves() {
                    if let Leaf::Octets(octets) = leaf {
                        heard.octets.extend_from_slice(octets);
                    }
                }
                if !heard.deaf {
                    asks.push_back(StreamsRequest::Credit {
                        association,
                        credit: Credit::of_octets(message.len()),
                    });
                }
            }
            StreamsIndication::Changed { .. } | StreamsIndication::Controlled { .. } => {}
            StreamsIndication::Ending { association } => {
                self.names.entry(association).or_default().ending = true;
            }
            StreamsIndication::Finished { association } => {
                self.names.entry(association).or_default().finished = true;
            }
            StreamsIndication::Ended { name, why } => {
                self.names.entry(name).or_default().ended = Some(why);
            }
            StreamsIndication::Reported { .. } => {}
        }
    }
}

impl Heard {
    /// Sends what there is room for.
    fn send(&mut self, association: Handle, asks: &mut Asks<SimulatedStreams<M>>) {
        let length = self.unsent.len().min(self.credit);
        if length > 0 {
            let octets: Vec<u8> = self.unsent.drain(..length).collect();
            self.credit -= length;
            let message = M::with_headroom(0, &octets);
            asks.push_back(StreamsRequest::Send {
                association,
                batch: message.into(),
                properties: Default::default(),
            });
        }
        if self.finishes && self.unsent.is_empty() {
            self.finishes = false;
            asks.push_back(StreamsRequest::Finish { association });
        }
    }
}

/// A raw peer in a world.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    station: StationId<SimulatedStreams<M>, Ears>,
    names: u32,
}

impl Raw {
    pub(crate) fn add(world: &mut World<M>, address: IpAddr) -> Self {
        Self::with(world, address, Habits::default())
    }

    pub(crate) fn with(world: &mut World<M>, address: IpAddr, habits: Habits) -> Self {
        let streams = SimulatedStreams::with_habits(address, habits);
        Raw { station: world.add(address, streams, Ears::default()), names: 0 }
    }

    fn name(&mut self) -> Handle {
        self.names += 1;
        Handle { index: self.names - 1, generation: 0 }
    }

    pub(crate) fn open(&mut self, world: &mut World<M>, remote: SocketAddr) -> Handle {
        self.open_with(world, remote, ROOM)
    }

    /// The same, and takes no more than `room` octets before the test has looked at them.
    pub(crate) fn open_with(
        &mut self,
        world: &mut World<M>,
        remote: SocketAddr,
        room: usize,
    ) -> Handle {
        let association = self.name();
        let ears = world.application_mut(self.station);
        ears.names.insert(association, Heard { deaf: ears.deaf, ..Heard::default() });
        let ask = StreamsRequest::Open {
            association,
            remote: remote.into(),
            local: None,
            credit: Credit::of_octets(room),
        };
        world.ask(self.station, ask);
        association
    }

    /// Takes no more than the first room on associations that are opened from now on.
    pub(crate) fn is_deaf(&self, world: &mut World<M>) {
        world.application_mut(self.station).deaf = true;
    }

    /// Listens, and has room for `arrivals`; gives the listener and the names of those who may
    /// come.
    pub(crate) fn listen(
        &mut self,
        world: &mut World<M>,
        local: SocketAddr,
        arrivals: usize,
    ) -> (Handle, Vec<Handle>) {
        let listener = self.name();
        world.ask(self.station, StreamsRequest::Listen { listener, local: local.into() });
        let expect = |raw: &mut Self, world: &mut World<M>| {
            let association = raw.name();
            world.application_mut(raw.station).names.insert(association, Heard::default());
            world.ask(
                raw.station,
                StreamsRequest::Await { listener, association, credit: Credit::of_octets(ROOM) },
            );
            association
        };
        let names = (0..arrivals).map(|_| expect(self, world)).collect();
        (listener, names)
    }

    /// Says `octets`, as soon as there is room for them.
    pub(crate) fn say(&self, world: &mut World<M>, association: Handle, octets: &[u8]) {
        let mut asks = Asks::<SimulatedStreams<M>>::new();
        let heard = self.heard_mut(world, association);
        if heard.ended.is_none() {
            heard.unsent.extend(octets);
            if heard.open.is_some() {
                heard.send(association, &mut asks);
            }
        }
        for ask in asks {
            world.ask(self.station, ask);
        }
    }

    pub(crate) fn finish(&self, world: &mut World<M>, association: Handle) {
        let heard = self.heard_mut(world, association);
        (heard.finishes, heard.said_all) = (true, true);
        self.say(world, association, &[]);
    }

    pub(crate) fn abort(&self, world: &mut World<M>, association: Handle) {
        world.ask(self.station, StreamsRequest::Abort { association, code: 0 });
    }

    pub(crate) fn heard<'a>(&self, world: &'a World<M>, association: Handle) -> &'a Heard {
        &world.application(self.station).names[&association]
    }

    /// Nothing can be said there any more.
    pub(crate) fn is_over(&self, world: &World<M>, association: Handle) -> bool {
        let heard = self.heard(world, association);
        heard.ended.is_some() || heard.said_all
    }

    fn heard_mut<'a>(&self, world: &'a mut World<M>, association: Handle) -> &'a mut Heard {
        world
            .application_mut(self.station)
            .names
            .get_mut(&association)
            .expect("a name that was given")
    }

    pub(crate) fn replies(&self, world: &World<M>, association: Handle) -> Vec<Reply> {
        replies(&self.heard(world, association).octets)
    }

    /// The codes of all replies, without the preliminary ones.
    pub(crate) fn codes(&self, world: &World<M>, association: Handle) -> Vec<u16> {
        let replies = self.replies(world, association);
        replies.iter().map(|reply| reply.code).filter(|code| *code >= 200).collect()
    }
}

/// All complete replies in `octets`, of a server that speaks FTP.
pub(crate) fn replies(octets: &[u8]) -> Vec<Reply> {
    let (mut hears, mut rest, mut all) = (Replies::default(), octets, Vec::new());
    while !rest.is_empty() {
        let (heard, taken) = hears.feed(rest);
        rest = &rest[taken..];
        all.extend(heard.expect("the server speaks FTP"));
    }
    all
}
