//! Packets leave.

use std::num::NonZeroU32;

use stackwright_artp::header::{Fragment, Packet, PacketKind, Signed};
use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_transport::Memory;
use stackwright_wire::{BufferTree, Header, Message};

use super::{HEADERS, Monolith, OPTIONS, REMINDED, Sent, Stands, State, Waiting, before, packet};

impl Monolith {
    pub(crate) fn send(
        &mut self,
        now: Instant,
        mut message: BufferTree,
        properties: MessageProperties,
    ) -> Result<(), BufferTree> {
        let octets = message.len();
        let signed = if properties.kind == MessageKind::Data { Signed::LENGTH } else { 0 };
        let (length, room) = (signed + octets, self.room());
        let (count, piece) = if length <= room {
            (1, octets) // what says that there is no signature leaves with the header
        } else {
            message.push(&Signed { signature: 0 });
            let Ok(count) = u16::try_from(length.div_ceil(room)) else { return Err(message) };
            (count, length.div_ceil(usize::from(count)))
        };
        let datagram = properties.number.unwrap_or(self.datagram);
        self.datagram = datagram.wrapping_add(1);
        let fragment = Fragment { datagram, index: 0, count };
        let (kind, lifetime) = (properties.kind, properties.lifetime);
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

    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        memory: &mut Memory<BufferTree>,
    ) -> Option<BufferTree> {
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
            let Some(sent) = self.flight.get_mut(place).filter(|sent| sent.stands == Stands::Lost)
            else {
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
}
