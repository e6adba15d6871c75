//! The connections of a station, told apart by ports.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use stackwright_base::{Arrival, Below, Origin, Unexpected};
use stackwright_contract::services::{Code, Credit, Ended, Streams};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::{Crowd, Host, Slots};
use stackwright_wire::{Header, Malformed, Message};

use super::header::{Kind, Packet};
use super::{PSEUDO_HEADER, Xstp, connection};
use stackwright_trial::setting::M;

/// The first port of those that open.
const FRESH: u16 = 49_152;

/// Connections that are streams.
pub(super) struct Ports {
    refusal: Code,
    drawn: u16,
    /// Connections that arrived and are gone: a late copy of their BGN makes no other.
    buried: BTreeSet<(Participant, (u16, u16))>,
}

impl Ports {
    pub(super) const fn new(refusal: Code) -> Self {
        Ports { refusal, drawn: 0, buried: BTreeSet::new() }
    }
}

const fn check(octets: usize) -> CheckAt {
    CheckAt::new(14, 0..octets)
}

fn header(packet: &mut M) -> Result<Packet, Malformed> {
    Packet::decode(packet.front(Packet::LENGTH).ok_or(Malformed::TooShort)?)
}

/// The header of one that is as it was sent.
fn sound(packet: &mut M) -> Option<Packet> {
    let octets = packet.len();
    let header = header(packet).ok()?;
    Internet::after(&PSEUDO_HEADER).verify(packet, Some(check(octets))).ok().map(|()| header)
}

impl Host for Ports {
    type Configuration = Xstp<M>;
    type Transfer = Streams<M>;
    /// The peer's port, and ours.
    type Key = (u16, u16);
    type PassiveKey = ();

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        header_room: Packet::LENGTH,
        ..Facts::named("xstp")
    };
    const REFUSES: bool = true;

    fn locate((): &(), packet: &mut M) -> Result<(u16, u16), Malformed> {
        header(packet).map(|header| (header.source, header.destination))
    }

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<(u16, u16)>, Ended> {
        let there = remote.internet().as_ref().map(SocketAddr::port).ok_or(Ended::Unavailable)?;
        self.drawn += 1;
        Below::with(local, remote, (there, FRESH + self.drawn))
    }

    fn arrival(
        &mut self,
        _: &Context,
        (_, remote): (Participant, Participant),
        key: &(u16, u16),
        packet: &mut M,
        _: Crowd,
    ) -> Arrival<M> {
        let begins = sound(packet).is_some_and(|header| header.kind == Kind::Begin);
        if !begins || self.buried.contains(&(remote, *key)) {
            return Arrival::Ignored("a packet of no connection");
        }
        Arrival::Welcome
    }

    /// A BGN that nobody awaits is rejected; an END of what is gone is acknowledged once more.
    fn unawaited(
        &mut self,
        _: &Context,
        (_, remote): (Participant, Participant),
        key: &(u16, u16),
        packet: &mut M,
        _: Unexpected,
    ) -> Option<M> {
        let header = sound(packet)?;
        let (kind, code) = match header.kind {
            Kind::Begin if !self.buried.contains(&(remote, *key)) => {
                (Kind::Reject, Some(self.refusal))
            }
            Kind::End => (Kind::EndAcknowledge, None),
            _ => return None,
        };
        let answer = Packet {
            source: header.destination,
            destination: header.source,
            kind,
            flags: 0,
            check: 0,
            ..header
        };
        let mut octets = vec![0; Packet::LENGTH];
        answer.encode(&mut octets);
        octets.extend(code.iter().flat_map(|code| code.to_be_bytes()));
        let at = check(octets.len());
        Internet::after(&PSEUDO_HEADER).seal(&mut octets, None::<&M>, Some(at));
        Some(M::with_headroom(64, &octets))
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        (there, here): &(u16, u16),
        _: Participant,
        _: Origin,
        _: Credit,
    ) -> Slots<Xstp<M>> {
        connection(*here, *there)
    }

    fn gone(&mut self, key: (u16, u16), remote: Participant, _: u64) {
        if key.1 < FRESH {
            self.buried.insert((remote, key));
        }
    }

    fn room(&self) -> Credit {
        Credit::of_octets(8 << 10)
    }

    fn packet(&self) -> (usize, usize) {
        (178, 64)
    }
}
