//! Receives: from the network upward.

use std::collections::VecDeque;

use stackwright_contract::{Context, Instant};
use stackwright_wire::Message;

use super::habits::Pace;
use crate::Chunks;
use crate::chunks::gather;

#[derive(Debug)]
pub(crate) struct Receiving<M> {
    queue: VecDeque<M>,
    /// The octets that wait.
    held: usize,
    /// The most that may wait, in octets.
    buffer: usize,
    /// How many octets the layer above still accepts.
    credit: usize,
    half: Half,
    pace: Option<Pacing>,
}

/// The peer's half of the association.
#[derive(PartialEq, Debug)]
enum Half {
    Open,
    /// The end has arrived; octets may wait before it.
    Ended,
    /// The end was indicated.
    Finished,
}

#[derive(Debug)]
struct Pacing {
    pace: Pace,
    /// How many octets may be delivered before the next rest.
    left: usize,
    /// When the rest is over.
    rested: Instant,
}

impl<M: Message> Receiving<M> {
    pub(crate) fn new(credit: usize, buffer: usize, pace: Option<Pace>) -> Self {
        let pace = pace.map(|pace| Pacing { pace, left: pace.octets, rested: Instant::START });
        Receiving { queue: VecDeque::new(), held: 0, buffer, credit, half: Half::Open, pace }
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Adds credit of the layer above.
    pub(crate) fn give(&mut self, credit: usize) {
        self.credit =
            self.credit.checked_add(credit).expect("the sum of all room fits into a word");
    }

    /// Handles arriving octets.
    pub(crate) fn push(&mut self, message: M) {
        assert!(self.half == Half::Open, "nothing arrives behind the end");
        self.held += message.len();
        assert!(self.held <= self.buffer, "the peer's adapter keeps within the window");
        if !message.is_empty() {
            self.queue.push_back(message);
        }
    }

    /// Handles the arriving end.
    pub(crate) fn finish(&mut self) {
        self.half = Half::Ended;
    }

    /// Returns the next portion that the layer above accepts.
    pub(crate) fn next(&mut self, cx: &Context, chunks: Chunks) -> Option<M> {
        if self.credit == 0 || self.queue.is_empty() {
            return None;
        }
        let mut most = chunks.next(cx).min(self.credit);
        if let Some(pacing) = &mut self.pace {
            most = most.min(pacing.allows(cx.now()));
        }
        let message = gather(&mut self.queue, most)?;
        self.credit -= message.len();
        self.held -= message.len();
        if let Some(pacing) = &mut self.pace {
            pacing.delivered(cx.now(), message.len());
        }
        Some(message)
    }

    /// Discards what waits, whatever the credit and the pace; returns how many octets that were.
    pub(crate) fn discard(&mut self) -> usize {
        self.queue.clear();
        std::mem::take(&mut self.held)
    }

    /// Returns when to go on, if octets wait for nothing but time.
    pub(crate) fn rests_until(&self, now: Instant) -> Option<Instant> {
        let pacing = self.pace.as_ref()?;
        (pacing.rested > now && self.held > 0 && self.credit > 0).then_some(pacing.rested)
    }

    /// Whether the end is to be indicated now: once, behind the last octet, and without any credit.
    pub(crate) fn tells_finish(&mut self) -> bool {
        let tells = self.half == Half::Ended && self.queue.is_empty();
        if tells {
            self.half = Half::Finished;
        }
        tells
    }

    /// Whether the end has arrived.
    pub(crate) fn has_ended(&self) -> bool {
        self.half != Half::Open
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.half == Half::Finished
    }
}

impl Pacing {
    fn allows(&mut self, now: Instant) -> usize {
        if self.rested > now { 0 } else { self.left }
    }

    fn delivered(&mut self, now: Instant, octets: usize) {
        self.left -= octets;
        if self.left == 0 {
            self.left = self.pace.octets;
            self.rested = now + self.pace.rest;
        }
    }
}
