//! An acknowledgement arrives.

use stackwright_contract::Instant;
use stackwright_transport::words::Dropped;
use stackwright_wire::{BufferTree, Message, Pool};

use super::{Monolith, Stands, before};

impl Monolith {
    /// What the peer has received.
    pub(super) fn acknowledged(
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
            // Nothing is left of a span that lies before the first in flight.
            let length = (end.wrapping_sub(start) as i32).max(0) as usize;
            let place = if length > 0 { start.wrapping_sub(self.first) as usize } else { 0 };
            for sent in self.flight.range_mut(place..place + length) {
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
    pub(super) fn forget_done(&mut self, pool: &Pool<BufferTree>) {
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
        self.measured = self.smoothed + (4 * self.variation).max(self.config.timeout_least);
        self.timeout = self.measured;
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
    pub(super) fn congested(&mut self, now: Instant) {
        if now >= self.cut_until {
            self.window = (self.window / 2).max(3 * u64::from(self.config.packet));
            self.cut_until = now.later(self.smoothed);
        }
    }
}
