//! A whole IPv4 packet, and the header of DSR in it, which stands behind IPv4's and names what
//! follows in its place (RFC 4728 §6.1).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Ipv4, complete_ipv4};
use stackwright_wire::{Header as _, Message};

use crate::header::{DsrFront, NOTHING, Opt, PROTOCOL, SourceRoute, read_options};

/// Octets before a packet of our own, for the headers below.
const HEADROOM: usize = 64;

/// A packet, taken apart.
pub(crate) struct Packet<M> {
    /// IPv4's header, with its options.
    header: Vec<u8>,
    /// What follows DSR's header, or IPv4's where there is none.
    protocol: u8,
    /// Whether it came with DSR's header.
    pub(crate) is_ours: bool,
    pub(crate) options: Vec<Opt>,
    payload: M,
}

impl<M: Message> Packet<M> {
    /// Takes a packet apart.
    pub(crate) fn read(mut packet: M) -> Result<Self, &'static str> {
        const SHORT: &str = "a packet shorter than its header";
        let front = packet.front(Ipv4::LENGTH).ok_or(SHORT)?;
        let ip = Ipv4::decode(front).map_err(|_| "a packet that is not IPv4's")?;
        let (length, total) = (usize::from(ip.ihl) * 4, usize::from(ip.total_length));
        if length < Ipv4::LENGTH || total < length || total > packet.len() {
            return Err("a length that is impossible");
        }
        let header = Vec::from(packet.front(length).ok_or(SHORT)?);
        if Internet::of(&header) != 0 {
            return Err("a header whose check does not agree");
        }
        packet.truncate(total);
        packet.advance(length);
        let is_ours = ip.protocol == PROTOCOL;
        let mut read =
            Packet { header, protocol: ip.protocol, is_ours, options: Vec::new(), payload: packet };
        if is_ours {
            read.read_ours()?;
        }
        Ok(read)
    }

    fn read_ours(&mut self) -> Result<(), &'static str> {
        let front: DsrFront = self.payload.pull().map_err(|_| "a DSR header that is cut off")?;
        if front.flow {
            return Err("a packet of a flow, which is not spoken");
        }
        let length = usize::from(front.length);
        let options = self.payload.front(length).ok_or("options that are cut off")?;
        self.options = read_options(options)?;
        self.payload.advance(length);
        self.protocol = front.next_header;
        Ok(())
    }

    /// Makes a packet that carries options alone.
    pub(crate) fn own(source: Ipv4Addr, destination: Ipv4Addr, ttl: u8, options: Vec<Opt>) -> Self {
        let mut header = Vec::from([0; Ipv4::LENGTH]);
        Ipv4 {
            version: (),
            ihl: 5,
            dscp: 0,
            ecn: 0,
            total_length: 0,
            identification: 0,
            reserved: (),
            df: true,
            mf: false,
            fragment_offset: 0,
            ttl,
            protocol: PROTOCOL,
            checksum: 0,
            source: source.octets(),
            destination: destination.octets(),
        }
        .encode(&mut header);
        let payload = M::with_headroom(HEADROOM, &[]);
        Packet { header, protocol: NOTHING, is_ours: true, options, payload }
    }

    /// Puts it together: with no header of DSR's where there are no options.
    pub(crate) fn write(&self) -> M {
        let mut packet = self.payload.share();
        let mut header = self.header.clone();
        header[9] = self.protocol;
        if !self.options.is_empty() {
            let mut options = Vec::new();
            self.options.iter().for_each(|option| option.write(&mut options));
            let (next_header, length) = (self.protocol, options.len() as u16);
            packet.push_front(options.len()).copy_from_slice(&options);
            packet.push(&DsrFront { next_header, flow: false, rsvd: 0, length });
            header[9] = PROTOCOL;
        }
        let total = (header.len() + packet.len()) as u16;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        complete_ipv4(&mut header);
        packet.push_front(header.len()).copy_from_slice(&header);
        packet
    }

    /// Returns it once more.
    pub(crate) fn share(&self) -> Self {
        let Packet { protocol, is_ours, .. } = *self;
        let (header, options) = (self.header.clone(), self.options.clone());
        Packet { header, protocol, is_ours, options, payload: self.payload.share() }
    }

    fn host(&self, at: usize) -> Ipv4Addr {
        let octets = self.header[at..].first_chunk::<4>().copied();
        octets.map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from)
    }

    pub(crate) fn source(&self) -> Ipv4Addr {
        self.host(12)
    }

    pub(crate) fn destination(&self) -> Ipv4Addr {
        self.host(16)
    }

    /// Returns whether it carries more than options.
    pub(crate) const fn has_payload(&self) -> bool {
        self.protocol != NOTHING
    }

    /// Takes a hop off; returns whether there was one more.
    pub(crate) fn take_hop(&mut self) -> bool {
        let lives = self.header[8] > 1;
        self.header[8] = self.header[8].saturating_sub(1);
        lives
    }

    pub(crate) fn route(&self) -> Option<&SourceRoute> {
        self.options.iter().find_map(|option| match option {
            Opt::Route(route) => Some(route),
            _ => None,
        })
    }

    pub(crate) fn route_mut(&mut self) -> Option<&mut SourceRoute> {
        self.options.iter_mut().find_map(|option| match option {
            Opt::Route(route) => Some(route),
            _ => None,
        })
    }

    /// Returns the last station of its route: where it goes, or a router to there.
    pub(crate) fn last_station(&self) -> Option<Ipv4Addr> {
        let route = self.route()?;
        let router = route.list.last().filter(|_| route.last_external);
        Some(router.copied().unwrap_or_else(|| self.destination()))
    }

    /// Returns whether it is another's, by what a station put into it that sends it on.
    pub(crate) fn is_relayed_by(&self, own: Ipv4Addr) -> bool {
        self.route().is_some_and(|route| {
            let is_adder = route.first_external && route.list.first() == Some(&own);
            route.salvage > 0 || route.list.contains(&own) && !is_adder
        })
    }

    /// Has it take a route, from this station to the last, both included; its next hop is the
    /// second. Between neighbours there is none in it.
    pub(crate) fn set_route(&mut self, route: &[Ipv4Addr], salvage: u8) {
        self.clear_route();
        let [own, relays @ .., last] = route else { return };
        if relays.is_empty() {
            return;
        }
        let first_external = self.source() != *own;
        let last_external = self.destination() != *last;
        let adder = first_external.then_some(*own);
        let router = last_external.then_some(*last);
        let list: Vec<_> = adder.into_iter().chain(relays.iter().copied()).chain(router).collect();
        let left = (relays.len() + usize::from(last_external)) as u8;
        let route = SourceRoute { first_external, last_external, salvage, left, list };
        self.options.push(Opt::Route(route));
    }

    /// Takes its route out, and what was asked of the next hop.
    pub(crate) fn clear_route(&mut self) {
        self.options.retain(|option| !matches!(option, Opt::Route(_) | Opt::AckRequest { .. }));
    }
}
