//! The connections of a station: which are made, how their numbers are chosen, and what others are
//! told.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Below, Origin, Ports, Unexpected, with_port};
use stackwright_contract::services::{Credit, Ended, Streams};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Instant, Participant};
use stackwright_policies::integrity::{Internet, hosts_sum};
use stackwright_transport::slots::{CheckAt, Format as _, Front as _, Integrity as _};
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::internet::Tcp as Header;
use stackwright_wire::{Header as _, Malformed, Message};

use crate::config::{Config, SEGMENT_LEAST};
use crate::cookies::{Cookies, Offers, Proof};
use crate::format::{PROTOCOL, TcpFormat, check as check_at, offers, put, silent};
use crate::header::{HEADER_MOST, TcpFront};
use crate::key::{TcpKey, key};
use crate::policies::{self, Tcp};

/// The octets that are free before a segment, for the layers below.
const HEADROOM: usize = 64;

/// How often the number from which first numbers follow rises (RFC 6528 §3, RFC 9293 §3.4.1).
const TICK: u64 = 4000;

/// The connections of a station.
pub struct TcpHost<M> {
    config: Config,
    /// Connections that this side closed first (TIME-WAIT).
    over: Graveyard<TcpKey>,
    ports: Ports,
    /// When a connection was opened last, and with which host.
    opening: Option<(Instant, Participant)>,
    cookies: Cookies,
    /// The hosts between which the last connection arrived, and what it has proved.
    arriving: Option<((Participant, Participant), Option<Proof>)>,
    message: PhantomData<fn() -> M>,
}

/// Returns a number that nobody else can work out, for the use that is numbered `purpose`, and for
/// a connection. It is no generic, so that it is compiled here alone.
fn secret(secret: &[u8; 16], purpose: u8, of: Option<(&TcpKey, Participant)>) -> u64 {
    let mut hasher = SipHasher13::new_with_key(secret);
    hasher.write_u8(purpose);
    if let Some(of) = of {
        of.hash(&mut hasher);
    }
    hasher.finish()
}

impl<M: Message> TcpHost<M> {
    /// Creates the connections of a station.
    ///
    /// # Panics
    /// If segments are shorter than 556 octets.
    pub fn new(config: Config) -> Self {
        assert!(config.segment >= SEGMENT_LEAST, "a segment has at least 556 octets");
        let mut host = TcpHost {
            config,
            over: Graveyard::of(config.time_wait_most),
            ports: Ports::new(PROTOCOL, 0),
            opening: None,
            cookies: Cookies::new([0; 16]),
            arriving: None,
            message: PhantomData,
        };
        host.ports = Ports::new(PROTOCOL, secret(&config.secret, 0, None));
        let halves = [2, 4].map(|purpose| u128::from(secret(&config.secret, purpose, None)));
        host.cookies = Cookies::new((halves[0] << 64 | halves[1]).to_be_bytes());
        host
    }

    /// Returns the first number of a connection (RFC 6528 §3).
    fn first_number(&self, now: Instant, key: &TcpKey, remote: Participant) -> u32 {
        let secret = secret(&self.config.secret, 1, Some((key, remote)));
        ((now.nanoseconds() / TICK) as u32).wrapping_add(secret as u32)
    }

    /// Returns the header of a packet.
    fn header(packet: &mut M) -> Option<Header> {
        TcpFront::read(packet).ok().map(|front| front.0)
    }

    /// Returns whether the check of a segment is right. The layer below may have verified it, and
    /// left what its sender wrote for that: the sum of the pseudo-header.
    fn is_right(packet: &mut M, header: &Header, at: CheckAt) -> bool {
        header.checksum == at.plus || Internet::new().verify(packet, Some(at)).is_ok()
    }

    /// Makes the reset that answers a segment of no connection (RFC 9293 §3.10.7.1).
    fn reset(
        packet: &M,
        key: TcpKey,
        header: &Header,
        (local, remote): (Participant, Participant),
    ) -> Option<M> {
        if header.rst {
            return None;
        }
        let data = packet.len() - 4 * usize::from(header.data_offset);
        let numbers = data as u32 + u32::from(header.syn) + u32::from(header.fin);
        let reset = match header.ack {
            true => Header { sequence_number: header.acknowledgment_number, ..silent(key) },
            false => Header {
                acknowledgment_number: header.sequence_number.wrapping_add(numbers),
                ack: true,
                ..silent(key)
            },
        };
        let mut octets = vec![0; Header::LENGTH];
        put(Header { rst: true, ..reset }, &mut octets);
        Some(Self::sealed(octets, (local, remote)))
    }

    fn sealed(mut octets: Vec<u8>, (local, remote): (Participant, Participant)) -> M {
        let at = check_at(hosts_sum(local, remote, PROTOCOL), octets.len(), false);
        Internet::new().seal(&mut octets, None::<&M>, Some(at));
        M::with_headroom(HEADROOM, &octets)
    }

    /// Returns what our clock for timestamps is ahead in a connection.
    fn offset(&self, key: &TcpKey, remote: Participant) -> u32 {
        secret(&self.config.secret, 3, Some((key, remote))) as u32
    }

    /// Returns what the segment offers.
    fn offers(packet: &mut M, header: &Header) -> Offers {
        let octets = 4 * usize::from(header.data_offset);
        offers(packet.front(octets).unwrap_or_default())
    }

    /// Answers a SYN, and keeps nothing of it.
    fn answer(
        &mut self,
        now: Instant,
        ends: (Participant, Participant),
        key: &TcpKey,
        packet: &mut M,
        header: &Header,
    ) -> M {
        let (theirs, offers) = (header.sequence_number, Self::offers(packet, header));
        let own = self.cookies.answer(now, ends, (key, theirs), &offers);
        let (proof, offset) = (Proof { own, theirs, offers }, self.offset(key, ends.1));
        let mut octets = Vec::new();
        let mut format = TcpFormat::<M>::answered(&self.config, *key, now, &proof, offset);
        format.answer(now, &mut octets);
        Self::sealed(octets, ends)
    }

    /// Returns what a segment proves that returns the number of such an answer.
    fn proof(
        &self,
        now: Instant,
        ends: (Participant, Participant),
        key: &TcpKey,
        packet: &mut M,
        header: &Header,
    ) -> Option<Proof> {
        let times = Self::offers(packet, header).times;
        self.cookies.proof(now, ends, (key, header), times)
    }

    /// Returns what becomes of a segment of a connection in TIME-WAIT (§3.10.7.4): a FIN that came
    /// again is acknowledged again, and waited for; a SYN with a higher number or a newer timestamp
    /// begins anew (RFC 1122 §4.2.2.13, RFC 6191 §2).
    fn waits(
        &mut self,
        now: Instant,
        remote: Participant,
        key: TcpKey,
        packet: &mut M,
        header: &Header,
    ) -> Option<Arrival<M>> {
        let mut answer = match self.over.arrival::<M>(now, remote, key, HEADROOM)? {
            Arrival::Answered(answer) => answer,
            other => return Some(other),
        };
        let (said, octets) = (Self::header(&mut answer)?, packet.len());
        let above = |new: u32, old: u32| new.wrapping_sub(old) as i32 > 0;
        let times = [(packet, header), (&mut answer, &said)]
            .map(|(segment, header)| Self::offers(segment, header).times);
        let is_newer = match times {
            [Some(new), Some(last)] if new.value != last.echo => above(new.value, last.echo),
            _ => above(header.sequence_number, said.acknowledgment_number),
        };
        if header.syn && !header.ack && !header.rst && is_newer {
            return None;
        }
        // RFC 1337: no reset ends it. Two that wait for each other do not answer each other.
        let data = octets - 4 * usize::from(header.data_offset);
        let says = header.syn || header.fin || data > 0;
        let end = header.sequence_number.wrapping_add(data as u32 + 1);
        if header.fin && !header.rst && end == said.acknowledgment_number {
            self.over.renew(remote, key, now.later(self.config.time_wait));
        }
        Some(match says && !header.rst {
            true => Arrival::Answered(answer),
            false => Arrival::Ignored("a segment of a connection that is over"),
        })
    }
}

impl<M: Message> Host for TcpHost<M> {
    type Configuration = Tcp<M>;
    type Transfer = Streams<M>;
    type Key = TcpKey;
    type PassiveKey = u16;

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::EXPEDITED),
        header_room: HEADER_MOST,
        reads_payload: true,
        ..Facts::named("tcp")
    };
    const REFUSES: bool = true;
    const AWAITS: usize = 16;
    const OPENS_AT_FIRST: bool = false;

    #[inline]
    fn locate(front: &TcpFront, _: &mut M) -> Result<TcpKey, Malformed> {
        Ok(key(&front.0))
    }

    fn open(
        &mut self,
        cx: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<TcpKey>, Ended> {
        let below = self.ports.open(local, remote)?;
        self.opening = Some((cx.now(), below.remote));
        Ok(below)
    }

    /// A port in TIME-WAIT is taken (RFC 9293 §3.6.1).
    fn free_key(&mut self, key: TcpKey, is_taken: impl Fn(&TcpKey) -> bool) -> Option<TcpKey> {
        let TcpHost { over, opening, .. } = self;
        let waits = |key| opening.is_some_and(|(now, remote)| over.holds(now, remote, key));
        self.ports.free(key, |key| is_taken(key) || waits(*key))
    }

    fn ends(key: &TcpKey, below: [Participant; 2]) -> [Participant; 2] {
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

    /// A segment of no connection is reset, and a late FIN acknowledged, on a host that only opens
    /// connections, too.
    fn hears() -> Option<Participant> {
        Some(Ports::any(PROTOCOL))
    }

    fn listens_at(port: &u16, below: Participant) -> Participant {
        with_port(below, *port)
    }

    fn passive_key(key: &TcpKey) -> u16 {
        key.own
    }

    fn quoted(octets: &[u8; 8]) -> Option<TcpKey> {
        Some(TcpKey::quoted(octets))
    }

    fn arrival(
        &mut self,
        cx: &Context,
        (local, remote): (Participant, Participant),
        key: &TcpKey,
        packet: &mut M,
        crowd: Crowd,
    ) -> Arrival<M> {
        const NONE: &str = "a segment of no connection";
        let Some(header) = Self::header(packet) else { return Arrival::Ignored(NONE) };
        let at = check_at(hosts_sum(local, remote, PROTOCOL), packet.len(), false);
        if !Self::is_right(packet, &header, at) {
            return Arrival::Ignored("the check does not agree");
        }
        if let Some(arrival) = self.waits(cx.now(), remote, *key, packet, &header) {
            return arrival;
        }
        let ends = (local, remote);
        if let Some(proof) = self.proof(cx.now(), ends, key, packet, &header) {
            self.arriving = Some((ends, Some(proof)));
            return Arrival::Welcome;
        }
        if !header.syn || header.ack || header.rst {
            // §3.10.7.2, fourth: what neither asks nor acknowledges is dropped.
            let reset = Self::reset(packet, *key, &header, (local, remote));
            return match reset.filter(|_| header.ack) {
                Some(reset) => Arrival::Answered(reset),
                None => Arrival::Ignored(NONE),
            };
        }
        if crowd.half_open >= self.config.half_open_most || crowd.gives_way {
            return Arrival::Answered(self.answer(cx.now(), ends, key, packet, &header));
        }
        self.arriving = Some((ends, None));
        Arrival::Welcome
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        (local, remote): (Participant, Participant),
        key: &TcpKey,
        packet: &mut M,
        why: Unexpected,
    ) -> Option<M> {
        let header = Self::header(packet)?;
        let at = check_at(hosts_sum(local, remote, PROTOCOL), packet.len(), false);
        if !Self::is_right(packet, &header, at) {
            return None;
        }
        // Somebody listens, and has no name for it now: the peer tries again.
        let ends = (local, remote);
        let asks = header.syn || self.proof(cx.now(), ends, key, packet, &header).is_some();
        if why == Unexpected::NoName && asks {
            return None;
        }
        match self.waits(cx.now(), remote, *key, packet, &header) {
            Some(Arrival::Answered(answer)) => Some(answer),
            Some(_) => None,
            None => Self::reset(packet, *key, &header, (local, remote)),
        }
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn create(
        &mut self,
        cx: &Context,
        _: Handle,
        key: &TcpKey,
        remote: Participant,
        origin: Origin,
        _: Credit,
    ) -> Slots<Tcp<M>> {
        let offset = self.offset(key, remote);
        let arriving = self.arriving.take().filter(|_| origin == Origin::Arrived);
        let mut format = match arriving {
            Some((_, Some(proof))) => {
                TcpFormat::answered(&self.config, *key, cx.now(), &proof, offset)
            }
            _ => {
                let number = self.first_number(cx.now(), key, remote);
                TcpFormat::new(&self.config, *key, number, offset)
            }
        };
        if let Some(((local, remote), _)) = arriving {
            format.on_ends(local, remote);
        }
        policies::policies(format, &self.config)
    }

    fn bury(
        &mut self,
        cx: &Context,
        (key, remote): (&TcpKey, Participant),
        farewell: Farewell<'_>,
    ) {
        let until = cx.now().later(farewell.wait.max(self.config.time_wait));
        self.over.bury(remote, *key, farewell, until);
    }

    fn room(&self) -> Credit {
        self.config.send
    }

    fn packet(&self) -> (usize, usize) {
        (usize::from(self.config.segment), HEADROOM)
    }

    fn run(&self) -> usize {
        self.config.run
    }
}

#[cfg(test)]
mod tests;
