//! Contestants that take turns.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use stackwright_programs::statistics::{Ratio, ratio};

/// Somebody who does a task, and tells the seconds it took.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// What one contestant needed, round by round.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) seconds: Vec<f64>,
}

/// Lets everybody do the task once for nothing, and then in turn `rounds` times.
pub(crate) fn compete(mut contestants: Vec<Contestant<'_>>, rounds: usize) -> Vec<Column> {
    let mut columns: Vec<_> = contestants
        .iter()
        .map(|contestant| Column { name: contestant.name, seconds: Vec::new() })
        .collect();
    for round in 0..=rounds {
        for (contestant, column) in contestants.iter_mut().zip(&mut columns) {
            let seconds = (contestant.run)();
            if round > 0 {
                column.seconds.push(seconds);
            }
        }
    }
    columns
}

/// Whether a target was reached: no slower than somebody else at something, or by so much at most.
pub(crate) struct Verdict {
    /// The ratio that is the target.
    pub(crate) most: f64,
    pub(crate) task: String,
    pub(crate) against: &'static str,
    pub(crate) ratio: Ratio,
}

/// Ours, the first column, against each of the others.
pub(crate) fn verdicts(task: &str, columns: &[Column]) -> Vec<Verdict> {
    let Some((ours, others)) = columns.split_first() else { return Vec::new() };
    let against = |other: &Column| {
        let ratio = ratio(&ours.seconds, &other.seconds)?;
        Some(Verdict { most: 1.0, task: task.into(), against: other.name, ratio })
    };
    others.iter().filter_map(against).collect()
}

/// Times a whole process, which must succeed.
pub(crate) fn time(command: &mut Command) -> f64 {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let seconds = begin.elapsed().as_secs_f64();
    assert!(status.success(), "{command:?}: {status}");
    seconds
}

/// What was transferred must be there, whole; the next round begins without it.
pub(crate) fn check_and_remove(file: &Path, octets: usize) {
    let length = fs::metadata(file).map_or(0, |file| file.len());
    assert_eq!(length, octets as u64, "{}", file.display());
    fs::remove_file(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
