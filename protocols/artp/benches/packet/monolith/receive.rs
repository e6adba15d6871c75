//! Packets arrive.

use stackwright_artp::header::{Fragment, Packet, PacketKind, Signed, Version};
use stackwright_artp::items;
use stackwright_artp::option::{Options, PacketOption};
use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageKind, MessageProperties};
use stackwright_transport::Memory;
use stackwright_transport::words::Dropped;
use stackwright_wire::{BufferTree, Header, Message, Pool};

use super::{HEADERS, Monolith, Partial, State, before};

impl Monolith {
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        mut packet: BufferTree,
        memory: &Memory<BufferTree>,
    ) -> Result<(), Dropped> {
        // What stands before a fragment, and before its octets, in one look.
        let look = packet.len().min(HEADERS + Signed::LENGTH);
        let front = packet.front(look).ok_or(Dropped::Malformed)?;
        let header = Packet::decode(front)?;
        let plain = header.kind == PacketKind::Data
            && header.options == 0
            && header.version == Version::One;
        let (mut credit, mut ranges, mut priority) = (None, false, 128);
        let (mut fragment, mut signature) = (Fragment { datagram: 0, index: 0, count: 1 }, None);
        if plain {
            fragment = Fragment::decode(&front[Packet::LENGTH..])?;
            let signed = fragment.count == 1;
            if signed {
                signature = Some(Signed::decode(&front[HEADERS..])?.signature);
            }
            packet.advance(if signed { HEADERS + Signed::LENGTH } else { HEADERS });
        } else {
            packet.advance(Packet::LENGTH);
            let octets = usize::from(header.options);
            for option in Options::new(packet.front(octets).ok_or(Dropped::Malformed)?) {
                match option? {
                    // None of these is used here.
                    PacketOption::Padding(_)
                    | PacketOption::Settled(_)
                    | PacketOption::Part(_)
                    | PacketOption::Marks(_) => {}
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
            PacketKind::Single => return Err(Dropped::Malformed), // it was not agreed on
            PacketKind::Unknown => return Err(Dropped::NotOurs),
            PacketKind::Control => {
                let octets = packet.len();
                let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
                items(octets).try_for_each(|item| item.map(|_| ()))?;
                signature = Some(0);
                MessageKind::Control
            }
        };
        if kind == MessageKind::Data && !plain {
            fragment = packet.pull::<Fragment>()?;
        }
        if fragment.index >= fragment.count {
            return Err(Dropped::Malformed);
        }
        self.enter(now, header.sequence)?;
        let number = (kind == MessageKind::Data).then_some(fragment.datagram);
        let properties =
            MessageProperties { number, priority, kind, ..MessageProperties::default() };
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
        self.inbox.push_back((message, properties, numbers));
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

    fn gather(&mut self, number: u32) {
        self.numbers += 1;
        match self.news.last_mut() {
            Some((_, end)) if *end == number => *end = number.wrapping_add(1),
            _ => self.news.push((number, number.wrapping_add(1))),
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
    pub(super) fn our_edge(&self) -> u32 {
        let edge = self.upto.wrapping_add(self.config.window.saturating_sub(self.pending));
        if before(edge, self.said) { self.said } else { edge }
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

    pub(crate) fn take(
        &mut self,
        now: Instant,
        credit: Credit,
    ) -> Option<(BufferTree, MessageProperties)> {
        let octets = self.inbox.front()?.0.len();
        if credit.messages == 0 || octets > credit.octets {
            return None;
        }
        let (message, properties, numbers) = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some((message, properties))
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
