//! A host with XSTP.

use stackwright::xstp::{self, XstpHeader, XstpKind, XstpLayer};
use stackwright_wire::{FieldValue as _, Header as _};

use crate::Input;
use crate::hosts::{M, PORT, PeerOf, host, near};

struct XstpPeer;

impl PeerOf for XstpPeer {
    type Layer = XstpLayer<M>;
    type Header = XstpHeader;
    const PROTOCOL: u8 = xstp::PROTOCOL;
    const CHECK: usize = 14;

    fn associations(layer: &XstpLayer<M>) -> usize {
        layer.associations()
    }

    fn packet(input: &mut Input<'_>, said: Option<&XstpHeader>) -> Vec<u8> {
        let flags = input.octet();
        let number = near(input, said.map_or(1, |said| said.number));
        let poll = near(input, said.map_or(1, |said| said.poll));
        let kind = XstpKind::from_bits(u64::from(input.octet() % 13));
        let header = XstpHeader {
            source_port: said.map_or(40_000 + u16::from(flags), |said| said.destination_port),
            destination_port: said.map_or(PORT, |said| said.source_port),
            kind: kind.filter(|_| said.is_some()).unwrap_or(XstpKind::Begin),
            flags: flags % 16,
            number: number & 0xff_ffff,
            poll: poll & 0xff_ffff,
            credit: input.octet(),
            time: input.number(),
            checksum: 0,
        };
        let mut octets = vec![0; XstpHeader::LENGTH];
        header.encode(&mut octets);
        match flags >> 6 {
            0 => {}
            1 => octets.extend(vec![7; usize::from(input.number()) % 1400]),
            _ => {
                // Boundaries of gaps, or what a beginning says.
                for _ in 0..flags >> 4 {
                    octets.extend(&near(input, number).to_be_bytes()[1..]);
                }
            }
        }
        octets
    }

    fn near(input: &mut Input<'_>, said: &XstpHeader) -> XstpHeader {
        XstpHeader { number: near(input, said.number) & 0xff_ffff, ..*said }
    }
}

/// Packets of every kind, reports of ICMP, and an application that asks for anything.
pub fn xstp(octets: &[u8]) {
    host::<XstpPeer>(octets, |flags| {
        let window = 1 << (flags >> 5);
        xstp::layer(xstp::Config { window, ..xstp::Config::default() }, 1)
    });
}
