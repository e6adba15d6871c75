//! Contestants that take turns: A B C, B A C, with a probe of the limit between any two of them.
//! Who comes after whom is drawn for each round: what somebody leaves behind, in the caches or with
//! a server that is not done with him yet, falls on all alike.

use std::time::Instant;

use indicatif::ProgressBar;
use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Sample};

use super::{Effort, Probe, Stop};

/// Somebody who does a task, and tells what it took: seconds, or whatever the row's unit is.
pub(crate) struct Contestant<'a> {
    name: String,
    ours: bool,
    run: Box<dyn FnMut() -> Result<f64, Problem> + 'a>,
}

impl<'a> Contestant<'a> {
    /// One of ours, or somebody else.
    pub(crate) fn new(
        name: impl Into<String>,
        ours: bool,
        run: impl FnMut() -> Result<f64, Problem> + 'a,
    ) -> Self {
        Contestant { name: name.into(), ours, run: Box::new(run) }
    }

    /// One of ours.
    pub(crate) fn ours(
        name: impl Into<String>,
        run: impl FnMut() -> Result<f64, Problem> + 'a,
    ) -> Self {
        Contestant::new(name, true, run)
    }

    /// Somebody else.
    pub(crate) fn peer(
        name: impl Into<String>,
        run: impl FnMut() -> Result<f64, Problem> + 'a,
    ) -> Self {
        Contestant::new(name, false, run)
    }
}

/// Where contests are held: all cells of one run share it.
pub(crate) struct Course {
    /// How sure the figures shall be.
    pub(crate) effort: Effort,
    /// What is drawn follows from it, and so does the order of each round.
    pub(crate) seed: u64,
    /// Whether somebody asked for the end.
    pub(crate) stop: Stop,
    /// What is timed between any two samples.
    pub(crate) probe: Probe,
    /// Shows who runs.
    pub(crate) progress: ProgressBar,
}

impl Course {
    /// Lets everybody do the task once for nothing, then in turn for as many rounds as the effort
    /// has time for. Where somebody asks for the end, the rounds that are whole by then are the
    /// result.
    ///
    /// # Errors
    /// When a contestant fails.
    pub(crate) fn compete<'a>(
        &mut self,
        contestants: impl IntoIterator<Item = Contestant<'a>>,
    ) -> Result<Vec<Column>, Problem> {
        self.compete_for(1.0, contestants)
    }

    /// The same with `patience` times as much time: where one sample tells little.
    ///
    /// # Errors
    /// When a contestant fails.
    pub(crate) fn compete_for<'a>(
        &mut self,
        patience: f64,
        contestants: impl IntoIterator<Item = Contestant<'a>>,
    ) -> Result<Vec<Column>, Problem> {
        let mut contestants: Vec<_> = contestants.into_iter().collect();
        let mut columns: Vec<Column> =
            contestants.iter().map(|who| Column::new(&who.name, who.ours)).collect();
        if contestants.is_empty() {
            return Ok(columns);
        }
        let begin = Instant::now();
        for contestant in &mut contestants {
            self.progress.set_message(format!("{}, once for nothing", contestant.name));
            if let Err(problem) = (contestant.run)() {
                return if self.stop.asked() { Ok(vec![]) } else { Err(problem) };
            }
        }
        let rounds = self.effort.rounds(begin.elapsed().div_f64(patience));
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        let mut whole = 0;
        let mut before = self.probed()?;
        'rounds: for round in 1..=rounds {
            random.shuffle(&mut order);
            for place in &order {
                let (contestant, column) = (&mut contestants[*place], &mut columns[*place]);
                self.progress.set_message(format!("{}, {round} of {rounds}", contestant.name));
                let value = match (contestant.run)() {
                    _ if self.stop.asked() => break 'rounds,
                    Err(problem) => return Err(problem),
                    Ok(value) => value,
                };
                let after = self.probed()?;
                column.samples.push(Sample { value, probes: [before, after], slow: false });
                before = after;
            }
            whole = round;
        }
        columns.iter_mut().for_each(|column| column.samples.truncate(whole));
        Ok(columns)
    }

    fn probed(&mut self) -> Result<f64, Problem> {
        self.probe
            .run()
            .map_err(|why| Problem::new(format!("the probe of the machine failed: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::measure::Limit;

    fn course(seed: u64) -> Course {
        Course {
            effort: Effort::Quick,
            seed,
            stop: Stop::default(),
            probe: Probe::new(Limit::Work).expect("no sockets are needed"),
            progress: ProgressBar::hidden(),
        }
    }

    /// Who has a turn after whom, round by round.
    fn turns(seed: u64) -> Vec<String> {
        let turns = RefCell::new(String::new());
        let who = |name: &'static str| {
            let turns = &turns;
            Contestant::peer(name, move || {
                turns.borrow_mut().push_str(name);
                Ok(1.0)
            })
        };
        let columns =
            course(seed).compete(vec![who("a"), who("b"), who("c")]).expect("nobody fails");
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"], "columns stay where they were");
        let turns = turns.into_inner();
        turns
            .as_bytes()
            .chunks(3)
            .map(|round| String::from_utf8_lossy(round).into_owned())
            .collect()
    }

    #[test]
    fn they_take_turns_and_the_seed_draws_the_order_of_each_round() {
        let [one, again, other] = [0, 0, 1].map(turns);
        for round in &one {
            assert!(
                ["a", "b", "c"].iter().all(|name| round.contains(name)),
                "everybody has one turn: {round}"
            );
        }
        let (fewer, more) = if one.len() < again.len() { (&one, &again) } else { (&again, &one) };
        assert!(more.starts_with(fewer) && one.len() > 3);
        assert!(one.iter().any(|round| *round != one[1]) && !other.starts_with(&one[..4]));
    }

    #[test]
    fn a_probe_lies_between_any_two_samples() {
        let one = || Contestant::ours("a", || Ok(1.0));
        let columns = course(0).compete(vec![one(), one()]).expect("nobody fails");
        let samples = || columns.iter().flat_map(|column| &column.samples);
        let after: Vec<_> = samples().map(|sample| sample.probes[1].to_bits()).collect();
        let alone = samples().filter(|sample| !after.contains(&sample.probes[0].to_bits()));
        assert_eq!(alone.count(), 1, "what is before one is after another, but for the first");
        assert!(samples().all(|sample| sample.probes[0] > 0.0));
    }

    #[test]
    fn who_is_stopped_keeps_the_rounds_that_are_whole() {
        let mut course = course(0);
        let stop = course.stop.clone();
        let mut turns = 0;
        let second = Contestant::peer("b", || {
            turns += 1;
            if turns == 4 {
                stop.ask();
            }
            Ok(2.0)
        });
        let columns = course
            .compete(vec![Contestant::ours("a", || Ok(1.0)), second])
            .expect("an end is no failure");
        assert_eq!(columns.iter().map(|column| column.samples.len()).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn who_fails_is_told_about() {
        let failing = Contestant::peer("b", || Err(Problem::new("no such file")));
        assert!(course(0).compete(vec![failing]).is_err());
    }
}
