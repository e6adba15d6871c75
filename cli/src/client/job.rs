//! What a session is asked to do, and what is told of it.

use std::time::Duration;

use stackwright::contract::Handle;
use stackwright::contract::ask::PathReport;
use stackwright::contract::services::{Failure, Status};
use stackwright::copy::{CopySide, Indication, Request, TreeTotals};

use super::SERVER;
use super::engine::Told;
use crate::problem::Problem;

/// A request, and what its files are called in reports.
pub(crate) struct Job {
    pub(crate) request: Request,
    /// What it uses on the server.
    pub(crate) remote: String,
    /// What it uses on this machine.
    pub(crate) local: String,
    /// Whether it is tried again when the connection is lost: whoever does it twice has the same.
    pub(crate) is_repeatable: bool,
}

/// The name of the job at `index` of those that are asked for together.
pub(crate) fn name(index: usize) -> Handle {
    Handle { index: index as u32, generation: 0 }
}

impl Job {
    /// Makes a job that uses nothing on this machine, and is not done twice.
    pub(crate) fn on_server(request: Request, remote: String) -> Self {
        Job { request, remote, local: String::new(), is_repeatable: false }
    }

    /// The failure, in words.
    pub(crate) fn problem(
        &self,
        side: CopySide,
        failure: Failure,
        said: Option<String>,
    ) -> Problem {
        let place = if side == SERVER { &self.remote } else { &self.local };
        Problem::Transfer { place: place.clone(), failure, said: said.filter(|_| side == SERVER) }
    }
}

/// What a job that succeeded did.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Copied {
        /// The length of the file.
        octets: u64,
        /// How many octets of it were moved: the others were there.
        moved: u64,
        took: Duration,
    },
    Listed,
    Stated(Status),
    /// What has no other result.
    Did,
    Tree(TreeTotals),
}

impl Done {
    /// Returns what a job did whose last word this is; `None` if it is not the last, or a failure.
    pub(crate) fn of(indication: &Indication) -> Option<Self> {
        Some(match *indication {
            Indication::Copied { octets, moved, took, .. } => Done::Copied { octets, moved, took },
            Indication::Listed { .. } => Done::Listed,
            Indication::Stated { status, .. } => Done::Stated(status),
            Indication::Done { .. } => Done::Did,
            Indication::TreeDone { totals, .. } => Done::Tree(totals),
            _ => return None,
        })
    }
}

/// What hears of jobs while they run.
pub(crate) trait Watch {
    /// What was told so far is all for now; `path` returns what the transport of a job knows.
    fn turned(&mut self, _path: &dyn Fn(Handle) -> Option<PathReport>) {}

    /// Tells something of a job that is not its end.
    fn told(&mut self, _job: usize, _told: &Told) {}

    /// A job has ended.
    fn ended(&mut self, job: usize, outcome: Result<Done, Problem>);

    /// A job is tried again after `pause`: the `tries`-th time of at most `most`.
    fn again(&mut self, job: usize, problem: &Problem, pause: Duration, tries: u32, most: u32);
}
