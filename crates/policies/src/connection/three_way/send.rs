//! What is to be said, and what was.

use stackwright_transport::words::{Occasion, Signals, View};

use super::{Question, State, ThreeWay};

/// The first wait for an answer to the end of our half is at most this part of the silence after
/// which the peer counts as gone: each is twice as long as the one before, and several fit in.
const ENDS_LEAST: u64 = 16;

impl ThreeWay {
    /// Returns what is said with a packet that leaves on this occasion.
    #[inline(never)]
    pub(super) fn says(&self, view: &View, occasion: Occasion) -> Signals {
        let asks = |question: Question| question.at <= view.now && question.tries < self.tries_most;
        match self.state {
            State::Asking(question) => self.answer.with(Signals::OPEN.when(asks(question))),
            State::Granting(question, _) => {
                let grants = Signals::OPEN.with(Signals::ACCEPT);
                self.answer.with(grants.when(asks(question)))
            }
            State::Open => self.answer.with(Signals::FINISH.when(self.finishes(view, occasion))),
            State::Aborting(why) => Signals::end(why).with(Signals::END),
            State::Idle | State::Ended(_) => Signals::NONE,
        }
    }

    /// Returns whether the end of our half leaves: with the last data, alone behind it, or again.
    fn finishes(&self, view: &View, occasion: Occasion) -> bool {
        let rides = matches!(occasion, Occasion::Unit { lone: true, .. })
            && self.halves.is_finishing()
            && self.finished_at.is_none();
        rides || self.halves.due(view)
    }

    /// Handles signals that left.
    pub(super) fn say(&mut self, view: &View, signals: Signals, octets: usize) {
        self.answer = self.answer.without(signals);
        if signals.has(Signals::OPEN) {
            self.said_at = [Some(view.now), self.said_at[0]];
            self.said_octets = octets;
        }
        if signals.has(Signals::FINISH) {
            self.finished_at.get_or_insert(view.now);
            // The timeout need not be as long as losses before have made it.
            let usual = view.rtt.smoothed + 4 * view.rtt.variation + self.every;
            let most = self.silence / ENDS_LEAST;
            self.halves.on_finish_said(view, view.rtt.timeout.min(usual).min(most));
        }
        let again = |question: Question| Question {
            at: view.now.later(self.every << question.tries.min(self.tries_most)),
            tries: question.tries + 1,
        };
        self.state = match self.state {
            State::Asking(question) if signals.has(Signals::OPEN) => State::Asking(again(question)),
            State::Granting(question, asked) if signals.has(Signals::OPEN) => {
                State::Granting(again(question), asked)
            }
            State::Aborting(why) if signals.has(Signals::END) => State::Ended(why),
            state => state,
        };
    }
}
