//! The contexts of a station.

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::collections::BTreeSet;

use stackwright_base::{Arrival, Origin};
use stackwright_contract::services::{Code, Credit, Ended, Streams};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::{Host, Slots};
use stackwright_wire::{Header, Malformed, Message};

use super::format::diagnose;
use super::header::{Diagnostic, Packet, PacketFormat};
use super::{XtpStream, stream};
use crate::setting::M;

/// Contexts that are streams.
pub(super) struct Contexts {
    here: Ipv4Addr,
    refusal: Code,
    drawn: u64,
    /// Contexts that arrived and are gone: a late copy of their FIRST makes no other.
    buried: BTreeSet<(Participant, u64)>,
}

impl Contexts {
    pub(super) const fn new(here: Ipv4Addr, refusal: Code) -> Self {
        Contexts { here, refusal, drawn: 0, buried: BTreeSet::new() }
    }
}

fn header(packet: &mut M) -> Result<Packet, Malformed> {
    Packet::decode(packet.front(Packet::LENGTH).ok_or(Malformed::TooShort)?)
}

const fn check(octets: usize) -> CheckAt {
    CheckAt { field: 16, covers: 0..octets }
}

/// Whether it is a FIRST, as it was sent.
fn is_first(packet: &mut M) -> bool {
    let octets = packet.len();
    header(packet).is_ok_and(|header| header.format == PacketFormat::First)
        && Internet::new().verify(packet, Some(check(octets))).is_ok()
}

impl Host for Contexts {
    type Configuration = XtpStream<M>;
    type Transfer = Streams<M>;
    /// Whether it is ours, and comes back; and the key of the side that opened.
    type Key = (bool, u64);

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        header_room: 64,
        ..Facts::named("xtp")
    };
    const REFUSES: bool = true;

    fn locate((): &(), packet: &mut M) -> Result<(bool, u64), Malformed> {
        header(packet).map(|header| (header.returned, header.key))
    }

    fn open(&mut self, _: &Context, _: Handle, _: Participant) -> Result<(bool, u64), Ended> {
        self.drawn += 1;
        Ok((true, u64::from(self.here.to_bits()) << 24 | self.drawn))
    }

    fn arrival(
        &mut self,
        _: &Context,
        remote: Participant,
        (_, key): &(bool, u64),
        packet: &mut M,
        _: usize,
    ) -> Arrival<M> {
        if self.buried.contains(&(remote, *key)) || !is_first(packet) {
            return Arrival::Ignored("a packet of no context");
        }
        Arrival::Welcome
    }

    fn unawaited(
        &mut self,
        _: &Context,
        remote: Participant,
        (_, key): &(bool, u64),
        packet: &mut M,
    ) -> Option<M> {
        if self.buried.contains(&(remote, *key)) || !is_first(packet) {
            return None;
        }
        let (mut octets, value) = (Vec::new(), self.refusal);
        diagnose(true, *key, Diagnostic { code: Diagnostic::REFUSED, value }, &mut octets);
        let at = check(octets.len());
        Internet::new().seal(&mut octets, None::<&M>, Some(at));
        Some(M::with_headroom(64, &octets))
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        (_, key): &(bool, u64),
        remote: Participant,
        _: Origin,
        _: Credit,
    ) -> Slots<XtpStream<M>> {
        let there = match remote.internet() {
            Some(SocketAddr::V4(there)) => there,
            _ => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
        };
        stream(*key, SocketAddrV4::new(self.here, 0), there)
    }

    fn gone(&mut self, (ours, key): (bool, u64), remote: Participant, _: u64) {
        if !ours {
            self.buried.insert((remote, key));
        }
    }

    fn room(&self) -> Credit {
        Credit::of_octets(16 << 10)
    }

    fn packet(&self) -> (usize, usize) {
        (600, 64)
    }
}
