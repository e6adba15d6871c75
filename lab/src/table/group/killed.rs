//! One of the members is killed: how long the others deliver nothing.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use stackwright_programs::processes::eventually;
use stackwright_results::Problem;

use super::entrants::{Casts, Entrant, Entrants, Process, Time};

/// Between two lines that are said.
const OFTEN: Duration = Duration::from_millis(2);
/// How long members may take to come together.
const LONG: Duration = Duration::from_secs(30);
/// How long they talk before one is killed, and how long it is waited for the others afterwards.
const BEFORE: Duration = Duration::from_millis(500);
const AFTER: Duration = Duration::from_secs(3);

/// Kills the last of so many members; returns for how many seconds the second delivered nothing.
///
/// # Errors
/// Where they do not come together, or do not go on.
pub(super) fn longest(entrants: &Entrants, entrant: Entrant, members: u8) -> Result<f64, Problem> {
    if entrant == Entrant::Ours { ours(entrants, members) } else { theirs(entrants, members) }
}

/// Members that talk in lines, of which the first says one all the time.
fn ours(entrants: &Entrants, members: u8) -> Result<f64, Problem> {
    let mut running = Vec::new();
    for place in 0..members {
        let mut command = entrants.ours("talk", place, members);
        command.stdin(Stdio::piped());
        running.push(Process::start(command)?);
    }
    let heard = Heard::new(running[1].0.output(), usize::from(members));
    for (_, one) in running.iter_mut().enumerate().filter(|(place, _)| *place != 1) {
        // It must not stop at a full pipe.
        let output = one.0.output();
        thread::spawn(move || BufReader::new(output).lines().all(|line| line.is_ok()));
    }
    if !eventually(LONG, || heard.are_whole.load(Relaxed)) {
        return Err(Problem::new("the members do not come together"));
    }
    let ends = Arc::new(AtomicBool::new(false));
    let (mut input, over) = (running[0].0.input(), ends.clone());
    let talks = thread::spawn(move || {
        while !over.load(Relaxed) && input.write_all(b"x\n").is_ok() {
            thread::sleep(OFTEN);
        }
    });
    thread::sleep(BEFORE);
    let victim = running.last_mut();
    victim.into_iter().for_each(Process::kill);
    thread::sleep(AFTER);
    ends.store(true, Relaxed);
    let _ = talks.join();
    drop(running);
    let (longest, goes_on) = heard.end();
    if goes_on { Ok(longest) } else { Err(Problem::new("the others do not go on")) }
}

/// What a member shows.
struct Heard {
    are_whole: Arc<AtomicBool>,
    reader: thread::JoinHandle<(f64, bool)>,
}

impl Heard {
    fn new(output: ChildStdout, members: usize) -> Self {
        let are_whole = Arc::new(AtomicBool::new(false));
        let whole = are_whole.clone();
        let reader = thread::spawn(move || {
            let (mut last, mut longest, mut since): (Option<Instant>, _, _) = (None, 0.0_f64, 0);
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                if let Some(all) = said["members"].as_array() {
                    whole.fetch_or(all.len() == members, Relaxed);
                    since = 0;
                    continue;
                }
                let now = Instant::now();
                let pause = last.map_or(0.0, |last| (now - last).as_secs_f64());
                (longest, last, since) = (longest.max(pause), Some(now), since + 1);
            }
            // The last view was another, and much came in it.
            (longest, since > 100)
        });
        Heard { are_whole, reader }
    }

    fn end(self) -> (f64, bool) {
        self.reader.join().unwrap_or_default()
    }
}

/// Members that cast by themselves, and say how long nothing came.
fn theirs(entrants: &Entrants, members: u8) -> Result<f64, Problem> {
    let casts = Casts { length: 64, total: true, one: true };
    let time = Time { warm: 0.5, measured: (BEFORE + AFTER).as_secs_f64() };
    let mut running = Vec::new();
    for place in 0..members {
        let mut command = entrants.member(Entrant::Corosync, place, members, casts, time, "gone");
        command.stdin(Stdio::null());
        running.push(Process::start(command)?);
    }
    let mut output = BufReader::new(running[1].0.output());
    // It says so when it is in a group of all.
    let mut line = String::new();
    output.read_line(&mut line).map_err(Problem::new)?;
    thread::sleep(BEFORE);
    let victim = running.last_mut();
    victim.into_iter().for_each(Process::kill);
    let mut rest = String::new();
    output.read_to_string(&mut rest).map_err(Problem::new)?;
    let said: serde_json::Value =
        serde_json::from_str(rest.lines().last().unwrap_or_default()).unwrap_or_default();
    let longest = said["longest"].as_f64().filter(|longest| *longest > 0.0);
    longest.ok_or_else(|| Problem::new("the others do not go on"))
}
