//! Packets by rules, and stations that have them.

mod packets;
mod stations;

use std::net::Ipv4Addr;

use stackwright_compress::LinkHosts;
use stackwright_contract::CallSign;
use stackwright_wire::check::Internet;

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

fn hosts() -> LinkHosts {
    LinkHosts { source: call("N0AAA").host(), destination: call("N0BBB").host() }
}

/// Makes a packet of IPv4 between these hosts.
fn packet(protocol: u8, source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    let check = Internet::of(&packet);
    packet[10..12].copy_from_slice(&check.to_be_bytes());
    [&packet, payload].concat()
}

/// The header of XSTP's data to the port of FTP: ports, SD, N(S), N(PS), credit, time, check.
const DATA: [u8; 16] =
    [0xd1, 0x23, 0, 21, 0x80, 0xab, 0xcd, 0xef, 0, 0, 7, 40, 0x12, 0x34, 0x56, 0x78];
