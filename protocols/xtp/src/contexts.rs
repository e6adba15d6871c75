//! The contexts of a station: which are made, how their keys are chosen, and what others are told.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::net::IpAddr;

use stackwright_base::{Arrival, Below, Origin, Stray, Unexpected};
use stackwright_contract::services::{Credit, Ended};
use stackwright_contract::{Context, Facts, Handle, Instant, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::Integrity;
use stackwright_transport::words::SECOND;
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::{Header as _, Malformed, Message};

use crate::config::{Config, PACKET_LEAST};
use crate::format::{self, HEADER_MOST};
use crate::header::{DiagnosticSegment, MessageTag, TrafficTerms, XtpKind, XtpOptions, XtpPacket};
use crate::key::ContextKey;
use crate::receive::{pull_address, pull_traffic};
use crate::send::diagnose;
use crate::services::{self, XtpService};

/// The octets that are free before a packet, for the layers below.
const HEADROOM: usize = 64;

/// The contexts of one service.
pub struct Contexts<M, S> {
    config: Config,
    over: Graveyard<ContextKey>,
    /// Answers that there is no such context: those of this station, and those that it heeds.
    answered: Seldom,
    heeded: Seldom,
    service: PhantomData<fn() -> (M, S)>,
}

impl<M: Message, S: XtpService> Contexts<M, S> {
    /// Creates the contexts of a station.
    ///
    /// # Panics
    /// If packets are shorter than 256 octets.
    pub fn new(config: Config) -> Self {
        assert!(config.packet >= PACKET_LEAST, "a packet has at least 256 octets");
        let (answered, heeded) = Default::default();
        Contexts { config, over: Graveyard::default(), answered, heeded, service: PhantomData }
    }

    /// Returns the answer to a packet of a context that is not there (the report's §2.3.2): its
    /// sender need not find out by its timeouts. What is answered is no DIAG, and no shorter than
    /// its answer.
    fn unknown(&mut self, cx: &Context, packet: &mut M) -> Option<M> {
        let header = read_header(packet)?;
        let asks = header.format != XtpKind::Diagnostic
            && !header.options.has(XtpOptions::END.with(XtpOptions::MULTI))
            && packet.len() >= XtpPacket::LENGTH + DiagnosticSegment::LENGTH;
        let diagnostic = DiagnosticSegment {
            code: DiagnosticSegment::INVALID,
            value: DiagnosticSegment::UNSPECIFIED,
        };
        (asks && self.answered.admits(cx.now())).then(|| diagnosis(&header, diagnostic))
    }
}

/// How many packets of contexts that are not there are answered in a second, and how many answers
/// of that kind are heeded: anyone can send either.
const INVALID_MOST: u8 = 10;

/// What is done at most [so often](INVALID_MOST).
#[derive(Clone, Copy, Debug, Default)]
struct Seldom {
    second: u64,
    times: u8,
}

impl Seldom {
    /// Returns whether it may be done now, which counts.
    fn admits(&mut self, now: Instant) -> bool {
        let second = now.nanoseconds_since(Instant::START) / SECOND;
        if second != self.second {
            *self = Seldom { second, times: 0 };
        }
        self.times = self.times.saturating_add(1);
        self.times <= INVALID_MOST
    }
}

/// Returns the header of a packet that arrived as it was sent.
fn read_header<M: Message>(packet: &mut M) -> Option<XtpPacket> {
    let header = XtpPacket::decode(packet.front(XtpPacket::LENGTH)?).ok()?;
    let octets = packet.len();
    let is_whole = header.length as usize == octets - XtpPacket::LENGTH
        && Internet::new().verify(packet, Some(format::check(&header, octets))).is_ok();
    is_whole.then_some(header)
}

/// Returns the header of a FIRST that arrived as it was sent.
fn read_first<M: Message>(packet: &mut M) -> Option<XtpPacket> {
    read_header(packet).filter(|header| header.format == XtpKind::First && !header.returned)
}

/// Checks what a FIRST asks for at a station that listens at `local`, if that is known.
///
/// # Errors
/// What the service does not have, as the value of a DIAG.
fn admit<M: Message, S: XtpService>(
    header: &XtpPacket,
    packet: &M,
    local: Option<Participant>,
) -> Result<(), u32> {
    let served = XtpOptions::NOERR
        .with(XtpOptions::NOFLOW)
        .with(XtpOptions::RES)
        .with(XtpOptions::MULTI)
        .without(S::OPTIONS);
    let mut rest = packet.share();
    rest.advance(XtpPacket::LENGTH);
    let destination = pull_address(&mut rest)?;
    let (service, terms) = pull_traffic(&mut rest)?;
    let local = local.map(|local| format::place(local).ip()).filter(|ip| !ip.is_unspecified());
    // All addresses of the loopback network are this host's.
    let is_one =
        |one: IpAddr, other: IpAddr| one == other || one.is_loopback() && other.is_loopback();
    let is_elsewhere = |ip: IpAddr| {
        let differs = |own: IpAddr| !is_one(own.to_canonical(), ip.to_canonical());
        !ip.is_unspecified() && local.is_some_and(differs)
    };
    let refuses = |terms: TrafficTerms| {
        let paces = terms.rate_in > 0 || terms.burst_in > 0;
        paces && !S::TERMS || (1..LONGEST_LEAST).contains(&terms.longest)
    };
    let tags = header.options.has(XtpOptions::BTAG);
    if service != S::NUMBER {
        Err(DiagnosticSegment::NO_PROVIDER)
    } else if header.options.has(served) {
        Err(DiagnosticSegment::OPTIONS)
    } else if terms.is_some_and(refuses) {
        Err(DiagnosticSegment::TRAFFIC)
    } else if destination.is_some_and(is_elsewhere) {
        Err(DiagnosticSegment::NO_LISTENER)
    } else if tags && rest.len() < MessageTag::LENGTH
        || !rest.is_empty() && header.sequence > 0 && !S::OPENS_ALWAYS
    {
        // Data that cannot be the first of a context.
        Err(DiagnosticSegment::UNSPECIFIED)
    } else {
        Ok(())
    }
}

/// The least that a peer may take in a packet, behind its header.
const LONGEST_LEAST: u32 = PACKET_LEAST as u32 - XtpPacket::LENGTH as u32;

/// Makes the answer that a context is not made.
fn refusal<M: Message>(header: &XtpPacket, value: u32) -> M {
    diagnosis(header, DiagnosticSegment { code: DiagnosticSegment::REFUSED, value })
}

/// Makes the DIAG that answers a packet of no context.
fn diagnosis<M: Message>(header: &XtpPacket, diagnostic: DiagnosticSegment) -> M {
    let mut octets = Vec::new();
    let header = XtpPacket {
        // A key that comes back is the peer's; one of ours that is none is told as ours.
        returned: !header.returned,
        options: XtpOptions::END,
        format: XtpKind::Diagnostic,
        sequence: 0,
        ..*header
    };
    diagnose(header, diagnostic, &mut octets);
    let at = format::check(&header, octets.len());
    Internet::new().seal(&mut octets, None::<&M>, Some(at));
    M::with_headroom(HEADROOM, &octets)
}

impl<M: Message, S: XtpService> Host for Contexts<M, S> {
    type Configuration = S::Configuration<M>;
    type Transfer = S::Transfer<M>;
    type Key = ContextKey;
    type PassiveKey = ();

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

    fn open(
        &mut self,
        _: &Context,
        name: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<ContextKey>, Ended> {
        let key = ContextKey::of(name, &self.config.secret).ok_or(Ended::Unavailable)?;
        Below::with(local, remote, key)
    }

    fn arrival(
        &mut self,
        cx: &Context,
        (local, remote): (Participant, Participant),
        key: &ContextKey,
        packet: &mut M,
        crowd: Crowd,
    ) -> Arrival<M> {
        if let Some(answer) = self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            return answer;
        }
        let Some(header) = read_first(packet) else {
            return match self.unknown(cx, packet) {
                Some(answer) => Arrival::Answered(answer),
                None => Arrival::Ignored("a packet of no context"),
            };
        };
        match admit::<M, S>(&header, packet, Some(local)) {
            Err(value) => Arrival::Answered(refusal(&header, value)),
            // XTP has no way to ask for a proof before there is a context.
            Ok(()) if crowd.half_open >= self.config.half_open_most => Arrival::Displaces,
            Ok(()) => Arrival::Welcome,
        }
    }

    /// A peer that does not know a context of ours says so with its own key of it, which is not the
    /// one that the context has here.
    fn stray(
        &mut self,
        cx: &Context,
        _: Participant,
        key: &ContextKey,
        packet: &mut M,
    ) -> Stray<M> {
        let is_invalid = |packet: &mut M| {
            let header = read_header(packet)?;
            let mut rest = packet.share();
            rest.advance(XtpPacket::LENGTH);
            let said = rest.pull::<DiagnosticSegment>().ok()?;
            let is_one = header.format == XtpKind::Diagnostic;
            (is_one && said.code == DiagnosticSegment::INVALID).then_some(())
        };
        match is_invalid(packet) {
            Some(()) if !key.ours && self.heeded.admits(cx.now()) => Stray::Meant(key.number),
            _ => Stray::Unclaimed,
        }
    }

    fn refuse(&mut self, packet: &mut M) -> Arrival<M> {
        match read_first(packet) {
            Some(header) => Arrival::Answered(refusal(&header, DiagnosticSegment::NO_RESOURCE)),
            None => Arrival::Ignored("a packet of no context"),
        }
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        key: &ContextKey,
        packet: &mut M,
        _: Unexpected,
    ) -> Option<M> {
        match self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            Some(Arrival::Answered(answer)) => Some(answer),
            Some(_) => None,
            None => match read_first(packet) {
                Some(header) => {
                    let why = admit::<M, S>(&header, packet, None).err();
                    Some(refusal(&header, why.unwrap_or(DiagnosticSegment::NO_LISTENER)))
                }
                None => self.unknown(cx, packet),
            },
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
