//! Stations of AX.25: a call sign as a hardware address, and EtherTypes as its protocol numbers.

use core::net::IpAddr;

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
    let [_, _, _, rest @ ..] = call.number().to_be_bytes();
    let [a, b, c, d, e] = rest;
    [LOCAL, a, b, c, d, e]
}

/// Returns whether a host's address follows from the call sign of a station.
pub(crate) fn is_host_of(host: IpAddr, address: [u8; 6]) -> bool {
    address[0] == LOCAL && call_sign(address).is_some_and(|call| host == call.host())
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
        let call: CallSign = "N0AAA".parse().expect("a call sign");
        let next: CallSign = "N0AAA-1".parse().expect("a call sign");
        assert!(is_host_of(call.host().into(), hardware(call)));
        assert!(!is_host_of(call.host().into(), hardware(next)));
        assert!(!is_host_of(call.host().into(), [0xff; 6]));
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
