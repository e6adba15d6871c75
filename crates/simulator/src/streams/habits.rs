//! The habits of an adapter, which a test may choose.

use stackwright_contract::Duration;

use crate::Chunks;

/// How an adapter behaves.
///
/// ```
/// use stackwright_simulator::{Chunks, Habits};
/// let stingy = Habits { credit: 3, chunks: Chunks::Single, ..Habits::default() };
/// # assert_eq!(stingy.backlog, 128);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    /// How many octets of one association may wait to leave: the initial credit downward. At least
    /// 1.
    pub credit: usize,
    /// How many octets of one association may be in flight to this adapter or wait to be read. At
    /// least 1.
    pub buffer: usize,
    /// The portions in which octets leave, and are delivered.
    pub chunks: Chunks,
    /// How fast this adapter reads; `None` is at once.
    pub pace: Option<Pace>,
    /// How many arrivals may wait for names at one listener; more are refused.
    pub backlog: usize,
}

/// A slow reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Octets of an association that are delivered at a time. At least 1.
    pub octets: usize,
    /// How long it rests then.
    pub rest: Duration,
}

impl Default for Habits {
    /// Large credits, portions of any size, a fast reader.
    fn default() -> Self {
        Habits {
            credit: 1 << 20,
            buffer: 256 << 10,
            chunks: Chunks::Mixed,
            pace: None,
            backlog: 128,
        }
    }
}

impl Habits {
    /// Checks the habits.
    ///
    /// # Panics
    /// If nothing could ever move.
    pub(crate) fn check(&self) {
        assert!(self.credit > 0 && self.buffer > 0, "an adapter without room moves nothing");
        assert!(
            self.pace.is_none_or(|pace| pace.octets > 0),
            "a reader that reads nothing never ends"
        );
    }
}

/// How many octets an adapter holds for all its associations together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Octets that wait to leave.
    pub sending: usize,
    /// Octets that wait to be read.
    pub receiving: usize,
}
