//! One who takes part: ours by `stackwright perf`, a stranger by the program `peers`.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use stackwright_drivers::tcp::has_congestion;
use stackwright_programs::processes::{Running, eventually};
use stackwright_results::Problem;

use super::ends::Ends;
use super::measured::Measured;
use super::programs::Programs;
use crate::link::Side;

/// Who it is, and how it is started.
#[derive(Clone, Debug)]
pub(crate) struct Rival {
    /// As the table says it.
    pub(crate) name: String,
    pub(crate) ours: bool,
    /// The scheme of ours, the stranger's transport.
    pub(crate) transport: &'static str,
    /// What both ends of ours are told, and the sending end of a stranger.
    pub(crate) options: Vec<String>,
    /// What only the sending end is told.
    pub(crate) sender: Vec<String>,
    /// What only the receiving end is told.
    pub(crate) receiver: Vec<String>,
    /// Where the receiving end of ours listens; 0: at any port.
    port: u16,
    /// The program, with its options, that runs the receiving end of ours, if there is one.
    runner: &'static [&'static str],
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Messages of `size` octets for so long.
    Bulk { size: u64, seconds: f64 },
    /// Messages of `size` octets, so many octets in all.
    Octets { size: u64, octets: u64 },
    /// Messages of 64 octets, to and fro, for so long.
    Requests { seconds: f64 },
    /// So many at once, with an exchange on each.
    Associations { count: u64 },
}

impl Rival {
    /// One of ours.
    pub(crate) fn ours(name: impl Into<String>, transport: &'static str, options: &str) -> Self {
        Rival { ours: true, ..Self::peer(name, transport, options) }
    }

    /// A stranger.
    pub(crate) fn peer(name: impl Into<String>, transport: &'static str, options: &str) -> Self {
        let options = options.split_whitespace().map(str::to_owned).collect();
        Rival {
            name: name.into(),
            ours: false,
            transport,
            options,
            sender: Vec::new(),
            receiver: Vec::new(),
            port: 0,
            runner: &[],
        }
    }

    /// The same, whose sending end is told this, too.
    pub(crate) fn sending(mut self, options: &str) -> Self {
        self.sender.extend(options.split_whitespace().map(str::to_owned));
        self
    }

    /// The same, whose receiving end is told this, too.
    pub(crate) fn receiving(mut self, options: &str) -> Self {
        self.receiver.extend(options.split_whitespace().map(str::to_owned));
        self
    }

    /// The same, whose receiving end listens at this port and is run by this program.
    pub(crate) fn listening(self, port: u16, runner: &'static [&'static str]) -> Self {
        Rival { port, runner, ..self }
    }

    /// What the system lacks for it: a congestion control of the kernel's TCP.
    pub(crate) fn lacks(&self) -> Option<String> {
        let mut told = self.options.iter().chain(&self.sender);
        let name = told.find(|option| *option == "--congestion").and_then(|_| told.next())?;
        let lacks = self.transport == "tcp" && !has_congestion(name);
        lacks.then(|| {
            format!("this system's TCP has no congestion control {name} (modprobe tcp_{name})")
        })
    }

    /// Starts its receiving end at [`Side::B`].
    ///
    /// # Errors
    /// Where it does not start.
    pub(crate) fn serve(
        self,
        ends: &Ends,
        programs: &Programs,
        core: Option<usize>,
    ) -> Result<Serving, Problem> {
        let place = SocketAddr::from((ends.address(Side::B), self.port));
        let program: OsString = programs.of(self.ours)?.into();
        let mut command = match self.runner {
            [] => ends.command(Side::B, &program, core),
            [runner, options @ ..] => {
                let mut command = ends.command(Side::B, OsStr::new(runner), core);
                command.args(options).arg(&program);
                command
            }
        };
        if self.ours {
            command
                .args(["perf", "serve", "--json", "--intervals"])
                .arg(format!("{}://{place}", self.transport));
            command.args(&self.options).args(&self.receiver);
        } else {
            command.args(["serve", self.transport, &place.to_string()]);
        }
        // A stranger's end reads its input, and ends with it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let problem = |why: String| Problem::new(format!("cannot start {}: {why}", self.name));
        let mut process = Running::try_start(&mut command).map_err(Problem::new)?;
        let (mut output, mut errors) = (BufReader::new(process.output()), process.errors());
        let mut line = String::new();
        output.read_line(&mut line).map_err(|why| problem(why.to_string()))?;
        if line.is_empty() {
            // It has ended, and says why.
            errors.read_to_string(&mut line).map_err(|why| problem(why.to_string()))?;
            return Err(problem(line.trim().into()));
        }
        let said: Value =
            serde_json::from_str(&line).map_err(|_| problem(format!("it says {line:?}")))?;
        let place = said["url"].as_str().or(said["listening"].as_str());
        let place = place.ok_or_else(|| problem(format!("it says {line:?}")))?.to_owned();
        // It must not stop at a full pipe.
        let counted = Arc::<Mutex<Option<Counted>>>::default();
        let counting = Arc::clone(&counted);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some(octets) = so_far(&line) {
                    *counting.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(Counted { octets, at: Instant::now() });
                }
            }
        });
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Ok(Serving { rival: self, place, counted, process })
    }
}

/// A sending end at work.
pub(crate) struct Sending {
    name: String,
    process: Running,
}

impl Sending {
    /// Makes sure that it is still at work.
    ///
    /// # Errors
    /// Where it has ended.
    pub(crate) fn goes_on(&mut self) -> Result<(), Problem> {
        if self.process.alive() {
            return Ok(());
        }
        Err(Problem::new(format!("{} ended before its time", self.name)))
    }
}

/// The octets that the receiver's application has, and when it said so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) octets: u64,
    pub(crate) at: Instant,
}

/// What a line of one of ours says of that.
fn so_far(line: &str) -> Option<u64> {
    let said: Value = serde_json::from_str(line).ok()?;
    (said["event"] == "counting").then(|| said["octets"].as_u64())?
}

/// A receiving end that runs.
pub(crate) struct Serving {
    pub(crate) rival: Rival,
    place: String,
    counted: Arc<Mutex<Option<Counted>>>,
    process: Running,
}

/// How much longer than it was told to a run may take.
const PATIENCE: Duration = Duration::from_secs(120);

impl Serving {
    /// The receiving process.
    pub(crate) fn number(&self) -> u32 {
        self.process.number()
    }

    /// What has come, as one of ours said last; twice a second it does.
    pub(crate) fn counted(&self) -> Option<Counted> {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the sending end work.
    ///
    /// # Errors
    /// Where it fails, with what it complains of.
    pub(crate) fn run(
        &self,
        ends: &Ends,
        programs: &Programs,
        work: Work,
        core: Option<usize>,
    ) -> Result<Measured, Problem> {
        self.run_within(PATIENCE, ends, programs, work, core)
    }

    /// Starts the sending end, and leaves it at work until what is returned is dropped.
    ///
    /// # Errors
    /// Where it does not start.
    pub(crate) fn start(
        &self,
        ends: &Ends,
        programs: &Programs,
        work: Work,
    ) -> Result<Sending, Problem> {
        let mut command = self.command(ends, programs, work, None)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Running::try_start(&mut command).map_err(Problem::new)?;
        Ok(Sending { name: self.rival.name.clone(), process })
    }

    /// The same, within another time.
    ///
    /// # Errors
    /// Where it fails, or does not end in time.
    pub(crate) fn run_within(
        &self,
        patience: Duration,
        ends: &Ends,
        programs: &Programs,
        work: Work,
        core: Option<usize>,
    ) -> Result<Measured, Problem> {
        let command = self.command(ends, programs, work, core)?;
        self.measured(command, patience)
    }

    /// The sending end as a command.
    pub(crate) fn command(
        &self,
        ends: &Ends,
        programs: &Programs,
        work: Work,
        core: Option<usize>,
    ) -> Result<Command, Problem> {
        let Rival { ours, transport, options, sender, .. } = &self.rival;
        let program: OsString = programs.of(*ours)?.into();
        let mut command = ends.command(Side::A, &program, core);
        let time = |seconds: f64| {
            if *ours { format!("{}ms", (1e3 * seconds) as u64) } else { seconds.to_string() }
        };
        let (kind, work) = match work {
            Work::Bulk { size, seconds } => {
                ("bulk", format!("--size {size} --time {}", time(seconds)))
            }
            Work::Octets { size, octets } => ("bulk", format!("--size {size} --octets {octets}")),
            Work::Requests { seconds } => ("requests", format!("--time {}", time(seconds))),
            Work::Associations { count } if *ours => ("", format!("--associations {count}")),
            Work::Associations { count } => ("associations", format!("--count {count}")),
        };
        if *ours {
            command.args(["perf", "run", "--json", &self.place]);
            command.args((kind == "requests").then_some("--requests"));
        } else {
            command.args(["run", transport, &self.place, kind]);
        }
        command.args(work.split_whitespace());
        command.args(options).args(sender);
        Ok(command)
    }

    fn measured(&self, mut command: Command, patience: Duration) -> Result<Measured, Problem> {
        let name = &self.rival.name;
        let problem = |why: String| Problem::new(format!("{name}: {why}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Running::try_start(&mut command).map_err(Problem::new)?;
        // What they print fits into a pipe.
        if !eventually(patience, || !process.alive()) {
            return Err(problem("it does not end".into()));
        }
        let (mut said, mut complaint) = (String::new(), String::new());
        process.output().read_to_string(&mut said).map_err(Problem::new)?;
        process.errors().read_to_string(&mut complaint).map_err(Problem::new)?;
        let measured = said.lines().find_map(|line| serde_json::from_str::<Measured>(line).ok());
        measured
            .filter(|_| process.ended().is_some_and(|status| status.success()))
            .ok_or_else(|| problem(format!("{complaint}{said}").trim().to_owned()))
    }
}
