//! A process of this program at one end of a wire, which says in lines of JSON what it has to tell.

use std::io::{BufReader, Write as _};
use std::process::{ChildStdout, Command, Stdio};

use serde::{Serialize, de::DeserializeOwned};
use stackwright_programs::processes::Running;
use stackwright_results::Problem;

use super::station::hear;
use crate::link::{Side, Wire};

/// The process; ended when dropped.
pub(crate) struct Process {
    who: &'static str,
    running: Running,
    said: BufReader<ChildStdout>,
}

impl Process {
    /// Starts this program with `arguments` at a side of `wire`, or without a wire.
    ///
    /// # Errors
    /// Where it does not start.
    pub(crate) fn start(
        who: &'static str,
        wire: Option<(&Wire, Side)>,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<Self, Problem> {
        let program = std::env::current_exe().map_err(Problem::new)?;
        let mut command = wire
            .map_or_else(|| Command::new(&program), |(wire, side)| wire.command(side, &program));
        arguments(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running::try_start(&mut command).map_err(Problem::new)?;
        let said = BufReader::new(running.output());
        Ok(Process { who, running, said })
    }

    /// Hears its next line.
    ///
    /// # Errors
    /// Where it says something else, or nothing any more.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Problem> {
        hear(&mut self.said).ok_or_else(|| Problem::new(format!("the {} failed", self.who)))
    }

    /// Says the last line that it hears.
    ///
    /// # Errors
    /// Where it has ended.
    pub(crate) fn tell(&mut self, what: &impl Serialize) -> Result<(), Problem> {
        let line = serde_json::to_string(what).map_err(Problem::new)?;
        writeln!(self.running.input(), "{line}").map_err(Problem::new)
    }

    /// Lets it hear that nothing more is said.
    pub(crate) fn end(&mut self) {
        drop(self.running.input());
    }
}
