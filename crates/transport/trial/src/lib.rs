//! Two ends of any transport on a bad link, in virtual time, without the layers around them: what
//! tries an engine, its policies and its formats a hundred thousand times.
//!
//! | file | what |
//! | --- | --- |
//! | `end.rs` | one end: an association, its memory, its clock |
//! | `wire.rs` | the link between them |
//! | `talk.rs` | what they say to each other, and what is promised about it |
//! | `setting.rs` | what is tried of every protocol |
//! | `streams.rs` | streams between stations of a world, with layers |
//! | `format.rs`, `choices.rs` | a format that carries everything; every policy of every slot |

#![forbid(unsafe_code)]

pub mod choices;
mod end;
pub mod format;
pub mod setting;
pub mod streams;
mod talk;
mod wire;

use stackwright_contract::Instant;
pub use stackwright_simulator::DriftingClock;
use stackwright_simulator::{Conditions, Event};
use stackwright_transport::words::Dropped;
use stackwright_transport::{Configuration, Slots};
use stackwright_wire::{BufferTree, Message};

pub use end::End;
pub use talk::{Failure, Outcome, Promise, Talk};
use wire::Wire;
pub use wire::bad;

/// Two ends, and the link between them.
pub struct Trial<C: Configuration<Message = BufferTree>> {
    /// The end that opens, and the other.
    pub ends: [End<C>; 2],
    wire: Wire,
    now: Instant,
    /// A hash of all that was on the wire, and when.
    trace: u64,
    packets: u64,
    /// What arrives at one moment is heard before anybody speaks.
    batches: bool,
    dropped: Vec<(usize, Dropped)>,
}

/// When a trial begins: not at the start of time, so that nothing is `START` by chance.
const BEGINNING: Instant = Instant::from_nanoseconds(1_000_000_000);

impl<C: Configuration<Message = BufferTree>> Trial<C> {
    /// Two ends with these policies; what befalls packets follows from `seed`.
    pub fn new(make: impl Fn(usize) -> Slots<C>, conditions: &Conditions, seed: u64) -> Self {
        Trial::on(make, Wire::new(conditions, seed))
    }

    /// What arrives at one moment is heard before anybody speaks, as drivers do it.
    #[must_use]
    pub fn in_batches(self) -> Self {
        Trial { batches: true, ..self }
    }

    /// No message goes up as it comes: each rests until the application looks.
    #[must_use]
    pub fn through_inbox(mut self) -> Self {
        self.ends.iter_mut().for_each(End::through_inbox);
        self
    }

    /// Packets lie one behind the other where they can: those that leave, and those that arrive in
    /// one batch.
    #[must_use]
    pub fn in_runs(mut self) -> Self {
        self.ends.iter_mut().for_each(End::in_runs);
        self
    }

    /// Exactly these things befall packets on the way from each end.
    pub fn scripted(
        make: impl Fn(usize) -> Slots<C>,
        conditions: &Conditions,
        events: [Vec<Event>; 2],
    ) -> Self {
        Trial::on(make, Wire::scripted(conditions, events))
    }

    fn on(make: impl Fn(usize) -> Slots<C>, wire: Wire) -> Self {
        let ends = [End::new(make(0)), End::new(make(1)).buried()];
        let trace = 0xcbf2_9ce4_8422_2325;
        Trial { ends, wire, now: BEGINNING, trace, packets: 0, batches: false, dropped: Vec::new() }
    }

    /// The time, as nobody's clock shows it.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A hash of all that was on the wire, and when.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// How many packets were sent.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// How many packets left together with others.
    pub fn together(&self) -> u64 {
        self.ends.iter().map(|end| end.together).sum()
    }

    /// What was dropped, by whom and why.
    pub fn dropped(&self) -> &[(usize, Dropped)] {
        &self.dropped
    }

    /// The link, to be changed.
    pub fn set_conditions(&mut self, conditions: &Conditions) {
        self.wire.set_conditions(conditions);
    }

    /// A packet that nobody sent arrives at an end.
    pub fn inject(&mut self, side: usize, octets: &[u8]) {
        self.arrive(side, vec![octets.to_vec()]);
    }

    /// What the ends have to say leaves. `seen` sees each packet and who sends it.
    pub fn speak(&mut self, mut seen: impl FnMut(&mut End<C>, usize, &[u8])) {
        for side in [0, 1] {
            while let Some(packet) = self.ends[side].transmit(self.now) {
                let mut octets = vec![0; packet.len()];
                packet.copy_to(&mut octets);
                packet.reclaim(&self.ends[side].memory.pool);
                self.packets += 1;
                self.note(side, &octets);
                seen(&mut self.ends[side], side, &octets);
                self.wire.carry(self.now, side, octets);
            }
        }
    }

    /// Goes on to what happens next, an arrival or a deadline; `false`: nothing will.
    pub fn step(&mut self) -> bool {
        let deadline =
            (0..2).filter_map(|side| Some((self.ends[side].next_deadline(self.now)?, side))).min();
        let arrival = self.wire.next();
        match (deadline, arrival) {
            (None, None) => false,
            (Some((at, side)), arrival) if arrival.is_none_or(|arrival| at < arrival) => {
                self.now = self.now.max(at);
                self.ends[side].handle_timeout(self.now);
                true
            }
            (_, _) => {
                let Some((at, side, octets)) = self.wire.take() else { return false };
                self.now = self.now.max(at);
                let mut packets = vec![octets];
                while self.batches && self.wire.is_next(at, side) {
                    packets.extend(self.wire.take().map(|(_, _, octets)| octets));
                }
                self.arrive(side, packets);
                true
            }
        }
    }

    /// Goes on to what happens next, but not beyond `at`; whether something happened.
    pub fn until(&mut self, at: Instant) -> bool {
        let deadlines = (0..2).filter_map(|side| self.ends[side].next_deadline(self.now));
        let next = deadlines.chain(self.wire.next()).min();
        if next.is_none_or(|next| next > at) {
            self.now = self.now.max(at);
            return false;
        }
        self.step()
    }

    /// It is `at` all at once, and whatever should have happened meanwhile happens late.
    pub fn sleep(&mut self, at: Instant) {
        self.now = self.now.max(at);
    }

    /// Lets time pass until `at`, with all that happens meanwhile.
    pub fn pass(&mut self, at: Instant) {
        loop {
            self.speak(|_, _, _| {});
            if !self.until(at) {
                return;
            }
        }
    }

    fn arrive(&mut self, side: usize, packets: Vec<Vec<u8>>) {
        let dropped = &mut self.dropped;
        self.ends[side].receive(self.now, &packets, |why| dropped.push((side, why)));
    }

    fn note(&mut self, side: usize, octets: &[u8]) {
        let begin = [self.now.nanoseconds(), side as u64, octets.len() as u64];
        let began = begin.into_iter().fold(self.trace, mixed);
        self.trace = hashed(began, octets);
    }
}

fn mixed(trace: u64, word: u64) -> u64 {
    (trace ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// Hashes hundreds of megabytes in some tests: it is no part of what is generic, since this crate is
/// optimised, and tests are not.
#[inline(never)]
fn hashed(trace: u64, octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain(rest.iter().map(|octet| u64::from(*octet))).fold(trace, mixed)
}
