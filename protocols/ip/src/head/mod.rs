//! What a packet's header says, whatever its version; and the header of what an association sends.

pub(crate) mod v4;
pub(crate) mod v6;

use core::net::IpAddr;

use stackwright_contract::services::Batch;
use stackwright_wire::Message;
use stackwright_wire::internet::Extensions;

/// ICMP, of either version.
pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMP6: u8 = 58;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// Octets of the longest header that this host writes: IPv6 with a fragment header.
pub(crate) const HEADER_MOST: usize = v6::LENGTH + v6::FRAGMENT;

/// Free octets before packets that are copied, for the headers of links.
pub(crate) const HEADROOM: usize = 64;

/// The octets of the longest packet of IPv4, and of the longest payload of IPv6 (no jumbograms).
pub(crate) const PACKET_MOST: usize = 65_535;

/// What the header of a packet says. It was checked: lengths, and the check of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// Of the payload.
    pub(crate) protocol: u8,
    /// The two bits of congestion notification.
    pub(crate) ecn: u8,
    pub(crate) hops: u8,
    /// Where the octet is that says the protocol.
    pub(crate) next_at: u16,
    /// Octets before the payload: options and extension headers, too.
    pub(crate) length: u16,
    /// Octets of the packet; what follows them is padding of a link.
    pub(crate) total: usize,
    pub(crate) fragment: Option<Fragment>,
    /// Whether routers may not fragment it.
    pub(crate) df: bool,
}

/// Which part of a packet a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fragment {
    pub(crate) identification: u32,
    /// Of its payload, in octets.
    pub(crate) offset: u32,
    /// Whether others follow.
    pub(crate) more: bool,
}

/// The protocol and the two addresses of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    /// The own address; in what arrives, the destination, which may be a group.
    pub(crate) own: IpAddr,
    pub(crate) peer: IpAddr,
    pub(crate) protocol: u8,
}

impl Head {
    /// Reads the header at the front of a packet. Extension headers of IPv6 are read by whom the
    /// packet is for: until then, the first of them is its protocol.
    ///
    /// # Errors
    /// Returns why it is dropped.
    #[inline(always)]
    pub(crate) fn read<M: Message>(packet: &mut M) -> Result<Head, &'static str> {
        let octets = packet.len();
        match packet.front(v4::LENGTH) {
            Some(front) if front[0] == 0x45 => v4::read(front, octets),
            Some(front) => match front[0] >> 4 {
                4 => v4::read_with_options(packet),
                6 => v6::read(packet.front(v6::LENGTH).unwrap_or_default(), octets),
                _ => Err("a packet of another version"),
            },
            None => Err("a packet shorter than its header"),
        }
    }

    /// Reads the header of one packet of several, of `octets` octets, which begins with the piece
    /// `front`; `None`: it is not one that is handled together with others.
    pub(crate) fn of_front(front: &[u8], octets: usize) -> Option<Head> {
        match front.first()? >> 4 {
            4 => v4::read(front.get(..v4::LENGTH)?, octets).ok(),
            6 => v6::read(front, octets).ok(),
            _ => None,
        }
    }

    /// Returns the header of a packet of this host, whose payload is pushed behind it.
    pub(crate) fn of(source: IpAddr, destination: IpAddr, protocol: u8, hops: u8) -> Head {
        let length = if source.is_ipv4() { v4::LENGTH } else { v6::LENGTH };
        Head {
            source,
            destination,
            protocol,
            ecn: 0,
            hops,
            next_at: 0,
            length: length as u16,
            total: length,
            fragment: None,
            df: true,
        }
    }

    /// Returns whether extension headers of IPv6 are between the header and the payload, and were
    /// not read yet.
    #[inline]
    pub(crate) fn is_extended(&self) -> bool {
        Extensions::is_one(self.protocol) && self.source.is_ipv6()
    }

    /// Returns the octets of the header that [`push`](Head::push) writes.
    pub(crate) fn header_octets(&self) -> usize {
        if self.source.is_ipv4() { v4::LENGTH } else { v6::LENGTH }
    }

    /// Returns the key of the association that it is for.
    #[inline(always)]
    pub(crate) fn key(&self) -> Key {
        Key { own: self.destination, peer: self.source, protocol: self.protocol }
    }

    /// Writes it before the payload, without options or extensions.
    pub(crate) fn push<M: Message>(&self, payload: &mut M) {
        let template = Template::new(self.source, self.destination, self.protocol, self.hops);
        template.push_single(payload, self.ecn);
    }
}

/// The header of what an association sends; only lengths and congestion notification differ from
/// packet to packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    octets: [u8; v6::LENGTH],
    length: u8,
}

impl Template {
    pub(crate) fn new(source: IpAddr, destination: IpAddr, protocol: u8, hops: u8) -> Self {
        let mut octets = [0; v6::LENGTH];
        let length = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                v4::template(&mut octets, source, destination, protocol, hops);
                v4::LENGTH
            }
            (source, destination) => {
                v6::template(&mut octets, source, destination, protocol, hops);
                v6::LENGTH
            }
        };
        Template { octets, length: length as u8 }
    }

    /// Returns the octets of the header.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length.into()
    }

    /// Pushes the header before messages, which fit into packets and are equally long; returns
    /// whether it could: [`Batch::push_each`].
    #[inline(always)]
    pub(crate) fn push<M: Message>(&self, batch: &mut Batch<M>, ecn: u8) -> bool {
        if batch.segment_size().is_none() {
            self.push_single(batch.single_mut(), ecn);
            return true;
        }
        let header = self.header(ecn, batch.longest(), true);
        batch.push_each(&header[..self.length()])
    }

    /// Pushes the header before a message, which fits into a packet.
    #[inline(always)]
    fn push_single(&self, message: &mut impl Message, ecn: u8) {
        let octets = message.len();
        if self.length() == v4::LENGTH {
            let front = message.push_front(v4::LENGTH);
            front.copy_from_slice(&self.octets[..v4::LENGTH]);
            complete(front, ecn, octets, true);
        } else {
            message.push_front(v6::LENGTH).copy_from_slice(&self.header(ecn, octets, true));
        }
    }

    /// Returns the header before `payload` octets, which fit into a packet. Without `df`, routers
    /// may fragment a packet of IPv4.
    pub(crate) fn header(&self, ecn: u8, payload: usize, df: bool) -> [u8; v6::LENGTH] {
        let mut octets = self.octets;
        complete(&mut octets[..self.length()], ecn, payload, df);
        octets
    }
}

/// Completes a template, which is in place.
#[inline(always)]
fn complete(front: &mut [u8], ecn: u8, payload: usize, df: bool) {
    if let Some(front) = front.first_chunk_mut::<{ v6::LENGTH }>() {
        v6::complete(front, ecn, payload);
    } else if let Some(front) = front.first_chunk_mut() {
        v4::complete(front, ecn, payload, df);
    }
}
