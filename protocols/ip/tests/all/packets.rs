//! Packets, written by hand.

use std::net::IpAddr;

use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header;

use crate::hosts::ip;

fn octets(host: IpAddr) -> Vec<u8> {
    match host {
        IpAddr::V4(host) => host.octets().to_vec(),
        IpAddr::V6(host) => host.octets().to_vec(),
    }
}

/// Returns a packet of either version.
pub(crate) fn packet(source: &str, destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (ip(source), ip(destination));
    let length = payload.len() as u16;
    let mut packet = if source.is_ipv4() {
        let [a, b] = (20 + length).to_be_bytes();
        vec![0x45, 0, a, b, 0, 0, 0x40, 0, 64, protocol, 0, 0]
    } else {
        let [a, b] = length.to_be_bytes();
        vec![0x60, 0, 0, 0, a, b, protocol, 64]
    };
    packet.extend(octets(source));
    packet.extend(octets(destination));
    packet.extend(payload);
    check(packet)
}

/// Writes the check of an IPv4 header; of IPv6, there is none.
pub(crate) fn check(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] >> 4 == 4 {
        let header = (usize::from(packet[0] & 15) * 4).min(packet.len());
        packet[10..12].fill(0);
        let check = Internet::of(&packet[..header]).to_be_bytes();
        packet[10..12].copy_from_slice(&check);
    }
    packet
}

/// Returns a fragment of IPv4, or of IPv6 behind a fragment header.
pub(crate) fn fragment(
    source: &str,
    destination: &str,
    protocol: u8,
    identification: u32,
    offset: usize,
    more: bool,
    payload: &[u8],
) -> Vec<u8> {
    if ip(source).is_ipv4() {
        let mut packet = packet(source, destination, protocol, payload);
        let place = (offset / 8) as u16 | u16::from(more) << 13;
        packet[4..6].copy_from_slice(&(identification as u16).to_be_bytes());
        packet[6..8].copy_from_slice(&place.to_be_bytes());
        return check(packet);
    }
    let mut behind = vec![protocol, 0];
    behind.extend((offset as u16 | u16::from(more)).to_be_bytes());
    behind.extend(identification.to_be_bytes());
    behind.extend(payload);
    packet(source, destination, 44, &behind)
}

/// Returns an ICMP message of the version of `source`.
pub(crate) fn icmp(
    source: &str,
    destination: &str,
    kind: u8,
    code: u8,
    rest: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend(rest.to_be_bytes());
    message.extend(payload);
    let protocol = if ip(source).is_ipv4() { 1 } else { 58 };
    let mut check = Internet::new();
    if protocol == 58 {
        let octets = message.len() as u32;
        check.add(&pseudo_header(ip(source), ip(destination), 58, octets).to_be_bytes());
    }
    check.add(&message);
    message[2..4].copy_from_slice(&check.value().to_be_bytes());
    packet(source, destination, protocol, &message)
}

/// Returns type, code, the word behind the check, and what is quoted, of a packet with an ICMP
/// message whose checks agree.
pub(crate) fn read_icmp(packet: &[u8]) -> (u8, u8, u32, Vec<u8>) {
    let is_ipv4 = packet[0] >> 4 == 4;
    let (header, mut check) = if is_ipv4 {
        assert_eq!((packet[9], Internet::of(&packet[..20])), (1, 0));
        assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
        (20, Internet::new())
    } else {
        assert_eq!(packet[6], 58);
        let mut check = Internet::new();
        check.add(&packet[8..40]);
        check.add(&(packet.len() as u32 - 40).to_be_bytes());
        check.add(&[0, 58]);
        (40, check)
    };
    let message = &packet[header..];
    check.add(message);
    assert_eq!(check.value(), 0, "the check agrees");
    let rest = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
    (message[0], message[1], rest, message[8..].to_vec())
}
