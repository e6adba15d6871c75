//! Paths whose delay changes in the middle of a transfer: late packets are not lost ones.

use stackwright_results::Problem;
use stackwright_results::outcome::Row;

use super::bars::Bars;
use super::cell::{Cell, MTU};
use super::{CONTESTANTS, column, simulated};
use crate::measure::Course;

/// A change, or several.
pub(super) struct Steps {
    key: &'static str,
    /// What the row is called.
    name: &'static str,
    /// The path between the changes.
    cell: Cell,
    /// The changes, as a link of a scenario has them.
    delay: String,
}

/// How long a transfer lasts.
const SECONDS: f64 = 60.0;

/// Five flights that arrive a second later, ten seconds apart; and a round trip that grows from 20
/// to 600 ms for twenty seconds.
pub(super) fn steps() -> impl Iterator<Item = Steps> {
    let steps = |key, name, path, delay: fn(Cell) -> String| {
        let cell = Cell::parse(path)?;
        Some(Steps { key, name, cell, delay: delay(cell) })
    };
    let flights = |cell: Cell| {
        // The path and the queue are full.
        let packets = 2 * cell.bandwidth_delay() / MTU;
        let step = |at| format!("{{ at = \"{at} s\", delay = \"+1 s\", packets = {packets} }}");
        let steps: Vec<_> = (1..=5).map(|number| step(10 * number)).collect();
        format!("forward = {{ delay-steps = [{}] }}", steps.join(", "))
    };
    let moves =
        |_| "delay-steps = [{ at = \"20 s\", delay = \"300 ms\", for = \"20 s\" }]".to_owned();
    let late = "five flights a second late";
    let flights = steps("steps/flights/10M/100ms", late, "10M/100ms/0%/q1", flights);
    let moved = "from 20 to 600 ms and back";
    let moves = steps("steps/moves/10M/20ms", moved, "10M/20ms/0%/q4", moves);
    flights.into_iter().chain(moves)
}

impl Steps {
    /// A row without columns.
    pub(super) fn row(&self) -> Row {
        let label = format!("{}: {}", self.cell.label(), self.name);
        let row = Row::new(self.key, "simulated, steps of the delay", label, "Mb/s");
        row.more_is_better().limited(self.cell.limit() / 1e6)
    }

    /// Lets both contestants use the path, and the same path where its delay does not change.
    pub(super) fn measure(&self, row: &mut Row, course: &Course) -> Result<(), Problem> {
        let bars = Bars::none(&self.cell);
        for (delay, suffix) in [(&*self.delay, ""), ("", ", without steps")] {
            let figures = simulated(&self.cell, delay, SECONDS, course)?;
            for ((name, _), figures) in CONTESTANTS.into_iter().zip(&figures) {
                row.columns.push(column(&format!("{name}{suffix}"), true, figures, &bars, false));
            }
        }
        for (name, _) in CONTESTANTS {
            row.compare(name, &format!("{name}, without steps"), None);
        }
        Ok(())
    }
}
