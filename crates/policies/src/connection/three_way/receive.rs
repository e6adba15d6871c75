//! What the peer says.

use stackwright_transport::slots::PacketInfo;
use stackwright_transport::words::{Dropped, Ending, Opening, Signals, View};

use super::{Question, State, ThreeWay};

/// The octets of headers of the layers below, as they are counted for the rate of a slow link.
const LOWER_HEADERS: usize = 20;

impl ThreeWay {
    /// Handles a packet of which the format has found that its numbers are right.
    pub(super) fn heed(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        let now = Question { at: view.now, tries: 0 };
        self.heard = view.now;
        if signals.has(Signals::END) {
            self.state = State::Ended(self.ending_by_reset(view));
            return Ok(());
        }
        if signals.has(ThreeWay::STRANGE) {
            self.answer = self.answer.with(Signals::REFUSE);
            return Ok(());
        }
        self.state = match self.state {
            // §3.10.7.2: to a listener, nothing but a request means anything.
            State::Idle if signals.has(Signals::OPEN) => State::Granting(now, false),
            State::Idle => return Err(Dropped::NotOurs),
            State::Asking(question) if signals.has(Signals::OPEN) => {
                if signals.has(Signals::ACCEPT) {
                    self.confirm();
                    self.measure(view, question, tidings.octets);
                    State::Open
                } else {
                    State::Granting(now, true)
                }
            }
            State::Asking(_) => return Err(Dropped::NotOurs),
            State::Granting(question, _) if signals.has(Signals::ACCEPT) => {
                self.measure(view, question, tidings.octets);
                // The peer has not heard that we hear it, if it asks as well (figure 8).
                if signals.has(Signals::OPEN) {
                    self.confirm();
                }
                State::Open
            }
            // The answer was lost; it is sent again no more often than the peer asks.
            State::Granting(question, asked) if signals.has(Signals::OPEN) => {
                State::Granting(Question { at: view.now, ..question }, asked)
            }
            State::Granting(..) if tidings.unit => return Err(Dropped::NotOurs),
            State::Open if signals.has(Signals::OPEN) => {
                self.confirm();
                State::Open
            }
            state => state,
        };
        self.halves.on_heard(tidings);
        // Data that arrives behind its end may be the last: nothing acknowledges it later.
        let completes = tidings.unit && self.halves.knows_end() && !self.halves.has_all(view);
        if signals.has(Signals::FINISH) || completes {
            self.confirm();
        }
        let is_new = tidings.unit && tidings.next.is_some_and(|next| next > view.received_upto);
        if is_new && self.halves.is_stopping() && self.state == State::Open {
            // Nobody would ever read it, and the peer is to know (RFC 1122 §4.2.2.13).
            self.state = State::Aborting(Ending::Reset(0));
        }
        self.on_orphaned(view);
        Ok(())
    }

    /// Has what the peer said acknowledged at once.
    fn confirm(&mut self) {
        self.answer = self.answer.with(Signals::CONFIRM);
    }

    fn on_orphaned(&mut self, view: &View) {
        if self.is_orphan() && self.orphan_until.is_none() {
            self.orphan_until = Some(view.now.later(self.orphaned));
        }
    }

    /// Returns how it ends for a reset (§3.10.7.3, §3.10.7.4): in good order where only the peer's
    /// acknowledgement of our end was awaited.
    fn ending_by_reset(&self, view: &View) -> Ending {
        match self.state {
            State::Asking(_) => Ending::Refused(0),
            State::Open if self.has_only_end(view) => Ending::Finished,
            _ => Ending::Reset(0),
        }
    }

    /// Keeps what the opening has shown of the path.
    fn measure(&mut self, view: &View, question: Question, octets: usize) {
        // Which of several was answered is unknown: as a rule the last but one.
        let [last, before] = self.said_at;
        let Some(said_at) = before.or(last) else { return };
        let octets = self.said_octets + octets + 2 * LOWER_HEADERS;
        let took = view.now.nanoseconds_since(said_at);
        self.opening = Some(Opening { took, tries: question.tries, octets, peer_delay: None });
    }
}
