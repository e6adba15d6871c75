//! Stations of AX.25: a call sign as a hardware address, and EtherTypes as its protocol numbers.

use core::net::{IpAddr, Ipv4Addr};

use stackwright_contract::{Address, CallSign, Participant};
use stackwright_wire::internet::{Arp, Ax25Arp};

use crate::version::{ARP, Key, Version};

/// Protocol identifiers and the EtherTypes of the same (AX.25 v2.2 §3.4).
const KINDS: [(u8, u16); 2] = [(0xcc, Version::V4.kind()), (0xcd, ARP)];
/// Nothing is sent with it: IPv6 has no identifier.
const ESCAPE: u8 = 0xff;
/// The first octet of the hardware address that stands for a call sign.
const LOCAL: u8 = 2;
/// Who a call to all is for.
const ALL: &str = "QST";

/// Returns the hardware address that stands for a call sign here: of a locally administered kind
/// (IEEE 802 §8.4.4), then six characters of six bits each and the SSID.
pub fn hardware(call: CallSign) -> [u8; 6] {
    let [name @ .., _] = call.octets();
    let packed = name.iter().fold(0, |all, octet| all << 6 | u64::from((octet >> 1) - b' '));
    let [_, _, _, rest @ ..] = (packed << 4 | u64::from(call.ssid())).to_be_bytes();
    let [a, b, c, d, e] = rest;
    [LOCAL, a, b, c, d, e]
}

/// The network of the addresses that follow from call signs, 10.0.0.0/8 (RFC 1918), and the largest
/// prime number that leaves its first and its last address out.
const NETWORK: u32 = 10 << 24;
const HOSTS: u64 = 16_777_213;

/// Returns the IPv4 address that follows from a call sign, in 10.0.0.0/8: the name read as a number
/// of six digits to the base 64, times 16, and the SSID, modulo 16 777 213, and 1. Stations that
/// differ only in their SSID are next to each other.
pub fn host_of(call: CallSign) -> Ipv4Addr {
    derived(hardware(call))
}

fn derived([_, a, b, c, d, e]: [u8; 6]) -> Ipv4Addr {
    let number = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
    Ipv4Addr::from(NETWORK + 1 + (number % HOSTS) as u32)
}

/// Returns whether a host's address follows from the call sign of a station.
pub(crate) fn is_host_of(host: IpAddr, address: [u8; 6]) -> bool {
    address[0] == LOCAL && host == derived(address)
}

/// Returns the station that the layer below knows by that key; `own` is for the address of none.
pub(crate) fn station((address, kind): Key, own: CallSign) -> Participant {
    let pid = KINDS.iter().find(|(_, known)| *known == kind).map_or(ESCAPE, |(pid, _)| *pid);
    Address::Station { call: call_sign(address).unwrap_or(own), pid, route: 0 }.into()
}

/// Returns the call sign for which a hardware address stands; that of none is zeros.
fn call_sign(address: [u8; 6]) -> Option<CallSign> {
    match address {
        [0, 0, 0, 0, 0, 0] => None,
        [LOCAL, a, b, c, d, e] => {
            let packed = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
            let mut octets = [0; 7];
            for (place, octet) in octets[..6].iter_mut().enumerate() {
                *octet = ((packed >> (34 - 6 * place) & 0x3f) as u8 + b' ') << 1;
            }
            octets[6] = ((packed & 0xf) as u8) << 1;
            CallSign::from_octets(octets).ok()
        }
        _ => ALL.parse().ok(),
    }
}

/// Returns the hardware address that stands for a station, or for all.
fn address(call: CallSign) -> [u8; 6] {
    if ALL.parse() == Ok(call) { [0xff; 6] } else { hardware(call) }
}

/// Returns a packet in the form of AX.25.
pub(crate) fn ax25_arp(arp: Arp) -> Ax25Arp {
    let octets = |address| call_sign(address).map_or([0; 7], CallSign::octets);
    Ax25Arp {
        hardware: (),
        protocol: (),
        hardware_length: (),
        protocol_length: (),
        operation: arp.operation,
        sender: octets(arp.sender),
        sender_host: arp.sender_host,
        target: octets(arp.target),
        target_host: arp.target_host,
    }
}

/// Returns a packet of AX.25 in the form that is handled; `None` where no station sends it.
pub(crate) fn arp(packet: Ax25Arp) -> Option<Arp> {
    Some(Arp {
        hardware: (),
        protocol: (),
        hardware_length: (),
        protocol_length: (),
        operation: packet.operation,
        sender: address(CallSign::from_octets(packet.sender).ok()?),
        sender_host: packet.sender_host,
        target: CallSign::from_octets(packet.target).map_or([0; 6], address),
        target_host: packet.target_host,
    })
}

/// Returns the key of a station below.
pub(crate) fn key(station: Participant) -> Option<Key> {
    match station.address {
        Address::Hardware { address, kind } => Some((address, kind)),
        Address::Station { call, pid, .. } => {
            let (_, kind) = KINDS.iter().find(|(known, _)| *known == pid)?;
            Some((address(call), *kind))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_follows_from_a_call_sign() {
        let host = |text: &str| host_of(text.parse().expect("a call sign"));
        assert_eq!(host("N0AAA"), Ipv4Addr::new(10, 99, 175, 25));
        assert_eq!(u32::from(host("N0AAA-1")), u32::from(host("N0AAA")) + 1);
        assert_eq!(host("OE1XYZ-15"), Ipv4Addr::new(10, 123, 34, 172));
        let address = hardware("N0AAA".parse().expect("a call sign"));
        assert!(is_host_of(host("N0AAA").into(), address));
        assert!(!is_host_of(host("N0AAA-1").into(), address));
    }

    #[test]
    fn a_call_sign_is_a_hardware_address() {
        let own: CallSign = "N0AAA".parse().expect("a call sign");
        for text in ["N0AAA", "OE1XYZ-15", "A", "QST-1", "ZZZZZZ-9"] {
            let call: CallSign = text.parse().expect("a call sign");
            let there = station((hardware(call), 0x800), own);
            assert_eq!(there.address, Address::Station { call, pid: 0xcc, route: 0 });
            assert_eq!(key(there), Some((hardware(call), 0x800)));
        }
        assert_eq!(key(station(([0xff; 6], ARP), own)), Some(([0xff; 6], ARP)));
        assert_eq!(key(station(([0; 6], ARP), own)), Some((hardware(own), ARP)));
    }
}
