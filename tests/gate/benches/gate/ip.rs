//! Packets down through IP and a link without addresses, and up again at the other end.

use std::hint::black_box;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
    MessageProperties,
};
use stackwright_contract::{
    Address, Handle, IndicationOf, Outlet, PathLimits, Protocol as _, RequestOf,
};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_ip::{Config, Ip, Point};
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _, SegmentLayout};

type M = BufferTree;
type Stack = Over<Ip<M>, Point<M>>;
type End = LoneStack<Stack>;

const PACKETS: usize = 1024;
/// Packets of a burst.
const BURST: usize = 16;
/// Octets of a segment of TCP.
const SEGMENT: usize = 1460;
/// Octets before each, for headers.
const ROOM: usize = 64;
const NAME: Handle = Handle { index: 0, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("inet/crossing", PACKETS as u64, || Crossing::new(1)));
    figures.push(Figure::new("inet/crossing/burst", PACKETS as u64, || Crossing::new(BURST)));
}

/// What is delivered, with its memory.
#[derive(Default)]
struct Delivered(Vec<Batch<M>>);

impl Outlet<Stack> for Delivered {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        if let DatagramsIndication::Delivered { batch, .. } = word {
            self.0.push(batch);
        }
    }

    fn request(&mut self, _word: RequestOf<Stack>) {}
}

/// The link: what is sent by one end arrives at the other.
struct Link<'a>(&'a mut End, &'a mut Delivered);

impl Outlet<Stack> for Link<'_> {
    fn indicate(&mut self, _word: IndicationOf<Stack>) {}

    fn request(&mut self, word: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, .. } = word {
            let arrives = FramesIndication::Delivered { port: 0, batch: black_box(batch) };
            self.0.stack.handle_indication(&self.0.cx, arrives, self.1);
        }
    }
}

/// Returns an end that has an association with its peer.
fn end(own: [u8; 4], peer: [u8; 4]) -> End {
    let mut end = End::new(Over::new(Ip::new(Config::host(own.into(), 24)), Point::default()), 1);
    end.up(PathLimits { checks: true, ..PathLimits::of_longest(1500) }, AMPLE);
    let remote = Address::InternetProtocol { host: peer.into(), protocol: 6 }.into();
    let (association, local, credit) = (NAME, None, AMPLE);
    end.ask(DatagramsRequest::Open { association, remote, local, credit });
    end
}

/// All packets are sent, `burst` at once, and arrive.
struct Crossing {
    ends: [End; 2],
    delivered: Delivered,
    burst: usize,
    batches: Vec<Batch<M>>,
}

impl Crossing {
    fn new(burst: usize) -> Self {
        let (one, other) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let ends = [end(one, other), end(other, one)];
        let delivered = Delivered(Vec::with_capacity(PACKETS));
        Crossing { ends, delivered, burst, batches: Vec::with_capacity(PACKETS) }
    }
}

impl Subject for Crossing {
    fn ready(&mut self) {
        self.delivered.0.clear();
        for _ in 0..PACKETS / self.burst {
            let mut octets = M::with_headroom(0, &vec![7; self.burst * (ROOM + SEGMENT)]);
            let layout = SegmentLayout::new(ROOM + SEGMENT, ROOM).in_messages(1, ROOM, ROOM);
            octets.drop_gaps(&layout);
            self.batches.push(Batch::new(octets, SEGMENT));
        }
    }

    fn work(&mut self) -> u64 {
        let Crossing { ends: [one, other], delivered, burst, batches } = self;
        let (association, properties) = (NAME, MessageProperties::default());
        for batch in batches.drain(..) {
            let send = DatagramsRequest::Send { association, batch: black_box(batch), properties };
            one.stack.handle_request(&one.cx, send, &mut Link(other, delivered));
        }
        let octets: usize = delivered.0.iter().map(Batch::octets).sum();
        assert_eq!(delivered.0.len(), PACKETS / *burst, "all stay together");
        assert_eq!(octets, PACKETS * SEGMENT, "every packet arrives");
        octets as u64
    }
}
