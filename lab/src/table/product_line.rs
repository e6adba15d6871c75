//! E10: the 48 generated bases at the same work, and their event managers at timers.

mod echo;
mod timers;

use stackwright_base::opening::{Absent, Active, ActivePassive};
use stackwright_base::session;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

use super::{About, AnyTable, Cell, Table};
use crate::measure::{Course, Effort, Limit};

/// What both kinds of work keep for an association.
struct Counted;

impl stackwright_base::Subject for Counted {
    type Key = u32;
    type PassiveKey = ();
    type Association = u64;
    type Enabled = ();
    type Timer = ();
}

/// Measures a row.
type Measure = fn(&mut Row, &mut Course) -> Result<(), Problem>;

/// A kind of message and session, and what is measured with each opening.
type Echoes = (&'static str, [(&'static str, Measure); 3]);

/// The echo with each opening.
const fn echoes<M: Message, S: session::Alternative + 'static>(name: &'static str) -> Echoes {
    (
        name,
        [
            ("interface", echo::measure::<M, S, Absent>),
            ("active", echo::measure::<M, S, Active>),
            ("active-passive", echo::measure::<M, S, ActivePassive>),
        ],
    )
}

const ECHOES: [Echoes; 4] = [
    echoes::<SingleBuffer, session::Absent>("single-buffer/no-session"),
    echoes::<SingleBuffer, session::Present>("single-buffer/session"),
    echoes::<BufferTree, session::Absent>("buffer-tree/no-session"),
    echoes::<BufferTree, session::Present>("buffer-tree/session"),
];

/// What is measured.
enum Task {
    Echo(Measure),
    /// So many pending timers.
    Timers(u32),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "product-line",
        title: "the 48 generated bases",
        measures: "Echo: a message gets a header, loses it, and its association is found among 64 and counted, on each of the \
                   48 bases. Timers: of N pending timers the next one expires and is set again, and another one is moved.",
        source: "",
        axes: Axes { x: "pending timers", y: "time", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells,
    open: |_, _| Ok(()),
    measure: |(), task, row, course| match task {
        Task::Echo(measure) => measure(row, course),
        Task::Timers(count) => timers::measure(*count, row, course),
    },
};

fn cells(effort: Effort) -> Vec<Cell<Task>> {
    let mut cells = Vec::new();
    for (kind, openings) in ECHOES {
        for (opening, measure) in openings {
            let name = format!("{kind}/{opening}");
            let label = name.replace('/', ", ");
            let row = Row::new(format!("echo/{name}"), "echo, one message", label, "s");
            cells.push((row, Task::Echo(measure)));
        }
    }
    // The ordered list needs seconds to be filled with the most.
    let counts = [100, 1_000, 10_000, 100_000].into_iter();
    for count in counts.filter(|count| *count < 100_000 || effort == Effort::Full) {
        let group = "timers, one that expires and one that is moved";
        let row = Row::new(format!("timers/{count}"), group, count.to_string(), "s");
        cells.push((row.at(f64::from(count)), Task::Timers(count)));
    }
    cells
}
