//! When the station has to say whose it is, on one port.

use stackwright_contract::services::Credit;
use stackwright_contract::{Duration, Instant, earliest};

/// How long nothing was sent before a link that has ended is taken for the last.
const QUIET: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Identifying {
    pub(super) is_up: bool,
    /// The first transmission since the last identification.
    since: Option<Instant>,
    /// The last one.
    last: Instant,
    /// A link has ended since.
    link_ended: bool,
    /// Credit that is kept for the next identification or beacon.
    kept: Credit,
    /// Frames that the TNC would take, and the layer above may not send yet.
    withheld: usize,
    /// The layer above may send one, or one waits here.
    lent: bool,
}

impl Identifying {
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.last = now;
    }

    pub(super) fn on_link_ends(&mut self) {
        self.link_ended = true;
    }

    /// The TNC is gone, or there anew: its credit is void.
    pub(super) fn on_line(&mut self, up: bool) {
        (self.is_up, self.kept) = (up, Credit::NONE);
        (self.withheld, self.lent) = (0, false);
    }

    /// The TNC takes so many frames more: the layer above has them one at a time.
    pub(super) fn withhold(&mut self, frames: usize) {
        self.withheld += frames;
    }

    /// A frame went to the TNC. Returns whether the layer above is to be given its next.
    pub(super) fn passed(&mut self) -> bool {
        self.lent = false;
        self.lends()
    }

    /// Returns whether the layer above is to be given its next frame.
    pub(super) fn lends(&mut self) -> bool {
        let lends = !self.lent && self.withheld > 0;
        self.withheld -= usize::from(lends);
        self.lent |= lends;
        lends
    }

    /// Takes what an identification still lacks of `credit`.
    pub(super) fn reserve(&mut self, credit: Credit, cost: Credit) -> Credit {
        let taken = Credit {
            octets: credit.octets.min(cost.octets.saturating_sub(self.kept.octets)),
            messages: credit.messages.min(cost.messages.saturating_sub(self.kept.messages)),
        };
        self.kept += taken;
        taken
    }

    /// Returns when an identification is due; `None` where nothing was sent, or while the TNC takes
    /// none.
    pub(super) fn due_at(&self, every: Duration, cost: Credit) -> Option<Instant> {
        let since = self.since.filter(|_| self.takes(cost))?;
        let quiet = self.link_ended.then(|| self.last + QUIET);
        earliest(Some(since + every), quiet)
    }

    pub(super) fn is_due(&self, now: Instant, every: Duration, cost: Credit) -> bool {
        self.due_at(every, cost).is_some_and(|due| due <= now)
    }

    /// Returns whether the TNC is there, and takes a frame of this cost.
    pub(super) fn takes(&self, cost: Credit) -> bool {
        self.is_up && self.kept.covers(cost)
    }

    /// A frame was sent of the credit that is kept; `identifies`: it said whose the station is.
    pub(super) fn on_announced(&mut self, cost: Credit, identifies: bool) {
        self.kept -= cost;
        if identifies {
            (self.since, self.link_ended) = (None, false);
        }
    }
}
