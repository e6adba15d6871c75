//! Two stations that talk over stop-and-wait, and the world between them.

use std::net::{IpAddr, SocketAddr};

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Protocol};
use stackwright_simulator::{Application, Asks, Conditions, Lanes, Network, StationId, World};
use stackwright_wire::{Leaf, Message};

pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 1];
pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
pub(crate) const ROOM: Credit = Credit { octets: 4096, messages: 4 };

/// Sends numbered messages as credit allows, closes behind the last, and keeps what it receives.
#[derive(Default)]
pub(crate) struct Talker {
    to_send: u32,
    sent: u32,
    credit: Credit,
    pub(crate) heard: Vec<u32>,
    pub(crate) ended: Option<Ended>,
}

impl Talker {
    fn go_on<M: Message>(&mut self, mut ask: impl FnMut(DatagramsRequest<M>)) {
        while self.sent < self.to_send && self.credit.messages > 0 {
            self.credit.messages -= 1;
            let message = M::with_headroom(64, &self.sent.to_be_bytes());
            ask(DatagramsRequest::Send {
                association: ASSOCIATION,
                batch: message.into(),
                properties: MessageProperties::default(),
            });
            self.sent += 1;
            if self.sent == self.to_send {
                ask(DatagramsRequest::Close { name: ASSOCIATION });
            }
        }
    }
}

fn number<M: Message>(message: &M) -> u32 {
    let octets = message.leaves().flat_map(|leaf| match leaf {
        Leaf::Octets(octets) => octets.to_vec(),
        Leaf::Region(_) => unreachable!("nobody sends files"),
    });
    u32::from_be_bytes(octets.collect::<Vec<_>>().try_into().expect("four octets"))
}

impl<M: Message, P: Protocol<Provides = Datagrams<M>>> Application<P> for Talker {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match indication {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                self.credit.messages += credit.messages;
                self.go_on(|request| asks.push_back(request));
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                self.heard.push(number(&messages.into_single()));
                let credit = Credit { octets: 4, messages: 1 };
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// A link by chance: it loses, doubles and reorders.
pub(crate) fn any_conditions(seed: u64) -> Conditions {
    let random = &mut fastrand::Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(1..50)),
        jitter: Duration::from_millis(random.u64(0..100)),
        loss: (random.f64() * 0.4).into(),
        duplicate: random.f64() * 0.3,
        ..Conditions::IDEAL
    }
}

/// A server, and a client that has messages for it.
pub(crate) struct Scene<M, P> {
    pub(crate) world: World<M>,
    pub(crate) server: StationId<P, Talker>,
    pub(crate) client: StationId<P, Talker>,
}

impl<M: Message, P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static> Scene<M, P> {
    /// Makes stations in a network that is prepared first.
    pub(crate) fn with(
        seed: u64,
        prepare: impl FnOnce(&mut Network<M>),
        messages: u32,
        stack: impl Fn(IpAddr, u64) -> P,
    ) -> Self {
        let mut world = World::new(seed);
        world.keep_trace();
        prepare(world.network_mut());
        let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
        let server = world.add(here, stack(here, seed), Talker::default());
        let client =
            world.add(there, stack(there, seed), Talker { to_send: messages, ..Talker::default() });
        let local = SocketAddr::from((SERVER, 7)).into();
        world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
        world.ask(
            server,
            DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM },
        );
        world.ask(
            client,
            DatagramsRequest::Open {
                association: ASSOCIATION,
                remote: local,
                credit: ROOM,
                local: None,
            },
        );
        Scene { world, server, client }
    }

    /// Whether the client was told of an end, in ten minutes.
    pub(crate) fn ends(&mut self) -> bool {
        let client = self.client;
        self.world
            .run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(600))
    }

    /// What the server received, and how it ended for the client.
    pub(crate) fn outcome(&self) -> (&[u32], Option<Ended>) {
        (&self.world.application(self.server).heard, self.world.application(self.client).ended)
    }
}
