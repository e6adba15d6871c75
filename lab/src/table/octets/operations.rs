//! E12 and E13: what the operations of CXOR cost, and what it saves to reuse a check.

use std::hint::black_box;
use std::time::Instant;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Figure, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_wire::check::Cxor;

use super::super::{About, AnyTable, Cell, Table};
use super::pieces::{Cache, Pieces};
use super::variants::{Words, op4};
use crate::measure::{Contestant, Course, Limit};

/// Lengths of the whole in octets.
const LENGTHS: [usize; 4] = [1000, 10_000, 100_000, 1_000_000];
/// The length with which the others are compared: the time of a reuse does not depend on it.
const SHORTEST: usize = 1000;
/// The report's length.
const DOCUMENT: usize = 10_000;

/// What a reuse may take of the time of a new check at most: the report's took 1/115.
const SHARE_MOST: f64 = 0.0086;

/// Operations of one sample.
const CHAINED: usize = 200_000;
/// What a sample of a new check goes through, in octets.
const OCTETS: usize = 8 << 20;

const ROTATE: &str = "rotate";
const XOR: &str = "XOR";
const OP4: &str = "new check, op4";
const NEW: &str = "new check";

const MACHINES: [&str; 3] = ["Sun 3/60", "Sparc IPX", "DEC 5000/200"];
/// Table 3.2, in microseconds on each machine.
const BASIC: [(&str, [f64; 3]); 2] = [(ROTATE, [6.24, 1.00, 0.687]), (XOR, [4.00, 0.88, 0.445])];

/// Ways to reuse a check, and table 3.3: what they take of the report's machines, in microseconds.
const REUSES: [(&str, Reuse, [f64; 3]); 2] =
    [("combine", combine, [60.0, 12.0, 4.0]), ("update", update, [80.0, 14.0, 4.0])];

/// The seconds of one reuse of the check of these octets.
type Reuse = fn(&[u8]) -> f64;

/// What is measured.
enum Task {
    Basic,
    /// A check of so many octets that is reused, beside a new one.
    Reused(&'static str, Reuse, usize),
}

/// The table.
pub(crate) const OPERATIONS: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "checksum-ops",
        title: "operations of CXOR, and reuse of a check",
        measures: "Rotations and XORs of 16-bit words, each of which waits for the one \
                   before. The check of two pieces from those of each (combine) and after a \
                   change of one word (update), beside a new check of the whole: by the \
                   report's op4 without vectors, and by the library.",
        source: "INRIA RR-2102 of 1993, tables 3.2 and 3.3",
        axes: Axes { x: "octets", y: "time", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, _| Ok(()),
    measure: |(), task, row, course| match *task {
        Task::Basic => basic(row, course),
        Task::Reused(what, reuse, length) => reused(what, reuse, length, row, course),
    },
};

fn cells() -> Vec<Cell<Task>> {
    let document = BASIC.into_iter().flat_map(|(what, times)| told(&format!("{what}, "), times));
    let basic = Row::new("basic", "basic operations", "a 16-bit word", "s");
    let mut cells = vec![(basic.beside(document.collect()), Task::Basic)];
    for (what, reuse, times) in REUSES {
        for length in LENGTHS {
            let row = Row::new(format!("{what}/{length}"), what, format!("{length} octets"), "s");
            let document = if length == DOCUMENT { told("", times) } else { Vec::new() };
            let task = Task::Reused(what, reuse, length);
            cells.push((row.at(length as f64).beside(document), task));
        }
    }
    cells
}

/// The report's times, in the order of its machines.
fn told(before: &str, times: [f64; 3]) -> Vec<Figure> {
    figures(MACHINES.map(|machine| format!("{before}{machine}")).into_iter().zip(times), "µs")
}

/// The operands are read again for each operation, so that the compiler cannot join two of them.
fn basic(row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    row.columns = course.compete([
        Contestant::ours(ROTATE, || Ok(chain(|word: u16| word.rotate_left(black_box(1))))),
        Contestant::ours(XOR, || Ok(chain(|word: u16| word ^ black_box(0x5a5a)))),
    ])?;
    row.compare(ROTATE, XOR, Some(Target::AtMost(1.1)));
    Ok(())
}

fn reused(
    what: &str,
    reuse: Reuse,
    length: usize,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let pieces = Pieces::new(Cache::Hot, length);
    let octets = pieces.octets(course.seed);
    let words = Words::of(&octets);
    let seconds = |rate: f64| 8e-9 * length as f64 / rate;
    let short = format!("{what}, {SHORTEST} octets");
    let mut contestants = vec![
        Contestant::ours(what, || Ok(reuse(&octets))),
        Contestant::ours(NEW, || Ok(seconds(pieces.rate(OCTETS, |at| Cxor::of(&octets[at]))))),
        Contestant::peer(OP4, || Ok(seconds(pieces.rate(OCTETS, |at| op4(words.longs(at)))))),
    ];
    if length != SHORTEST {
        contestants.push(Contestant::ours(&short, || Ok(reuse(&octets[..SHORTEST]))));
    }
    row.columns = course.compete(contestants)?;
    row.compare(what, OP4, (length == DOCUMENT).then_some(Target::AtMost(SHARE_MOST)));
    row.compare(what, NEW, None);
    row.compare(what, &short, Some(Target::Within(0.2)));
    Ok(())
}

/// The seconds for the check of both halves of `octets` from the checks of each.
fn combine(octets: &[u8]) -> f64 {
    let (first, second) = octets.split_at(octets.len() / 2);
    let lengths = [first, second].map(|half| half.len() as u64);
    let second = Cxor::of(second);
    chain(|first: u32| {
        let [before, behind] = lengths.map(black_box);
        Cxor::combine(first, before, black_box(second), behind)
    })
}

/// The seconds for the check of `octets` after the word in their middle has changed.
fn update(octets: &[u8]) -> f64 {
    let words_behind = octets.len() as u64 / 4;
    chain(|check: u32| {
        Cxor::update(check, black_box(0x1234), black_box(0x5678), black_box(words_behind))
    })
}

/// The seconds of one operation, each of which waits for the one before.
fn chain<T: From<u8>>(operation: impl Fn(T) -> T) -> f64 {
    let mut value = black_box(T::from(1));
    let begin = Instant::now();
    for _ in 0..CHAINED {
        value = operation(value);
    }
    let seconds = begin.elapsed().as_secs_f64();
    black_box(value);
    seconds / CHAINED as f64
}
