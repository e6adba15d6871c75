//! How a word becomes a packet that Wireshark opens: synthetic headers in front of its payload.
//!
//! The headers are true in what a word knows (addresses, lengths, numbers, checks) and plausible in
//! the rest: these packets were never sent.

use core::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use super::payload::Payload;
use crate::Header;
use crate::check::Internet;
use crate::internet::{Ipv4, Ipv6, Tcp, Udp};

/// The protocol numbers of TCP and UDP.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Words of 32 bits in a header of IPv4 or TCP that has no options.
const NO_OPTIONS: u8 = 5;

/// The most data of one segment: what IPv4 has room for (RFC 791 §3.1), so that a packet of either
/// family can carry it.
const SEGMENT_MOST: usize = u16::MAX as usize - Ipv4::LENGTH - Tcp::LENGTH;

/// The hops to live that RFC 1700 names as the default.
const HOPS: u8 = 64;

const HEADERS_MOST: usize = Ipv6::LENGTH + Tcp::LENGTH;

/// The addresses of the sender and the receiver of a packet, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Both are IPv4 addresses.
    V4(SocketAddrV4, SocketAddrV4),
    /// Both are IPv6 addresses.
    V6(SocketAddrV6, SocketAddrV6),
}

impl Ends {
    /// Returns the addresses of a packet from `source` to `destination`. An IPv4-mapped address
    /// becomes the IPv4 address that it maps, unless the other one is an IPv6 address: then both
    /// are (RFC 4291 §2.5.5.2).
    pub fn between(source: SocketAddr, destination: SocketAddr) -> Self {
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        match (canonical(source), canonical(destination)) {
            (SocketAddr::V4(source), SocketAddr::V4(destination)) => Ends::V4(source, destination),
            (source, destination) => Ends::V6(mapped(source), mapped(destination)),
        }
    }

    /// Returns the addresses of a packet in the opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Ends::V4(source, destination) => Ends::V4(destination, source),
            Ends::V6(source, destination) => Ends::V6(destination, source),
        }
    }

    fn ports(self) -> (u16, u16) {
        match self {
            Ends::V4(source, destination) => (source.port(), destination.port()),
            Ends::V6(source, destination) => (source.port(), destination.port()),
        }
    }

    /// Returns the Internet check of `transport`, a header whose own check is zero, before
    /// `payload`, with the pseudo header: the same sum for both families (RFC 9293 §3.1, RFC 8200
    /// §8.1), because zeros do not count.
    fn check(self, protocol: u8, transport: &[u8], payload: &Payload<'_>) -> u16 {
        let mut check = Internet::new();
        match self {
            Ends::V4(source, destination) => {
                check.add(&source.ip().octets());
                check.add(&destination.ip().octets());
            }
            Ends::V6(source, destination) => {
                check.add(&source.ip().octets());
                check.add(&destination.ip().octets());
            }
        }
        // A packet has at most 2^16 octets.
        check.add(&((transport.len() + payload.len()) as u32).to_be_bytes());
        check.add(&[0, 0, 0, protocol]);
        check.add(transport);
        payload.pieces.iter().for_each(|piece| check.add(piece));
        check.value()
    }
}

fn mapped(address: SocketAddr) -> SocketAddrV6 {
    match address {
        SocketAddr::V4(v4) => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0),
        SocketAddr::V6(v6) => v6,
    }
}

/// What a TCP segment says beside its octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpSegment {
    /// The sequence number of its first octet (RFC 9293 §3.4). The caller counts: one for each
    /// octet, and one for a [`Synchronise`](Control::Synchronise) or a [`Finish`](Control::Finish).
    pub sequence: u32,
    /// The sequence number that is expected of the other side next.
    pub acknowledgement: Option<u32>,
    /// The last octet is expedited (RFC 9293 §3.8.5).
    pub urgent: bool,
    /// What happens to the association.
    pub control: Control,
}

/// What a segment does to its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// Nothing: it has octets, or an acknowledgement.
    #[default]
    Absent,
    /// Opens it (SYN).
    Synchronise,
    /// Its sender has finished (FIN).
    Finish,
    /// Ends it at once (RST).
    Reset,
}

/// A packet of a capture: headers, and a payload that is copied only into the file.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    headers: [u8; HEADERS_MOST],
    length: usize,
    payload: Payload<'a>,
}

impl<'a> Frame<'a> {
    /// Returns a payload without a header, for an interface of
    /// [`LinkType::USER0`](super::LinkType::USER0): between participants that have no Internet
    /// addresses.
    pub fn plain(payload: Payload<'a>) -> Self {
        Frame { headers: [0; HEADERS_MOST], length: 0, payload }
    }

    /// Returns a UDP datagram, for an interface of [`LinkType::RAW`](super::LinkType::RAW); `None`
    /// where it is longer than a packet.
    ///
    /// Where part of the payload is missing there is no check.
    pub fn datagram(ends: Ends, payload: Payload<'a>) -> Option<Self> {
        let (source_port, destination_port) = ends.ports();
        let mut udp = Udp {
            source_port,
            destination_port,
            length: u16::try_from(Udp::LENGTH + payload.len()).ok()?,
            checksum: 0,
        };
        let mut octets = [0; Udp::LENGTH];
        udp.encode(&mut octets);
        if payload.beyond == 0 {
            udp.checksum = match ends.check(UDP, &octets, &payload) {
                // RFC 768: a check of zero is sent as all ones, because zero means that there is
                // none.
                0 => u16::MAX,
                check => check,
            };
            udp.encode(&mut octets);
        }
        Frame::internet(ends, UDP, &octets, payload)
    }

    /// Returns octets of a stream as TCP segments, for an interface of
    /// [`LinkType::RAW`](super::LinkType::RAW): as many packets as it takes, at least one.
    pub fn segments(
        ends: Ends,
        segment: TcpSegment,
        mut payload: Payload<'a>,
    ) -> impl Iterator<Item = Frame<'a>> {
        let mut next = Some(segment);
        core::iter::from_fn(move || {
            let segment = next.take()?;
            let part = payload.split_to(SEGMENT_MOST);
            if payload.is_empty() {
                return Frame::segment(ends, segment, part);
            }
            // A SYN has the first of all numbers, before the data (RFC 9293 §3.4). A FIN or RST
            // comes last.
            let opens = segment.control == Control::Synchronise;
            let control = if opens { Control::Absent } else { segment.control };
            let sequence = segment.sequence.wrapping_add(part.len() as u32 + u32::from(opens));
            next = Some(TcpSegment { sequence, control, ..segment });
            let control = if opens { Control::Synchronise } else { Control::Absent };
            Frame::segment(ends, TcpSegment { control, urgent: false, ..segment }, part)
        })
    }

    fn segment(ends: Ends, segment: TcpSegment, payload: Payload<'a>) -> Option<Self> {
        let (source_port, destination_port) = ends.ports();
        let mut tcp = Tcp {
            source_port,
            destination_port,
            sequence_number: segment.sequence,
            acknowledgment_number: segment.acknowledgement.unwrap_or(0),
            data_offset: NO_OPTIONS,
            rsrvd: 0,
            cwr: false,
            ece: false,
            urg: segment.urgent,
            ack: segment.acknowledgement.is_some(),
            psh: !payload.is_empty(),
            rst: segment.control == Control::Reset,
            syn: segment.control == Control::Synchronise,
            fin: segment.control == Control::Finish,
            window: u16::MAX,
            checksum: 0,
            // To the octet behind the urgent ones (RFC 9293 §3.8.5).
            urgent_pointer: if segment.urgent { payload.len() as u16 } else { 0 },
        };
        let mut octets = [0; Tcp::LENGTH];
        tcp.encode(&mut octets);
        if payload.beyond == 0 {
            tcp.checksum = ends.check(TCP, &octets, &payload);
            tcp.encode(&mut octets);
        }
        Frame::internet(ends, TCP, &octets, payload)
    }

    /// Prepends the header of the addresses' family to `transport`.
    fn internet(ends: Ends, protocol: u8, transport: &[u8], payload: Payload<'a>) -> Option<Self> {
        let carried = transport.len() + payload.len();
        let mut headers = [0; HEADERS_MOST];
        let start = match ends {
            Ends::V4(source, destination) => {
                let mut ip = Ipv4 {
                    version: (),
                    ihl: NO_OPTIONS,
                    dscp: 0,
                    ecn: 0,
                    total_length: u16::try_from(Ipv4::LENGTH + carried).ok()?,
                    // It has no meaning where nothing is fragmented (RFC 6864 §4.1).
                    identification: 0,
                    reserved: (),
                    df: true,
                    mf: false,
                    fragment_offset: 0,
                    ttl: HOPS,
                    protocol,
                    checksum: 0,
                    source: source.ip().octets(),
                    destination: destination.ip().octets(),
                };
                ip.encode(&mut headers);
                ip.checksum = Internet::of(&headers[..Ipv4::LENGTH]);
                ip.encode(&mut headers);
                Ipv4::LENGTH
            }
            Ends::V6(source, destination) => {
                let ip = Ipv6 {
                    version: (),
                    traffic_class: 0,
                    flow_label: 0,
                    payload_length: u16::try_from(carried).ok()?,
                    next_header: protocol,
                    hop_limit: HOPS,
                    source: source.ip().octets(),
                    destination: destination.ip().octets(),
                };
                ip.encode(&mut headers);
                Ipv6::LENGTH
            }
        };
        let length = start + transport.len();
        headers[start..length].copy_from_slice(transport);
        Some(Frame { headers, length, payload })
    }

    /// Returns the packet's length in octets.
    pub fn len(&self) -> usize {
        self.length + self.payload.len()
    }

    /// Returns whether the packet has no octets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the octets that are not missing, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(&self.headers[..self.length]).chain(self.payload.pieces.iter().copied())
    }
}
