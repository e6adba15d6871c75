//! Holds messages for a fixed time.

use alloc::collections::VecDeque;

use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Duration, Handle, Instant, Service, Word, earliest};
use stackwright_wire::Message;

use crate::graph::{Module, NodeOutlet};

/// Holds every message for a fixed time, in each direction in the order of arrival.
///
/// A word without a message passes at once, except behind a message of the same association: behind
/// that it waits, so that an end does not overtake what was sent before it.
pub struct Delay<M: Message, B: Service> {
    time: Duration,
    down: Held<Request<M, B>>,
    up: Held<Indication<M, B>>,
    draining: bool,
}

/// What waits in one direction, by the time at which it goes on.
struct Held<W>(VecDeque<(Instant, Option<Handle>, W)>);

impl<W> Held<W> {
    /// Returns the word where it need not wait.
    fn take(
        &mut self,
        now: Instant,
        time: Duration,
        name: Option<Handle>,
        message: bool,
        word: W,
    ) -> Option<W> {
        let behind = || self.0.iter().any(|(_, other, _)| *other == name);
        if !message && !behind() {
            return Some(word);
        }
        // What came before goes first, even if it is told to wait longer.
        let last = self.0.back().map_or(Instant::START, |(time, _, _)| *time);
        let due = if message { now + time } else { last };
        self.0.push_back((due.max(last), name, word));
        None
    }

    fn due(&mut self, now: Instant) -> Option<W> {
        let (time, _, _) = self.0.front()?;
        if *time > now {
            return None;
        }
        self.0.pop_front().map(|(_, _, word)| word)
    }

    fn next(&self) -> Option<Instant> {
        self.0.front().map(|(time, _, _)| *time)
    }
}

impl<M: Message, B: Service + 'static> Delay<M, B> {
    /// Hands on everything that is due: what rises first.
    fn release(&mut self, now: Instant, outlet: &mut NodeOutlet<'_, M, B>) {
        while let Some(word) = self.up.due(now) {
            outlet.tell(0, word);
        }
        while let Some(word) = self.down.due(now) {
            outlet.ask(0, word);
        }
    }
}

impl<M: Message, B: Service> Delay<M, B> {
    /// Holds each message for `time`.
    pub fn new(time: Duration) -> Self {
        Delay { time, down: Held(VecDeque::new()), up: Held(VecDeque::new()), draining: false }
    }
}

impl<M: Message, B: Service + 'static> Module<M, B> for Delay<M, B> {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn takes_batches(&self) -> bool {
        true
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let (name, message) = (request.name_mut().copied(), request.message().is_some());
        if let Some(request) = self.down.take(cx.now(), self.time, name, message, request) {
            outlet.ask(0, request);
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        let (name, message) = (indication.name_mut().copied(), indication.message().is_some());
        if let Some(indication) = self.up.take(cx.now(), self.time, name, message, indication) {
            outlet.tell(0, indication);
        }
    }

    fn handle_timeout(&mut self, cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        self.release(cx.now(), outlet);
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.up.next(), self.down.next())
    }

    /// Releases everything where it is to leave, due or not.
    fn flush(&mut self, _cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        if self.draining {
            self.release(Instant::END, outlet);
        }
    }

    fn wants_flush(&self) -> bool {
        self.draining && self.held() > 0
    }

    fn held(&self) -> usize {
        self.up.0.len() + self.down.0.len()
    }

    fn drain(&mut self) {
        self.draining = true;
        self.time = Duration::ZERO;
    }
}
