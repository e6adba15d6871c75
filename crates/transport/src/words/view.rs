//! What is always true and anybody may read.

use stackwright_contract::Instant;
use stackwright_contract::services::Code;

use super::Nanoseconds;

/// What a policy may know of an association beyond its own opinion. It is gathered once per packet,
/// so that no policy needs another.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The time of this batch.
    pub now: Instant,
    /// How long the way there and back takes.
    pub rtt: Estimate,
    /// Octets that were sent and of which nothing was heard.
    pub in_flight: u64,
    /// The number after the last one sent.
    pub sent_upto: u64,
    /// The first number that was sent and of which nothing was heard; `sent_upto` where there is
    /// none.
    pub settled_upto: u64,
    /// All numbers before this one were received.
    pub received_upto: u64,
    /// How many numbers were received and have not been taken by the application.
    pub pending: u64,
    /// The last question asked, and the last one that was heard.
    pub asked: u32,
    /// The last question of the peer's.
    pub answered: u32,
    /// Nothing that was sent is unheard of.
    pub idle: bool,
    /// Nothing waits to be sent, again or for the first time.
    pub drained: bool,
}

impl View {
    /// Of an association on which nothing was said yet, when time begins.
    pub const START: Self = View {
        now: Instant::START,
        rtt: Estimate { smoothed: 0, variation: 0, least: 0, timeout: 0 },
        in_flight: 0,
        sent_upto: 0,
        settled_upto: 0,
        received_upto: 0,
        pending: 0,
        asked: 0,
        answered: 0,
        idle: true,
        drained: true,
    };
}

/// How long the way there and back takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// Smoothed; 0 where nothing was measured yet.
    pub smoothed: Nanoseconds,
    /// Its mean deviation.
    pub variation: Nanoseconds,
    /// The shortest seen.
    pub least: Nanoseconds,
    /// How long to wait before something is believed to be lost.
    pub timeout: Nanoseconds,
}

/// A measured way there and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sample {
    /// Of a numbered question and its answer.
    OfAnswer(Nanoseconds),
    /// Of a unit that was sent once, and its acknowledgement.
    OfUnit(Nanoseconds),
}

/// What is about to leave, when a policy is asked whether it has something to add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// Nothing.
    Nothing,
    /// Signals alone.
    Signal,
    /// Data.
    Unit {
        /// Nothing may follow it now.
        last: bool,
    },
}

/// Where an association stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nobody has asked for it.
    Idle,
    /// Asked for.
    Opening,
    /// Both sides have it.
    Open,
    /// Over.
    Ended(Ending),
}

/// Why an association is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both sides have what was sent.
    Finished,
    /// The peer said no, for this reason.
    Refused(Code),
    /// The peer ended it before everything had arrived, for this reason.
    Reset(Code),
    /// This side ended it at once, for this reason.
    Aborted(Code),
    /// Nothing was heard of the peer for too long.
    Silent,
    /// What the peer sends is not what its seal says, again and again.
    Forged,
    /// One side began more messages, or longer ones, than the other holds until they are whole.
    Overrun,
}
