//! The sessions of an endpoint: how their numbers are chosen, which requests are granted, and which
//! values a third party must not guess.

use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Origin};
use stackwright_contract::services::{Credit, Datagrams, Ended};
use stackwright_contract::{Context, Facts, Participant};
use stackwright_transport::rules::promised;
use stackwright_transport::slots::Format;
use stackwright_transport::words::{Nanoseconds, SECOND};
use stackwright_transport::{Configuration, Host, Limits, Slots};
use stackwright_wire::{Header, Malformed, Message};

use crate::config::{Artp, Config};
use crate::control::{Item, items};
use crate::header::{ControlKind, Microseconds, Packet, PacketKind, Proposal, Verdict, Version};
use crate::option::{Options, PacketOption};
use crate::state::{Matter, Secrets};
use crate::tombstones::Tombstones;

/// The lifetime of a cookie: it is valid for at least this long, and at most twice as long.
const COOKIE_LIFE: u64 = 10 * SECOND;

/// Decides whether a request for a session is granted: stage 1 of the arrangement (ARTP §1.4.3),
/// which is the application's.
pub type Decide = fn(Participant, &Proposal) -> bool;

/// ARTP's sessions.
pub struct Sessions<M: Message, C: Configuration<Message = M> = Artp<M>> {
    config: Config,
    make: fn(u8, &Config, Secrets) -> Slots<C>,
    decide: Decide,
    /// The sessions that are over, for peers that have not heard it.
    over: Tombstones,
    /// How many secrets were drawn.
    drawn: u64,
}

impl<M: Message, C: Configuration<Message = M>> Sessions<M, C> {
    /// Makes the endpoint; `make` makes the policies of a session.
    ///
    /// # Panics
    /// If datagrams are signed or sealed and [`Config::secret`] was not drawn: sessions would have
    /// the keys of earlier ones.
    pub fn new(config: Config, make: fn(u8, &Config, Secrets) -> Slots<C>) -> Self {
        let drawn = config.secret != [0; 16];
        assert!(
            drawn || config.protection.signature().unwrap_or_default() == 0,
            "a secret that was drawn"
        );
        Sessions { config, make, decide: |_, _| true, over: Tombstones::default(), drawn: 0 }
    }

    /// Grants requests as `decide` says.
    #[must_use]
    pub fn deciding(self, decide: Decide) -> Self {
        Sessions { decide, ..self }
    }

    fn hash(&self, what: impl Hash) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.config.secret);
        what.hash(&mut hasher);
        hasher.finish()
    }

    /// Draws a number that is derived from the secret, and from nothing that a third party sees.
    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.hash(("draw", self.drawn))
    }

    fn secrets(&mut self) -> Secrets {
        let salt = u128::from(self.draw()) << 64 | u128::from(self.draw());
        Secrets { first: self.draw() as u32, nonce: self.draw(), salt: salt.to_be_bytes() }
    }

    fn cookie(&self, remote: Participant, proposal: &Proposal, period: u64) -> u64 {
        self.hash(("cookie", remote, proposal.session, proposal.nonce, period))
    }

    /// Whether the proposal echoes the cookie that its sender was given.
    fn came_again(&self, cx: &Context, remote: Participant, proposal: &Proposal) -> bool {
        let period = cx.now().nanoseconds() / COOKIE_LIFE;
        let given = |period| self.cookie(remote, proposal, period) == proposal.echo;
        given(period) || period.checked_sub(1).is_some_and(given)
    }
}

/// Returns the request for a session in a packet. Any other packet makes no session, since that
/// would wait for its request for ever.
fn request<M: Message>(packet: &mut M) -> Option<Proposal> {
    let octets = packet.len();
    let octets = packet.front(octets)?;
    let header = Packet::decode(octets).ok()?;
    let (options, control) =
        octets.get(Packet::LENGTH..)?.split_at_checked(usize::from(header.options))?;
    let is_arranging =
        (header.version, header.kind, header.session) == (Version::One, PacketKind::Control, 0);
    let is_sound = |option: Result<PacketOption, Malformed>| matches!(option, Ok(option) if !option.needs_understanding());
    if !is_arranging || !Options::new(options).all(is_sound) {
        return None;
    }
    match items(control).next()?.ok()? {
        Item { kind: ControlKind::Request, id, value } if id == Matter::Open.id() => {
            Proposal::decode(value).ok().filter(|proposal| proposal.verdict == Verdict::Asked)
        }
        _ => None,
    }
}

/// Makes an answer of which no state is kept. It is as long as the request.
fn answer<M: Message>(headroom: usize, asked: &Proposal, verdict: Verdict, nonce: u64) -> M {
    let mut octets = alloc::vec![0; Packet::LENGTH];
    let header = Packet {
        version: Version::One,
        kind: PacketKind::Control,
        session: 0,
        options: 0,
        sequence: 0,
        seconds: 0,
        microseconds: Microseconds::of(0),
        expiry: 0,
    };
    header.encode(&mut octets);
    let mut value = [0; Proposal::LENGTH];
    Proposal { verdict, nonce, echo: asked.nonce, ..*asked }.encode(&mut value);
    Item { kind: ControlKind::Reply, id: Matter::Open.id(), value: &value }.write(&mut octets);
    M::with_headroom(headroom, &octets)
}

impl<M, C> Host for Sessions<M, C>
where
    M: Message,
    C: Configuration<Message = M, Format: Format<M, Front = Packet>>,
{
    type Configuration = C;
    type Transfer = Datagrams<M>;
    type Key = u8;

    const FACTS: Facts = Facts {
        gives: promised(Artp::<M>::PARTS),
        passes: stackwright_contract::Guarantees::CHECKED,
        header_room: crate::state::HEADER_MOST,
        reads_payload: true,
        ..Facts::named("artp")
    };

    #[inline]
    fn locate(header: &Packet, packet: &mut M) -> Result<u8, Malformed> {
        if header.session != 0 {
            return Ok(header.session);
        }
        // An item in session 0 concerns another session, whose number stands first in its value.
        let octets = packet.len();
        let octets = packet.front(octets).ok_or(Malformed::TooShort)?;
        let control = octets
            .get(Packet::LENGTH + usize::from(header.options)..)
            .ok_or(Malformed::TooShort)?;
        let item = items(control).next().ok_or(Malformed::TooShort)??;
        match (header.kind, item.value.first()) {
            (PacketKind::Control, Some(session)) if *session != 0 => Ok(*session),
            _ => Err(Malformed::Field("session")),
        }
    }

    /// There are 255 sessions between two addresses; the next ones have another port of ours.
    const SPREADS: bool = true;

    fn open(&mut self, _: &Context, _: Participant) -> Result<u8, Ended> {
        // A random number: the peer opens sessions with us too, and both must rarely choose the
        // same.
        Ok((self.draw() as u8).max(1))
    }

    fn free_key(&mut self, key: u8, is_taken: impl Fn(&u8) -> bool) -> Option<u8> {
        let mut sessions = (0..=u8::MAX).map(|step| key.wrapping_add(step));
        sessions.find(|session| *session != 0 && !is_taken(session))
    }

    fn arrival(
        &mut self,
        cx: &Context,
        remote: Participant,
        session: &u8,
        packet: &mut M,
        half_open: usize,
    ) -> Arrival<M> {
        let over = self.over.arrival(cx.now(), (remote, *session), packet, HEADROOM_BELOW);
        if let Some(answer) = over {
            return answer;
        }
        let Some(asked) = request(packet) else {
            return Arrival::Ignored("a packet of no session");
        };
        let (_, headroom) = self.packet();
        if half_open >= self.config.half_open_most && !self.came_again(cx, remote, &asked) {
            let cookie = self.cookie(remote, &asked, cx.now().nanoseconds() / COOKIE_LIFE);
            return Arrival::Answered(answer(headroom, &asked, Verdict::Again, cookie));
        }
        if !(self.decide)(remote, &asked) {
            return Arrival::Answered(answer(headroom, &asked, Verdict::Refused, 0));
        }
        Arrival::Welcome
    }

    fn refuse(&mut self, packet: &mut M) -> Arrival<M> {
        let (_, headroom) = self.packet();
        match request(packet) {
            Some(asked) => Arrival::Answered(answer(headroom, &asked, Verdict::Refused, 0)),
            None => Arrival::Ignored("a packet of no session"),
        }
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        remote: Participant,
        session: &u8,
        packet: &mut M,
    ) -> Option<M> {
        match self.over.arrival(cx.now(), (remote, *session), packet, HEADROOM_BELOW)? {
            Arrival::Answered(answer) => Some(answer),
            Arrival::Welcome | Arrival::Ignored(_) => None,
        }
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        _: &Context,
        session: &u8,
        remote: Participant,
        _: Origin,
        credit: Credit,
    ) -> Slots<C> {
        self.over.forget(remote, *session);
        let secrets = self.secrets();
        // What the application never takes is not accepted: everything behind it would wait.
        let longest = match credit.octets {
            0 => self.config.longest,
            octets => self.config.longest.min(octets),
        };
        (self.make)(*session, &Config { longest, ..self.config }, secrets)
    }

    fn bury(
        &mut self,
        cx: &Context,
        (session, remote): (&u8, Participant),
        packet: &[u8],
        wait: Nanoseconds,
        tells: bool,
    ) {
        let (now, until) = (cx.now(), cx.now().later(wait));
        self.over.bury((remote, *session), packet, (now, until), tells);
    }

    fn room(&self) -> Credit {
        self.config.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.packet), HEADROOM_BELOW)
    }

    fn run(&self) -> usize {
        self.config.run
    }
}

/// The octets that the layers below may push before a packet: UDP in user space over IPv6 over
/// Ethernet, and some more.
pub(crate) const HEADROOM_BELOW: usize = 128;
