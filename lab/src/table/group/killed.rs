//! One of the members is killed: how soon the others are in a view without it.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use stackwright_programs::processes::eventually;
use stackwright_results::Problem;

use super::entrants::{Casts, Entrant, Entrants, Process, Time};

/// Between two casts.
const OFTEN: Duration = Duration::from_millis(2);
/// How long members may take to come together, and to miss one.
const LONG: Duration = Duration::from_secs(30);
/// How long they cast before one is killed, and how long afterwards.
const BEFORE: Duration = Duration::from_millis(500);
const AFTER: Duration = Duration::from_secs(3);

/// What a killing came to, in seconds.
#[derive(Clone, Copy)]
pub(super) struct Killed {
    /// From the killing until another was told of the view without it.
    pub(super) missed: f64,
    /// The longest time in which another delivered nothing.
    pub(super) longest: f64,
}

/// What a member has said, and when.
#[derive(Default)]
struct Heard {
    is_whole: AtomicBool,
    is_without: AtomicBool,
}

/// Kills the last of so many members while the first casts; the second tells.
///
/// # Errors
/// Where they do not come together, or do not go on.
pub(super) fn killed(
    entrants: &Entrants,
    entrant: Entrant,
    members: u8,
) -> Result<Killed, Problem> {
    let (is_ours, mut running) = (entrant == Entrant::Ours, Vec::new());
    for place in 0..members {
        let mut command = if is_ours {
            entrants.ours("talk", place, members)
        } else {
            let casts = Casts { length: 64, total: true, one: true };
            let time = Time { warm: 0.0, measured: (BEFORE + AFTER).as_secs_f64() };
            entrants.member(entrant, place, members, casts, time, "gone")
        };
        command.stdin(Stdio::piped());
        running.push(Process::start(command)?);
    }
    let heard = Arc::new(Heard::default());
    let mut reader = None;
    for (place, one) in running.iter_mut().enumerate() {
        let lines = BufReader::new(one.0.output()).lines();
        if place == 1 {
            let heard = heard.clone();
            let listen = move || {
                if is_ours { of_talk(lines, members, &heard) } else { of_cpg(lines, &heard) }
            };
            reader = Some(thread::spawn(listen));
        } else {
            // It must not stop at a full pipe.
            thread::spawn(move || lines.map_while(Result::ok).count());
        }
    }
    if !eventually(LONG, || heard.is_whole.load(Relaxed)) {
        return Err(Problem::new("the members do not come together"));
    }
    let ends = Arc::new(AtomicBool::new(false));
    let (mut input, over) = (running[0].0.input(), ends.clone());
    // Members of others cast by themselves, and read none of it.
    let talks = thread::spawn(move || {
        while is_ours && !over.load(Relaxed) && input.write_all(b"x\n").is_ok() {
            thread::sleep(OFTEN);
        }
    });
    thread::sleep(BEFORE);
    let began = Instant::now();
    running.last_mut().into_iter().for_each(Process::kill);
    let is_missed = eventually(LONG, || heard.is_without.load(Relaxed));
    let missed = began.elapsed().as_secs_f64();
    thread::sleep(AFTER.saturating_sub(began.elapsed()));
    ends.store(true, Relaxed);
    let _ = talks.join();
    drop(running);
    let longest = reader.and_then(|reader| reader.join().ok()).flatten();
    let longest = longest.filter(|_| is_missed);
    let longest = longest.ok_or_else(|| Problem::new("the others do not go on"))?;
    Ok(Killed { missed, longest })
}

/// Follows the lines of `group talk`; returns the longest time between two of them, if they went
/// on in the last view.
fn of_talk(lines: Lines<BufReader<ChildStdout>>, members: u8, heard: &Heard) -> Option<f64> {
    let (mut last, mut longest, mut since): (Option<Instant>, _, _) = (None, 0.0_f64, 0);
    for line in lines.map_while(Result::ok) {
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(all) = said["members"].as_array() {
            let is_whole = all.len() == usize::from(members);
            heard.is_without.fetch_or(!is_whole && heard.is_whole.load(Relaxed), Relaxed);
            heard.is_whole.fetch_or(is_whole, Relaxed);
            since = 0;
            continue;
        }
        let now = Instant::now();
        let pause = last.map_or(0.0, |last| (now - last).as_secs_f64());
        (longest, last, since) = (longest.max(pause), Some(now), since + 1);
    }
    (since > 100).then_some(longest)
}

/// Follows what a member of corosync says.
fn of_cpg(lines: Lines<BufReader<ChildStdout>>, heard: &Heard) -> Option<f64> {
    let mut longest = None;
    for line in lines.map_while(Result::ok) {
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        // The first is that all are there.
        heard.is_whole.store(true, Relaxed);
        heard.is_without.fetch_or(said["gone"] == true, Relaxed);
        longest = said["longest"].as_f64();
    }
    longest
}
