//! The contexts of a station: which are made, how their keys are chosen, and what others are told.

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_base::{Arrival, Origin};
use stackwright_contract::services::{Credit, Ended};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::Integrity;
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::{Header as _, Malformed, Message};

use crate::config::{Config, PACKET_LEAST};
use crate::format::{self, HEADER_MOST};
use crate::header::{AddressHeader, DiagnosticSegment, XtpKind, XtpOptions, XtpPacket};
use crate::key::ContextKey;
use crate::receive::pull_opening;
use crate::send::diagnose;
use crate::services::{self, XtpService};

/// The octets that are free before a packet, for the layers below.
const HEADROOM: usize = 64;

/// The contexts of one service.
pub struct Contexts<M, S> {
    config: Config,
    over: Graveyard<ContextKey>,
    service: PhantomData<fn() -> (M, S)>,
}

impl<M: Message, S: XtpService> Contexts<M, S> {
    /// Creates the contexts of a station.
    ///
    /// # Panics
    /// If packets are shorter than 256 octets.
    pub fn new(config: Config) -> Self {
        assert!(config.packet >= PACKET_LEAST, "a packet has at least 256 octets");
        Contexts { config, over: Graveyard::default(), service: PhantomData }
    }
}

/// Returns the header of a FIRST that arrived as it was sent, and why no context is made of it, if
/// none is.
fn read_first<M: Message, S: XtpService>(packet: &mut M) -> Option<(XtpPacket, Option<u32>)> {
    let header = XtpPacket::decode(packet.front(XtpPacket::LENGTH)?).ok()?;
    let octets = packet.len();
    let at = format::check(&header, octets);
    let is_first = header.format == XtpKind::First
        && !header.returned
        && header.length as usize == octets - XtpPacket::LENGTH
        && Internet::new().verify(packet, Some(at)).is_ok();
    let mut rest = packet.share();
    rest.advance(XtpPacket::LENGTH);
    let (address, (service, _)) = pull_opening(&mut rest).ok().filter(|_| is_first)?;
    let known = [AddressHeader::NULL, AddressHeader::INTERNET, AddressHeader::INTERNET_6];
    let refused = if !known.contains(&address.format) {
        Some(DiagnosticSegment::ADDRESS_FORMAT)
    } else if service != S::NUMBER {
        Some(DiagnosticSegment::NO_PROVIDER)
    } else {
        None
    };
    Some((header, refused))
}

/// Makes the answer that a context is not made.
fn refusal<M: Message>(header: &XtpPacket, value: u32) -> M {
    let mut octets = Vec::new();
    let header = XtpPacket {
        returned: true,
        options: XtpOptions::END,
        format: XtpKind::Diagnostic,
        sequence: 0,
        ..*header
    };
    diagnose(header, DiagnosticSegment { code: DiagnosticSegment::REFUSED, value }, &mut octets);
    let at = format::check(&header, octets.len());
    Internet::new().seal(&mut octets, None::<&M>, Some(at));
    M::with_headroom(HEADROOM, &octets)
}

impl<M: Message, S: XtpService> Host for Contexts<M, S> {
    type Configuration = S::Configuration<M>;
    type Transfer = S::Transfer<M>;
    type Key = ContextKey;

    const FACTS: Facts = Facts {
        gives: S::GIVES,
        header_room: HEADER_MOST,
        reads_payload: true,
        ..Facts::named(S::NAME)
    };
    const REFUSES: bool = true;
    const SORTS: bool = true;

    #[inline]
    fn locate(header: &XtpPacket, _: &mut M) -> Result<ContextKey, Malformed> {
        Ok(ContextKey { ours: header.returned, number: header.key })
    }

    #[inline]
    fn named(key: &ContextKey) -> Option<Handle> {
        key.name()
    }

    fn open(&mut self, _: &Context, name: Handle, _: Participant) -> Result<ContextKey, Ended> {
        ContextKey::of(name, &self.config.secret).ok_or(Ended::Unavailable)
    }

    fn arrival(
        &mut self,
        cx: &Context,
        remote: Participant,
        key: &ContextKey,
        packet: &mut M,
        crowd: Crowd,
    ) -> Arrival<M> {
        if let Some(answer) = self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            return answer;
        }
        match read_first::<M, S>(packet) {
            None => Arrival::Ignored("a packet of no context"),
            Some((header, Some(value))) => Arrival::Answered(refusal(&header, value)),
            // XTP has no way to ask for a proof before there is a context.
            Some((_, None)) if crowd.half_open >= self.config.half_open_most => Arrival::Displaces,
            Some((_, None)) => Arrival::Welcome,
        }
    }

    fn refuse(&mut self, packet: &mut M) -> Arrival<M> {
        match read_first::<M, S>(packet) {
            Some((header, _)) => {
                Arrival::Answered(refusal(&header, DiagnosticSegment::NO_RESOURCE))
            }
            None => Arrival::Ignored("a packet of no context"),
        }
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        remote: Participant,
        key: &ContextKey,
        packet: &mut M,
    ) -> Option<M> {
        match self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            Some(Arrival::Answered(answer)) => Some(answer),
            Some(_) => None,
            None => {
                let (header, why) = read_first::<M, S>(packet)?;
                Some(refusal(&header, why.unwrap_or(DiagnosticSegment::NO_LISTENER)))
            }
        }
    }

    fn priority(&self) -> u8 {
        self.config.sort
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        _: &Context,
        name: Handle,
        key: &ContextKey,
        remote: Participant,
        _: Origin,
        _: Credit,
    ) -> Slots<Self::Configuration> {
        // Where there is no key for the name, the peer is not told one: it goes on with its own.
        let own = ContextKey::of(name, &self.config.secret);
        let peer = (!key.ours).then_some(key.number);
        services::context::<M, S>(&self.config, own, peer, remote)
    }

    fn bury(
        &mut self,
        cx: &Context,
        (key, remote): (&ContextKey, Participant),
        farewell: Farewell<'_>,
    ) {
        let until = cx.now().later(farewell.wait.max(self.config.linger));
        self.over.bury(remote, *key, farewell, until);
    }

    fn gone(&mut self, key: ContextKey, remote: Participant, locator: u64) {
        if !key.ours && locator != 0 {
            self.over.also(remote, key, ContextKey { ours: true, number: locator });
        }
    }

    fn room(&self) -> Credit {
        self.config.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.packet), HEADROOM)
    }

    fn run(&self) -> usize {
        self.config.run
    }
}
