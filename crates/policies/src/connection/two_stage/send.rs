//! What is to be said, and what was.

use stackwright_transport::words::{Ending, Nanoseconds, SECOND, Signals, View};

use super::silence::PROBES_MOST;
use super::{FAREWELLS_MOST, GRANT, Moving, Question, State, TwoStage};

/// How often this side identifies itself to a peer that does not know where its packets come from,
/// and how long it waits at least before it does so again: whether it is asked to is not proven.
const IDENTIFIED_MOST: u32 = 6;
const IDENTIFIED_EVERY: Nanoseconds = SECOND / 3;

impl TwoStage {
    /// Returns what is to be said now.
    #[inline(never)] // rarely anything
    pub(super) fn says(&self, view: &View) -> Signals {
        let asks = matches!(self.state, State::Asking(question) if question.is_due(view));
        self.answer
            .with(Signals::OPEN.when(asks))
            .with(Signals::CONFIRM.when(self.confirms(view)))
            .with(Signals::ACCEPT.when(self.grants(view)))
            .with(Self::PROBE.when(self.probes(view)))
            .with(Self::IDENTIFY.when(self.identifies(view)))
            .with(
                Signals::end(self.abandoned.unwrap_or(Ending::Finished)).when(self.farewell(view)),
            )
    }

    pub(super) fn confirms(&self, view: &View) -> bool {
        let asked = |question: Question| question.is_due(view) && question.tries < self.tries_most;
        self.state == State::Open && self.confirming.is_some_and(asked)
    }

    pub(super) fn grants(&self, view: &View) -> bool {
        match self.state {
            State::Granting(question, budget, _) => question.is_due(view) && budget.allows(GRANT),
            _ => false,
        }
    }

    pub(super) fn identifies(&self, view: &View) -> bool {
        let lives = matches!(self.state, State::Open | State::Leaving(_));
        lives && self.moving.is_some_and(|moving| moving.question.is_due(view))
    }

    pub(super) fn farewell(&self, view: &View) -> bool {
        match self.state {
            State::Open => self.finishing && view.idle && view.drained,
            State::Leaving(question) => question.is_due(view) && question.tries < FAREWELLS_MOST,
            _ => false,
        }
    }

    /// Handles signals that left, and anything that left before the association is open.
    pub(super) fn say(&mut self, view: &View, signals: Signals, octets: usize) {
        if let State::Granting(question, budget, _) = &mut self.state {
            budget.said += octets as u64;
            if signals.has(Signals::ACCEPT) {
                *question = question.asked(view.now, self.every);
            }
        }
        if signals == Signals::NONE {
            return;
        }
        if signals.has(Signals::OPEN | Signals::ACCEPT) {
            self.said_at = [Some(view.now), self.said_at[0]];
        }
        self.answer = self.answer.without(signals);
        let timeout = self.timeout(view);
        if signals.has(Self::PROBE) {
            let wait = |tries: u32| timeout << tries.min(PROBES_MOST);
            self.probing = self.probing.map(|question| question.again(view, wait(question.tries)));
            self.looks_at = self.silent_at(self.silences(view).1);
        }
        if signals.has(Self::IDENTIFY) {
            self.identifies_at = view.now.later(IDENTIFIED_EVERY);
            let again = self.moving.map(|Moving { question, answered }| {
                let question = question.asked(view.now, timeout.max(IDENTIFIED_EVERY));
                Moving { question, answered }
            });
            self.moving = again.filter(|moving| moving.question.tries < IDENTIFIED_MOST);
        }
        if signals.has(Signals::CONFIRM) {
            let again = self.confirming.map(|question| question.asked(view.now, self.every));
            self.confirming = again.filter(|question| question.tries < self.tries_most);
        }
        self.state = match self.state {
            State::Asking(question) if signals.has(Signals::OPEN) => {
                State::Asking(question.asked(view.now, self.every))
            }
            State::Open if signals.has(Signals::END) => {
                State::Leaving(Question::first(view.now).again(view, timeout))
            }
            State::Leaving(question) if signals.has(Signals::END) => {
                State::Leaving(question.again(view, timeout))
            }
            // A peer that leaves has all that it sent acknowledged; it takes no more of what we
            // sent.
            _ if signals.has(Signals::ENDED) => {
                let all_arrived = view.idle && view.drained;
                let ending = if all_arrived { Ending::Finished } else { Ending::Reset(0) };
                State::Ended(self.abandoned.unwrap_or(ending))
            }
            state => state,
        };
    }
}
