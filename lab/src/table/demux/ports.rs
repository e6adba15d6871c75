//! Packets to connections of XSTP between the same two hosts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use stackwright::xstp::{self, XstpLayer};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Handle, PathLimits};
use stackwright_ip::{Config, Ip, Point};
use stackwright_results::Problem;
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _};

use super::Packets;
use super::internet::{AMPLE, OWN};

type M = BufferTree;
type End = LoneStack<Over<XstpLayer<M>, Over<Ip<M>, Point<M>>>>;

const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 21;
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const CREDIT: Credit = Credit { octets: 1 << 20, messages: 0 };
/// Packets of a round, and rounds of one sample. A window holds a round.
const PACKETS: usize = 128;
const ROUNDS: usize = 16;
/// In how many steps of 10 ms all is answered, at most.
const STEPS: usize = 1000;

/// Two hosts, of which the second has opened connections with the first.
pub(super) struct Connections {
    host: End,
    peer: End,
    many: usize,
    next: usize,
}

impl Connections {
    pub(super) fn new(many: usize) -> Result<Self, Problem> {
        let mut pair = Connections { host: end(OWN, 1), peer: end(PEER, 2), many, next: 0 };
        let here = SocketAddr::from((OWN, PORT)).into();
        pair.host.ask(StreamsRequest::Listen { listener: LISTENER, local: here });
        for nth in 0..many {
            let (association, credit) = (name(nth), CREDIT);
            pair.host.ask(StreamsRequest::Await { listener: LISTENER, association, credit });
            let (remote, local) = (here, None);
            pair.peer.ask(StreamsRequest::Open { association, remote, local, credit });
            let opened = |told| matches!(told, StreamsIndication::Opened { .. }).then_some(());
            pair.settle(1, |pair| pair.peer.told(opened).len())?;
        }
        Ok(pair)
    }

    /// Lets both talk until `done` has counted that many.
    fn settle(
        &mut self,
        many: usize,
        mut done: impl FnMut(&mut Self) -> usize,
    ) -> Result<(), Problem> {
        let mut counted = 0;
        for _ in 0..STEPS {
            for batch in frames(&mut self.peer) {
                self.host.tell(FramesIndication::Delivered { port: 0, batch });
            }
            for batch in frames(&mut self.host) {
                self.peer.tell(FramesIndication::Delivered { port: 0, batch });
            }
            counted += done(self);
            if counted >= many {
                return Ok(());
            }
            self.host.wait(10);
            self.peer.wait(10);
        }
        Err(Problem::new("XSTP does not come to an end"))
    }
}

/// The name of a connection, on either side.
fn name(nth: usize) -> Handle {
    Handle { index: 1 + nth as u32, generation: 0 }
}

fn end(own: Ipv4Addr, seed: u64) -> End {
    let ip = Over::new(Ip::new(Config::host(own.into(), 8)), Point::default());
    let mut end = End::new(Over::new(xstp::layer(xstp::Config::new(), seed), ip), seed);
    let path = PathLimits::of_longest(1500);
    end.tell(FramesIndication::State { port: 0, up: true });
    end.tell(FramesIndication::Changed { port: 0, path });
    end.tell(FramesIndication::Credit { port: 0, credit: AMPLE });
    end
}

/// What an end has sent.
fn frames(end: &mut End) -> Vec<Batch<M>> {
    let sent = |word| match word {
        FramesRequest::Send { batch, .. } => Some(batch),
        FramesRequest::Credit { .. } => None,
    };
    end.said.down.drain(..).filter_map(sent).collect()
}

impl Packets for Connections {
    fn run(&mut self, is_hit: bool) -> Result<f64, Problem> {
        let (mut seconds, mut packets) = (0.0, 0);
        for _ in 0..ROUNDS {
            for _ in 0..PACKETS {
                self.next = if is_hit { 0 } else { (self.next + 1) % self.many };
                let association = name(self.next);
                let (batch, properties) = (M::with_headroom(64, b"x").into(), Default::default());
                self.peer.ask(StreamsRequest::Send { association, batch, properties });
            }
            let sent: Vec<_> = frames(&mut self.peer).into_iter().flatten().collect();
            packets += sent.len();
            let begin = Instant::now();
            for packet in sent {
                self.host.tell(FramesIndication::Delivered { port: 0, batch: packet.into() });
            }
            seconds += begin.elapsed().as_secs_f64();
            self.settle(PACKETS, |pair| pair.taken())?;
        }
        Ok(seconds / packets.max(1) as f64)
    }
}

impl Connections {
    /// Takes what has arrived, and returns how many octets that is.
    fn taken(&mut self) -> usize {
        let arrived = self.host.told(|told| match told {
            StreamsIndication::Delivered { association, batch, .. } => {
                Some((association, batch.octets()))
            }
            _ => None,
        });
        for (association, octets) in &arrived {
            let credit = Credit::of_octets(*octets);
            self.host.ask(StreamsRequest::Credit { association: *association, credit });
        }
        self.peer.said.up.clear();
        arrived.iter().map(|(_, octets)| octets).sum()
    }
}
