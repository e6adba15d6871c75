//! Stations of AX.25: a call sign as a hardware address, and EtherTypes as its protocol numbers.

use stackwright_contract::{Address, CallSign, Participant};

use crate::version::{ARP, Key, Version};

/// Protocol identifiers and the EtherTypes of the same (AX.25 v2.2 §3.4).
const KINDS: [(u8, u16); 2] = [(0xcc, Version::V4.kind()), (0xcd, ARP)];
/// Nothing is sent with it: IPv6 has no identifier.
const ESCAPE: u8 = 0xff;
/// Who a call to all is for.
const ALL: &str = "QST";

/// Returns the hardware address that stands for a call sign here: of a locally administered kind
/// (IEEE 802 §8.4.4), then six characters of six bits each and the SSID.
pub(crate) fn hardware(call: CallSign) -> [u8; 6] {
    let [name @ .., _] = call.octets();
    let packed = name.iter().fold(0, |all, octet| all << 6 | u64::from((octet >> 1) - b' '));
    let [_, _, _, rest @ ..] = (packed << 4 | u64::from(call.ssid())).to_be_bytes();
    let [a, b, c, d, e] = rest;
    [2, a, b, c, d, e]
}

/// Returns the station that the layer below knows by that key; `own` is for the address of none.
pub(crate) fn station((address, kind): Key, own: CallSign) -> Participant {
    let pid = KINDS.iter().find(|(_, known)| *known == kind).map_or(ESCAPE, |(pid, _)| *pid);
    let call = match address {
        [0, 0, 0, 0, 0, 0] => Some(own),
        [2, a, b, c, d, e] => {
            let packed = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
            let mut octets = [0; 7];
            for (place, octet) in octets[..6].iter_mut().enumerate() {
                *octet = ((packed >> (34 - 6 * place) & 0x3f) as u8 + b' ') << 1;
            }
            octets[6] = ((packed & 0xf) as u8) << 1;
            CallSign::from_octets(octets).ok()
        }
        _ => ALL.parse().ok(),
    };
    Address::Station { call: call.unwrap_or(own), pid, route: 0 }.into()
}

/// Returns the key of a station below.
pub(crate) fn key(station: Participant) -> Option<Key> {
    match station.address {
        Address::Hardware { address, kind } => Some((address, kind)),
        Address::Station { call, pid, .. } => {
            let (_, kind) = KINDS.iter().find(|(known, _)| *known == pid)?;
            let is_all = ALL.parse() == Ok(call);
            Some((if is_all { [0xff; 6] } else { hardware(call) }, *kind))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
