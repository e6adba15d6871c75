//! The sessions of an endpoint: how their numbers are chosen, which requests are granted, and which
//! values a third party must not guess.

use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Below, Origin, Stray, Unexpected};
use stackwright_contract::services::{Credit, Datagrams, Ended};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_transport::rules::promised;
use stackwright_transport::slots::Format;
use stackwright_transport::words::SECOND;
use stackwright_transport::{Configuration, Crowd, Farewell, Host, Limits, NewPath, Slots};
use stackwright_wire::{Header, Malformed, Message};

use crate::config::{Artp, Config};
use crate::control::{Item, items};
use crate::header::{
    Challenge, ControlKind, Identity, Microseconds, Packet, PacketKind, Proposal, Verdict, Version,
};
use crate::moves::Moves;
use crate::option::{Options, PacketOption};
use crate::reset::{self, Answered};
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
    moves: Moves,
    reset_key: reset::Key,
    answered: Answered,
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
        let mut sessions = Sessions {
            config,
            make,
            decide: |_, _| true,
            over: Tombstones::default(),
            moves: Moves::default(),
            reset_key: reset::Key::new(&[0; 32]),
            answered: Answered::default(),
            drawn: 0,
        };
        let mut draw = || {
            let mut key = [0; 32];
            key.as_chunks_mut()
                .0
                .iter_mut()
                .for_each(|octets| *octets = sessions.draw().to_be_bytes());
            key
        };
        sessions.reset_key = reset::Key::new(&config.reset_key.unwrap_or_else(&mut draw));
        sessions
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

    fn secrets(&mut self, remote: Participant, session: u8) -> Secrets {
        let salt = u128::from(self.draw()) << 64 | u128::from(self.draw());
        let (salt, reset) = (salt.to_be_bytes(), self.reset_key.token(remote, session));
        Secrets { first: self.draw() as u32, nonce: self.draw(), salt, reset }
    }

    fn cookie(&self, remote: Participant, proposal: &Proposal, period: u64) -> u64 {
        self.hash(("cookie", remote, proposal.session, proposal.nonce, period))
    }

    /// Whether the proposal echoes the cookie that its sender was given.
    fn came_again(&self, cx: &Context, remote: Participant, proposal: &Proposal) -> bool {
        was_given(cx, |period| self.cookie(remote, proposal, period) == proposal.echo)
    }

    /// Returns the place of a session among those that may move. It is not the nonce itself: how
    /// long a search takes must not tell anything about that.
    fn place(&self, nonce: u64) -> u64 {
        self.hash(("place", nonce))
    }

    /// Returns the challenge for a session that identifies itself at `remote`.
    fn challenge(&self, remote: Participant, identity: &Identity, period: u64) -> u64 {
        self.hash(("challenge", remote, identity.session, identity.token, period))
    }

    /// Returns the answer to a packet of a session that is not known where it comes from.
    fn unknown(
        &mut self,
        cx: &Context,
        remote: Participant,
        session: u8,
        packet: &mut M,
    ) -> Option<M> {
        let octets = packet.len();
        let header = Packet::decode(packet.front(Packet::LENGTH)?).ok()?;
        // An answer to an answer would be the first of many.
        if header.kind == PacketKind::Unknown {
            return None;
        }
        let reset = self.reset_key.token(remote, session);
        reset::answer(HEADROOM_BELOW, octets, session, reset)
            .filter(|_| self.answered.admits(cx.now(), remote))
    }
}

/// Returns the number of the present period, of which each cookie and each challenge is made.
fn period(cx: &Context) -> u64 {
    cx.now().nanoseconds() / COOKIE_LIFE
}

/// Whether something was given in this period or in the one before.
fn was_given(cx: &Context, given: impl Fn(u64) -> bool) -> bool {
    let period = period(cx);
    given(period) || period.checked_sub(1).is_some_and(given)
}

/// Returns the first item of a packet that arranges a session.
pub(crate) fn arrangement<M: Message>(packet: &mut M) -> Option<Item<'_>> {
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
    items(control).next()?.ok()
}

/// Returns how the sender of a packet identifies itself, and whether it answers a challenge.
fn identity<M: Message>(packet: &mut M) -> Option<(ControlKind, Identity)> {
    let item = arrangement(packet).filter(|item| item.id == Matter::Identify.id())?;
    Some((item.kind, Identity::decode(item.value).ok()?))
}

/// Returns the request for a session in a packet. Any other packet makes no session, since that
/// would wait for its request for ever.
fn request<M: Message>(packet: &mut M) -> Option<Proposal> {
    match arrangement(packet)? {
        Item { kind: ControlKind::Request, id, value } if id == Matter::Open.id() => {
            Proposal::decode(value).ok().filter(|proposal| proposal.verdict == Verdict::Asked)
        }
        _ => None,
    }
}

/// Makes an answer of which no state is kept. It is as long as the request.
fn answer<M: Message>(headroom: usize, asked: &Proposal, verdict: Verdict, nonce: u64) -> M {
    let answer = Proposal { verdict, nonce, echo: asked.nonce, ..*asked };
    arranging(headroom, ControlKind::Reply, Matter::Open, &answer)
}

/// Makes a packet of one item about a session.
fn arranging<M: Message, V: Header>(
    headroom: usize,
    kind: ControlKind,
    matter: Matter,
    value: &V,
) -> M {
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
    let mut written = alloc::vec![0; V::LENGTH];
    value.encode(&mut written);
    Item { kind, id: matter.id(), value: &written }.write(&mut octets);
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
    type PassiveKey = ();

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

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<u8>, Ended> {
        // A random number: the peer opens sessions with us too, and both must rarely choose the
        // same.
        Below::with(local, remote, (self.draw() as u8).max(1))
    }

    fn free_key(&mut self, key: u8, is_taken: impl Fn(&u8) -> bool) -> Option<u8> {
        let mut sessions = (0..=u8::MAX).map(|step| key.wrapping_add(step));
        sessions.find(|session| *session != 0 && !is_taken(session))
    }

    fn arrival(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        session: &u8,
        packet: &mut M,
        crowd: Crowd,
    ) -> Arrival<M> {
        let over = self.over.arrival(cx.now(), (remote, *session), packet, HEADROOM_BELOW);
        if let Some(answer) = over {
            return answer;
        }
        let Some(asked) = request(packet) else {
            return match self.unknown(cx, remote, *session, packet) {
                Some(answer) => Arrival::Answered(answer),
                None => Arrival::Ignored("a packet of no session"),
            };
        };
        let (_, headroom) = self.packet();
        let many = crowd.half_open >= self.config.half_open_most || crowd.gives_way;
        if many && !self.came_again(cx, remote, &asked) {
            let cookie = self.cookie(remote, &asked, period(cx));
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

    const REFUSES: bool = true;

    fn unawaited(
        &mut self,
        cx: &Context,
        (_, remote): (Participant, Participant),
        session: &u8,
        packet: &mut M,
        _: Unexpected,
    ) -> Option<M> {
        match self.over.arrival(cx.now(), (remote, *session), packet, HEADROOM_BELOW) {
            Some(Arrival::Answered(answer)) => return Some(answer),
            Some(_) => return None,
            None => {}
        }
        match request(packet) {
            Some(_) => None,
            None => self.unknown(cx, remote, *session, packet),
        }
    }

    fn stray(
        &mut self,
        cx: &Context,
        remote: Participant,
        session: &u8,
        packet: &mut M,
    ) -> Stray<M> {
        let Some((kind, identity)) = identity(packet) else { return Stray::Unclaimed };
        let place = self.place(identity.token);
        let Some(from) = self.moves.whose(place, *session) else { return Stray::Unclaimed };
        let challenges = |identity: &Identity, challenge, reset| {
            let Identity { session, own: token, .. } = *identity;
            let challenge = Challenge { session, reserved: (), token, challenge, reset };
            arranging(HEADROOM_BELOW, ControlKind::Request, Matter::Challenge, &challenge)
        };
        let challenge = |remote, period| self.challenge(remote, &identity, period);
        match kind {
            ControlKind::Reply
                if was_given(cx, |period| identity.challenge == challenge(remote, period)) =>
            {
                // If the peer is still there, somebody else forwards its packets: its answer brings
                // the session back (RFC 9000 §9.3.3).
                let probe = challenges(&identity, challenge(from, period(cx)), [0; 16]);
                Stray::Moves { locator: identity.token, probe }
            }
            ControlKind::Request => {
                let (challenge, reset) =
                    (challenge(remote, period(cx)), self.reset_key.token(remote, *session));
                match self.moves.admits(place, cx.now()) {
                    true => Stray::Answered(challenges(&identity, challenge, reset)),
                    false => Stray::Ignored("a session that moves too often"),
                }
            }
            ControlKind::Reply => Stray::Ignored("a challenge that was not answered"),
        }
    }

    fn moved(
        &mut self,
        cx: &Context,
        session: &u8,
        locator: u64,
        from: Participant,
        to: Participant,
    ) -> Option<NewPath<C>> {
        let place = self.place(locator);
        let opening = self.moves.moved(place, cx.now(), to)?;
        // Behind a NAT the port changes for no reason: the path is the same.
        if from.internet().map(|from| from.ip()) == to.internet().map(|to| to.ip()) {
            return None;
        }
        let secrets = Secrets { first: 0, nonce: 0, salt: [0; 16], reset: [0; 16] };
        Some(NewPath { slots: (self.make)(*session, &self.config, secrets), opening })
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        session: &u8,
        remote: Participant,
        _: Origin,
        credit: Credit,
    ) -> Slots<C> {
        self.over.forget(remote, *session);
        let secrets = self.secrets(remote, *session);
        let place = self.place(secrets.nonce);
        self.moves.insert(place, *session, remote);
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
        Farewell { packet, wait, tells, .. }: Farewell<'_>,
    ) {
        let (now, until) = (cx.now(), cx.now().later(wait));
        self.over.bury((remote, *session), packet, (now, until), tells);
    }

    fn gone(&mut self, _: u8, _: Participant, locator: u64) {
        let place = self.place(locator);
        self.moves.remove(place);
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
