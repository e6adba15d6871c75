//! Stateless reset: a packet of a session that is not known where it comes from is answered, so
//! that a peer notices at once that this side has lost the session, or that its own address has
//! changed (RFC 9000 §10.3).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

use hkdf::hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use stackwright_contract::{Address, Instant, Participant};
use stackwright_transport::words::SECOND;
use stackwright_wire::{Header as _, Message};

use crate::header::{Microseconds, Packet, PacketKind, Unknown, Version};

/// The octets of an answer.
const LENGTH: usize = Packet::LENGTH + Unknown::LENGTH;

/// The most answers in a second to all addresses; one address gets one.
const ANSWERS_MOST: usize = 100;

/// The key of the tokens, as far as HMAC has processed it: each session needs a token.
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Key(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// Returns the token of a session at an address: the first 128 bits of HMAC-SHA-256.
    pub(crate) fn token(&self, remote: Participant, session: u8) -> [u8; 16] {
        let octets = self.0.clone().chain_update(name(remote, session)).finalize().into_bytes();
        *octets.first_chunk().expect("32 octets")
    }
}

/// Returns whether two tokens are equal, in constant time.
pub(crate) fn is_equal(one: &[u8; 16], other: &[u8; 16]) -> bool {
    one.iter().zip(other).fold(0, |differs, (one, other)| differs | one ^ other) == 0
}

/// Returns the octets that stand for an address and a session: no two have the same. They must not
/// change from one version to the next, because a key outlives a restart.
fn name(remote: Participant, session: u8) -> Vec<u8> {
    let mut octets = Vec::from([session]);
    octets.extend(remote.interface().map_or([0; 4], |nth| (u32::from(nth) + 1).to_be_bytes()));
    let mut host = |kind: u8, host: IpAddr| match host {
        IpAddr::V4(host) => {
            octets.push(kind);
            octets.extend(host.octets());
        }
        IpAddr::V6(host) => {
            octets.push(kind + 1);
            octets.extend(host.octets());
        }
    };
    match remote.address {
        Address::Internet { host: address, port, zone } => {
            host(0, address);
            octets.extend(port.to_be_bytes());
            octets.extend(zone.to_be_bytes());
        }
        Address::InternetProtocol { host: address, protocol } => {
            host(2, address);
            octets.push(protocol);
        }
        other => {
            octets.push(4);
            octets.extend(alloc::format!("{other}").bytes());
        }
    }
    octets
}

/// Returns the answer to a packet of `octets` octets; `None` if it would not be shorter.
pub(crate) fn answer<M: Message>(
    headroom: usize,
    octets: usize,
    session: u8,
    reset: [u8; 16],
) -> Option<M> {
    if octets <= LENGTH {
        return None;
    }
    let mut answer = [0; LENGTH];
    let header = Packet {
        version: Version::One,
        kind: PacketKind::Unknown,
        session,
        options: 0,
        sequence: 0,
        seconds: 0,
        microseconds: Microseconds::of(0),
        expiry: 0,
    };
    header.encode(&mut answer);
    Unknown { reset }.encode(&mut answer[Packet::LENGTH..]);
    Some(M::with_headroom(headroom, &answer))
}

/// Limits the answers: a flood of packets from forged addresses is not worth a flood of answers.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// The addresses answered within the last second, and when: at most [`ANSWERS_MOST`].
    last: VecDeque<(Instant, Participant)>,
}

impl Answered {
    /// Returns whether `remote` may be answered now, and counts that answer.
    pub(crate) fn admits(&mut self, now: Instant, remote: Participant) -> bool {
        while self.last.front().is_some_and(|(at, _)| at.later(SECOND) <= now) {
            self.last.pop_front();
        }
        let admits = self.last.len() < ANSWERS_MOST
            && self.last.iter().all(|(_, answered)| *answered != remote);
        if admits {
            self.last.push_back((now, remote));
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;

    use stackwright_contract::Duration;

    use super::*;

    fn address(nth: u16) -> Participant {
        SocketAddr::from(([10, 0, 0, 1], nth)).into()
    }

    #[test]
    fn a_token_is_that_of_one_key_one_address_and_one_session() {
        let tokens = [
            Key::new(&[1; 32]).token(address(1), 1),
            Key::new(&[2; 32]).token(address(1), 1),
            Key::new(&[1; 32]).token(address(2), 1),
            Key::new(&[1; 32]).token(address(1), 2),
            Key::new(&[1; 32]).token(address(1).through(0), 1),
            Key::new(&[1; 32]).token(Participant::OTHER_END, 1),
        ];
        for (nth, one) in tokens.iter().enumerate() {
            let equal = tokens.iter().map(|other| is_equal(one, other));
            assert!(equal.enumerate().all(|(place, equal)| equal == (place == nth)));
        }
    }

    #[test]
    fn a_token_outlives_versions() {
        let expected = Key::new(&[7; 32]).token(address(4330), 5);
        assert_eq!(expected, EXPECTED);
    }

    /// Computed by Python's `hmac` of 05 00000000 00 0a000001 10ea 00000000.
    const EXPECTED: [u8; 16] = [
        0x87, 0xa7, 0x8c, 0x05, 0x4b, 0x57, 0x50, 0x2e, 0xd3, 0x8c, 0x9b, 0x35, 0x45, 0x3b, 0x7b,
        0xaa,
    ];

    #[test]
    fn one_address_is_answered_once_a_second_and_all_of_them_a_hundred_times() {
        let (mut answered, start) = (Answered::default(), Instant::START);
        let all = (0..1000).filter(|nth| answered.admits(start, address(*nth))).count();
        assert_eq!(all, ANSWERS_MOST);
        let later = start + Duration::from_secs(1);
        assert!(answered.admits(later, address(1)) && !answered.admits(later, address(1)));
    }
}
