//! What is always true of an association, and any policy may read.

use stackwright_contract::Instant;
use stackwright_contract::services::Code;

use super::Nanoseconds;

/// What a policy may know of an association beyond its own opinion. It is gathered once per packet,
/// so that no policy needs another.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The time of this batch.
    pub now: Instant,
    /// The round-trip time.
    pub rtt: Estimate,
    /// The octets that were sent and are not acknowledged or lost.
    pub in_flight: u64,
    /// The number after the last one sent.
    pub sent_upto: u64,
    /// The first number that was sent and is not settled; `sent_upto` if there is none.
    pub settled_upto: u64,
    /// The number before which all were received.
    pub received_upto: u64,
    /// How many numbers were received and have not been taken by the application.
    pub pending: u64,
    /// The number of the last inquiry sent.
    pub asked: u32,
    /// The number of the peer's last inquiry.
    pub answered: u32,
    /// Whether everything that was sent is settled.
    pub idle: bool,
    /// Whether nothing waits to be sent, again or for the first time.
    pub drained: bool,
}

impl View {
    /// The view of an association without packets, when time begins.
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

/// An estimate of the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// The smoothed value; 0 if nothing was measured yet.
    pub smoothed: Nanoseconds,
    /// Its mean deviation.
    pub variation: Nanoseconds,
    /// The shortest measured.
    pub least: Nanoseconds,
    /// The time to wait before something counts as lost.
    pub timeout: Nanoseconds,
}

/// A measured round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sample {
    /// The time between a numbered inquiry and its answer.
    OfAnswer(Nanoseconds),
    /// The time between a unit that was sent once and its acknowledgement.
    OfUnit(Nanoseconds),
}

/// What the opening of an association has shown of the path, before any data leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The time from this side's request, or grant, to what answered it; from the last but one, if
    /// there were several.
    pub took: Nanoseconds,
    /// How often it was sent: after more than one, the round trip may be shorter.
    pub tries: u32,
    /// The octets of one of them and of the answer.
    pub octets: usize,
    /// How long the peer may delay an acknowledgement; `None` if it has not told.
    pub peer_delay: Option<Nanoseconds>,
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
        /// Whether nothing may follow it now.
        last: bool,
        /// Whether nothing else waits to be sent: with it, all data has left.
        lone: bool,
    },
}

/// The phase of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It was not requested.
    Idle,
    /// It was requested.
    Opening,
    /// It is open on both sides.
    Open,
    /// It has ended.
    Ended(Ending),
}

/// Why an association has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both sides have what was sent.
    Finished,
    /// The peer refused it, for this reason.
    Refused(Code),
    /// The peer ended it before everything had arrived, for this reason.
    Reset(Code),
    /// This side ended it at once, for this reason.
    Aborted(Code),
    /// Nothing was received from the peer for too long.
    Silent,
    /// What the peer sends does not match its seal, again and again.
    Forged,
    /// One side began more messages than the other holds until they are whole.
    Overrun,
    /// A message was longer than its receiver takes: at most as many octets.
    TooLong(u32),
}
