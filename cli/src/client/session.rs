//! A server and a place on this machine, between which files are copied: connected when something
//! is asked, and again where the connection was lost.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stackwright::contract::services::Failure;
use stackwright::copy::{CopySide, Indication, Request};
use stackwright_drivers::Waker;

use super::SERVER;
use super::engine::{Engine, Told};
use super::job::{Done, Job, Watch};
use super::open::open;
use super::route::{Limits, Route};
use super::work::{LOOK, Work};
use crate::graphs::Local;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::remote::Below;

/// How long the program takes at most to close its associations once it has what was requested. It
/// takes two round trips: a geostationary path needs more than a second.
const FAREWELL: Duration = Duration::from_secs(2);
/// The same by radio: a station that is left without a word asks for a long time.
const FAREWELL_BY_RADIO: Duration = Duration::from_secs(60);

/// How often a job whose connection is lost is tried again, where nobody says it.
const RETRIES: u32 = 3;

/// A server, and a place on this machine.
pub(crate) struct Session<'a> {
    route: Rc<Route<'a>>,
    local: Local,
    /// How long a connection without a job is kept, and how many there are at most.
    limits: Limits,
    engine: Option<Box<dyn Engine>>,
    /// When jobs are given up, as if a person did it.
    deadline: Option<Instant>,
    /// Which address of the host is in use.
    address: usize,
    /// Whether the server has answered there.
    is_reached: bool,
}

/// How long a connection stays without a file: the next one may wait for the disk.
const BETWEEN_FILES: Duration = Duration::from_millis(100);

impl<'a> Session<'a> {
    /// Makes a session, which connects when something is asked, and leaves as soon as nothing is.
    pub(crate) fn new(route: Route<'a>, local: Local) -> Self {
        let limits = Limits { idle: Duration::ZERO, sessions: None };
        let route = Rc::new(route);
        Session {
            route,
            local,
            limits,
            engine: None,
            deadline: None,
            address: 0,
            is_reached: false,
        }
    }

    /// Makes a session at the same server with another place on this machine.
    pub(crate) fn beside(&self, local: Local) -> Self {
        let limits = Limits { idle: Duration::ZERO, sessions: None };
        Session { route: Rc::clone(&self.route), local, limits, engine: None, ..*self }
    }

    /// The options of the command that copies, as they were given; `None` of other commands.
    pub(crate) fn options(&self) -> Option<&[String]> {
        self.route.connection.options.as_deref()
    }

    /// Sets how many connections there are at most, from the next time on that it connects.
    pub(crate) fn set_most(&mut self, sessions: u16) {
        // By radio, a second connection takes its share from the first.
        let sessions = if self.route.below == Below::Radio { 1 } else { sessions };
        self.limits.sessions = Some(sessions.into());
        self.limits.idle = self.limits.idle.max(BETWEEN_FILES);
    }

    /// Sets how long a connection without a job is kept, from the next time on that it connects.
    pub(crate) fn set_idle(&mut self, idle: Duration) {
        self.limits.idle = idle;
    }

    /// Returns what ends a [rest](Session::rest) from another thread; `None` without a connection.
    pub(crate) fn waker(&mut self) -> Option<Arc<Waker>> {
        self.engine.as_mut().and_then(|engine| engine.waker().ok())
    }

    /// Waits until there is something to do for what is connected, and does it.
    pub(crate) fn rest(&mut self) {
        if let Some(engine) = &mut self.engine {
            if engine.turn(None).is_err() {
                self.engine = None;
                return;
            }
            while engine.told().is_some() {} // there is no job
        }
    }

    /// Sets for how long jobs may take that are asked for from now on.
    pub(crate) fn set_deadline(&mut self, within: Option<Duration>) {
        self.deadline = within.map(|within| Instant::now() + within);
    }

    /// Does one job.
    pub(crate) fn one(
        &mut self,
        job: Job,
        told: &mut dyn FnMut(&Indication),
    ) -> Result<Done, Problem> {
        let mut one = One { told, outcome: None, is_quiet: self.route.connection.json };
        self.all(&[job], 1, &mut one)?;
        one.outcome.unwrap_or(Err(Problem::Interrupted))
    }

    /// Does all jobs, as many as `at_once` at a time, and tries again what may succeed a little
    /// later.
    ///
    /// # Errors
    /// If none of them can be done: the server is not reached or does not accept the user, or a
    /// person interrupts.
    pub(crate) fn all(
        &mut self,
        jobs: &[Job],
        at_once: usize,
        watch: &mut dyn Watch,
    ) -> Result<(), Problem> {
        let interrupted = interrupts()?;
        let mut work = Work::new(jobs.len(), at_once);
        while !work.is_done() {
            let is_late = self.deadline.is_some_and(|deadline| deadline < Instant::now());
            if is_late || interrupted.load(Ordering::Relaxed) {
                self.give_up(&mut work)?;
                return Err(Problem::Interrupted);
            }
            while let Some(job) = work.begin() {
                self.engine()?.request(jobs[job].request.clone());
            }
            self.engine()?.turn(Some(work.wait_most()))?;
            while let Some(told) = self.engine.as_mut().and_then(|engine| engine.told()) {
                let job = told.indication.job().index as usize;
                // What was given up may still say something.
                if work.is_open(job) {
                    self.on_told(&jobs[job], job, told, &mut work, watch)?;
                }
            }
            if let Some(engine) = &self.engine {
                watch.turned(&|job| engine.path(job));
            }
        }
        Ok(())
    }

    fn on_told(
        &mut self,
        job: &Job,
        index: usize,
        told: Told,
        work: &mut Work,
        watch: &mut dyn Watch,
    ) -> Result<(), Problem> {
        if let Indication::Failed { side, failure, .. } = told.indication {
            if side == SERVER && is_of_server(failure) && !self.is_reached {
                return self.on_not_reached(failure, told.said, work);
            }
            let problem = job.problem(side, failure, told.said);
            let most = self.route.connection.retries.unwrap_or(RETRIES);
            let tries = work.tries(index);
            let is_reached = self.is_reached || tries > 0;
            if job.is_repeatable && tries < most && may_pass(side, failure, is_reached) {
                let pause = work.again(index);
                watch.again(index, &problem, pause, tries + 1, most);
            } else {
                work.end(index);
                watch.ended(index, Err(problem));
            }
            return Ok(());
        }
        self.is_reached = true;
        match Done::of(&told.indication) {
            Some(done) => {
                work.end(index);
                watch.ended(index, Ok(done));
            }
            None => watch.told(index, &told),
        }
        Ok(())
    }

    /// Goes on with the host's next address, or ends all jobs.
    fn on_not_reached(
        &mut self,
        failure: Failure,
        said: Option<String>,
        work: &mut Work,
    ) -> Result<(), Problem> {
        let address = self.route.addresses[self.address];
        if failure == Failure::Unreachable && self.address + 1 < self.route.addresses.len() {
            self.address += 1;
            self.engine = None;
            work.restart();
            return Ok(());
        }
        self.give_up(work)?;
        Err(Problem::Transfer { place: address.to_string(), failure, said })
    }

    /// Returns the engine; makes it, if there is none.
    fn engine(&mut self) -> Result<&mut Box<dyn Engine>, Problem> {
        if self.engine.is_none() {
            let address = self.route.addresses[self.address];
            self.engine = Some(open(&self.route, address, &self.limits, &self.local)?);
        }
        Ok(self.engine.as_mut().expect("it was made"))
    }

    /// Ends the jobs that are open, and waits for that: what is incomplete is removed, or kept for
    /// the next time.
    fn give_up(&mut self, work: &mut Work) -> Result<(), Problem> {
        let farewell = self.farewell();
        let Some(engine) = &mut self.engine else { return Ok(()) };
        if work.has_open() {
            engine.request(Request::GiveUp);
        }
        let since = Instant::now();
        while work.has_open() && since.elapsed() < farewell {
            engine.turn(Some(LOOK))?;
            while let Some(Told { indication, .. }) = engine.told() {
                let is_last = matches!(indication, Indication::Failed { .. });
                if is_last || Done::of(&indication).is_some() {
                    work.end(indication.job().index as usize);
                }
            }
        }
        work.give_up();
        Ok(())
    }

    fn farewell(&self) -> Duration {
        if self.route.below == Below::Radio { FAREWELL_BY_RADIO } else { FAREWELL }
    }

    /// Returns how many lines of listings were not understood since the last call.
    pub(crate) fn take_unreadable(&mut self) -> u64 {
        self.engine.as_mut().map_or(0, |engine| engine.take_unreadable())
    }

    /// Leaves the server. The answer to that is not awaited: it takes a round trip, and changes
    /// nothing here.
    pub(crate) fn close(mut self) -> Result<(), Problem> {
        let farewell = self.farewell();
        let Some(mut engine) = self.engine.take() else { return Ok(()) };
        engine.request(Request::Leave);
        let since = Instant::now();
        while !engine.may_exit() && since.elapsed() < farewell {
            engine.turn(Some(LOOK))?;
        }
        Ok(())
    }
}

/// Whether a failure of the server is that of all jobs.
fn is_of_server(failure: Failure) -> bool {
    use Failure::{Insecure, NotLoggedIn, Unreachable, Untrusted};
    matches!(failure, Unreachable | NotLoggedIn | Untrusted { .. } | Insecure(_))
}

/// Whether the same may succeed a little later. A server that was never reached is not there; one
/// that was may come back.
fn may_pass(side: CopySide, failure: Failure, is_reached: bool) -> bool {
    side == SERVER
        && match failure {
            Failure::Lost => true,
            Failure::Unreachable | Failure::Expired => is_reached,
            _ => false,
        }
}

/// What hears of a single job.
struct One<'a> {
    told: &'a mut dyn FnMut(&Indication),
    outcome: Option<Result<Done, Problem>>,
    is_quiet: bool,
}

impl Watch for One<'_> {
    fn told(&mut self, _: usize, told: &Told) {
        (self.told)(&told.indication);
    }

    fn ended(&mut self, _: usize, outcome: Result<Done, Problem>) {
        self.outcome = Some(outcome);
    }

    fn again(&mut self, _: usize, problem: &Problem, pause: Duration, tries: u32, most: u32) {
        if !self.is_quiet {
            let seconds = pause.as_secs();
            eprintln!("stackwright: {problem}; trying again in {seconds} s ({tries} of {most})");
        }
    }
}
