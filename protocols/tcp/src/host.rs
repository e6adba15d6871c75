//! The connections of a station: which are made, how their numbers are chosen, and what others are
//! told.

use alloc::vec;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use siphasher::sip::SipHasher13;
use stackwright_base::{Arrival, Origin};
use stackwright_contract::services::{Credit, Ended, Streams};
use stackwright_contract::{Address, Context, Facts, Guarantees, Handle, Instant, Participant};
use stackwright_policies::integrity::Internet;
use stackwright_transport::slots::{CheckAt, Format as _, Front as _, Integrity as _};
use stackwright_transport::{Crowd, Farewell, Graveyard, Host, Limits, Slots};
use stackwright_wire::internet::Tcp as Header;
use stackwright_wire::{Header as _, Malformed, Message, check};

use crate::config::{self, Config, SEGMENT_LEAST, Tcp};
use crate::format::{CHECK, TcpFormat, check as check_at, hosts_sum, put, silent};
use crate::header::{HEADER_MOST, TcpFront};
use crate::key::TcpKey;

/// The octets that are free before a segment, for the layers below.
const HEADROOM: usize = 64;

/// How often the number from which first numbers follow rises (RFC 6528 §3, RFC 9293 §3.4.1).
const TICK: u64 = 4000;

/// The connections of a station.
pub struct TcpHost<M> {
    config: Config,
    /// Connections that this side closed first (TIME-WAIT).
    over: Graveyard<TcpKey>,
    /// How many ports were given out (`next_ephemeral` in RFC 6056).
    given: u16,
    /// The hosts between which the last connection arrived.
    arriving: Option<(Participant, Participant)>,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> TcpHost<M> {
    /// Creates the connections of a station.
    ///
    /// # Panics
    /// If segments are shorter than 556 octets, or there is no port.
    pub fn new(config: Config) -> Self {
        assert!(config.segment >= SEGMENT_LEAST, "a segment has at least 556 octets");
        assert!(config.ports.0 > 0 && config.ports.0 <= config.ports.1, "there are ports");
        let mut host = TcpHost {
            config,
            over: Graveyard::default(),
            given: 0,
            arriving: None,
            message: PhantomData,
        };
        host.given = host.secret(0, |_| ()) as u16;
        host
    }

    /// Returns a number that nobody else can work out, for the use that is numbered `purpose`.
    fn secret(&self, purpose: u8, of: impl FnOnce(&mut SipHasher13)) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.config.secret);
        hasher.write_u8(purpose);
        of(&mut hasher);
        hasher.finish()
    }

    /// Returns the first number of a connection (RFC 6528 §3).
    fn first_number(&self, now: Instant, key: &TcpKey, remote: Participant) -> u32 {
        let secret = self.secret(1, |hasher| (key, remote).hash(hasher));
        ((now.nanoseconds() / TICK) as u32).wrapping_add(secret as u32)
    }

    /// Returns the `nth` port from the one that suits a destination (RFC 6056 §3.3.3).
    fn port(&self, remote: Participant, nth: u16) -> u16 {
        let (first, last) = self.config.ports;
        let count = u64::from(last - first) + 1;
        let offset = self.secret(2, |hasher| remote.hash(hasher)) % count;
        first + ((offset + u64::from(self.given.wrapping_add(nth))) % count) as u16
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
    fn reset(packet: &M, key: TcpKey, header: &Header) -> Option<M> {
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
        let at =
            CheckAt { plus: plus(packet, octets.len()), ..CheckAt::new(CHECK, 0..octets.len()) };
        Internet::new().seal(&mut octets, None::<&M>, Some(at));
        Some(M::with_headroom(HEADROOM, &octets))
    }

    /// Returns what becomes of a segment of a connection in TIME-WAIT (§3.10.7.4): a FIN that came
    /// again is acknowledged again, and a SYN with a higher number begins anew (RFC 1122
    /// §4.2.2.13).
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
        let expected = Self::header(&mut answer)?.acknowledgment_number;
        let is_newer = header.sequence_number.wrapping_sub(expected) as i32 > 0;
        if header.syn && !header.ack && !header.rst && is_newer {
            return None;
        }
        // RFC 1337: no reset ends it. Two that wait for each other do not answer each other.
        let octets = 4 * usize::from(header.data_offset);
        let says = header.syn || header.fin || packet.len() > octets;
        Some(match says && !header.rst {
            true => Arrival::Answered(answer),
            false => Arrival::Ignored("a segment of a connection that is over"),
        })
    }
}

/// Returns the sum of the pseudo-header of a segment of `octets` octets that answers `packet`. The
/// packet tells it: with it, the sum of all its octets is zero, as far as it came as it was sent.
/// Hosts in the other order have the same sum.
fn plus<M: Message>(packet: &M, octets: usize) -> u16 {
    let mut sum = check::Internet::new();
    packet.each(|piece| sum.add(piece));
    // `value` is the complement of the sum: what the pseudo-header must have.
    let theirs = u32::from(sum.value());
    let length = u32::from(!(packet.len() as u16));
    let sum = theirs + length + octets as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

impl<M: Message> Host for TcpHost<M> {
    type Configuration = Tcp<M>;
    type Transfer = Streams<M>;
    type Key = TcpKey;

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        header_room: HEADER_MOST,
        reads_payload: true,
        ..Facts::named("tcp")
    };
    const REFUSES: bool = true;

    #[inline]
    fn locate(front: &TcpFront, _: &mut M) -> Result<TcpKey, Malformed> {
        Ok(TcpKey::of(&front.0))
    }

    fn open(&mut self, _: &Context, _: Handle, remote: Participant) -> Result<TcpKey, Ended> {
        let Address::Internet { port: peer, .. } = remote.address else {
            return Err(Ended::Unreachable);
        };
        if peer == 0 {
            return Err(Ended::Unreachable);
        }
        let key = TcpKey { own: self.port(remote, 0), peer };
        self.given = self.given.wrapping_add(1);
        Ok(key)
    }

    fn free_key(&mut self, key: TcpKey, is_taken: impl Fn(&TcpKey) -> bool) -> Option<TcpKey> {
        let (first, last) = self.config.ports;
        // A port that the layer above has chosen is that one, or none.
        if !(first..=last).contains(&key.own) {
            return Some(key).filter(|key| !is_taken(key));
        }
        let count = u32::from(last - first) + 1;
        let from = u32::from(key.own - first);
        let mut keys = (0..count)
            .map(|nth| TcpKey { own: first + ((from + nth) % count) as u16, peer: key.peer });
        keys.find(|key| !is_taken(key))
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
        let at = check_at(hosts_sum(local, remote), packet.len(), false);
        if !Self::is_right(packet, &header, at) {
            return Arrival::Ignored("the check does not agree");
        }
        if let Some(arrival) = self.waits(cx.now(), remote, *key, packet, &header) {
            return arrival;
        }
        if !header.syn || header.ack || header.rst {
            return match Self::reset(packet, *key, &header) {
                Some(reset) => Arrival::Answered(reset),
                None => Arrival::Ignored(NONE),
            };
        }
        self.arriving = Some((local, remote));
        if crowd.half_open >= self.config.half_open_most {
            return Arrival::Displaces;
        }
        Arrival::Welcome
    }

    fn unawaited(
        &mut self,
        cx: &Context,
        remote: Participant,
        key: &TcpKey,
        packet: &mut M,
    ) -> Option<M> {
        let header = Self::header(packet)?;
        match self.waits(cx.now(), remote, *key, packet, &header) {
            Some(Arrival::Answered(answer)) => Some(answer),
            Some(_) => None,
            None => Self::reset(packet, *key, &header),
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
        let number = self.first_number(cx.now(), key, remote);
        let offset = self.secret(3, |hasher| (key, remote).hash(hasher)) as u32;
        let mut format = TcpFormat::new(&self.config, *key, number, offset);
        if origin == Origin::Arrived
            && let Some((local, remote)) = self.arriving.take()
        {
            format.on_ends(local, remote);
        }
        config::policies(format, &self.config)
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
