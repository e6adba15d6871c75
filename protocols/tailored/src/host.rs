//! The associations of a station: which are made, how their keys are chosen, and what others are
//! told.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Below, Origin, Unexpected};
use stackwright_contract::services::{Code, Credit, Datagrams, Ended};
use stackwright_contract::{Context, Facts, Handle, Instant, Participant};
use stackwright_transport::slots::Integrity as _;
use stackwright_transport::words::{Nanoseconds, SECOND};
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::{Header as _, Malformed, Message};

use crate::config::{Config, PACKET_LEAST};
use crate::format::{self, HEADER_MOST, PacketTerms, TailoredFormat};
use crate::header::{
    OpeningHashes, OpeningStage, OpeningToken, ReasonCode, ReportHeader, TailoredHeader,
    TailoredKind,
};
use crate::opening::Opening;
use crate::send;
use crate::tailoring::Tailoring;

/// The octets that are free before a packet, for the layers below.
const HEADROOM: usize = 64;

/// What tells the associations with a peer apart: who opened it, and the number that the opener
/// gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TailoredKey {
    /// Whether this side opened it.
    pub ours: bool,
    /// Its number.
    pub number: u16,
}

/// The associations of a station, all of one configuration.
pub struct TailoredHost<T> {
    tailoring: T,
    config: Config,
    terms: PacketTerms,
    over: Graveyard<TailoredKey>,
    /// The number of the last association that this side opened.
    last: u16,
    /// The token that the last packet showed that opens an association and was answered before.
    shown: Option<u32>,
}

/// For how long a token is given out, in nanoseconds; it opens an association for as long after
/// that.
const PERIOD: Nanoseconds = 30 * SECOND;

impl<T: Tailoring> TailoredHost<T> {
    /// Creates the associations of a station, with checks that cover bodies.
    ///
    /// # Panics
    /// If packets are shorter than 256 octets.
    pub fn new(tailoring: T, config: Config) -> Self {
        assert!(config.packet >= PACKET_LEAST, "a packet has at least {PACKET_LEAST} octets");
        let terms = PacketTerms {
            packet: usize::from(config.packet),
            longest: tailoring.values().bounds.longest,
            check: tailoring.check(),
            covers_body: true,
            answers: tailoring.answers(),
            abandons: tailoring.abandons(),
            switches: tailoring.switches(),
            negotiates: tailoring.negotiates(),
            hashes: OpeningHashes { configuration: 0, protocol: config.protocol },
            accepts: config.accepts,
        };
        let mut host = TailoredHost {
            tailoring,
            config,
            terms,
            over: Graveyard::default(),
            last: 0,
            shown: None,
        };
        host.terms.hashes.configuration = host.hash();
        host.last = host.secret(|_| ()) as u16;
        host
    }

    /// Lets checks cover headers alone: a body may arrive altered.
    #[must_use]
    pub fn checking_headers(mut self) -> Self {
        self.terms.covers_body = false;
        self.terms.hashes.configuration = self.hash();
        self
    }

    /// Returns the longest message that travels in one packet, in octets. Until it is answered, an
    /// opener has room for 8 octets less; a longer message travels in two.
    pub fn unit_most(&self) -> usize {
        self.terms.unit_most()
    }

    /// Makes the policies of an association; a peer that opened it has to return `token`.
    pub fn association(&self, key: TailoredKey, token: u32) -> Slots<T::Configuration> {
        if key.ours {
            return self.tailoring.slots(TailoredFormat::calling(self.terms, key.number));
        }
        self.tailoring.slots(TailoredFormat::called(self.terms, key.number, token))
    }

    /// Returns the hash of what a receiver has to know of the configuration.
    fn hash(&self) -> u32 {
        let mut hasher = SipHasher13::new();
        self.tailoring.agreed(&mut |name| hasher.write(name.as_bytes()));
        hasher.write_u64(self.tailoring.values().bounds.window);
        hasher.write_u8(u8::from(self.terms.covers_body));
        hasher.write_u8(u8::from(self.terms.abandons));
        if self.terms.switches {
            self.tailoring.values().phases.hash(&mut hasher);
        }
        if self.terms.negotiates {
            hasher.write_u8(1);
        }
        hasher.finish() as u32
    }

    /// Returns a number that nobody else can work out.
    fn secret(&self, of: impl FnOnce(&mut SipHasher13)) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.config.secret);
        of(&mut hasher);
        hasher.finish()
    }

    /// Returns what a packet says that opens and that arrived as it was sent. What has another
    /// check is read, too, though it cannot be checked: its sender is told so.
    fn read_opening(&self, packet: &mut T::Message) -> Option<(TailoredHeader, OpeningHashes)> {
        let octets = packet.len();
        let front = packet.front(octets.min(HEADER_MOST))?;
        let header = TailoredHeader::decode(front).ok()?;
        if header.called || header.opening != OpeningStage::Asked {
            return None;
        }
        let at = TailoredHeader::LENGTH + header.check.octets();
        let hashes = OpeningHashes::decode(front.get(at..)?).ok()?;
        if header.check == self.terms.check {
            let at = format::check(&self.terms, front, octets);
            self.tailoring.integrity().verify(packet, at).ok()?;
        }
        Some((header, hashes))
    }

    /// Returns why this station makes no association of what opens; `None` if it makes one. A
    /// protocol that is not understood is noted.
    fn misunderstands(
        &self,
        cx: &Context,
        remote: Participant,
        header: &TailoredHeader,
        hashes: &OpeningHashes,
    ) -> Option<Code> {
        let ours = self.terms.hashes;
        if !self.terms.understands(hashes.protocol) {
            let theirs = hashes.protocol;
            let what = format_args!(
                "{remote} is refused: its protocol has the hash {theirs:016x}, ours {:016x}",
                ours.protocol
            );
            cx.event(Self::FACTS.name, what);
            return Some(ReasonCode::ANOTHER_PROTOCOL);
        }
        let alike = header.check == self.terms.check && hashes.configuration == ours.configuration;
        (!alike).then_some(ReasonCode::CONFIGURED_OTHERWISE)
    }

    /// Returns the token that a peer has to return, in the `ago`-th period before this: only its
    /// address receives it, and nothing is kept of it.
    fn token(&self, cx: &Context, remote: Participant, key: TailoredKey, ago: u64) -> u32 {
        let period = (cx.now().nanoseconds_since(Instant::START) / PERIOD).wrapping_sub(ago);
        self.secret(|hasher| (remote, key, period).hash(hasher)) as u32
    }

    /// Returns the token of a packet that arrived as it was sent, if this station gave it out: its
    /// opening was understood, and its sender receives what it is sent.
    fn read_token(
        &self,
        cx: &Context,
        remote: Participant,
        key: TailoredKey,
        packet: &mut T::Message,
    ) -> Option<u32> {
        let octets = packet.len();
        let front = packet.front(octets.min(HEADER_MOST))?;
        let header = TailoredHeader::decode(front).ok()?;
        let at = TailoredHeader::LENGTH + header.check.octets();
        let told = OpeningToken::decode(front.get(at..)?).ok()?;
        let at = format::check(&self.terms, front, octets)?;
        let opens = !header.called && header.opening == OpeningStage::Confirmed;
        let is_ours = (0..2).any(|ago| told.token == self.token(cx, remote, key, ago));
        (opens && is_ours && self.tailoring.integrity().verify(packet, Some(at)).is_ok())
            .then_some(told.token)
    }

    /// Makes the answer that demands a proof before there is an association: the token alone.
    fn challenge(&self, asked: &TailoredHeader, token: u32) -> T::Message {
        let answer = |header, octets: &mut Vec<u8>| {
            send::tell(header, send::silent(), Opening::Answered(token), None, octets);
        };
        self.answer(asked, answer)
    }

    /// Makes the answer that an association is not made.
    fn refusal(&self, asked: &TailoredHeader, code: Code) -> T::Message {
        let report = ReportHeader { refuse: true, ..send::silent() };
        self.answer(asked, |header, octets| {
            send::tell(header, report, Opening::Over, Some(code), octets);
        })
    }

    /// Makes a packet of no association. It has the check of the packet that asks.
    fn answer(
        &self,
        asked: &TailoredHeader,
        tell: impl FnOnce(TailoredHeader, &mut Vec<u8>),
    ) -> T::Message {
        let mut octets = Vec::new();
        let header = TailoredHeader {
            kind: TailoredKind::Report,
            called: true,
            asks: false,
            first: false,
            epoch: 0,
            finish: false,
            stop: false,
            number: 0,
            ..*asked
        };
        tell(header, &mut octets);
        // A peer with another check drops it, and ends when nothing answers.
        let at = format::check(&self.terms, &octets, octets.len());
        self.tailoring.integrity().seal(&mut octets, None::<&T::Message>, at);
        T::Message::with_headroom(HEADROOM, &octets)
    }
}

impl<T: Tailoring> Host for TailoredHost<T> {
    type Configuration = T::Configuration;
    type Transfer = Datagrams<T::Message>;
    type Key = TailoredKey;
    type PassiveKey = ();

    const FACTS: Facts = Facts {
        gives: T::GIVES,
        header_room: HEADER_MOST,
        reads_payload: true,
        ..Facts::named("tailored")
    };
    const REFUSES: bool = true;
    const SPREADS: bool = true;

    fn facts(&self) -> Facts {
        Facts { gives: self.tailoring.gives(), ..Self::FACTS }
    }

    #[inline]
    fn locate(header: &TailoredHeader, _: &mut T::Message) -> Result<TailoredKey, Malformed> {
        Ok(TailoredKey { ours: header.called, number: header.key })
    }

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<TailoredKey>, Ended> {
        self.last = self.last.wrapping_add(1);
        Below::with(local, remote, TailoredKey { ours: true, number: self.last })
    }

    fn free_key(
        &mut self,
        key: TailoredKey,
        is_taken: impl Fn(&TailoredKey) -> bool,
    ) -> Option<TailoredKey> {
        let mut keys = (0..=u16::MAX)
            .map(|nth| TailoredKey { ours: true, number: key.number.wrapping_add(nth) });
        let free = keys.find(|key| !is_taken(key))?;
        self.last = free.number;
        Some(free)
    }

    fn arrival(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        key: &TailoredKey,
        packet: &mut T::Message,
        crowd: Crowd,
    ) -> Arrival<T::Message> {
        if let Some(answer) = self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            return answer;
        }
        self.shown = None;
        let Some((header, hashes)) = self.read_opening(packet) else {
            self.shown = self.read_token(cx, remote, *key, packet);
            return match self.shown {
                Some(_) => Arrival::Welcome,
                None => Arrival::Ignored("a packet of no association"),
            };
        };
        let many = crowd.gives_way || crowd.half_open >= self.config.half_open_most;
        match self.misunderstands(cx, remote, &header, &hashes) {
            Some(code) => Arrival::Answered(self.refusal(&header, code)),
            // Peers that are never answered can show nothing.
            None if many && self.terms.answers => {
                Arrival::Answered(self.challenge(&header, self.token(cx, remote, *key, 0)))
            }
            None => Arrival::Welcome,
        }
    }

    fn refuse(&mut self, packet: &mut T::Message) -> Arrival<T::Message> {
        match self.read_opening(packet) {
            Some((header, _)) => Arrival::Answered(self.refusal(&header, ReasonCode::NO_RESOURCE)),
            None => Arrival::Ignored("a packet of no association"),
        }
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        key: &TailoredKey,
        packet: &mut T::Message,
        _: Unexpected,
    ) -> Option<T::Message> {
        match self.over.arrival(cx.now(), remote, *key, HEADROOM) {
            Some(Arrival::Answered(answer)) => Some(answer),
            Some(_) => None,
            None => {
                let (header, hashes) = self.read_opening(packet)?;
                let why = self.misunderstands(cx, remote, &header, &hashes);
                Some(self.refusal(&header, why.unwrap_or(ReasonCode::NO_LISTENER)))
            }
        }
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        cx: &Context,
        _: Handle,
        key: &TailoredKey,
        remote: Participant,
        _: Origin,
        _: Credit,
    ) -> Slots<T::Configuration> {
        let token = self.shown.take().unwrap_or_else(|| self.token(cx, remote, *key, 0));
        self.association(*key, token)
    }

    fn bury(
        &mut self,
        cx: &Context,
        (key, remote): (&TailoredKey, Participant),
        farewell: Farewell<'_>,
    ) {
        let linger = self.tailoring.values().bounds.linger;
        self.over.bury(remote, *key, farewell, cx.now().later(farewell.wait.max(linger)));
    }

    fn room(&self) -> Credit {
        self.config.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.packet), HEADROOM)
    }
}
