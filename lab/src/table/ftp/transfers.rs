//! E4 and E5: how long a file takes, from the start of the program to its end, and how fast it
//! travels, to and fro.

use stackwright_programs::content::Sized;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::ground::Ground;
use super::task::Task;
use super::wires::{WIRES, has_time, limit};
use super::{documents, sizes};
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, AnyTable, Cell, Table};

/// A task with a file of a size, over a wire.
struct Transfer {
    wire: &'static str,
    task: Task,
    size: Sized,
}

/// The table of latencies.
pub(crate) const LATENCY: &dyn AnyTable = &Table::<Transfer, Ground> {
    about: About {
        name: "ftp-latency",
        title: "latency of file transfer",
        measures: "The time of a whole client process that downloads one file from the same vsftpd, login included; then of one client \
                   with each server. The raw client is no process: its time is from connecting to the server's last reply.",
        source: documents::LATENCY,
        axes: Axes { x: "octets", y: "time", log_x: true, log_y: true },
        limit: Limit::Loopback,
    },
    cells: |effort| {
        let tasks = [Task::Get, Task::GetTls, Task::ServeNcftp, Task::ServeRaw];
        let row = |row: Row, rate: Option<f64>, octets| row.limited(rate.map(|rate| octets / rate));
        cells(effort, tasks, sizes(), &documents::SECONDS, "s", row)
    },
    open: |cells, notes| {
        let ground = open(cells, &["ncftpget", "lftp", "curl", "pure-ftpd"], notes)?;
        notes.push(
            "vsftpd, lean: without isolate, isolate_network and seccomp_sandbox, which it has on by default."
                .into(),
        );
        Ok(ground)
    },
    measure: |ground, transfer, row, course| {
        measure(ground, transfer, |seconds| seconds, row, course)?;
        row.compare_with_all(Some(Target::AtMost(1.0)));
        Ok(())
    },
};

/// The document's megabit.
const MEGABIT: f64 = 1024.0 * 1024.0;

/// The table of throughputs.
pub(crate) const THROUGHPUT: &dyn AnyTable = &Table::<Transfer, Ground> {
    about: About {
        name: "ftp-throughput",
        title: "throughput of file transfer",
        measures: "8 S / (1024² L) Mb/s, as the document defines it: S is the file's size, L the time of a whole process \
                   that downloads or uploads it, login included.",
        source: documents::THROUGHPUT,
        axes: Axes { x: "octets", y: "Mb/s", log_x: true, log_y: true },
        limit: Limit::Loopback,
    },
    cells: |effort| {
        let row = |row: Row, rate: Option<f64>, _| {
            row.more_is_better().limited(rate.map(|rate| 8.0 * rate / MEGABIT))
        };
        let tasks = [Task::Get, Task::Put, Task::GetTls];
        cells(effort, tasks, &sizes()[2..], &documents::MEGABITS, "Mb/s", row)
    },
    open: |cells, notes| open(cells, &["ncftpget", "ncftpput", "lftp", "curl"], notes),
    measure: |ground, transfer, row, course| {
        let bits = 8.0 * transfer.size.octets as f64;
        measure(ground, transfer, |seconds| bits / (MEGABIT * seconds), row, course)?;
        row.compare_with_all(Some(Target::AtLeast(1.0)));
        Ok(())
    },
};

/// The cells of a table whose document has `numbers` for each size; `finish` gets a row, the rate
/// of its wire and the octets of its file.
fn cells<const TASKS: usize>(
    effort: Effort,
    tasks: [Task; TASKS],
    sizes: &[Sized],
    numbers: &[[f64; 3]],
    unit: &str,
    finish: impl Fn(Row, Option<f64>, f64) -> Row,
) -> Vec<Cell<Transfer>> {
    let mut cells = Vec::new();
    for (wire, task) in WIRES.into_iter().flat_map(|wire| tasks.map(|task| (wire, task))) {
        let (name, title) = task.names();
        for (size, numbers) in sizes.iter().copied().zip(numbers) {
            if !has_time(wire, task, size.octets, effort) {
                continue;
            }
            let key = format!("{wire}/{name}/{}", size.name);
            let octets = size.octets as f64;
            let row = Row::new(key, format!("{title}, {wire}"), size.name, unit).at(octets);
            let is_document = task == Task::Get;
            let document = if is_document { documents::told(*numbers, unit) } else { Vec::new() };
            let row = finish(row.beside(document), limit(wire), octets);
            cells.push((row, Transfer { wire, task, size }));
        }
    }
    cells
}

fn open(
    cells: &[Cell<Transfer>],
    others: &[&str],
    notes: &mut Vec<String>,
) -> Result<Ground, Problem> {
    let wires: Vec<_> = cells.iter().map(|(_, transfer)| transfer.wire).collect();
    Ground::new(&wires, others, notes)
}

fn measure(
    ground: &mut Ground,
    Transfer { wire, task, size }: &Transfer,
    value: impl Fn(f64) -> f64,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    if ground.has(wire) {
        row.columns = task.compete(ground, wire, *size, value, course)?;
    }
    Ok(())
}
