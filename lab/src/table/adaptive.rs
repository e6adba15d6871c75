//! A path whose loss and delay change: the adaptive transport beside both fixed ones.

use std::time::{Duration, Instant};

use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{LinkDescription, Profile};

use super::parallel;
use super::transports::{Ends, Measured, Programs, Rival, Work, may_link};
use super::{About, AnyTable, Table};
use crate::link::Wire;
use crate::measure::{Course, Effort, Limit, Stop};

/// A path that changes, and what the adaptive transport does of it.
struct Changing {
    key: &'static str,
    label: &'static str,
    quick: bool,
    /// As a scenario describes a link.
    link: &'static str,
    /// When it changes, in seconds after the link is up, and what suits it then.
    changes: [(f64, &'static str); 2],
    /// In seconds.
    lasts: f64,
}

const CHANGING: [Changing; 2] = [
    Changing {
        key: "loss",
        label: "10 Mb/s, 100 ms; 5 % lost from 15 to 45 s",
        quick: true,
        link: "rate = '10 Mb/s'\ndelay = '50 ms'\nqueue = '125 kB'\n\
               steps = [{ at = '15 s', loss = 0.05 }, { at = '45 s', loss = 0.0 }]",
        changes: [(15.0, "BBR"), (45.0, "CUBIC")],
        lasts: 75.0,
    },
    Changing {
        key: "delay",
        label: "10 Mb/s, 0.2 % lost; 10 ms, and 300 ms from 15 to 60 s",
        quick: false,
        link: "rate = '10 Mb/s'\ndelay = '5 ms'\nqueue = '375 kB'\nloss = 0.002\n\
               delay-steps = [{ at = '15 s', delay = '150 ms', for = '45 s' }]",
        changes: [(15.0, "BBR"), (60.0, "CUBIC")],
        lasts: 90.0,
    },
];

/// The adaptive transport, and the fixed ones.
const CONTESTANTS: [(&str, &str); 3] =
    [("adaptive", "fitted"), ("CUBIC alone", "cubic"), ("BBR alone", "bbr")];

/// How soon it shall change, in seconds; and what it shall deliver of the better fixed one.
const SOON: f64 = 10.0;
const SHARE: f64 = 0.95;

/// Octets of a message.
const SIZE: u64 = 10_000;
/// How much longer than it was told to a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<&'static Changing, Option<Programs>> {
    about: About {
        name: "adaptive",
        title: "a transport that fits itself to a path that changes",
        measures: "One bulk transfer by the tailored transport between two processes over a link \
                   whose loss or delay changes and changes back. All contestants at the same time, \
                   each on a link of its own, by `stackwright perf` in messages of 10 kB. Beside \
                   the goodput of the adaptive one: how many seconds after each change of the path \
                   it changed its congestion control, and its goodput as a share of the better \
                   fixed one. Median of three runs (one with --quick).",
        source: "",
        axes: super::NO_AXES,
        limit: Limit::Work,
    },
    cells: |effort| {
        let chosen = CHANGING.iter().filter(|one| effort != Effort::Quick || one.quick);
        chosen.map(|one| (one.row(), one)).collect()
    },
    open: |_, notes| {
        if may_link(" on real sockets", notes) { Programs::ours().map(Some) } else { Ok(None) }
    },
    measure: |programs, changing, row, course| match programs {
        Some(programs) => changing.measure(programs, row, course),
        None => Ok(()),
    },
};

impl Changing {
    /// A row without columns.
    fn row(&self) -> Row {
        Row::new(self.key, "a path that changes", self.label, "Mb/s").more_is_better()
    }

    fn path(&self) -> Result<Profile, Problem> {
        let link: LinkDescription = toml::from_str(self.link).map_err(Problem::new)?;
        link.resolve().map_err(Problem::new)
    }

    fn measure(
        &self,
        programs: &Programs,
        row: &mut Row,
        course: &mut Course,
    ) -> Result<(), Problem> {
        let path = &self.path()?;
        let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
        let mut goodputs = [const { Vec::new() }; CONTESTANTS.len()];
        let mut times = [const { Vec::new() }; 2];
        for round in 1..=rounds {
            if course.stop.asked() {
                break;
            }
            course.progress.set_message(format!("{}, {round} of {rounds}", self.key));
            let seed = course.seed + round;
            let all = parallel::all(&CONTESTANTS, CONTESTANTS.len(), &Stop::default(), |one| {
                self.transfer(*one, path, programs, seed)
            })?;
            for ((run, _), goodputs) in all.iter().zip(&mut goodputs) {
                goodputs.push(run.goodput());
            }
            if let Some((run, later)) = all.first() {
                for ((at, suits), times) in self.changes.iter().zip(&mut times) {
                    let change = run.change(suits, at - later);
                    if let Some(says) = change.map(|change| &change.says) {
                        course.progress.suspend(|| eprintln!("lab: {}: {says}", self.key));
                    }
                    // One that never changes is later than any.
                    times.push(change.map_or(self.lasts, |change| change.at + later - at));
                }
            }
        }
        self.tell(row, &goodputs, &times);
        Ok(())
    }

    fn tell(&self, row: &mut Row, goodputs: &[Vec<f64>; CONTESTANTS.len()], times: &[Vec<f64>; 2]) {
        let mut columns: Vec<_> = CONTESTANTS
            .iter()
            .zip(goodputs)
            .map(|((name, _), goodputs)| Column::exact(name, true, goodputs.iter().copied()))
            .collect();
        let [own, cubic, bbr] = goodputs;
        let better = cubic.iter().zip(bbr).map(|(one, other)| one.max(*other));
        let shares: Vec<f64> = own.iter().zip(better).map(|(own, other)| own / other).collect();
        let adaptive = &mut columns[0];
        adaptive.tell("share of the better fixed one", "", &shares, Some(Target::AtLeast(SHARE)));
        for ((_, suits), times) in self.changes.iter().zip(times) {
            adaptive.tell(&format!("until {suits}"), "s", times, Some(Target::AtMost(SOON)));
        }
        row.columns = columns;
    }

    /// Returns what came of it, and how many seconds after its link the sender was started.
    fn transfer(
        &self,
        (name, congestion): (&str, &str),
        path: &Profile,
        programs: &Programs,
        seed: u64,
    ) -> Result<(Measured, f64), Problem> {
        let services =
            format!("reliable;flow_control(4096);checksum(internet);congestion({congestion})");
        let rival = Rival::ours(name, "tailored", &format!("--services {services}"));
        let up = Instant::now();
        let ends = Ends::Wire(Wire::over(path, seed)?);
        let serving = rival.serve(&ends, programs, None)?;
        let later = up.elapsed().as_secs_f64();
        let work = Work::Bulk { size: SIZE, seconds: self.lasts };
        let patience = PATIENCE + Duration::from_secs_f64(self.lasts);
        Ok((serving.run_within(patience, &ends, programs, work, None)?, later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_a_link_that_changes_within_the_run() {
        for one in &CHANGING {
            assert!(matches!(one.path(), Ok(Profile::Link { .. })), "{}", one.key);
            let times = one.changes.map(|(at, _)| at);
            assert!(times.is_sorted() && times[1] + SOON < one.lasts, "{}", one.key);
        }
    }
}
