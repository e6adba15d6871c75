//! A transcript is followed: each of its lines has to be a transition of a role.

use std::io::{self, BufRead as _};

use stackwright_spec::TranscriptMonitor;

use super::arguments::Monitor;
use crate::problem::Problem;
use crate::report::say;
use crate::specification::Source;

pub(super) fn monitor(monitor: &Monitor) -> Result<(), Problem> {
    let source = Source::load(&monitor.of.file)?;
    let nth = source.role(monitor.of.role.as_deref())?;
    let mut follows = TranscriptMonitor::new(&source.compiled, nth, monitor.ahead);
    let mut lines = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        lines += 1;
        follows.line(&line).map_err(|why| {
            let place = format!("line {lines}, `{}`", line.trim());
            Problem::Transcript { place, why }
        })?;
    }
    let at_end = |why| Problem::Transcript { place: "at the end".into(), why };
    follows.end().map_err(at_end)?;
    let role = &source.compiled.program.roles[nth].name;
    say!("{lines} lines, each a transition of {role}");
    Ok(())
}
