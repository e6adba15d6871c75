//! The fields of a word in octets: 64, and 32 for each participant.
//!
//! ```text
//!  0 kind · detail · flags · participants   4 octets of payload   8 index   12 generation
//! 16 credit: octets   24 messages   32 number   36 other   40 own: properties, octets quoted
//! ```
//!
//! All are little-endian. Both ends are on one machine, but nothing is lost where they are not.

use std::net::{IpAddr, Ipv6Addr};

use stackwright_contract::services::Credit;
use stackwright_contract::{Address, CallSign, Handle, Interface, Participant};

/// Octets of a word without participants.
pub(super) const WORD: usize = 64;
/// Octets of a participant.
const SLOT: usize = 32;
/// Octets of the longest word, its payload aside.
pub(super) const WORD_MOST: usize = WORD + 2 * SLOT;

/// What a word says; its kind tells which of them it uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fields {
    pub(super) kind: u8,
    pub(super) detail: u8,
    pub(super) flags: u8,
    /// Octets of payload behind it.
    pub(super) length: u32,
    pub(super) name: Handle,
    pub(super) credit: Credit,
    pub(super) number: u32,
    pub(super) other: u32,
    pub(super) own: [u8; 24],
    pub(super) participants: [Option<Participant>; 2],
}

impl Fields {
    pub(super) const fn of(kind: u8, name: Handle) -> Self {
        Fields {
            kind,
            detail: 0,
            flags: 0,
            length: 0,
            name,
            credit: Credit::NONE,
            number: 0,
            other: 0,
            own: [0; 24],
            participants: [None, None],
        }
    }

    /// Appends it. The second participant is there only where the first is.
    pub(super) fn encode(&self, octets: &mut Vec<u8>) {
        let participants = self.participants.iter().flatten();
        octets.extend([self.kind, self.detail, self.flags, participants.clone().count() as u8]);
        octets.extend(self.length.to_le_bytes());
        octets.extend(self.name.index.to_le_bytes());
        octets.extend(self.name.generation.to_le_bytes());
        octets.extend((self.credit.octets as u64).to_le_bytes());
        octets.extend((self.credit.messages as u64).to_le_bytes());
        octets.extend(self.number.to_le_bytes());
        octets.extend(self.other.to_le_bytes());
        octets.extend(self.own);
        participants.for_each(|participant| octets.extend(slot(*participant)));
    }

    /// Returns how many octets a word has that begins so, its payload aside.
    pub(super) fn length_of(octets: &[u8; WORD]) -> Option<usize> {
        (octets[3] <= 2).then_some(WORD + SLOT * usize::from(octets[3]))
    }

    /// Decodes it; `None`: it is none.
    pub(super) fn decode(octets: &[u8]) -> Option<Self> {
        let mut participants = [None, None];
        let (word, slots) = octets.split_first_chunk::<WORD>()?;
        if octets.len() != Self::length_of(word)? {
            return None;
        }
        for (place, slot) in participants.iter_mut().zip(slots.chunks_exact(SLOT)) {
            *place = Some(participant(slot)?);
        }
        let name = Handle { index: u32_at(word, 8), generation: u32_at(word, 12) };
        Some(Fields {
            kind: word[0],
            detail: word[1],
            flags: word[2],
            length: u32_at(word, 4),
            name,
            credit: Credit { octets: usize_at(word, 16), messages: usize_at(word, 24) },
            number: u32_at(word, 32),
            other: u32_at(word, 36),
            own: array_at(word, 40),
            participants,
        })
    }
}

pub(super) fn array_at<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    *octets[at..].first_chunk().expect("the places are within a word")
}

pub(super) fn u32_at(octets: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(octets, at))
}

fn u16_at(octets: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(octets, at))
}

fn usize_at(octets: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(array_at(octets, at))).unwrap_or(usize::MAX)
}

/// Kinds of addresses; of hosts, with 4 or 6 for the version in the next octet.
const INTERNET: u8 = 1;
const PROTOCOL: u8 = 2;
const STATION: u8 = 3;
const OTHER_END: u8 = 4;
const HARDWARE: u8 = 5;

/// `0 kind · version or PID · interface + 1   4 port · route   8 zone   16 host, call sign`
fn slot(participant: Participant) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    let interface = participant.interface().map_or(0, |number| number + 1);
    slot[2..4].copy_from_slice(&interface.to_le_bytes());
    let mut write = |at: usize, octets: &[u8]| slot[at..at + octets.len()].copy_from_slice(octets);
    let (kind, second) = match participant.address {
        Address::Internet { host, port, zone } => {
            write(4, &port.to_le_bytes());
            write(8, &zone.to_le_bytes());
            write(16, &host_octets(host));
            (INTERNET, version(host))
        }
        Address::InternetProtocol { host, protocol } => {
            write(4, &[protocol]);
            write(16, &host_octets(host));
            (PROTOCOL, version(host))
        }
        Address::Station { call, pid, route } => {
            write(6, &route.to_le_bytes());
            write(16, &call.octets());
            (STATION, pid)
        }
        Address::Hardware { address, kind } => {
            write(4, &kind.to_le_bytes());
            write(16, &address);
            (HARDWARE, 0)
        }
        // An address of a kind that is not known here is nobody's at the other side.
        _ => (OTHER_END, 0),
    };
    slot[..2].copy_from_slice(&[kind, second]);
    slot
}

fn participant(slot: &[u8]) -> Option<Participant> {
    let host = || host(slot[1], array_at(slot, 16));
    let address = match slot[0] {
        INTERNET => {
            Address::Internet { host: host()?, port: u16_at(slot, 4), zone: u32_at(slot, 8) }
        }
        PROTOCOL => Address::InternetProtocol { host: host()?, protocol: slot[4] },
        STATION => Address::Station {
            call: CallSign::from_octets(array_at(slot, 16)).ok()?,
            pid: slot[1],
            route: u16_at(slot, 6),
        },
        HARDWARE => Address::Hardware { address: array_at(slot, 16), kind: u16_at(slot, 4) },
        OTHER_END => Address::OtherEnd,
        _ => return None,
    };
    let interface = u16_at(slot, 2).checked_sub(1).and_then(Interface::new);
    Some(Participant { interface, address })
}

fn version(host: IpAddr) -> u8 {
    if host.is_ipv4() { 4 } else { 6 }
}

fn host_octets(host: IpAddr) -> [u8; 16] {
    match host {
        IpAddr::V4(host) => host.to_ipv6_mapped().octets(),
        IpAddr::V6(host) => host.octets(),
    }
}

fn host(version: u8, octets: [u8; 16]) -> Option<IpAddr> {
    let host = Ipv6Addr::from(octets);
    match version {
        4 => host.to_ipv4_mapped().map(IpAddr::V4),
        6 => Some(IpAddr::V6(host)),
        _ => None,
    }
}
