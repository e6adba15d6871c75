//! The protocol alone: a test is both of its neighbours, and the peer.

use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{Context, Handle, Outlet, Participant, PathLimits, Protocol};
use stackwright_ordered::{Config, DatagramKind, Ordered, OrderedHeader};
use stackwright_wire::{Message, SingleBuffer};

pub(crate) type M = SingleBuffer;

pub(crate) const ROOM: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };

#[derive(Default)]
pub(crate) struct Said {
    pub(crate) up: Vec<StreamsIndication<M>>,
    pub(crate) down: Vec<DatagramsRequest<M>>,
}

impl Outlet<Ordered<M>> for Said {
    fn indicate(&mut self, indication: StreamsIndication<M>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: DatagramsRequest<M>) {
        self.down.push(request);
    }
}

pub(crate) struct Alone {
    pub(crate) cx: Context,
    pub(crate) ordered: Ordered<M>,
    pub(crate) said: Said,
}

pub(crate) fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) fn message(octets: &[u8]) -> M {
    M::with_headroom(64, octets)
}

impl Alone {
    pub(crate) fn new(config: Config) -> Self {
        Alone { cx: Context::new(1), ordered: Ordered::new(config), said: Said::default() }
    }

    pub(crate) fn ask(&mut self, request: StreamsRequest<M>) {
        self.ordered.handle_request(&self.cx, request, &mut self.said);
    }

    pub(crate) fn tell(&mut self, indication: DatagramsIndication<M>) {
        self.ordered.handle_indication(&self.cx, indication, &mut self.said);
    }

    /// Our name 0 opens, and below it is open, too; the peer has not answered.
    pub(crate) fn asks(config: Config, credit: usize) -> Self {
        let mut alone = Alone::new(config);
        let remote = Participant::OTHER_END;
        alone.ask(StreamsRequest::Open {
            association: name(0),
            remote,
            local: None,
            credit: Credit::of_octets(credit),
        });
        alone.open_below(0, ROOM);
        alone
    }

    /// The same with the answer, which grants so much.
    pub(crate) fn open(config: Config, up: usize, credit: u64) -> Self {
        let mut alone = Self::asks(config, up);
        alone.hear(OrderedHeader { kind: DatagramKind::Credit, offset: 0, credit }, &[]);
        alone
    }

    /// Our name 0 listens, and 1 waits: below, they have the same numbers.
    pub(crate) fn awaits(config: Config) -> Self {
        let mut alone = Alone::new(config);
        alone.ask(StreamsRequest::Listen { listener: name(0), local: Participant::OTHER_END });
        alone.ask(StreamsRequest::Await {
            listener: name(0),
            association: name(1),
            credit: Credit::of_octets(1000),
        });
        alone
    }

    pub(crate) fn open_below(&mut self, below: u32, credit: Credit) {
        let (local, remote) = (Participant::OTHER_END, Participant::OTHER_END);
        self.tell(DatagramsIndication::Opened {
            association: name(below),
            local,
            remote,
            credit,
            path: PathLimits::UNBOUNDED,
        });
    }

    /// The peer says this on the association 0 below.
    pub(crate) fn hear(&mut self, label: OrderedHeader, octets: &[u8]) {
        self.hear_on(0, label, octets);
    }

    pub(crate) fn hear_on(&mut self, below: u32, label: OrderedHeader, octets: &[u8]) {
        let mut message = message(octets);
        message.push(&label);
        self.tell(DatagramsIndication::Delivered {
            association: name(below),
            batch: message.into(),
            properties: MessageProperties::default(),
        });
    }

    pub(crate) fn end_below(&mut self, below: u32, why: Ended) {
        self.tell(DatagramsIndication::Ended { name: name(below), why });
    }

    /// The labels of what was sent since the last question, each with how many octets.
    pub(crate) fn sent(&mut self) -> Vec<(OrderedHeader, usize)> {
        let mut labels = Vec::new();
        self.said.down.retain_mut(|request| match request {
            DatagramsRequest::Send { batch: messages, .. } => {
                let message = messages.single_mut();
                let label = message.pull::<OrderedHeader>().expect("ours can be read");
                labels.push((label, message.len()));
                false
            }
            _ => true,
        });
        labels
    }

    pub(crate) fn kinds(&mut self) -> Vec<DatagramKind> {
        self.sent().into_iter().map(|(label, _)| label.kind).collect()
    }

    /// How many associations it has asked to be closed.
    pub(crate) fn closes(&self) -> usize {
        self.said
            .down
            .iter()
            .filter(|request| matches!(request, DatagramsRequest::Close { .. }))
            .count()
    }

    /// The last word on our name, where there was one.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.said.up.iter().find_map(|indication| match indication {
            StreamsIndication::Ended { why, .. } => Some(*why),
            _ => None,
        })
    }

    pub(crate) fn delivered(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for indication in &self.said.up {
            if let StreamsIndication::Delivered { batch, .. } = indication {
                batch.as_octets().each(|octets| all.extend_from_slice(octets));
            }
        }
        all
    }
}
