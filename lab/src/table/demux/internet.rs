//! Packets to associations of IP, from a host each.

use std::net::Ipv4Addr;
use std::time::Instant;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, FramesIndication,
};
use stackwright_contract::{Address, Handle, PathLimits};
use stackwright_ip::{Config, Ip, Point};
use stackwright_results::Problem;
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _};

use super::Packets;

type M = BufferTree;
type End = LoneStack<Over<Ip<M>, Point<M>>>;

pub(super) const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
pub(super) const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PROTOCOL: u8 = 17;
/// Packets of one sample.
const PACKETS: usize = 4096;

/// A host with peers, and a packet from each.
pub(super) struct Internet {
    host: End,
    packets: Vec<Vec<u8>>,
    next: usize,
}

impl Internet {
    pub(super) fn new(peers: usize) -> Self {
        let mut host = end(OWN);
        let mut packets = Vec::new();
        for index in 0..peers as u32 {
            let peer = Ipv4Addr::from(u32::from(OWN) + (1 << 16) + index);
            let name = Handle { index, generation: 0 };
            open(&mut host, name, peer);
            let mut other = end(peer);
            open(&mut other, name, OWN);
            other.send(name, M::with_headroom(64, b"x"));
            packets.extend(other.sent());
        }
        Internet { host, packets, next: 0 }
    }
}

fn end(own: Ipv4Addr) -> End {
    let mut end = End::new(Over::new(Ip::new(Config::host(own.into(), 8)), Point::default()), 1);
    end.up(PathLimits::of_longest(1500), AMPLE);
    end
}

fn open(end: &mut End, association: Handle, peer: Ipv4Addr) {
    let remote = Address::InternetProtocol { host: peer.into(), protocol: PROTOCOL }.into();
    end.ask(DatagramsRequest::Open { association, remote, local: None, credit: AMPLE });
    end.said.up.clear();
}

impl Packets for Internet {
    fn run(&mut self, is_hit: bool) -> Result<f64, Problem> {
        let mut batches = Vec::new();
        for _ in 0..PACKETS {
            self.next = if is_hit { 0 } else { (self.next + 1) % self.packets.len() };
            batches.push(M::with_headroom(64, &self.packets[self.next]).into());
        }
        self.host.said.up.reserve(PACKETS);
        let begin = Instant::now();
        for batch in batches {
            self.host.tell(FramesIndication::Delivered { port: 0, batch });
        }
        let seconds = begin.elapsed().as_secs_f64();
        let delivered = |told| matches!(told, DatagramsIndication::Delivered { .. }).then_some(());
        if self.host.told(delivered).len() != PACKETS {
            return Err(Problem::new("IP has dropped a packet"));
        }
        self.host.said.down.clear();
        Ok(seconds / PACKETS as f64)
    }
}
