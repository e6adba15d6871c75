//! What a call from C and from Python costs: the same work by programs in Rust, C and Python, each
//! with one of its kind, and in C and Python over the kernel's TCP.

mod end;

pub(crate) use end::BindingsEnd;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum as _;
use stackwright_programs::processes::find;
use stackwright_programs::scratch::Scratch;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;
use stackwright_results::{Problem, source};

use super::inet::{figure, listens};
use super::transports::seconds;
use super::{About, AnyTable, NO_AXES, Table};
use crate::measure::{Contestant, Course, Limit};
use end::BindingsWork;

const RUST: &str = "Rust";
const C: &str = "C";
const PYTHON: &str = "Python, asyncio";
const TCP_C: &str = "kernel TCP, C";
const TCP_PYTHON: &str = "kernel TCP, asyncio";

/// Messages of a length.
struct Task {
    work: BindingsWork,
    length: usize,
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Ground> {
    about: About {
        name: "bindings",
        title: "ARTP from Rust, C and Python",
        measures: "One association of ARTP over the loopback interface between two processes, both \
                   in Rust (blocking calls), in C (calls that wait) or in Python (asyncio); beside \
                   them the kernel's TCP by C (send, recv) and by asyncio's streams. Echo: a \
                   message and the same back, one at a time. Bulk: one way, until the sender \
                   knows that all has arrived.",
        source: "",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |_| {
        let cells =
            [(BindingsWork::Echo, 64), (BindingsWork::Bulk, 10_000), (BindingsWork::Bulk, 16_384)];
        let cell = |(work, length)| {
            let label = format!("messages of {length} octets");
            let row = match work {
                BindingsWork::Echo => {
                    Row::new(format!("echo/{length}"), "one in flight", label, "s")
                }
                BindingsWork::Bulk => {
                    Row::new(format!("bulk/{length}"), "bulk", label, "Mb/s").more_is_better()
                }
            };
            (row, Task { work, length })
        };
        cells.map(cell).into()
    },
    open: |_, notes| Ground::up(notes),
    measure,
};

fn measure(
    ground: &mut Ground,
    task: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let time = seconds(course.effort);
    row.columns = course.compete(ground.ends.iter().map(|end| {
        Contestant::new(end.name, !end.name.contains("TCP"), move || end.measure(task, time))
    }))?;
    let (of_c, of_python) = match task.work {
        BindingsWork::Echo => (Target::AtMost(1.03), Target::AtMost(2.5)),
        BindingsWork::Bulk => (Target::AtLeast(0.97), Target::AtLeast(0.5)),
    };
    row.compare(C, RUST, Some(of_c));
    row.compare(PYTHON, C, Some(of_python));
    row.compare(C, TCP_C, None);
    row.compare(PYTHON, TCP_PYTHON, None);
    Ok(())
}

/// The programs, as they are installed.
struct Ground {
    ends: Vec<End>,
    _installed: Scratch,
}

impl Ground {
    /// Builds and installs the C interface, as its README says, and the end in C.
    fn up(notes: &mut Vec<String>) -> Result<Self, Problem> {
        let lab = env::current_exe().map_err(Problem::new)?;
        let installed = Scratch::new();
        let at = installed.path();
        let mut ends = vec![End::new(RUST, [lab.into(), "bindings-end".into()], at)];
        if find("cc").is_none() {
            notes.push("C and Python were left out: there is no C compiler (cc).".into());
            return Ok(Ground { ends, _installed: installed });
        }
        done(Command::new(source().join("bindings/c/install")).arg(at))?;
        let (here, lib) = (source().join("lab/src/table/bindings"), at.join("lib"));
        let c = at.join("end");
        done(Command::new("cc").args(["-O2", "-o"]).args([&c, &here.join("end.c")]).args([
            format!("-I{}", at.join("include").display()),
            format!("-L{}", lib.display()),
            format!("-Wl,-rpath,{}", lib.display()),
            "-lstackwright".into(),
        ]))?;
        for (name, over) in [(C, "artp"), (TCP_C, "tcp")] {
            ends.push(End::new(name, [c.clone().into(), over.into()], at));
        }
        match find("python3") {
            None => notes.push("Python was left out: there is no python3.".into()),
            Some(python) => {
                let end = here.join("end.py");
                for (name, over) in [(PYTHON, "artp"), (TCP_PYTHON, "tcp")] {
                    let words = [python.clone().into(), end.clone().into(), over.into()];
                    ends.push(End::new(name, words, at));
                }
            }
        }
        Ok(Ground { ends, _installed: installed })
    }
}

/// A program for both ends.
struct End {
    name: &'static str,
    words: Vec<OsString>,
    lib: OsString,
}

impl End {
    fn new(name: &'static str, words: impl Into<Vec<OsString>>, installed: &Path) -> Self {
        End { name, words: words.into(), lib: installed.join("lib").into() }
    }

    fn command(&self, task: &Task) -> Command {
        let mut command = Command::new(&self.words[0]);
        let work = task.work.to_possible_value();
        let work = work.as_ref().map_or("", |value| value.get_name());
        command.args(&self.words[1..]).arg(work).arg(task.length.to_string());
        // For Python: the package, and the library that it finds nowhere else.
        command.env("PYTHONPATH", source().join("bindings/python"));
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("LD_LIBRARY_PATH", &self.lib);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn measure(&self, task: &Task, time: f64) -> Result<f64, Problem> {
        let (_server, port) = listens(self.command(task))?;
        figure(self.command(task).args([port.trim(), &time.to_string()]))
            .map_err(|problem| problem.within(self.name))
    }
}

/// Runs a command that has to succeed.
fn done(command: &mut Command) -> Result<(), Problem> {
    let why = match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(why) => why.to_string(),
    };
    Err(Problem::new(format!("{}: {why}", command.get_program().display())))
}
