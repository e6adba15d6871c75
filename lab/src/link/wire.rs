//! A link as a value: up while it is held.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::IpAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Profile};

use super::counts::Report;
use super::rights;
use super::side::Side;

/// A link that is up. It and both ends are gone when this is dropped.
///
/// The link runs in a process of its own, this program started once more: its processor time is not
/// counted to whoever measures, it does not wait for a thread of theirs, and it ends and cleans up
/// when they are killed, since it then reads the end of its input.
#[derive(Debug)]
pub(crate) struct Wire {
    process: Child,
    /// Closed, the link ends.
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    namespaces: [String; 2],
}

/// What the process says.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Said {
    Up { a: EndSaid, b: EndSaid },
    Counts { forward: Report, back: Report },
    Done { forward: Report, back: Report },
}

#[derive(Deserialize)]
struct EndSaid {
    namespace: String,
}

impl Wire {
    /// Brings a link up: `forward` is what befalls the packets of [`Side::A`], `back` those of
    /// [`Side::B`].
    ///
    /// # Errors
    ///
    /// Where a right or a program is missing, as `lab link` says it.
    pub(crate) fn up(forward: Conditions, back: Conditions, seed: u64) -> Result<Wire, Problem> {
        Wire::over(&Profile::Link { forward, back }, seed)
    }

    /// The same, with what lies between the ends as `profile` says it: a shared channel also.
    ///
    /// # Errors
    ///
    /// As [`Wire::up`].
    pub(crate) fn over(profile: &Profile, seed: u64) -> Result<Wire, Problem> {
        // The process would say it as well, but not to the caller.
        rights::check()?;
        let cannot =
            |error: std::io::Error| Problem::new(format!("cannot start `lab link`: {error}"));
        let profile = serde_json::to_string(profile)
            .map_err(|error| Problem::new(format!("cannot write the link's profile: {error}")))?;
        let mut process = Command::new(std::env::current_exe().map_err(cannot)?)
            .args([
                "link",
                "--json",
                "--attended",
                "--profile",
                &profile,
                "--seed",
                &seed.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let (Some(ask), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Problem::new("`lab link` has no pipes"));
        };
        // From here on, dropping it ends the process.
        let mut wire = Wire {
            process,
            ask: Some(ask),
            answers: BufReader::new(answers),
            namespaces: Default::default(),
        };
        match wire.said()? {
            Said::Up { a, b } => wire.namespaces = [a.namespace, b.namespace],
            Said::Counts { .. } | Said::Done { .. } => return Err(disorder()),
        }
        Ok(wire)
    }

    /// `program`, to be run at that side; arguments follow as usual.
    pub(crate) fn command(&self, side: Side, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespaces[side as usize]]).arg(program);
        command
    }

    /// The address of a side.
    pub(crate) fn address(&self, side: Side) -> IpAddr {
        side.address()
    }

    /// What became of the packets so far: forward and back.
    ///
    /// # Errors
    ///
    /// Where the link has ended.
    pub(crate) fn report(&mut self) -> Result<[Report; 2], Problem> {
        let asked = self.ask.as_mut().map(|ask| ask.write_all(b"counts\n"));
        if !matches!(asked, Some(Ok(()))) {
            return Err(disorder());
        }
        match self.said()? {
            Said::Counts { forward, back } => Ok([forward, back]),
            Said::Up { .. } | Said::Done { .. } => Err(disorder()),
        }
    }

    /// Ends the link, and tells what became of its packets: those also that the kernel dropped
    /// before they could be read.
    ///
    /// # Errors
    ///
    /// Where it has ended before.
    pub(crate) fn down(mut self) -> Result<[Report; 2], Problem> {
        self.ask = None;
        match self.said()? {
            Said::Done { forward, back } => Ok([forward, back]),
            Said::Up { .. } | Said::Counts { .. } => Err(disorder()),
        }
    }

    fn said(&mut self) -> Result<Said, Problem> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.ok().and_then(|_| serde_json::from_str(&line).ok()).ok_or_else(disorder)
    }
}

/// What it complained of, it has said itself.
fn disorder() -> Problem {
    Problem::new("the link ended unexpectedly").advise("see the messages above")
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.process.wait();
    }
}
