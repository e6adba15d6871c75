//! All rivals in turns.

use stackwright_results::Problem;
use stackwright_results::outcome::Column;

use super::ends::Ends;
use super::measured::Measured;
use super::programs::Programs;
use super::rival::{Rival, Work};
use crate::measure::{Contestant, Course, Effort};

/// How long one sample lasts, in seconds.
pub(crate) fn seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 0.5,
        Effort::Usual => 1.5,
        Effort::Full => 4.0,
    }
}

/// Where, and by which programs.
#[derive(Clone, Copy)]
pub(crate) struct Contest<'a> {
    pub(crate) ends: &'a Ends,
    pub(crate) programs: &'a Programs,
    /// Which processor each end has: the sending one, the receiving one.
    pub(crate) cores: [Option<usize>; 2],
    /// Whether a run that fails counts as nothing: where a link may be too bad for somebody.
    pub(crate) may_fail: bool,
}

impl Contest<'_> {
    /// Lets all of them do `work`; who is not here is left out. `value` makes the row's number of
    /// what a run came to.
    ///
    /// # Errors
    /// Where one of ours does not start, or a run fails and may not.
    pub(crate) fn hold(
        &self,
        rivals: Vec<Rival>,
        work: Work,
        value: impl Fn(&Measured) -> Option<f64>,
        course: &mut Course,
    ) -> Result<Vec<Column>, Problem> {
        let Contest { ends, programs, cores: [near, far], may_fail } = *self;
        let mut serving = Vec::new();
        for rival in rivals.into_iter().filter(|rival| rival.ours || programs.has_peers()) {
            let (ours, name) = (rival.ours, rival.name.clone());
            if let Some(why) = rival.lacks() {
                course.progress.suspend(|| eprintln!("lab: skipping {name}: {why}"));
                continue;
            }
            match rival.serve(ends, programs, far) {
                Ok(one) => serving.push(one),
                Err(problem) if ours => return Err(problem),
                // One that is not installed: the others are measured.
                Err(problem) => {
                    let says = problem.says();
                    course.progress.suspend(|| eprintln!("lab: skipping {name}: {says}"));
                }
            }
        }
        let value = &value;
        let contestants = serving.iter().map(|one| {
            let run = move || {
                let measured = match one.run(ends, programs, work, near) {
                    Err(_) if may_fail && !one.rival.ours => return Ok(0.0),
                    other => other?,
                };
                value(&measured).ok_or_else(|| {
                    Problem::new(format!("{} does not report this figure", one.rival.name))
                })
            };
            let name = one.rival.name.clone();
            if one.rival.ours { Contestant::ours(name, run) } else { Contestant::peer(name, run) }
        });
        let mut columns = course.compete(contestants)?;
        // Nothing at all, time after time, is no number to compare with where less is better.
        columns
            .retain(|column| column.ours || column.samples.iter().any(|sample| sample.value > 0.0));
        Ok(columns)
    }
}
