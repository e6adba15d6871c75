//! A host with TCP.

use stackwright::tcp::{self, TcpLayer};
use stackwright_wire::Header as _;
use stackwright_wire::internet::Tcp;

use crate::Input;
use crate::hosts::{M, PORT, PeerOf, host, near};

struct TcpPeer;

impl PeerOf for TcpPeer {
    type Layer = TcpLayer<M>;
    type Header = Tcp;
    const PROTOCOL: u8 = 6;
    const CHECK: usize = 16;

    fn associations(layer: &TcpLayer<M>) -> usize {
        layer.associations()
    }

    /// A segment of a connection, or one that asks for one.
    fn packet(input: &mut Input<'_>, said: Option<&Tcp>) -> Vec<u8> {
        let flags = input.octet();
        let number = near(input, said.map_or(1, |said| said.acknowledgment_number));
        let own = said.map_or(0, |said| {
            said.sequence_number.wrapping_add(u32::from(said.syn) + u32::from(said.fin))
        });
        let flag = |bit: u8| flags >> bit & 1 == 1;
        let options = usize::from(input.octet() % 11) * 4;
        let header = Tcp {
            source_port: said.map_or(40_000 + u16::from(flags), |said| said.destination_port),
            destination_port: said.map_or(PORT, |said| said.source_port),
            sequence_number: number,
            acknowledgment_number: near(input, own),
            data_offset: (5 + options / 4) as u8,
            rsrvd: 0,
            cwr: flag(0),
            ece: flag(1),
            urg: flag(2),
            ack: said.is_some() && !(flag(3) && flag(4)),
            psh: flag(3),
            rst: flag(5) && flag(4),
            syn: said.is_none() || flag(6) && flag(4),
            fin: flag(7),
            window: input.number(),
            checksum: 0,
            urgent_pointer: 9,
        };
        let mut octets = vec![0; Tcp::LENGTH];
        header.encode(&mut octets);
        octets.extend(input.take(options));
        octets.resize(Tcp::LENGTH + options, 0);
        let length = usize::from(input.number()) % 1500;
        octets.extend(vec![7; if flag(4) { 0 } else { length }]);
        octets
    }

    fn near(input: &mut Input<'_>, said: &Tcp) -> Tcp {
        Tcp { sequence_number: near(input, said.sequence_number), ..said.clone() }
    }
}

/// Segments, reports of ICMP, and an application that asks for anything.
pub fn tcp(octets: &[u8]) {
    host::<TcpPeer>(octets, |flags| {
        let config = tcp::Config {
            sack: flags & 2 > 0,
            timestamps: flags & 4 > 0,
            window: 1000 << (flags >> 5),
            half_open_most: 4,
            ..tcp::Config::new([3; 16])
        };
        tcp::layer(config, 1)
    });
}
