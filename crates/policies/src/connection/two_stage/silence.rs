//! A peer that is silent: probed, and gone.

use stackwright_contract::Instant;
use stackwright_transport::words::{Ending, Nanoseconds, SECOND, View};

use super::{NEVER, Question, State, TwoStage};

/// How often a silent peer is probed before it is taken to be gone, where no silence is agreed upon
/// that decides. Each wait is twice as long as the last, from a timeout on: an outage, or loss,
/// that is shorter than all of them is no end.
pub(super) const PROBES_MOST: u32 = 5;

/// By what part of it the side that asked for the association probes sooner than the other: as a
/// rule, one of them probes.
const SOONER: u64 = 16;

/// How many timeouts a silence lasts at least before the peer is taken to be gone.
const TIMEOUTS_LEAST: u64 = 3;

/// How late a timer is of a host that was suspended: what the peer sent meanwhile is lost, and the
/// silence says nothing.
const SUSPENDED: Nanoseconds = 5 * SECOND;

impl TwoStage {
    /// Returns how long an answer takes at most, as a rule: the retransmission timeout, which need
    /// not be as long as losses have made it.
    pub(super) fn timeout(&self, view: &View) -> Nanoseconds {
        view.rtt.timeout.min(view.rtt.smoothed + 4 * view.rtt.variation + self.every)
    }

    /// Returns whether to probe now if the peer is there.
    pub(super) fn probes(&self, view: &View) -> bool {
        let asks = |question: Question| question.is_due(view) && self.may_probe(view, question);
        self.state == State::Open && self.probing.is_some_and(asks)
    }

    /// Returns whether another probe may bring an answer in time.
    pub(super) fn may_probe(&self, view: &View, question: Question) -> bool {
        let is_short = view.now.nanoseconds_since(self.quiet_since) < self.borne;
        self.idle != NEVER || question.tries < PROBES_MOST || is_short
    }

    /// Returns how long a silence lasts before the peer is probed, and before it is gone.
    pub(super) fn silences(&self, view: &View) -> (Nanoseconds, Nanoseconds) {
        let gone = self.idle.max(TIMEOUTS_LEAST.saturating_mul(view.rtt.timeout));
        if self.keepalive == NEVER {
            return (NEVER, gone);
        }
        // Probes that are wanted keep it alive: there is time for one before it is gone.
        let probed = self.keepalive.min(gone - gone / 3);
        (if self.asks { probed - probed / SOONER } else { probed }, gone)
    }

    /// Something was received, or is in flight.
    pub(super) fn stirs(&mut self, view: &View) {
        let (probed, gone) = self.silences(view);
        (self.quiet_since, self.patience, self.probing) = (view.now, probed.min(gone), None);
        self.looks_at = self.silent_at(gone);
    }

    /// Returns when the silence is long enough that something is to be done; it is an end after
    /// `gone`.
    pub(super) fn silent_at(&self, gone: Nanoseconds) -> Instant {
        let after = |silence| self.quiet_since.later(silence);
        self.probing.map_or_else(|| after(self.patience), |question| question.at.min(after(gone)))
    }

    /// Looks how long the silence is.
    pub(super) fn look(&mut self, view: &View) {
        if self.state != State::Open {
            return;
        }
        let (probed, gone) = self.silences(view);
        let due = self.silent_at(gone);
        if !view.idle {
            return self.stirs(view); // the recovery waits for an answer
        }
        if due > view.now {
            self.looks_at = due;
            return;
        }
        let silence = view.now.nanoseconds_since(self.quiet_since);
        let is_gone = match self.probing {
            _ if view.now.nanoseconds_since(due) > SUSPENDED => {
                self.quiet_since = view.now.sooner(probed.min(gone));
                self.probing = Some(Question::first(view.now));
                false
            }
            Some(question) => silence >= gone || !self.may_probe(view, question),
            None if silence >= probed => {
                self.probing = Some(Question::first(view.now));
                false
            }
            None => silence >= gone,
        };
        self.patience = probed.min(gone);
        self.looks_at = self.silent_at(gone);
        if is_gone {
            self.abandoned = Some(Ending::Silent);
            self.state = State::Ended(Ending::Silent);
        }
    }
}
