//! The command that a link is made for.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use stackwright_contract::{Duration, Instant};
use stackwright_results::Problem;

use super::namespace::Namespace;
use super::signals::Stop;

/// How long it may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A command that runs. It is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// When it is killed, if it was asked to end.
    killed: Option<Instant>,
}

impl Running {
    /// Starts what `command` says, in `namespace`; `None` where it says nothing.
    ///
    /// # Errors
    ///
    /// Where there is no `ip`. A program that is not there is told by it, with exit code 255.
    pub(super) fn start(
        namespace: &Namespace,
        command: &[OsString],
    ) -> Result<Option<Running>, Problem> {
        if command.is_empty() {
            return Ok(None);
        }
        let child =
            Command::new("ip").args(["netns", "exec", namespace.name()]).args(command).spawn();
        let child =
            child.map_err(|error| Problem::new(format!("cannot run the command: {error}")))?;
        Ok(Some(Running { child, killed: None }))
    }

    /// With which exit code it has ended; as a shell says it where a signal ended it. It is asked
    /// to end when somebody wants to `stop`, and killed where it does not.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn ended(
        &mut self,
        stop: Option<Stop>,
        now: Instant,
    ) -> Result<Option<ExitCode>, Problem> {
        let lost = |error| Problem::new(format!("cannot wait for the command: {error}"));
        if let Some(status) = self.child.try_wait().map_err(lost)? {
            return Ok(Some(code(status)));
        }
        match (stop, self.killed) {
            (Some(stop), None) => {
                // A terminal tells it of Ctrl-C itself.
                if stop == Stop::Terminated {
                    let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
                }
                self.killed = Some(now + GRACE);
            }
            (Some(_), Some(at)) if now >= at => self.child.kill().map_err(lost)?,
            _ => {}
        }
        Ok(None)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of one that has ended, neither does anything.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
