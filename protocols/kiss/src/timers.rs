//! When a frame has left the antenna: from ACKMODE, else from its air time, behind those that the
//! TNC has.
//!
//! Each frame has a time at which it will have left. A TNC that is asked what it has queued
//! corrects that: what is queued still has not left, and what is not any more will have, after its
//! air time. It has not left already: some TNCs hand a whole burst to their sound card at once.
//! When a frame has left, its credit returns.

use stackwright_contract::services::FramesIndication;
use stackwright_contract::{Context, Duration, Instant, earliest};
use stackwright_wire::Message;

use crate::Kiss;
use crate::state::{Leaving, Out, Port};

/// How often the TNC is asked what it has queued, while more than one frame is.
const ASKS: Duration = Duration::from_secs(1);
/// A frame that was queued a moment ago has not left before the next answer.
const ANSWERED: Duration = Duration::from_millis(1500);
/// After how many questions without an answer the TNC is asked no more: it does not know them.
const UNANSWERED_MOST: u8 = 5;
/// A frame whose acknowledgement is overdue for so long is believed to have left.
const SILENCE: Duration = Duration::from_secs(60);

/// What is known of a TNC that may be asked what it has queued.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asking {
    /// When to ask; `None`: there is nothing to ask for.
    at: Option<Instant>,
    unanswered: u8,
}

impl<M: Message> Kiss<M> {
    /// The TNC was handed a frame.
    pub(crate) fn handed_on(
        &mut self,
        cx: &Context,
        port: u8,
        octets: usize,
        mark: Option<u16>,
        acknowledged: bool,
    ) {
        let air = self.config.air_time(octets);
        let access = self.config.access.mean();
        let there = &mut self.ports[usize::from(port)];
        let is_keyed = there.free_at > cx.now();
        there.free_at = if is_keyed { there.free_at } else { cx.now() + access } + air;
        there.leaving.push_back(Leaving { octets, mark, acknowledged, air, at: there.free_at });
        self.ask_later(cx);
    }

    /// The TNC returned the number of a frame in ACKMODE.
    pub(crate) fn transmitted(&mut self, cx: &Context, port: u8, id: u16, out: Out<'_, M>) {
        let there = &mut self.ports[usize::from(port)];
        let is_it = |leaving: &Leaving| leaving.acknowledged && leaving.mark == Some(id);
        let Some(place) = there.leaving.iter().position(is_it) else {
            return cx.dropped(crate::NAME, "an acknowledgement of no frame");
        };
        there.left(port, place + 1, out);
        there.follow(0, cx.now());
    }

    /// The TNC has so many octets queued, those of frames on the air not among them.
    pub(crate) fn queued(&mut self, cx: &Context, port: u8, octets: usize) {
        self.asking.unanswered = 0;
        let there = &mut self.ports[usize::from(port)];
        let mut sum = 0;
        let is_queued = |leaving: &&Leaving| {
            sum += leaving.octets;
            sum <= octets
        };
        let queued = there.leaving.iter().rev().take_while(is_queued).count();
        let begun = there.leaving.len() - queued;
        // If none has begun, the channel is busy, or it is keying up.
        let mut from = if begun == 0 { cx.now() + ANSWERED } else { cx.now() };
        for leaving in there.leaving.iter_mut().take(begun) {
            leaving.at = leaving.at.min(from + leaving.air);
            from = leaving.at;
        }
        there.follow(begun, from);
    }

    pub(crate) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        let now = cx.now();
        if self.entered_at.is_some_and(|at| at <= now) {
            self.entered_at = None;
        }
        for (port, there) in (0..).zip(&mut self.ports) {
            let due = there.leaving.iter().take_while(|leaving| leaving.until() <= now).count();
            there.left(port, due, out);
        }
        if self.asking.at.is_some_and(|at| at <= now) {
            self.asking.at = None;
            // A line that takes nothing takes no questions either.
            if self.queue.is_empty() {
                self.asking.unanswered += 1;
                for port in 0..self.config.ports {
                    if self.ports[usize::from(port)].leaving.len() > 1 {
                        self.ask_queued(port);
                    }
                }
            }
            self.ask_later(cx);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let leaves = |port: &Port| port.leaving.front().map(Leaving::until);
        let leaves = self.ports.iter().filter_map(leaves).min();
        earliest(earliest(leaves, self.asking.at), self.entered_at)
    }

    fn ask_later(&mut self, cx: &Context) {
        let several = || self.ports.iter().any(|port| port.leaving.len() > 1);
        if self.config.asks_queue
            && self.asking.at.is_none()
            && self.asking.unanswered < UNANSWERED_MOST
            && several()
        {
            self.asking.at = Some(cx.now() + ASKS);
        }
    }
}

impl Port {
    /// The first `count` frames have left.
    fn left<M: Message>(&mut self, port: u8, count: usize, out: Out<'_, M>) {
        for leaving in self.leaving.drain(..count) {
            self.credit += leaving.credit();
            out.indicate(FramesIndication::Credit { port, credit: leaving.credit() });
            if let Some(mark) = leaving.mark {
                out.indicate(FramesIndication::Left { port, mark });
            }
        }
    }

    /// The frames behind the first `count` follow one that leaves at `from`.
    fn follow(&mut self, count: usize, from: Instant) {
        self.free_at = from;
        for leaving in self.leaving.iter_mut().skip(count) {
            self.free_at = self.free_at + leaving.air;
            leaving.at = self.free_at;
        }
    }
}

impl Leaving {
    /// Returns when it is believed to have left, whatever the TNC says or does not say.
    fn until(&self) -> Instant {
        self.at + if self.acknowledged { SILENCE } else { Duration::ZERO }
    }
}
