//! E25: many octets over one association, many associations one after the other, many at once; and
//! what both ends hold.

mod held;
mod slope;

use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row, Sample, figures};
use stackwright_results::verdict::Target;

use super::transports::{Ends, Programs, Rival, Work};
use super::{About, AnyTable, Cell, NO_AXES, Table};
use crate::measure::{Course, Effort, Limit};
use held::{Watched, fill, watch};
use slope::Slope;

/// The first packet number: it wraps after a million packets.
const FIRST: u32 = u32::MAX - 1_000_000;
const GIGABYTE: u64 = 1_000_000_000;
/// So many octets go through the receiver's pool before what is measured.
const FILLING: u64 = 8 * GIGABYTE;
/// So many associations are open at once where one after the other is opened and closed.
const AT_ONCE: u64 = 200;
/// The document's run without a leak, and its rate in Mb/s.
const DOCUMENT: (&str, f64) = ("9.71 TB in 75 hours", 301.68);
/// What is promised of one that is idle, in kB.
const IDLE: f64 = 4.096;

/// What is done while the memory of both ends is looked at.
enum Task {
    /// So many gigabytes over one association.
    Bulk(u64),
    /// So many associations, opened and closed.
    Churn(u64),
    /// So many at once, on which nothing is said.
    Idle(u64),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Programs> {
    about: About {
        name: "artp-soak",
        title: "memory of ARTP's endpoints over time",
        measures: "The resident memory of both processes. bulk: a number of octets over one association, whose packet numbers wrap after a \
                   million packets, to a receiver that stood still now and then in a run before, so that its pool has been \
                   filled; the slope is that of the last three quarters, with its interval of 95 %. churn: associations, \
                   200 at once, opened, used and closed. idle: what each of so many takes when nothing is said on any, with all \
                   else that the process holds since it began to listen.",
        source: "ARTP technical report 11/2004: a run of 75 hours",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells,
    open: |_, notes| {
        notes.push(
            "The document sent 9.71 TB in 75 hours, at 301.68 Mb/s, without a leak. A terabyte has \
             a cell of its own: lab table artp-soak --cell bulk/1000."
                .into(),
        );
        Programs::ours()
    },
    measure,
};

fn cells(effort: Effort) -> Vec<Cell<Task>> {
    let (bulk, churn): (&[u64], &[u64]) = match effort {
        Effort::Quick => (&[2], &[20_000]),
        Effort::Usual => (&[20], &[1_000_000]),
        Effort::Full => (&[2, 20, 1000], &[20_000, 1_000_000]),
    };
    let bulk = bulk.iter().map(|many| {
        let group = format!("{many} GB over one association");
        let row = Row::new(format!("bulk/{many}"), group, "", "MB");
        (row.beside(figures([DOCUMENT], "Mb/s")), Task::Bulk(*many))
    });
    let churn = churn.iter().map(|many| {
        let group = format!("{many} associations opened and closed");
        (Row::new(format!("churn/{many}"), group, "", "MB"), Task::Churn(*many))
    });
    let idle = {
        let many = 10_000;
        let label = format!("{many} at once, both ends on one core");
        let group = "memory of an idle association";
        (Row::new(format!("idle/{many}"), group, label, "kB"), Task::Idle(many))
    };
    bulk.chain(churn).chain([idle]).collect()
}

fn measure(
    programs: &mut Programs,
    task: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let numbers = format!("--first {FIRST}");
    let core = matches!(task, Task::Idle(_)).then_some(0);
    let serving = Rival::ours("ARTP", "artp", &numbers).serve(&Ends::Loopback, programs, core)?;
    let command = |work| serving.command(&Ends::Loopback, programs, work, core);
    let receiver = serving.number();
    match *task {
        Task::Bulk(gigabytes) => {
            let work = |octets| Work::Octets { size: 10_000, octets };
            let octets = gigabytes * GIGABYTE;
            fill(command(work(FILLING))?, receiver, course)?;
            let watched = watch(command(work(octets))?, receiver, course)?;
            if watched.measured.octets != octets {
                let arrived = watched.measured.octets;
                return Err(Problem::new(format!("{arrived} of {octets} octets have arrived")));
            }
            flat(row, "GB", gigabytes as f64, &watched);
        }
        Task::Churn(many) => {
            let repeat = many.div_ceil(AT_ONCE);
            let mut command = command(Work::Associations { count: AT_ONCE })?;
            command.args(["--repeat", &repeat.to_string()]);
            let watched = watch(command, receiver, course)?;
            let there = watched.measured.messages;
            if there != repeat * AT_ONCE {
                return Err(Problem::new(format!("{there} of {many} associations were there")));
            }
            flat(row, "1000 associations", (repeat * AT_ONCE) as f64 / 1e3, &watched);
        }
        Task::Idle(many) => {
            let mut command = command(Work::Associations { count: many })?;
            command.args(["--hold", "3s"]);
            let held = held::idle(command, receiver)?;
            for (name, octets) in [("sender", held[0]), ("receiver", held[1])] {
                row.columns.push(column(name, true, [octets / 1e3 / many as f64]));
            }
            row.columns.push(column("4 KB", false, [IDLE]));
            row.compare_with_all(Some(Target::AtMost(1.0)));
        }
    }
    Ok(())
}

/// The memory of both ends while so much was done: of the last quarter beside the second, so that
/// what grows shows.
fn flat(row: &mut Row, per: &str, many: f64, watched: &Watched) {
    let mut slopes = Vec::new();
    for (end, name) in ["sender", "receiver"].into_iter().enumerate() {
        let held: Vec<f64> = watched.held.iter().map(|held| held[end]).collect();
        // What comes first fills pools.
        let later = &held[held.len() / 4..];
        let slope = Slope::of(later).scaled(0.75 * many);
        slopes.push(format!("{name} {slope} kB/{per}"));
        let (second, last) = (&held[held.len() / 4..held.len() / 2], &held[held.len() * 3 / 4..]);
        let megabytes = |held: &[f64]| held.iter().map(|octets| octets / 1e6).collect::<Vec<_>>();
        row.columns.push(column(&format!("{name}, late"), true, megabytes(last)));
        row.columns.push(column(&format!("{name}, early"), false, megabytes(second)));
        let flat = Some(Target::AtMost(1.02));
        row.compare(&format!("{name}, late"), &format!("{name}, early"), flat);
    }
    row.label = format!("{}; {:.2} Gb/s", slopes.join(", "), watched.measured.goodput() / 1e3);
}

fn column(name: &str, ours: bool, values: impl IntoIterator<Item = f64>) -> Column {
    let sample = |value| Sample { value, probes: [1.0; 2], slow: false };
    Column { samples: values.into_iter().map(sample).collect(), ..Column::new(name, ours) }
}
