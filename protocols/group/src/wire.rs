//! Octets of what the layers say to each other, big endian. Nothing of a peer is trusted: what is
//! read is bounded by what has arrived.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use siphasher::sip::SipHasher13;
use stackwright_contract::Participant;
use stackwright_contract::services::{Ballot, GroupMember, GroupView, Rank};

/// Members of a view, at most: what a member keeps grows with their square.
pub(crate) const MEMBERS_MOST: usize = 1024;

/// A view of more members is a large one: what each would say to all others, the first says for
/// them.
pub(crate) const LARGE: usize = 16;

/// Octets of a view before its members: number, ballot, how many.
const VIEW: usize = 4 + 12 + 2;

/// Flags of a member: it has the state, and counts for a quorum; a part of the group begins with
/// it; the view is not primary.
const VOTES: u8 = 1;
const PART: u8 = 2;
const APART: u8 = 4;

/// Returns the hash of a group's name: its address.
pub(crate) fn group(name: Participant) -> u64 {
    let mut octets = Vec::new();
    push_participant(&mut octets, name);
    hash(&octets)
}

/// Returns the mark of a view's packets.
pub(crate) fn tag(group: u64, view: &GroupView) -> u32 {
    let mut octets = Vec::from(group.to_be_bytes());
    octets.extend(view.number.to_be_bytes());
    push_ballot(&mut octets, view.ballot);
    hash(&octets) as u32
}

/// Returns the mark of a stack with another layer, from that of the layers below it.
pub(crate) fn mark(below: u64, layer: &str) -> u64 {
    hash(&[&below.to_be_bytes(), layer.as_bytes()].concat())
}

/// Known to all members, on whatever machine: it tells groups and views apart, and keeps nobody out.
fn hash(octets: &[u8]) -> u64 {
    SipHasher13::new_with_keys(0, 0).hash(octets)
}

/// Octets that are read from the front; `None` where there are fewer.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    fn octets<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (octets, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*octets)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.octets().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.octets().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.octets().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.octets().map(u64::from_be_bytes)
    }

    pub(crate) fn ballot(&mut self) -> Option<Ballot> {
        Some(Ballot { count: self.u32()?, incarnation: self.u64()? })
    }

    /// Reads how much of each sender's casts: one of each member.
    pub(crate) fn counts(&mut self) -> Option<Vec<u32>> {
        let count = usize::from(self.u16()?);
        // A vector is as long as what has arrived, whatever the count says.
        (self.0.len() >= 4 * count).then(|| (0..count).map_while(|_| self.u32()).collect())
    }

    /// Reads ranks of members.
    pub(crate) fn ranks(&mut self) -> Option<Vec<u16>> {
        let count = usize::from(self.u16()?);
        (self.0.len() >= 2 * count).then(|| (0..count).map_while(|_| self.u16()).collect())
    }

    pub(crate) fn view(&mut self) -> Option<GroupView> {
        let (number, ballot, count) = (self.u32()?, self.ballot()?, self.u16()?);
        if usize::from(count) > MEMBERS_MOST {
            return None;
        }
        let (mut members, mut parts, mut primary) = (Vec::new(), Vec::new(), true);
        for rank in 0..count {
            let (member, flags) = self.member()?;
            primary &= flags & APART == 0;
            parts.extend((flags & PART != 0).then_some(Rank(rank)));
            members.push(member);
        }
        (!members.is_empty()).then_some(GroupView {
            number,
            ballot,
            members,
            me: None,
            primary,
            parts,
        })
    }

    /// Reads a member, and its flags.
    fn member(&mut self) -> Option<(GroupMember, u8)> {
        let (flags, incarnation) = (self.u8()?, self.u64()?);
        let participant = self.participant()?;
        Some((GroupMember { participant, incarnation, votes: flags & VOTES != 0 }, flags))
    }

    /// Reads an Internet address.
    pub(crate) fn participant(&mut self) -> Option<Participant> {
        let host: IpAddr = match self.u8()? {
            4 => Ipv4Addr::from_bits(self.u32()?).into(),
            6 => Ipv6Addr::from(self.octets::<16>()?).into(),
            _ => return None,
        };
        Some(SocketAddr::new(host, self.u16()?).into())
    }
}

pub(crate) fn push_ballot(octets: &mut Vec<u8>, ballot: Ballot) {
    octets.extend(ballot.count.to_be_bytes());
    octets.extend(ballot.incarnation.to_be_bytes());
}

pub(crate) fn push_counts(octets: &mut Vec<u8>, counts: &[u32]) {
    octets.extend((counts.len() as u16).to_be_bytes());
    octets.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
}

pub(crate) fn push_ranks(octets: &mut Vec<u8>, ranks: &[u16]) {
    octets.extend((ranks.len() as u16).to_be_bytes());
    octets.extend(ranks.iter().flat_map(|rank| rank.to_be_bytes()));
}

/// Appends a view. Its members have Internet addresses: no other joins.
pub(crate) fn push_view(octets: &mut Vec<u8>, view: &GroupView) {
    octets.reserve(VIEW + 28 * view.members.len());
    octets.extend(view.number.to_be_bytes());
    push_ballot(octets, view.ballot);
    octets.extend((view.members.len() as u16).to_be_bytes());
    for (rank, member) in view.members.iter().enumerate() {
        let votes = if member.votes { VOTES } else { 0 };
        let part = if view.parts.contains(&Rank(rank as u16)) { PART } else { 0 };
        octets.push(votes | part | if view.primary { 0 } else { APART });
        octets.extend(member.incarnation.to_be_bytes());
        push_participant(octets, member.participant);
    }
}

/// Appends an Internet address; nothing of any other.
pub(crate) fn push_participant(octets: &mut Vec<u8>, participant: Participant) {
    let Some(address) = participant.internet() else { return };
    match address.ip() {
        IpAddr::V4(host) => {
            octets.push(4);
            octets.extend(host.octets());
        }
        IpAddr::V6(host) => {
            octets.push(6);
            octets.extend(host.octets());
        }
    }
    octets.extend(address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members on machines of any kind, and of any build, have the same.
    #[test]
    fn marks_are_the_same_everywhere() {
        let name = SocketAddr::from(([239, 77, 3, 1], 4370)).into();
        assert_eq!(group(name), hash(&[4, 239, 77, 3, 1, 0x11, 0x12]));
        let ballot = Ballot { count: 5, incarnation: 6 };
        let view = GroupView {
            number: 1,
            ballot,
            members: Vec::new(),
            me: None,
            primary: true,
            parts: Vec::new(),
        };
        let octets = [&[0; 7][..], &[7], &[0, 0, 0, 1], &[0, 0, 0, 5], &[0; 7], &[6]].concat();
        assert_eq!(tag(7, &view), hash(&octets) as u32);
        // SipHash-1-3 without a key, of nothing.
        assert_eq!(hash(&[]), 0xd1fb_a762_150c_532c);
    }
}
