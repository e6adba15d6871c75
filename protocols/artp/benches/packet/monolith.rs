//! ARTP by hand, in one file: what the engine is measured against.
//!
//! It does what [`policies`](stackwright_artp::policies) selects, with the same messages, headers and pool, and speaks to the engine;
//! but as nobody would who had to exchange a part: every decision is where it is used, and numbers stay as wide as on the wire.
//! What happens rarely is the simplest that is right. Sessions are not closed. Make it faster where you can; never slower.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

use stackwright_artp::header::{
    ControlHeader, ControlKind, Fragment, Microseconds, Packet, PacketKind, Proposal, Signed, Token, Verdict,
    Version,
};
use stackwright_artp::option::{Options, PacketOption};
use stackwright_artp::{Config, Item, Secrets, items};
use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, Quality, Room};
use stackwright_transport::Memory;
use stackwright_transport::words::{Dropped, SECOND};
use stackwright_wire::{BufferTree, Header, Malformed, Message, Pool};

/// Octets before a fragment.
const HEADERS: usize = Packet::LENGTH + Fragment::LENGTH;
/// Octets of the options that a fragment may have.
const OPTIONS: usize = 16;
const OPEN: u8 = 1;
const CONFIRM: u8 = 3;
/// Spans of an acknowledgement that are said again.
const REMINDED: usize = 4;
const PROBE_SLACK: u64 = 10_000_000;

enum State {
    Idle,
    /// We ask, again at this time.
    Asking(Instant),
    /// We have to answer.
    Asked,
    /// We have answered.
    Granted,
    Open,
}

/// A message of which something has not left yet.
struct Waiting {
    rest: BufferTree,
    fragment: Fragment,
    piece: usize,
    octets: usize,
    kind: MessageKind,
    since: Instant,
    lifetime: Option<NonZeroU32>,
}

#[derive(PartialEq)]
enum Stands {
    InFlight,
    Lost,
    Done,
}

struct Sent {
    body: BufferTree,
    fragment: Fragment,
    kind: MessageKind,
    stands: Stands,
    times: u16,
    at: Instant,
    order: u32,
    since: Instant,
    lifetime: Option<NonZeroU32>,
    release: Option<usize>,
}

/// A message of which pieces are here.
struct Partial {
    octets: Vec<u8>,
    piece: usize,
    last: Option<BufferTree>,
    here: Vec<u64>,
    count: u16,
    missing: u16,
    end: usize,
}

pub(crate) struct Monolith {
    config: Config,
    session: u8,
    ours: Proposal,
    theirs: Option<Proposal>,
    ranges: bool,
    state: State,
    confirms: bool,
    dead: bool,
    /// My clock − the peer's, in microseconds.
    difference: Option<i64>,

    waiting: VecDeque<Waiting>,
    /// By number, from `first` on.
    flight: VecDeque<Sent>,
    first: u32,
    in_flight: u64,
    lost: VecDeque<u32>,
    orders: u32,
    heard_order: u32,
    /// Up to where the peer lets us send; since when that is nowhere.
    edge: u32,
    shut_since: Option<Instant>,
    quiet_since: Instant,
    stirred: Instant,
    probed: bool,
    /// Nothing in flight is overdue before this.
    check_at: Instant,
    released: Room,
    datagram: u32,
    unacknowledged: u32,
    window: u64,
    cut_until: Instant,
    sent_at: Instant,
    smoothed: u64,
    variation: u64,
    /// As measured, and as it is after doubling.
    measured: u64,
    timeout: u64,

    upto: u32,
    highest: u32,
    /// A bit for each number of a window, at its place modulo the window.
    here: Box<[u64]>,
    pending: u32,
    said: u32,
    news: Vec<(u32, u32)>,
    numbers: u64,
    reminded: Vec<(u32, u32)>,
    acknowledge_at: Instant,
    begun: BTreeMap<u32, Partial>,
    inbox: VecDeque<(BufferTree, Quality, u32)>,
}

fn malformed(_: Malformed) -> Dropped {
    Dropped::Malformed
}

/// Whether `number` lies before `other`, where both wrap.
fn before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

impl Monolith {
    pub(crate) fn new(session: u8, config: &Config, secrets: Secrets) -> Self {
        assert!(config.window.is_power_of_two() && config.window >= 64, "a ring of words");
        let first = config.first.unwrap_or(secrets.first);
        let ours = Proposal {
            session,
            verdict: Verdict::Asked,
            packet: config.packet,
            window: config.window,
            first,
            longest: u32::MAX,
            ranges: config.ranges,
            large: false,
            expires: false,
            reserved: (),
            nonce: secrets.nonce,
            echo: 0,
            salt: secrets.salt,
        };
        Monolith {
            config: *config,
            session,
            ours,
            theirs: None,
            ranges: false,
            state: State::Idle,
            confirms: false,
            dead: false,
            difference: None,
            waiting: VecDeque::new(),
            flight: VecDeque::new(),
            first,
            in_flight: 0,
            lost: VecDeque::new(),
            orders: 0,
            heard_order: 0,
            edge: first,
            shut_since: None,
            quiet_since: Instant::START,
            stirred: Instant::START,
            probed: false,
            check_at: Instant::END,
            released: Room::default(),
            datagram: 0,
            unacknowledged: 0,
            window: 3 * u64::from(config.packet),
            cut_until: Instant::START,
            sent_at: Instant::START,
            smoothed: 0,
            variation: 0,
            measured: config.timeout_first,
            timeout: config.timeout_first,
            upto: 0,
            highest: 0,
            here: vec![0; config.window as usize / 64].into(),
            pending: 0,
            said: 0,
            news: Vec::new(),
            numbers: 0,
            reminded: Vec::new(),
            acknowledge_at: Instant::END,
            begun: BTreeMap::new(),
            inbox: VecDeque::new(),
        }
    }

    pub(crate) fn open(&mut self, now: Instant) {
        self.state = State::Asking(now);
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    pub(crate) fn released(&mut self) -> Room {
        std::mem::take(&mut self.released)
    }

    /// The most octets of a body.
    fn room(&self) -> usize {
        let theirs = self.theirs.as_ref().map_or(u16::MAX, |theirs| theirs.packet);
        usize::from(self.config.packet.min(theirs)) - HEADERS - OPTIONS
    }

    fn clock(&self, now: Instant) -> u64 {
        self.config.epoch + now.nanoseconds() / 1000
    }

    pub(crate) fn send(
        &mut self,
        now: Instant,
        mut message: BufferTree,
        quality: Quality,
    ) -> Result<(), BufferTree> {
        let octets = message.len();
        let signed = if quality.kind == MessageKind::Data { Signed::LENGTH } else { 0 };
        let (length, room) = (signed + octets, self.room());
        let (count, piece) = if length <= room {
            (1, octets) // what says that there is no signature leaves with the header
        } else {
            message.push(&Signed { signature: 0 });
            let Ok(count) = u16::try_from(length.div_ceil(room)) else { return Err(message) };
            (count, length.div_ceil(usize::from(count)))
        };
        let datagram = quality.number.unwrap_or(self.datagram);
        self.datagram = datagram.wrapping_add(1);
        let fragment = Fragment { datagram, index: 0, count };
        let (kind, lifetime) = (quality.kind, quality.lifetime);
        self.waiting.push_back(Waiting {
            rest: message,
            fragment,
            piece,
            octets,
            kind,
            since: now,
            lifetime,
        });
        Ok(())
    }

    pub(crate) fn take(&mut self, now: Instant, room: Room) -> Option<(BufferTree, Quality)> {
        let octets = self.inbox.front()?.0.len();
        if room.messages == 0 || octets > room.octets {
            return None;
        }
        let (message, quality, numbers) = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some((message, quality))
    }

    #[inline]
    fn taken(&mut self, now: Instant, numbers: u32) {
        self.pending -= numbers;
        let (edge, window) = (self.our_edge(), self.config.window);
        if before(self.said, edge)
            && (edge.wrapping_sub(self.said) > window / 2 || !before(self.upto, self.said))
        {
            self.remind(now);
        }
    }

    /// The peer has to hear where we stand.
    #[cold]
    fn remind(&mut self, now: Instant) {
        if self.news.is_empty() {
            let last = self.highest.wrapping_sub(1);
            self.gather(last);
        }
        self.acknowledge_at = now;
    }

    /// Up to where the peer may send.
    fn our_edge(&self) -> u32 {
        let edge = self.upto.wrapping_add(self.config.window.saturating_sub(self.pending));
        if before(edge, self.said) { self.said } else { edge }
    }

    fn gather(&mut self, number: u32) {
        self.numbers += 1;
        match self.news.last_mut() {
            Some((_, end)) if *end == number => *end = number.wrapping_add(1),
            _ => self.news.push((number, number.wrapping_add(1))),
        }
    }

    pub(crate) fn receive(
        &mut self,
        now: Instant,
        mut packet: BufferTree,
        memory: &Memory<BufferTree>,
    ) -> Result<(), Dropped> {
        // What stands before a fragment, and before its octets, in one look.
        let look = packet.len().min(HEADERS + Signed::LENGTH);
        let front = packet.front(look).ok_or(Dropped::Malformed)?;
        let header = Packet::decode(front).map_err(malformed)?;
        let plain = header.kind == PacketKind::Data && header.options == 0 && header.version == Version::One;
        let (mut credit, mut ranges, mut priority) = (None, false, 128);
        let (mut fragment, mut signature) = (Fragment { datagram: 0, index: 0, count: 1 }, None);
        if plain {
            fragment = Fragment::decode(&front[Packet::LENGTH..]).map_err(malformed)?;
            let signed = fragment.count == 1;
            if signed {
                signature = Some(Signed::decode(&front[HEADERS..]).map_err(malformed)?.signature);
            }
            packet.advance(if signed { HEADERS + Signed::LENGTH } else { HEADERS });
        } else {
            packet.advance(Packet::LENGTH);
            let octets = usize::from(header.options);
            for option in Options::new(packet.front(octets).ok_or(Dropped::Malformed)?) {
                match option.map_err(malformed)? {
                    PacketOption::Credit(edge) => credit = Some(edge),
                    PacketOption::Ranges => ranges = true,
                    PacketOption::Priority(said) => priority = said,
                    PacketOption::Large(_) => return Err(Dropped::Malformed),
                }
            }
            packet.advance(octets);
        }
        if header.session != self.session {
            return self.arrange(now, &header, &mut packet);
        }
        let reports = header.kind == PacketKind::Acknowledge;
        let stamp = u64::from(header.seconds) * 1_000_000 + u64::from(header.microseconds.get());
        if header.expiry > 0 {
            let until = stamp + u64::from(header.expiry);
            let until = match self.difference {
                Some(difference) if reports => until.saturating_add_signed(difference),
                None if reports => u64::MAX,
                _ => until,
            };
            if until < self.clock(now) {
                return Err(Dropped::Expired);
            }
        }
        match self.state {
            State::Idle | State::Asking(_) => return Err(Dropped::NotOurs),
            State::Asked | State::Granted if reports => self.state = State::Open,
            _ => {}
        }
        let kind = match header.kind {
            PacketKind::Acknowledge => {
                self.acknowledged(now, stamp, credit, ranges, &mut packet, &memory.pool)?;
                packet.reclaim(&memory.pool);
                return Ok(());
            }
            PacketKind::Data => MessageKind::Data,
            PacketKind::Control => {
                let octets = packet.len();
                let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
                items(octets).try_for_each(|item| item.map(|_| ())).map_err(malformed)?;
                signature = Some(0);
                MessageKind::Control
            }
        };
        if kind == MessageKind::Data && !plain {
            fragment = packet.pull::<Fragment>().map_err(malformed)?;
        }
        if fragment.index >= fragment.count {
            return Err(Dropped::Malformed);
        }
        self.enter(now, header.sequence)?;
        let number = (kind == MessageKind::Data).then_some(fragment.datagram);
        let quality = Quality { lifetime: None, number, priority, kind };
        let (mut message, numbers) = if fragment.count == 1 {
            (packet, 1)
        } else {
            let Some(whole) = self.join(fragment, packet, &memory.pool)? else { return Ok(()) };
            (whole, u32::from(fragment.count))
        };
        let signature = match signature {
            Some(signature) => Ok(signature),
            None => message.pull::<Signed>().map(|signed| signed.signature),
        };
        if signature != Ok(0) {
            self.taken(now, numbers);
            return Err(Dropped::Unjoinable);
        }
        self.inbox.push_back((message, quality, numbers));
        Ok(())
    }

    /// Remembers a number that came, and says so later.
    #[inline]
    fn enter(&mut self, now: Instant, number: u32) -> Result<(), Dropped> {
        let window = self.config.window;
        let ahead = number.wrapping_sub(self.upto);
        let (word, bit) = ((number & (window - 1)) as usize / 64, 1 << (number % 64));
        let mut duplicate = ahead > u32::MAX / 2;
        if !duplicate {
            if ahead >= window {
                return Err(Dropped::BeyondWindow);
            }
            if self.pending >= window && !before(number, self.said) {
                self.remind(now);
                return Err(Dropped::NoRoom);
            }
            duplicate = self.here[word] & bit != 0;
        }
        self.gather(number);
        let wait = if self.smoothed == 0 { u64::MAX } else { self.smoothed / 4 };
        self.acknowledge_at = if self.numbers >= self.config.gather_most {
            now
        } else {
            self.acknowledge_at.min(now.later(wait.min(self.config.gather)))
        };
        if duplicate {
            return Err(Dropped::Duplicate);
        }
        self.pending += 1;
        if ahead == 0 && self.highest == number {
            // Nothing lies beyond.
            self.upto = number.wrapping_add(1);
            self.highest = self.upto;
            return Ok(());
        }
        self.here[word] |= bit;
        if !before(number, self.highest) {
            self.highest = number.wrapping_add(1);
        }
        while self.upto != self.highest {
            let (word, bit) = ((self.upto & (window - 1)) as usize / 64, 1 << (self.upto % 64));
            if self.here[word] & bit == 0 {
                break;
            }
            self.here[word] &= !bit;
            self.upto = self.upto.wrapping_add(1);
        }
        Ok(())
    }

    fn join(
        &mut self,
        fragment: Fragment,
        body: BufferTree,
        pool: &Pool<BufferTree>,
    ) -> Result<Option<BufferTree>, Dropped> {
        let Fragment { datagram, index, count } = fragment;
        let partial = self.begun.entry(datagram).or_insert_with(|| Partial {
            octets: Vec::new(),
            piece: 0,
            last: None,
            here: vec![0; usize::from(count).div_ceil(64)],
            count,
            missing: count,
            end: 0,
        });
        let (word, bit) = (usize::from(index / 64), 1 << (index % 64));
        let is_last = index + 1 == count;
        let length = body.len();
        let right = if is_last { length <= partial.piece } else { length == partial.piece };
        if count != partial.count
            || partial.here[word] & bit != 0
            || length == 0
            || (partial.piece > 0 && !right)
            || length.saturating_mul(usize::from(count - 1)) > self.config.longest
        {
            return Err(Dropped::Unjoinable);
        }
        partial.here[word] |= bit;
        partial.missing -= 1;
        if partial.piece == 0 && is_last {
            partial.last = Some(body);
            return Ok(None);
        }
        if partial.piece == 0 {
            partial.piece = length;
        }
        partial.place(index, body, pool);
        if let Some(last) = partial.last.take() {
            partial.place(count - 1, last, pool);
        }
        if partial.missing > 0 {
            return Ok(None);
        }
        let whole = self.begun.remove(&datagram).map(|partial| {
            let end = partial.end;
            BufferTree::from_block(partial.octets.into(), 0, end)
        });
        Ok(whole)
    }

    /// What the peer has received.
    fn acknowledged(
        &mut self,
        now: Instant,
        stamp: u64,
        credit: Option<u32>,
        ranges: bool,
        packet: &mut BufferTree,
        pool: &Pool<BufferTree>,
    ) -> Result<(), Dropped> {
        let octets = packet.len();
        let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
        let (words, []) = octets.as_chunks::<4>() else { return Err(Dropped::Malformed) };
        let step = if ranges { 2 } else { 1 };
        if words.is_empty() || !words.len().is_multiple_of(step) {
            return Err(Dropped::Malformed);
        }
        let span = |words: &[[u8; 4]]| {
            let (first, last) = (u32::from_be_bytes(words[0]), u32::from_be_bytes(words[step - 1]));
            (first, last.wrapping_add(1))
        };
        let sent_upto = self.first.wrapping_add(self.flight.len() as u32);
        // Who acknowledges what was never sent is not believed the rest.
        for words in words.chunks_exact(step) {
            let (start, end) = span(words);
            if before(end, start) {
                return Err(Dropped::Malformed);
            }
            if before(sent_upto, end) {
                return Err(Dropped::AcknowledgesUnsent);
            }
        }
        if let Some(edge) = credit
            && before(self.edge, edge)
        {
            self.edge = edge;
        }
        let (mut units, mut newest) = (0_u64, None);
        for words in words.chunks_exact(step) {
            let (start, end) = span(words);
            let start = if before(start, self.first) { self.first } else { start };
            let mut place = start.wrapping_sub(self.first) as usize;
            for _ in 0..end.wrapping_sub(start) as i32 {
                let sent = &mut self.flight[place];
                place += 1;
                match sent.stands {
                    Stands::Done => continue,
                    Stands::InFlight => self.in_flight -= sent.body.len() as u64,
                    Stands::Lost => {}
                }
                units += 1;
                sent.stands = Stands::Done;
                if sent.times == 1 {
                    newest = newest.max(Some(sent.at));
                    if before(self.heard_order, sent.order) {
                        self.heard_order = sent.order;
                    }
                }
                if let Some(octets) = sent.release.take() {
                    self.released.octets += octets;
                    self.released.messages += 1;
                }
            }
            self.forget_done(pool);
        }
        self.quiet_since = now;
        if let Some(at) = newest {
            let took = now.nanoseconds_since(at).max(1);
            self.sample(took);
            let sent = i128::from(stamp) + i128::from(took / 2000);
            self.difference = i64::try_from(i128::from(self.clock(now)) - sent).ok();
        }
        if units == 0 {
            return Ok(());
        }
        (self.stirred, self.probed) = (now, false);
        let packet = u64::from(self.config.packet);
        for _ in 0..units {
            self.window += (packet * packet / self.window).max(1);
        }
        if let Some(tolerance) = self.config.reordering {
            self.lose_overtaken(now, tolerance as u32);
        }
        Ok(())
    }

    #[inline]
    fn forget_done(&mut self, pool: &Pool<BufferTree>) {
        while self.flight.front().is_some_and(|sent| sent.stands == Stands::Done) {
            if let Some(done) = self.flight.pop_front() {
                done.body.reclaim(pool);
            }
            self.first = self.first.wrapping_add(1);
        }
    }

    fn sample(&mut self, took: u64) {
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (took, took / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(took)) / 4;
            self.smoothed = (7 * self.smoothed + took) / 8;
        }
        self.measured = (self.smoothed + 4 * self.variation).max(self.config.timeout_least);
        self.timeout = self.measured.min((self.config.silence / 12).max(self.measured));
    }

    /// Those are lost that so many others have overtaken.
    #[inline]
    fn lose_overtaken(&mut self, now: Instant, tolerance: u32) {
        let mut lost = false;
        for (place, sent) in self.flight.iter_mut().enumerate() {
            if sent.stands != Stands::InFlight {
                continue;
            }
            if before(self.heard_order, sent.order.wrapping_add(tolerance)) {
                if sent.times == 1 {
                    break; // so are all that follow it
                }
                continue;
            }
            sent.stands = Stands::Lost;
            self.in_flight -= sent.body.len() as u64;
            self.lost.push_back(self.first.wrapping_add(place as u32));
            lost = true;
        }
        if lost {
            self.congested(now);
        }
    }

    #[cold]
    fn congested(&mut self, now: Instant) {
        if now >= self.cut_until {
            self.window = (self.window / 2).max(3 * u64::from(self.config.packet));
            self.cut_until = now.later(self.smoothed);
        }
    }

    pub(crate) fn transmit(&mut self, now: Instant, memory: &mut Memory<BufferTree>) -> Option<BufferTree> {
        if !matches!(self.state, State::Open) || self.confirms {
            match self.state {
                State::Asking(at) if at > now => return None,
                State::Idle | State::Granted => return None,
                _ => return Some(self.speak_of_session(now, memory)),
            }
        }
        if self.dead {
            return None;
        }
        if self.acknowledge_at <= now && !self.news.is_empty() {
            return Some(self.report(now, memory));
        }
        let place = self.choose(now, memory)?;
        let stamp = self.clock(now).saturating_add_signed(-self.difference.unwrap_or(0));
        if self.in_flight == 0 {
            let timeout = self.timeout;
            if self.flight.len() == 1 && now.nanoseconds_since(self.sent_at) > timeout {
                self.window = 3 * u64::from(self.config.packet);
            }
            if self.flight.len() == 1 {
                self.quiet_since = now;
            }
        }
        let number = self.first.wrapping_add(place as u32);
        let sent = &mut self.flight[place];
        let left = match sent.lifetime {
            Some(wish) if self.difference.is_some() => {
                let age = now.nanoseconds_since(sent.since) / 1000;
                u64::from(wish.get()).saturating_sub(age).max(1) as u32
            }
            _ => 0,
        };
        let data = sent.kind == MessageKind::Data;
        let kind = if data { PacketKind::Data } else { PacketKind::Control };
        let octets = sent.body.len();
        let length = match (data, sent.fragment.count) {
            (false, _) => Packet::LENGTH,
            (true, 1) => HEADERS + Signed::LENGTH,
            (true, _) => HEADERS,
        };
        let (header, rest) = sent.body.push_front(length).split_at_mut(Packet::LENGTH);
        packet(kind, self.session, number, stamp, left).encode(header);
        if data {
            let (fragment, signed) = rest.split_at_mut(Fragment::LENGTH);
            sent.fragment.encode(fragment);
            signed.fill(0);
        }
        let packet = sent.body.share();
        sent.body.advance(length);
        (sent.at, sent.order, sent.stands) = (now, self.orders, Stands::InFlight);
        sent.times += 1;
        self.orders = self.orders.wrapping_add(1);
        self.in_flight += octets as u64;
        (self.sent_at, self.stirred, self.probed) = (now, now, false);
        if self.check_at == Instant::END {
            self.check_at = now.later(self.timeout);
        }
        Some(packet)
    }

    /// The place of what leaves next: what was lost, or what is fresh, which gets its number now.
    #[inline]
    fn choose(&mut self, now: Instant, memory: &Memory<BufferTree>) -> Option<usize> {
        let over = |since: Instant, wish: Option<NonZeroU32>| {
            wish.is_some_and(|wish| now.nanoseconds_since(since) / 1000 >= u64::from(wish.get()))
        };
        while let Some(number) = self.lost.front() {
            let place = number.wrapping_sub(self.first) as usize;
            let Some(sent) = self.flight.get_mut(place).filter(|sent| sent.stands == Stands::Lost) else {
                self.lost.pop_front();
                continue;
            };
            if over(sent.since, sent.lifetime) {
                sent.stands = Stands::Done;
                self.released.octets += sent.release.unwrap_or(0);
                self.released.messages += usize::from(sent.release.is_some());
                self.lost.pop_front();
                self.forget_done(&memory.pool);
                continue;
            }
            if self.in_flight > 0 && self.in_flight + sent.body.len() as u64 > self.window {
                return None;
            }
            self.lost.pop_front();
            return Some(place);
        }
        while let Some(waiting) = self.waiting.front()
            && over(waiting.since, waiting.lifetime)
        {
            self.released.octets += waiting.octets;
            self.released.messages += 1;
            self.waiting.pop_front();
        }
        let waiting = self.waiting.front_mut()?;
        let octets = waiting.rest.len().min(waiting.piece);
        if self.in_flight > 0 && self.in_flight + octets as u64 > self.window {
            return None;
        }
        let number = self.first.wrapping_add(self.flight.len() as u32);
        if !before(number, self.edge) || self.flight.len() >= self.config.window as usize {
            let since = *self.shut_since.get_or_insert(now);
            if !self.flight.is_empty() || now.nanoseconds_since(since) < self.timeout {
                return None;
            }
        }
        self.shut_since = None;
        let Waiting { fragment, kind, since, lifetime, .. } = *waiting;
        let (body, release) = if waiting.rest.len() <= waiting.piece {
            let Waiting { rest, octets, .. } = self.waiting.pop_front()?;
            let body = if fragment.index == 0 {
                rest
            } else {
                rest.copy_into(&memory.pool, memory.headroom + HEADERS + OPTIONS)
            };
            (body, Some(octets))
        } else {
            waiting.fragment.index += 1;
            let piece = waiting.rest.split_to(waiting.piece);
            (piece.copy_into(&memory.pool, memory.headroom + HEADERS + OPTIONS), None)
        };
        let place = self.flight.len();
        let (stands, times, order, at) = (Stands::Lost, 0, 0, now);
        self.flight.push_back(Sent {
            body,
            fragment,
            kind,
            stands,
            times,
            at,
            order,
            since,
            lifetime,
            release,
        });
        Some(place)
    }

    /// A list of what came, with what was said last where there is room.
    fn report(&mut self, now: Instant, memory: &Memory<BufferTree>) -> BufferTree {
        let room = self.room() / if self.ranges { 8 } else { 4 };
        let mut block = memory.pool.take();
        let start = memory.headroom;
        let mut at = start + Packet::LENGTH;
        let mut put = |octets: &[u8]| {
            block[at..at + octets.len()].copy_from_slice(octets);
            at += octets.len();
        };
        let edge = self.our_edge();
        put(&[0, 8, 0, 1]);
        put(&edge.to_be_bytes());
        if self.ranges {
            put(&[0, 4, 0, 2]);
        }
        let (mut left, mut said) = (room as u32, 0);
        for (start, end) in self.news.iter().chain(&self.reminded) {
            if left == 0 {
                break;
            }
            let length = end.wrapping_sub(*start).min(left);
            left -= length;
            said += length;
            if self.ranges {
                put(&start.to_be_bytes());
                put(&start.wrapping_add(length - 1).to_be_bytes());
            } else {
                (0..length).for_each(|step| put(&start.wrapping_add(step).to_be_bytes()));
            }
        }
        self.unacknowledged = self.unacknowledged.wrapping_add(1);
        let header = Packet {
            options: if self.ranges { 12 } else { 8 },
            ..packet(PacketKind::Acknowledge, self.session, self.unacknowledged, self.clock(now), 0)
        };
        header.encode(&mut block[start..start + Packet::LENGTH]);
        self.said = edge;
        let mut said = u64::from(said).min(self.numbers);
        self.numbers -= said;
        let mut whole = 0;
        for (start, end) in &mut self.news {
            let length = u64::from(end.wrapping_sub(*start));
            if length > said {
                *start = start.wrapping_add(said as u32);
                break;
            }
            said -= length;
            whole += 1;
        }
        self.reminded.clear();
        self.reminded.extend(self.news.drain(..whole).skip(whole.saturating_sub(REMINDED)));
        self.acknowledge_at = if self.news.is_empty() { Instant::END } else { now };
        BufferTree::from_block(block, start, at)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.check_at <= now {
            self.lose_overdue(now);
        }
        if self.probe_at() <= now {
            let newest = self.flight.iter().rposition(|sent| sent.stands == Stands::InFlight);
            if let Some(place) = newest {
                self.lose(place);
            }
            self.probed = true;
        }
    }

    fn lose(&mut self, place: usize) {
        let sent = &mut self.flight[place];
        sent.stands = Stands::Lost;
        self.in_flight -= sent.body.len() as u64;
        self.lost.push_back(self.first.wrapping_add(place as u32));
    }

    /// All are looked at: a timeout is rare.
    #[cold]
    fn lose_overdue(&mut self, now: Instant) {
        let mut places: Vec<(Instant, usize)> = Vec::new();
        self.check_at = Instant::END;
        for (place, sent) in self.flight.iter().enumerate() {
            if sent.stands != Stands::InFlight {
                continue;
            }
            let over = sent.at.later(self.timeout);
            if over <= now {
                let silence = now.nanoseconds_since(self.quiet_since);
                self.dead |= sent.times > 1 && silence >= self.config.silence;
                places.push((sent.at, place));
            } else {
                self.check_at = self.check_at.min(over);
            }
        }
        if places.is_empty() {
            return;
        }
        places.sort_unstable_by_key(|(at, place)| (*at, Reverse(*place)));
        places.into_iter().for_each(|(_, place)| self.lose(place));
        let most = (self.config.silence / 12).max(self.measured);
        self.timeout = (2 * self.timeout).min(64 * self.measured).min(most).min(60 * SECOND);
        self.congested(now);
    }

    fn probe_at(&self) -> Instant {
        let drained = self.lost.is_empty() && self.waiting.is_empty();
        if self.probed || !drained || self.in_flight == 0 || self.smoothed == 0 {
            return Instant::END;
        }
        self.stirred.later(2 * self.smoothed + PROBE_SLACK)
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let mut at = self.acknowledge_at.min(self.check_at).min(self.probe_at());
        if let State::Asking(again) = self.state {
            at = at.min(again);
        }
        if self.confirms || matches!(self.state, State::Asked) {
            at = Instant::START;
        }
        if let Some(since) = self.shut_since
            && self.flight.is_empty()
        {
            at = at.min(since.later(self.timeout));
        }
        (at != Instant::END).then_some(at)
    }

    /// What is said in session 0 about this one.
    #[cold]
    fn arrange(&mut self, now: Instant, header: &Packet, packet: &mut BufferTree) -> Result<(), Dropped> {
        let octets = packet.len();
        let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
        if header.session != 0 || header.kind != PacketKind::Control {
            return Err(Dropped::NotOurs);
        }
        let Some(Ok(item)) = items(octets).next() else { return Err(Dropped::Malformed) };
        if item.id == CONFIRM {
            let token = Token::decode(item.value).map_err(malformed)?;
            if token.session == self.session && token.token == self.ours.nonce {
                self.state = State::Open;
            }
            return Ok(());
        }
        let theirs = Proposal::decode(item.value).map_err(malformed)?;
        if item.id != OPEN || theirs.session != self.session {
            return Err(Dropped::NotOurs);
        }
        match (&self.state, item.kind, theirs.verdict) {
            (State::Idle | State::Granted, ControlKind::Request, Verdict::Asked) => self.state = State::Asked,
            (State::Asking(_) | State::Open, ControlKind::Reply, Verdict::Granted)
                if theirs.echo == self.ours.nonce =>
            {
                (self.state, self.confirms) = (State::Open, true);
            }
            _ => return Err(Dropped::NotOurs),
        }
        if self.theirs.is_none() {
            self.ranges = self.ours.ranges && theirs.ranges;
            self.edge = self.first.wrapping_add(theirs.window);
            (self.upto, self.highest) = (theirs.first, theirs.first);
            self.said = theirs.first.wrapping_add(self.config.window);
            self.quiet_since = now;
            self.theirs = Some(theirs);
        }
        Ok(())
    }

    #[cold]
    fn speak_of_session(&mut self, now: Instant, memory: &Memory<BufferTree>) -> BufferTree {
        let nonce = self.theirs.as_ref().map_or(0, |theirs| theirs.nonce);
        let mut value = [0; Proposal::LENGTH];
        let (kind, id, length) = match self.state {
            State::Asking(_) => {
                self.ours.encode(&mut value);
                self.state = State::Asking(now.later(self.config.timeout_first));
                (ControlKind::Request, OPEN, Proposal::LENGTH)
            }
            State::Asked => {
                Proposal { verdict: Verdict::Granted, echo: nonce, ..self.ours }.encode(&mut value);
                self.state = State::Granted;
                (ControlKind::Reply, OPEN, Proposal::LENGTH)
            }
            _ => {
                Token { session: self.session, reserved: (), token: nonce }.encode(&mut value);
                self.confirms = false;
                (ControlKind::Request, CONFIRM, Token::LENGTH)
            }
        };
        let mut octets = Vec::with_capacity(ControlHeader::LENGTH + length);
        Item { kind, id, value: &value[..length] }.write(&mut octets);
        let mut message = BufferTree::with_headroom(memory.headroom + Packet::LENGTH, &octets);
        self.unacknowledged = self.unacknowledged.wrapping_add(1);
        message.push(&packet(PacketKind::Control, 0, self.unacknowledged, self.clock(now), 0));
        message
    }
}

fn packet(kind: PacketKind, session: u8, sequence: u32, stamp: u64, expiry: u32) -> Packet {
    Packet {
        version: Version::One,
        kind,
        session,
        options: 0,
        sequence,
        seconds: (stamp / 1_000_000) as u32,
        microseconds: Microseconds::of(stamp),
        expiry,
    }
}

impl Partial {
    fn place(&mut self, index: u16, body: BufferTree, pool: &Pool<BufferTree>) {
        let start = usize::from(index) * self.piece;
        let end = start + body.len();
        if self.octets.len() < end {
            self.octets.resize(end, 0);
        }
        body.copy_to(&mut self.octets[start..end]);
        if index + 1 == self.count {
            self.end = end;
        }
        body.reclaim(pool);
    }
}
