//! The neutral words of the engine. A format translates between them and octets; policies speak
//! only these.

mod epoch;
mod report;
mod segment;
mod terms;
mod unit;
mod view;

use stackwright_wire::Malformed;

pub use epoch::{Epoch, EpochMark, RuleAct, RuleProposal};
pub use report::{EcnCounts, Report, unwrap};
pub use segment::{Incoming, Outgoing, ReportRequest, Signals, Timestamp};
pub use terms::Terms;
pub use unit::{Cargo, Label, Numbering, PieceForm, Unit, UnitHeader};
pub use view::{Ending, Estimate, Occasion, Opening, Phase, Sample, View};

/// A time in nanoseconds: the engine's unit, because a policy is asked for every packet.
pub type Nanoseconds = u64;

/// One millisecond.
pub const MILLISECOND: Nanoseconds = 1_000_000;

/// One second.
pub const SECOND: Nanoseconds = 1_000_000_000;

/// The fault of a packet: counted and traced, never an error to an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// The check does not agree.
    Corrupt,
    /// It cannot be read.
    Malformed,
    /// It belongs to no association that exists.
    NotOurs,
    /// It is beyond what this side said that it takes.
    BeyondWindow,
    /// There is no memory for it now.
    NoRoom,
    /// It had expired.
    Expired,
    /// It was received before.
    Duplicate,
    /// It acknowledges what was never sent.
    AcknowledgesUnsent,
    /// It is of a message whose pieces contradict each other.
    Unjoinable,
    /// It is of a message whose signature or seal does not hold.
    Forged,
    /// It begins a message beyond the number that a peer may begin.
    Overrun,
    /// It is of a message that is longer than this side takes.
    TooLong,
}

impl Dropped {
    /// Returns the reason, as the context counts it.
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
            Dropped::TooLong => "a message that is longer than this side takes",
        }
    }
}

impl From<Malformed> for Dropped {
    #[inline]
    fn from(_: Malformed) -> Dropped {
        Dropped::Malformed
    }
}
