//! How many members a group may have: all begin at once, are idle, and then some crash.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use stackwright_programs::processes::Running;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;

use super::members::{Figures, ScaleDetector};
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, AnyTable, Table};

const SIZES: [u16; 4] = [2, 10, 100, 1000];
/// How members find out who is gone.
const DETECTORS: [(&str, ScaleDetector); 2] =
    [("heartbeats", ScaleDetector::Heartbeats), ("ring", ScaleDetector::Ring)];

/// A run that takes longer, in seconds, or more memory, in kB, is given up: it would take all.
const LONGEST: Duration = Duration::from_secs(120);
const MOST: u64 = 3_000_000;

/// The table. Its tasks are numbers of members.
pub(crate) const SCALE: &dyn AnyTable = &Table::<u16, ()> {
    about: About {
        name: "group-scale",
        title: "Groups of 2 to 1 000 members",
        measures: "In the simulator, without loss, 1 ms each way: members with the stack of \
                   `group talk`, or with `group ring` for its detector, all begin at once and \
                   know the addresses of three of them, until all are in one view; then they \
                   say nothing for 2 s, with the ring, whose reports grow rare, for two \
                   minutes, of which the second counts; then 1 % of them crash at once (at \
                   least one), until the rest is in a view without them. A member that is \
                   silent for 500 ms is suspected. With heartbeats each hears all others: so \
                   only up to 100 members. The row is the time that the run takes on this \
                   machine; what was not reached within two minutes or 3 GB is missing. Times \
                   of the group and packets are exact, whatever the machine.",
        source: "",
        axes: Axes { x: "members", y: "s", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells: |effort| {
        let chosen = SIZES.into_iter().filter(|size| effort != Effort::Quick || *size <= 100);
        let cell = |size: u16| {
            let row = Row::new(size.to_string(), "a run", format!("{size} members"), "s");
            (row.at(size.into()), size)
        };
        chosen.map(cell).collect()
    },
    open: |_, notes| {
        let missing = DETECTORS.iter().filter(|(_, detector)| !detector.is_there());
        notes.extend(
            missing.map(|(name, _)| format!("{name} was left out: there is no such layer.")),
        );
        Ok(())
    },
    measure: |(), size, row, course| measure(*size, row, course),
};

fn measure(size: u16, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let detectors = DETECTORS.into_iter().filter(|(_, detector)| detector.is_there());
    for (name, detector) in detectors.filter(|(_, detector)| size <= detector.most()) {
        course.progress.set_message(format!("{size} members, {name}"));
        let (figures, took, memory) = run(size, detector, course.seed)?;
        let mut column = Column::exact(name, true, [took]);
        let mut tell = |name: &str, unit: &str, value: Option<f64>, most: f64| {
            let values: Vec<_> = value.into_iter().collect();
            column.tell(name, unit, &values, Some(Target::AtMost(most)));
        };
        tell("all in one view", "s", figures.together, 10.0);
        tell("idle, packets a member and second", "", figures.idle, 8.0);
        tell("in a view without the crashed", "s", figures.without, 2.5);
        tell("the run", "s", Some(took), 60.0);
        tell("memory", "MB", Some(memory), 500.0);
        row.columns.push(column);
    }
    Ok(())
}

/// Runs it in a process of its own; returns the seconds and megabytes that it took, too.
fn run(size: u16, detector: ScaleDetector, seed: u64) -> Result<(Figures, f64, f64), Problem> {
    let lab = env::current_exe().map_err(Problem::new)?;
    let mut command = Command::new(lab);
    command.arg("group-scale").arg(size.to_string()).arg(detector.name()).arg(seed.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let began = Instant::now();
    let mut running = Running::try_start(&mut command).map_err(Problem::new)?;
    let mut said = BufReader::new(running.output()).lines();
    let lines = thread::spawn(move || said.by_ref().map_while(Result::ok).last());
    let mut memory = 0;
    while running.alive() {
        memory = memory.max(running.status("VmHWM"));
        if began.elapsed() > LONGEST || memory > MOST {
            running.kill();
        }
        thread::sleep(Duration::from_millis(5));
    }
    let took = began.elapsed().as_secs_f64();
    // Each line has all that is known by then.
    let line = lines.join().ok().flatten();
    let figures = line.and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
    Ok((figures, took, memory as f64 / 1000.0))
}
