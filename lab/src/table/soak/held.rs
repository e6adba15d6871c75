//! What two processes hold while one of them works.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use stackwright_programs::processes::Running;
use stackwright_results::Problem;

use crate::measure::Course;
use crate::table::transports::Measured;

/// What a run came to, and what was seen meanwhile.
pub(super) struct Watched {
    pub(super) measured: Measured,
    /// Of the sender and of the receiver, in octets, in steps of equal length.
    pub(super) held: Vec<[f64; 2]>,
}

/// How often it is looked at first. When there are too many looks, every other one is forgotten,
/// and the steps are twice as long.
const STEP: Duration = Duration::from_millis(20);
const LOOKS_MOST: usize = 2000;

/// How long the receiver stands still at a time, and how long it goes between.
const STILL: Duration = Duration::from_millis(2);
const GOES: Duration = Duration::from_millis(5);

/// Runs `command`, and lets `receiver` stand still now and then, as a busy machine does: what lies
/// before it when it goes on takes as many blocks as ever will be taken. Without this the pool
/// takes them in the measured run, once, at a moment that the machine chooses.
pub(super) fn fill(mut command: Command, receiver: u32, course: &Course) -> Result<(), Problem> {
    let mut process = start(command.stdout(Stdio::null()))?;
    loop {
        if let Some(status) = process.ended() {
            let failed = || Problem::new(format!("the warm-up run failed: {status}"));
            return status.success().then_some(()).ok_or_else(failed);
        }
        if course.stop.asked() {
            return Err(Problem::interrupted());
        }
        tell(receiver, Signal::STOP)?;
        std::thread::sleep(STILL);
        tell(receiver, Signal::CONT)?;
        std::thread::sleep(GOES);
    }
}

fn tell(process: u32, signal: Signal) -> Result<(), Problem> {
    let gone = || Problem::new("the receiver ended unexpectedly");
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    kill_process(process, signal).map_err(Problem::new)
}

/// Runs `command`, and looks at its process and at `receiver` until it ends.
pub(super) fn watch(
    mut command: Command,
    receiver: u32,
    course: &Course,
) -> Result<Watched, Problem> {
    let mut process = start(command.stdout(Stdio::piped()))?;
    let (mut held, mut step) = (Vec::new(), STEP);
    let status = loop {
        if let Some(status) = process.ended() {
            break status;
        }
        if course.stop.asked() {
            return Err(Problem::interrupted());
        }
        held.extend(both(process.number(), receiver));
        if held.len() > LOOKS_MOST {
            let mut place = 0;
            held.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            step *= 2;
        }
        std::thread::sleep(step);
    };
    let mut said = String::new();
    process.output().read_to_string(&mut said).map_err(Problem::new)?;
    let measured = said.lines().find_map(|line| serde_json::from_str(line).ok());
    let measured = measured.filter(|_| status.success() && held.len() >= 8);
    let measured = measured
        .ok_or_else(|| Problem::new(format!("the run failed, or was too short: {said}")))?;
    Ok(Watched { measured, held })
}

/// Runs `command` until it says that all are open, and gives what both processes hold more than
/// before, the sender and the receiver, in octets.
pub(super) fn idle(mut command: Command, receiver: u32) -> Result<[f64; 2], Problem> {
    let before =
        resident(receiver).ok_or_else(|| Problem::new("the receiver ended unexpectedly"))?;
    let mut process = start(command.stdout(Stdio::piped()))?;
    for line in BufReader::new(process.output()).lines() {
        let line = line.map_err(Problem::new)?;
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if said["event"] == "holding" {
            // What is still on its way comes to rest.
            std::thread::sleep(Duration::from_secs(1));
            let [sender, receiver] =
                both(process.number(), receiver).ok_or_else(|| Problem::new("an end is gone"))?;
            return Ok([sender, receiver - before]);
        }
        if said["event"] == "failed" {
            return Err(Problem::new(format!("cannot open the associations: {}", said["error"])));
        }
    }
    Err(Problem::new("the run ended before all associations were open"))
}

fn start(command: &mut Command) -> Result<Running, Problem> {
    Running::try_start(command).map_err(Problem::new)
}

fn both(sender: u32, receiver: u32) -> Option<[f64; 2]> {
    Some([resident(sender)?, resident(receiver)?])
}

/// The resident memory of a process, in octets.
fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}
