//! The contexts of a station that sends to groups, or receives from them.

use core::hash::Hasher as _;
use core::marker::PhantomData;

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Below, Origin};
use stackwright_contract::services::{Credit, Ended};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::Integrity as _;
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::{Header as _, Malformed, Message};

use super::format::XtpGroup;
use super::{GroupConfig, GroupService};
use crate::config::PACKET_LEAST;
use crate::format::{self, HEADER_MOST, Terms};
use crate::header::{XtpKind, XtpOptions, XtpPacket};
use crate::key::ContextKey;
use crate::receive::{pull_address, pull_traffic};

/// The octets that are free before a packet, for the layers below.
const HEADROOM: usize = 64;

/// The contexts of one service. A context has the sender's key on both sides.
pub struct GroupContexts<M, S> {
    config: GroupConfig,
    over: Graveyard<ContextKey>,
    service: PhantomData<fn() -> (M, S)>,
}

impl<M: Message, S: GroupService> GroupContexts<M, S> {
    /// Creates the contexts of a station.
    ///
    /// # Panics
    /// If packets are shorter than 256 octets.
    pub fn new(config: GroupConfig) -> Self {
        assert!(config.common.packet >= PACKET_LEAST, "a packet has at least 256 octets");
        GroupContexts { config, over: Graveyard::default(), service: PhantomData }
    }

    /// Returns a number of 64 bits that follows from the secret and these two, and that no other
    /// station has but by chance.
    fn number(&self, key: u64, what: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.config.common.secret);
        hasher.write_u64(key);
        hasher.write_u64(what);
        hasher.finish()
    }

    /// Returns whether a packet that belongs to no context may make one: it is the sender's, has
    /// arrived as it was sent, and tells of no end. One that opens names the service.
    fn is_from_sender(packet: &mut M) -> bool {
        let Some(header) =
            packet.front(XtpPacket::LENGTH).and_then(|front| XtpPacket::decode(front).ok())
        else {
            return false;
        };
        let octets = packet.len();
        let opens = header.format == XtpKind::First;
        let begins = !header.returned
            && header.options.has(XtpOptions::MULTI)
            && header.length as usize == octets - XtpPacket::LENGTH
            && (opens || !S::UNANSWERED && !header.options.has(XtpOptions::END))
            && matches!(header.format, XtpKind::First | XtpKind::Data | XtpKind::Control)
            && Internet::new().verify(packet, Some(format::check(&header, octets))).is_ok();
        if !opens || !begins {
            return begins;
        }
        let mut rest = packet.share();
        rest.advance(XtpPacket::LENGTH);
        pull_address(&mut rest).is_ok()
            && pull_traffic(&mut rest).is_ok_and(|(service, _)| service == S::NUMBER)
    }
}

impl<M: Message, S: GroupService> Host for GroupContexts<M, S> {
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

    /// Returns the sender's key, which both sides write.
    #[inline]
    fn locate(header: &XtpPacket, _: &mut M) -> Result<ContextKey, Malformed> {
        Ok(ContextKey { ours: false, number: header.key })
    }

    fn open(
        &mut self,
        _: &Context,
        name: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<ContextKey>, Ended> {
        if !format::place(remote).ip().is_multicast() {
            return Err(Ended::Unavailable);
        }
        let key = ContextKey::of(name, &self.config.common.secret).ok_or(Ended::Unavailable)?;
        Below::with(local, remote, ContextKey { ours: false, ..key })
    }

    fn arrival(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        key: &ContextKey,
        packet: &mut M,
        _: Crowd,
    ) -> Arrival<M> {
        // To a group, nobody is answered: all members would.
        if self.over.arrival::<M>(cx.now(), remote, *key, HEADROOM).is_some() {
            return Arrival::Ignored("a packet of a context that is over");
        }
        match Self::is_from_sender(packet) {
            true => Arrival::Welcome,
            false => Arrival::Ignored("a packet of no context"),
        }
    }

    fn limits(&self) -> Limits {
        self.config.common.limits
    }

    fn create(
        &mut self,
        _: &Context,
        name: Handle,
        key: &ContextKey,
        remote: Participant,
        origin: Origin,
        _: Credit,
    ) -> Slots<Self::Configuration> {
        let common = &self.config.common;
        let terms = Terms {
            service: S::NUMBER,
            packet: usize::from(common.packet),
            longest: common.longest,
            options: S::OPTIONS
                .with(XtpOptions::MULTI)
                .with(XtpOptions::NOCHECK.when(!common.checks_data)),
            opens_always: S::UNANSWERED,
            is_answered: !S::UNANSWERED,
            numbers: false,
            sync: common.sync,
            sends: None,
        };
        let ends = (common.local, format::place(remote));
        let place = u64::from(name.generation) << 32 | u64::from(name.index);
        let format = match origin {
            Origin::Asked => XtpGroup::sender(terms, key.number, ends),
            Origin::Arrived => {
                // It has 63 bits, and the last of them is set.
                let own = self.number(key.number, place) >> 1 | 1;
                XtpGroup::receiver(terms, own, key.number, ends)
            }
        };
        S::slots(format, &self.config, self.number(place, key.number))
    }

    fn bury(
        &mut self,
        cx: &Context,
        (key, remote): (&ContextKey, Participant),
        farewell: Farewell<'_>,
    ) {
        let until = cx.now().later(farewell.wait.max(self.config.common.linger));
        self.over.bury(remote, *key, farewell, until);
    }

    fn room(&self) -> Credit {
        self.config.common.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.common.packet), HEADROOM)
    }
}
