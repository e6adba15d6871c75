//! Time has passed.

use std::cmp::Reverse;

use stackwright_contract::Instant;
use stackwright_transport::words::SECOND;
use stackwright_wire::Message;

use super::{Monolith, PROBE_SLACK, Stands, State};

impl Monolith {
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
        let most = (60 * SECOND).max(2 * self.measured);
        self.timeout = (2 * self.timeout).min(64 * self.measured).min(most);
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
}
