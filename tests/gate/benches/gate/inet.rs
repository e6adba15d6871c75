//! Segments of TCP through IPv4 and a point link: down at one end, up at the other, and what is
//! acknowledged of them.

use std::net::SocketAddr;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, Outlet, PathLimits, Protocol, RequestOf,
};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_ip::{Config as IpConfig, Ip, Point};
use stackwright_tcp::{Config, TcpLayer, layer};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Over<TcpLayer<M>, Over<Ip<M>, Point<M>>>;

/// Octets of data in a segment, beside the headers of IPv4 and of TCP with timestamps.
const SEGMENT: usize = 1460;
const PACKET: u16 = 20 + 20 + 12 + SEGMENT as u16;
/// Segments of a message of the application, and messages of a round.
const BURST: usize = 44;
const BURSTS: u64 = 128;
const SEGMENTS: u64 = BURST as u64 * BURSTS;
/// Connections that are open beside the one that is used.
const IDLE: u32 = 10_000;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
const PORT: u16 = 80;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    for (name, offered) in [("offered check", true), ("own check", false)] {
        let make = move || Talk::new(offered, 1);
        figures.push(Figure::new(format!("inet/bursts, {name}"), SEGMENTS, make));
    }
    figures.push(Figure::new("inet/idle", SEGMENTS, || Talk::new(true, 1 + IDLE)));
}

/// What is around one end.
#[derive(Default)]
struct Neighbours {
    frames: Vec<Batch<M>>,
    /// How many octets its application may send on the connection that is used.
    credit: usize,
    /// How many octets it has received, and for how many of them it has given credit.
    heard: usize,
    credited: usize,
    opened: u32,
}

impl Outlet<Stack> for Neighbours {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        match word {
            StreamsIndication::Delivered { batch, .. } => self.heard += batch.octets(),
            StreamsIndication::Opened { association, credit, .. } => {
                self.opened += 1;
                self.credit += if association == NAME { credit.octets } else { 0 };
            }
            StreamsIndication::Credit { credit, .. } => self.credit += credit.octets,
            StreamsIndication::Ended { why, .. } => panic!("it ends: {why:?}"),
            _ => {}
        }
    }

    fn request(&mut self, word: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, .. } = word {
            self.frames.push(batch);
        }
    }
}

struct End {
    cx: Context,
    stack: Stack,
    out: Neighbours,
}

impl End {
    fn new(last: u8, offered: bool) -> Self {
        let ip = Ip::new(IpConfig::host([10, 0, 0, last].into(), 24));
        let config = Config { segment: PACKET - 20, ..Config::new([last; 16]) };
        let below = Over::new(ip, Point::default());
        let stack = Over::new(layer(config, last.into()), below);
        let mut end = End { cx: Context::new(1), stack, out: Neighbours::default() };
        end.settle();
        let path = PathLimits { checks: offered, ..PathLimits::of_longest(PACKET.into()) };
        end.hear(FramesIndication::State { port: 0, up: true });
        end.hear(FramesIndication::Changed { port: 0, path });
        end.hear(FramesIndication::Credit { port: 0, credit: AMPLE });
        end
    }

    fn hear(&mut self, word: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.out);
    }

    fn ask(&mut self, request: StreamsRequest<M>) {
        self.stack.handle_request(&self.cx, request, &mut self.out);
    }

    fn settle(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.out);
        }
    }
}

/// Two hosts at one link.
struct Talk {
    ends: [End; 2],
    carried: Vec<Batch<M>>,
    message: M,
}

impl Talk {
    fn new(offered: bool, connections: u32) -> Self {
        let ends = [1, 2].map(|last| End::new(last, offered));
        let message = M::with_headroom(0, &[7; BURST * SEGMENT]);
        let mut talk = Talk { ends, carried: Vec::new(), message };
        let local = SocketAddr::from(([10, 0, 0, 2], PORT)).into();
        let (listener, credit) = (LISTENER, AMPLE);
        talk.ends[1].ask(StreamsRequest::Listen { listener, local });
        for index in 1..=connections {
            let association = Handle { index, generation: 0 };
            talk.ends[1].ask(StreamsRequest::Await { listener, association, credit });
            let open = StreamsRequest::Open { association, remote: local, local: None, credit };
            talk.ends[0].ask(open);
            talk.exchange();
        }
        assert!(talk.ends.iter().all(|end| end.out.opened == connections), "all are open");
        talk
    }

    /// A moment passes: what each has said reaches the other, and is answered.
    fn exchange(&mut self) {
        let mut silent = 0;
        for side in (0..2).cycle() {
            let end = &mut self.ends[side];
            end.cx.set_now(end.cx.now() + Duration::from_micros(10));
            let now = end.cx.now();
            if end.stack.next_deadline().is_some_and(|deadline| deadline <= now) {
                end.stack.handle_timeout(&end.cx, &mut end.out);
            }
            for batch in self.carried.drain(..) {
                end.hear(FramesIndication::Delivered { port: 0, batch });
            }
            let octets = end.out.heard - end.out.credited;
            if octets > 0 {
                end.out.credited = end.out.heard;
                let credit = Credit::of_octets(octets);
                end.ask(StreamsRequest::Credit { association: NAME, credit });
            }
            end.settle();
            silent = if end.out.frames.is_empty() { silent + 1 } else { 0 };
            if silent == 2 {
                return;
            }
            std::mem::swap(&mut self.carried, &mut end.out.frames);
        }
    }
}

impl Subject for Talk {
    /// The congestion window has grown.
    fn ready(&mut self) {
        self.work();
    }

    fn work(&mut self) -> u64 {
        let before = self.ends[1].out.heard;
        for _burst in 0..BURSTS {
            let (batch, properties) = (self.message.share().into(), Default::default());
            let one = &mut self.ends[0];
            one.out.credit =
                one.out.credit.checked_sub(BURST * SEGMENT).expect("all was acknowledged");
            one.ask(StreamsRequest::Send { association: NAME, batch, properties });
            self.exchange();
        }
        let heard = self.ends[1].out.heard - before;
        assert_eq!(heard, BURSTS as usize * BURST * SEGMENT, "every octet is delivered");
        heard as u64
    }
}
