//! The connections of a station: which are made, and what others are told.

use alloc::vec;
use core::hash::Hasher as _;
use core::marker::PhantomData;

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Below, Origin, PortPair, Ports, Unexpected, with_port};
use stackwright_contract::services::{Credit, Ended, Streams};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Participant};
use stackwright_policies::integrity::{Internet, hosts_sum};
use stackwright_transport::slots::{Front as _, Integrity as _};
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::{Header as _, Malformed, Message};

use crate::PROTOCOL;
use crate::config::Config;
use crate::format::{XstpFormat, check};
use crate::header::{GONE, XstpHeader, XstpKind};
use crate::policies::{self, Xstp};

/// The octets that are free before a packet, for the layers below.
const HEADROOM: usize = 64;

/// The connections of a station.
pub struct XstpHost<M> {
    config: Config,
    secret: u64,
    /// How many connections there were.
    count: u64,
    /// Connections that are over: a late copy of their beginning makes no other.
    over: Graveyard<PortPair>,
    ports: Ports,
    /// The hosts between which the last connection arrived.
    arriving: Option<(Participant, Participant)>,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> XstpHost<M> {
    /// Creates the connections of a station. No peer may know `secret`.
    pub fn new(config: Config, secret: u64) -> Self {
        XstpHost {
            config,
            secret,
            count: 0,
            over: Graveyard::default(),
            ports: Ports::new(PROTOCOL, secret),
            arriving: None,
            message: PhantomData,
        }
    }

    /// Returns the header of a packet that is as it was sent.
    fn sound((local, remote): (Participant, Participant), packet: &mut M) -> Option<XstpHeader> {
        let header = XstpHeader::read(packet).ok()?;
        let at = check(hosts_sum(local, remote, PROTOCOL), packet.len());
        Internet::new().verify(packet, Some(at)).ok().map(|()| header)
    }

    /// Makes the answer to a packet of no connection: an END is acknowledged, and the sender of
    /// anything else that would be answered is told that there is none. It is sure of that by the
    /// number, which it has sent.
    fn answer(
        &mut self,
        cx: &Context,
        (local, remote): (Participant, Participant),
        key: PortPair,
        header: &XstpHeader,
    ) -> Option<M> {
        let kind = match header.kind {
            XstpKind::End => XstpKind::EndAcknowledge,
            XstpKind::Begin | XstpKind::Data | XstpKind::DataPoll | XstpKind::Poll => {
                match self.over.arrival(cx.now(), remote, key, HEADROOM) {
                    Some(Arrival::Answered(answer)) => return Some(answer),
                    Some(_) => return None,
                    None => XstpKind::Reject,
                }
            }
            _ => return None,
        };
        let answer = XstpHeader {
            source_port: header.destination_port,
            destination_port: header.source_port,
            kind,
            flags: if header.kind == XstpKind::Begin { 0 } else { GONE },
            checksum: 0,
            ..*header
        };
        let mut octets = vec![0; XstpHeader::LENGTH];
        answer.encode(&mut octets);
        let at = check(hosts_sum(local, remote, PROTOCOL), octets.len());
        Internet::new().seal(&mut octets, None::<&M>, Some(at));
        Some(M::with_headroom(HEADROOM, &octets))
    }
}

impl<M: Message> Host for XstpHost<M> {
    type Configuration = Xstp<M>;
    type Transfer = Streams<M>;
    type Key = PortPair;
    type PassiveKey = u16;

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        header_room: XstpHeader::LENGTH,
        reads_payload: true,
        ..Facts::named("xstp")
    };
    const REFUSES: bool = true;

    #[inline]
    fn locate(front: &XstpHeader, _: &mut M) -> Result<PortPair, Malformed> {
        Ok(PortPair { own: front.destination_port, peer: front.source_port })
    }

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<PortPair>, Ended> {
        self.ports.open(local, remote)
    }

    fn free_key(
        &mut self,
        key: PortPair,
        is_taken: impl Fn(&PortPair) -> bool,
    ) -> Option<PortPair> {
        self.ports.free(key, is_taken)
    }

    fn ends(key: &PortPair, below: [Participant; 2]) -> [Participant; 2] {
        key.ends(below)
    }

    fn listen(
        &mut self,
        _: &Context,
        local: Participant,
        is_taken: impl Fn(Participant, &u16) -> bool,
    ) -> Result<(Participant, u16), Ended> {
        self.ports.listen(local, is_taken)
    }

    /// A peer whose connection is gone is told so, on a host that only opens connections, too.
    fn hears() -> Option<Participant> {
        Some(Ports::any(PROTOCOL))
    }

    fn listens_at(port: &u16, below: Participant) -> Participant {
        with_port(below, *port)
    }

    fn passive_key(key: &PortPair) -> u16 {
        key.own
    }

    fn quoted(octets: &[u8; 8]) -> Option<PortPair> {
        Some(PortPair::quoted(octets))
    }

    fn arrival(
        &mut self,
        cx: &Context,
        ends: (Participant, Participant),
        key: &PortPair,
        packet: &mut M,
        crowd: Crowd,
    ) -> Arrival<M> {
        const NONE: &str = "a packet of no connection";
        let Some(header) = Self::sound(ends, packet) else { return Arrival::Ignored(NONE) };
        if header.kind != XstpKind::Begin || self.over.holds(cx.now(), ends.1, *key) {
            let answer = self.answer(cx, ends, *key, &header);
            return answer.map_or(Arrival::Ignored(NONE), Arrival::Answered);
        }
        self.arriving = Some(ends);
        if crowd.half_open >= self.config.half_open_most {
            return Arrival::Displaces;
        }
        Arrival::Welcome
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        ends: (Participant, Participant),
        key: &PortPair,
        packet: &mut M,
        _: Unexpected,
    ) -> Option<M> {
        let header = Self::sound(ends, packet)?;
        self.answer(cx, ends, *key, &header)
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        key: &PortPair,
        _: Participant,
        origin: Origin,
        _: Credit,
    ) -> Slots<Xstp<M>> {
        self.count += 1;
        let mut hasher = SipHasher13::new_with_keys(self.secret, self.count);
        hasher.write_u8(0);
        let mut format = XstpFormat::new(&self.config, *key, hasher.finish() as u32);
        if origin == Origin::Arrived
            && let Some((local, remote)) = self.arriving.take()
        {
            stackwright_transport::slots::Format::<M>::on_ends(&mut format, local, remote);
        }
        policies::policies(format, &self.config)
    }

    fn bury(
        &mut self,
        cx: &Context,
        (key, remote): (&PortPair, Participant),
        farewell: Farewell<'_>,
    ) {
        let until = cx.now().later(farewell.wait.max(self.config.remembered));
        self.over.bury(remote, *key, farewell, until);
    }

    fn room(&self) -> Credit {
        self.config.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.packet), HEADROOM)
    }
}
