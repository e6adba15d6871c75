//! One cell: a process with a time limit, whose result is kept only where it ended well.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use stackwright_results::Problem;

use crate::folder::{Folder, cannot_write};
use crate::sweep::Cell;
use crate::verdict::fell_short;

/// How long a process that shall end may take to do so.
const FAREWELL: Duration = Duration::from_secs(2);
/// Octets of a failed cell's words that are kept: the last ones.
const WORDS_KEPT: u64 = 64 << 10;
/// A process that says more octets than this has gone wrong, and is ended before it fills the disk.
const WORDS_MOST: u64 = 16 << 20;
/// Octets of the largest result.
const RESULT_MOST: u64 = 16 << 20;

/// How a cell ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its result is there, and perhaps says that a promise was broken or a workload not done.
    Done { fell_short: bool },
    /// It has none, and this is why. What it said is kept.
    Failed(String),
    /// It was ended since all shall end.
    Stopped,
}

/// What all cells have in common.
pub(crate) struct Setting<'a> {
    pub(crate) folder: &'a Folder,
    /// The working directory of the processes: where the campaign's file is.
    pub(crate) base: &'a Path,
    /// The program that a cell runs which names none.
    pub(crate) lab: &'a Path,
    pub(crate) stop: &'a AtomicBool,
}

/// Runs a cell. An error is one that the other cells would have too.
pub(crate) fn run(cell: &Cell<'_>, setting: &Setting<'_>) -> Result<Outcome, Problem> {
    let Setting { folder, stop, .. } = setting;
    let part = folder.begin(cell)?;
    let mut words =
        tempfile::tempfile().map_err(|error| cannot_write(&std::env::temp_dir(), &error))?;
    let mut child = start(cell, setting, &part, &words)?;
    let ended = wait(&mut child, cell.sweep.limit, &words, &part, stop);
    let ended = ended.map_err(|error| Problem::new(format!("{}: {error}", cell.full_name())))?;
    let why = match ended {
        Ended::Stopped => return Ok(Outcome::Stopped),
        Ended::Killed(why) => why,
        Ended::Exited(status) if status.success() => match result_of(&part) {
            Ok(result) => {
                folder.keep(cell, part)?;
                return Ok(Outcome::Done { fell_short: fell_short(&result) });
            }
            Err(why) => why,
        },
        Ended::Exited(status) => sentence(status),
    };
    if folder.is_full() {
        return Err(folder.full());
    }
    keep_words(&mut words, &folder.words(cell), &why, folder)?;
    Ok(Outcome::Failed(why))
}

fn start(
    cell: &Cell<'_>,
    setting: &Setting<'_>,
    part: &Path,
    words: &File,
) -> Result<Child, Problem> {
    // A name is looked for as a shell does; a path is from the campaign file's folder.
    let program = match &cell.sweep.program {
        Some(path) if path.contains('/') => setting.base.join(path),
        Some(name) => name.into(),
        None => setting.lab.to_owned(),
    };
    let stdout = if cell.sweep.prints_its_result() {
        File::options().write(true).open(part).map_err(|error| cannot_write(part, &error))?.into()
    } else {
        Stdio::null()
    };
    let stderr = words.try_clone().map_err(|error| cannot_write(part, &error))?;
    // A group of its own: Ctrl-C reaches us alone, and what it starts can be ended with it.
    Command::new(&program)
        .args(cell.words(part))
        .current_dir(setting.base)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(|error| {
            Problem::new(format!("cannot start {}: {error}", program.display())).advise(format!(
                "check `program` of the sweep `{}`; a relative path starts at the campaign file's folder",
                cell.sweep.name
            ))
        })
}

enum Ended {
    Exited(ExitStatus),
    Killed(String),
    Stopped,
}

/// Waits until it ends, and ends it where it takes too long, writes too much, or all shall stop.
fn wait(
    child: &mut Child,
    limit: Duration,
    words: &File,
    part: &Path,
    stop: &AtomicBool,
) -> io::Result<Ended> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited(status));
        }
        let took = begin.elapsed();
        if stop.load(Ordering::Relaxed) {
            end(child)?;
            return Ok(Ended::Stopped);
        }
        if took > limit {
            end(child)?;
            return Ok(Ended::Killed(format!("it took longer than {} s", limit.as_secs_f64())));
        }
        let result = std::fs::metadata(part).map_or(0, |result| result.len());
        if words.metadata()?.len() > WORDS_MOST || result > RESULT_MOST {
            end(child)?;
            return Ok(Ended::Killed(format!("it wrote more than {} MB", WORDS_MOST >> 20)));
        }
        // Short cells are seen to end soon, and long ones are seldom looked at.
        thread::sleep((took / 16).clamp(Duration::from_millis(1), Duration::from_millis(50)));
    }
}

/// Asks the process and all that it started to end, and after a while does not ask.
fn end(child: &mut Child) -> io::Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let tell = |signal| group.map_or(Ok(()), |group| kill_process_group(group, signal));
    // Where nobody is left in the group there is nobody to tell.
    let _ = tell(Signal::TERM);
    let begin = Instant::now();
    while child.try_wait()?.is_none() && begin.elapsed() < FAREWELL {
        thread::sleep(Duration::from_millis(10));
    }
    let _ = tell(Signal::KILL);
    child.wait()?;
    Ok(())
}

/// Reads a result, which is JSON, so that a summary can read it.
fn result_of(part: &Path) -> Result<Value, String> {
    let file = File::open(part).map_err(|error| format!("its result cannot be read: {error}"))?;
    match file.metadata().map(|there| there.len()) {
        Ok(0) => return Err("it succeeded without writing a result".into()),
        Ok(length) if length > RESULT_MOST => {
            return Err(format!("its result has {length} octets; the limit is {RESULT_MOST}"));
        }
        _ => {}
    }
    serde_json::from_reader(io::BufReader::new(file))
        .map_err(|error| format!("its result is not JSON: {error}"))
}

fn sentence(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it failed with exit code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => format!("it ended: {status}"),
    }
}

/// Keeps the last words of a failed cell, and why it failed.
fn keep_words(words: &mut File, path: &Path, why: &str, folder: &Folder) -> Result<(), Problem> {
    let length = words.metadata().map_or(0, |there| there.len());
    let mut kept = Vec::new();
    let read = words
        .seek(SeekFrom::Start(length.saturating_sub(WORDS_KEPT)))
        .and_then(|_| words.take(WORDS_KEPT).read_to_end(&mut kept));
    read.map_err(|error| cannot_write(path, &error))?;
    folder.write(path, |file| {
        file.write_all(&kept)?;
        if !kept.is_empty() && !kept.ends_with(b"\n") {
            writeln!(file)?;
        }
        writeln!(file, "campaign: {why}")
    })
}
