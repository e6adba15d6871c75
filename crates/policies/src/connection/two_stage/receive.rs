//! What the peer says.

use stackwright_transport::slots::PacketInfo;
use stackwright_transport::words::{Dropped, Ending, Opening, Signals, View};

use super::{Budget, DOUBLED_MOST, GRANT, Moving, Question, State, TwoStage};

/// The octets of headers of lower layers, as in IPv4 and UDP.
const LOWER_HEADERS: usize = 28;

impl TwoStage {
    /// Does what [`hear`](Self::hear) does.
    #[inline(never)] // nearly every packet is data of an association at rest
    pub(super) fn heed(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let admitted = self.hear(view, tidings);
        self.rest();
        admitted
    }

    /// Handles signals, anything that arrives before the association is open, and the time at which
    /// the peer is to be probed.
    pub(super) fn hear(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        let asks = self.probing.is_some() || self.moving.is_some();
        if signals == Signals::NONE && matches!(self.state, State::Open) && !asks {
            self.quiet_since = view.now;
            return Ok(());
        }
        if signals.has(Self::LOST | Self::UNKNOWN) {
            match signals.has(Self::LOST) {
                true => self.is_lost(),
                false => self.is_unknown(view),
            }
            return Ok(());
        }
        // As long as the other side may go on asking.
        let patience =
            view.now.later((self.every << DOUBLED_MOST).saturating_mul(u64::from(self.tries_most)));
        if signals.has(Signals::OPEN) && self.state == State::Idle {
            self.state = State::Granting(Question::first(view.now), Budget::default(), patience);
        }
        if let State::Granting(question, budget, until) = &mut self.state {
            budget.heard += tidings.octets as u64;
            if signals.has(Signals::OPEN) {
                (question.at, *until) = (view.now, patience); // it was lost, or is late
            } else if signals == Signals::NONE && question.tries == 1 {
                question.at = view.now; // the sender has it: its confirmation is lost, or late
            }
            // An end, too, shows that our answer was received. What the peer sent with it is
            // delivered before it is answered: afterwards it never would be.
            let tries = question.tries;
            if signals.has(Signals::CONFIRM | Signals::END) || tidings.reports {
                self.state = State::Open;
                if signals.has(Signals::CONFIRM) {
                    self.opening = self.measure(view, GRANT, tries);
                }
            }
        }
        let was_asking = matches!(self.state, State::Asking(_));
        match self.state {
            // It was granted, and is over before we know.
            State::Asking(_) if signals.has(Signals::END) => {
                self.state = State::Ended(signals.ending().unwrap_or(Ending::Reset(0)));
                return Ok(());
            }
            State::Asking(_) if signals.has(Signals::REFUSE) => {
                self.state = State::Ended(Ending::Refused(0))
            }
            State::Asking(question) if signals.has(Self::AGAIN) && question.tries <= 1 => {
                self.state = State::Asking(Question { at: view.now, ..question });
            }
            State::Asking(question) if signals.has(Signals::ACCEPT) => {
                self.opening = self.measure(view, tidings.octets, question.tries);
                self.state = State::Open;
                self.confirming = Some(Question::first(view.now));
            }
            State::Idle | State::Asking(_) => return Err(Dropped::NotOurs),
            _ => {}
        }
        if signals.has(Signals::ACCEPT) && !was_asking {
            self.answer = self.answer.with(Signals::CONFIRM);
        }
        if signals.has(Signals::MOVED) {
            self.answer = self.answer.with(Self::RESPOND);
            self.moving = self.moving.map(|moving| Moving { answered: true, ..moving });
        } else {
            self.moving = self.moving.filter(|moving| !moving.answered);
        }
        if matches!(self.state, State::Open) {
            // A peer that repeats what it knows did not receive our answer.
            self.answer = self
                .answer
                .with(Signals::ACCEPT.when(signals.has(Signals::OPEN)))
                .with(Self::PRESENT.when(signals.has(Self::PROBE)));
            self.stirs(view);
            // Only a side that has heard our confirmation asks whether we are there, or answers.
            if signals.has(Self::PROBE | Self::PRESENT) {
                self.confirming = None;
            }
        }
        if signals.has(Signals::END) {
            self.answer = Signals::ENDED;
            self.abandoned = self.abandoned.or(signals.ending());
        }
        if signals.has(Signals::ENDED) && matches!(self.state, State::Leaving(_)) {
            self.state = State::Ended(self.abandoned.unwrap_or(Ending::Finished));
        }
        // Anything else that arrives has nowhere to go.
        if self.abandoned.is_some() && signals == Signals::NONE {
            Err(Dropped::NotOurs)
        } else {
            Ok(())
        }
    }

    /// Handles that the peer does not know where our packets come from: no sign of life, because
    /// anybody may say so.
    pub(super) fn is_unknown(&mut self, view: &View) {
        if matches!(self.state, State::Open | State::Leaving(_)) && self.moving.is_none() {
            let question = Question::first(view.now.max(self.identifies_at));
            self.moving = Some(Moving { question, answered: false });
        }
    }

    /// Handles that the peer has lost the association.
    pub(super) fn is_lost(&mut self) {
        let ending = match self.state {
            // It needs no answer any more.
            State::Leaving(_) => Ending::Finished,
            State::Ended(_) => return,
            _ => Ending::Reset(0),
        };
        self.state = State::Ended(self.abandoned.unwrap_or(ending));
    }

    /// Measures the opening with the packet of `octets` octets that ends it, where our request or
    /// grant was sent `tries` times.
    pub(super) fn measure(&self, view: &View, octets: usize, tries: u32) -> Option<Opening> {
        // Which of several was answered is unknown. On a slow path it was the last but one; where
        // more were lost, the time since the first would tell nothing of the path.
        let [last, before] = self.said_at;
        let took = view.now.nanoseconds_since(before.or(last)?);
        // After so long, the peer may have repeated what answers it.
        let tries = if took >= self.every { tries.max(2) } else { tries };
        Some(Opening { took, tries, octets: 2 * (octets + LOWER_HEADERS), peer_delay: None })
    }
}
