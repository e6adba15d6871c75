//! The header: what is read of a datagram before its association is known, and its check.

use core::net::IpAddr;

use stackwright_base::{Envelope, PortPair};
use stackwright_contract::Participant;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Udp as UdpHeader, pseudo_header};
use stackwright_wire::{Header as _, Leaf, Malformed, Message};

use crate::host;

/// The number of UDP (IANA).
pub const PROTOCOL: u8 = 17;

/// The header of a datagram: of one that arrived, or of one that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpFront(pub(crate) UdpHeader);

impl<M: Message> Envelope<M> for UdpFront {
    /// Removes it, and what may stand behind the octets that it counts.
    #[inline]
    fn open(datagram: &mut M) -> Result<Self, Malformed> {
        let header: UdpHeader = datagram.pull()?;
        let octets = usize::from(header.length)
            .checked_sub(UdpHeader::LENGTH)
            .filter(|octets| *octets <= datagram.len())
            .ok_or(Malformed::Field("length"))?;
        if octets < datagram.len() {
            *datagram = datagram.split_to(octets);
        }
        Ok(UdpFront(header))
    }

    #[inline]
    fn close(&self, payload: &mut M) {
        payload.push(&self.0);
    }
}

impl UdpFront {
    /// Returns its ports as the receiver sees them.
    #[inline(always)]
    pub(crate) fn ports(&self) -> PortPair {
        PortPair { own: self.0.destination_port, peer: self.0.source_port }
    }

    /// Returns whether its check agrees with what arrived between hosts with this `pseudo` sum; one
    /// that says that there is none agrees where it need not be `checked` (RFC 768).
    #[inline]
    pub(crate) fn is_sound(&self, pseudo: u16, checked: bool, payload: &impl Message) -> bool {
        match self.0.checksum {
            0 => !checked,
            _ => sum(pseudo, &self.0, payload) == 0,
        }
    }

    /// Does the same before there is an association. What the layers below have vouched for may
    /// have the sum of its pseudo-header alone.
    pub(crate) fn is_sound_between(
        &self,
        (own, peer): (Participant, Participant),
        payload: &impl Message,
    ) -> bool {
        let (Some(own), Some(peer)) = (host(own), host(peer)) else { return false };
        let pseudo = pseudo(own, peer);
        self.is_sound(pseudo, peer.is_ipv6(), payload)
            || self.0.checksum == partial(pseudo, self.0.length)
    }

    /// Returns the datagram as it arrived.
    pub(crate) fn back<M: Message>(&self, payload: &M) -> M {
        let mut datagram = payload.share();
        datagram.push(&self.0);
        datagram
    }
}

/// Returns the sum over both hosts and the protocol. Which of them sends makes no difference.
pub(crate) fn pseudo(one: IpAddr, other: IpAddr) -> u16 {
    pseudo_header(one, other, PROTOCOL, 0)
}

/// Returns the sum over the pseudo-header, which is what a check holds that is completed below.
pub(crate) fn partial(pseudo: u16, length: u16) -> u16 {
    !Internet::update(!pseudo, 0, length)
}

/// Returns the check of a datagram: 0 where its header holds it.
pub(crate) fn sum(pseudo: u16, header: &UdpHeader, payload: &impl Message) -> u16 {
    let mut check = Internet::new();
    check.add(&partial(pseudo, header.length).to_be_bytes());
    let mut octets = [0; UdpHeader::LENGTH];
    header.encode(&mut octets);
    check.add(&octets);
    for leaf in payload.leaves() {
        if let Leaf::Octets(octets) = leaf {
            check.add(octets);
        }
    }
    check.value()
}
