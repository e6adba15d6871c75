//! The table of states and inputs, as data (AX.25 v2.2, appendix C4).
//!
//! The machine does not read it. A test brings a station into each state, applies each input, and
//! compares what it does. The README has it, too.

mod input;
mod numbered;
mod other;
mod printed;
mod reasons;
mod unnumbered;

pub(crate) use input::Input;

use stackwright_ax25::LinkState;

/// The states, in the order of their numbers.
pub(crate) const STATES: [LinkState; 6] = [
    LinkState::Disconnected,
    LinkState::AwaitingConnection,
    LinkState::AwaitingRelease,
    LinkState::Connected,
    LinkState::TimerRecovery,
    LinkState::AwaitingV22Connection,
];

/// Where it is written what a station does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// In the specification: its section, or the figure of the SDL.
    Known(&'static str),
    /// In the specification, which cannot be meant so.
    Erratum(&'static str),
    /// The specification is silent, or leaves it to the station.
    Silent(&'static str),
    /// The specification says something else, and would break the promise of a stream: that octets
    /// arrive once and in order, or the end is told.
    Differs(&'static str),
}

/// What a station does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    /// Frames that it sends, and what it tells the layer above, in order. Of an I frame, N(S) and
    /// N(R) are shown; of an S frame, N(R).
    pub does: &'static str,
    /// The number of the next state, and the timer that runs there.
    pub next: &'static str,
    /// Why.
    pub source: Source,
}

/// What stations do with one input, in each of [`STATES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateRow {
    /// The input.
    pub input: Input,
    /// The cells.
    pub cells: [Cell; 6],
}

/// Returns the table.
pub(crate) fn rows() -> impl Iterator<Item = &'static StateRow> {
    unnumbered::UNNUMBERED.iter().chain(numbered::NUMBERED).chain(other::OTHER)
}

const fn known(does: &'static str, next: &'static str, section: &'static str) -> Cell {
    Cell { does, next, source: Source::Known(section) }
}

const fn erratum(does: &'static str, next: &'static str, why: &'static str) -> Cell {
    Cell { does, next, source: Source::Erratum(why) }
}

const fn silent(does: &'static str, next: &'static str, why: &'static str) -> Cell {
    Cell { does, next, source: Source::Silent(why) }
}

const fn differs(does: &'static str, next: &'static str, why: &'static str) -> Cell {
    Cell { does, next, source: Source::Differs(why) }
}
