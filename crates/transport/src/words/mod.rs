//! The neutral words of the engine. A format translates between them and octets; policies speak
//! only these.

mod report;
mod segment;
mod unit;
mod view;

pub use report::{EcnCounts, Report, unwrap};
pub use segment::{Incoming, Outgoing, Signals, Timestamp};
pub use unit::{Cargo, Label, Numbering, Unit, UnitHeader};
pub use view::{Ending, Estimate, Occasion, Phase, Sample, View};

/// A time in nanoseconds: what the engine reckons with, because a policy is asked for every packet.
pub type Nanoseconds = u64;

/// One millisecond.
pub const MILLISECOND: Nanoseconds = 1_000_000;

/// One second.
pub const SECOND: Nanoseconds = 1_000_000_000;

/// A packet's fault: counted and traced, never an error to an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// The check does not agree.
    Corrupt,
    /// It cannot be read.
    Malformed,
    /// It belongs to no association that is here.
    NotOurs,
    /// Beyond what this side said that it takes.
    BeyondWindow,
    /// There is no room for it now.
    NoRoom,
    /// Its time was over.
    Expired,
    /// It was here before.
    Duplicate,
    /// It acknowledges what was never sent.
    AcknowledgesUnsent,
    /// A message whose pieces contradict each other.
    Unjoinable,
    /// A message whose signature or seal does not hold.
    Forged,
    /// It begins a message where more are begun than a peer may begin, or one that is longer than
    /// any may be.
    Overrun,
}

impl Dropped {
    /// The reason, as the context counts it.
    pub const fn reason(self) -> &'static str {
        match self {
            Dropped::Corrupt => "the check does not agree",
            Dropped::Malformed => "a packet that cannot be read",
            Dropped::NotOurs => "a packet of no association",
            Dropped::BeyondWindow => "a packet beyond the window",
            Dropped::NoRoom => "a packet for which there is no room",
            Dropped::Expired => "an expired packet",
            Dropped::Duplicate => "a duplicate",
            Dropped::AcknowledgesUnsent => "an acknowledgement of what was never sent",
            Dropped::Unjoinable => "pieces that make no message",
            Dropped::Forged => "a message whose seal does not hold",
            Dropped::Overrun => "a message that exceeds what a peer may begin",
        }
    }
}
