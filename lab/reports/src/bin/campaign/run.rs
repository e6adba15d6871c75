//! Runs cells on the local processors, as many at once as there are workers; the rest may follow
//! another time.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use stackwright_results::Problem;

use crate::child::{self, Outcome, Setting};
use crate::description::Campaign;
use crate::folder::Folder;
use crate::verdict::fell_short;

/// Failed cells that are named.
const NAMED_MOST: usize = 100;

/// What became of the cells.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) cells: u64,
    /// Had their results already.
    pub(crate) before: u64,
    pub(crate) done: u64,
    /// Of those that are done or had their results, whose results say that a promise was broken, or
    /// a workload not done.
    pub(crate) fell_short: u64,
    pub(crate) failed: u64,
    /// The first failed ones, each with the reason.
    pub(crate) named: Vec<(String, String)>,
    pub(crate) took: Duration,
}

/// A run of some cells.
pub(crate) struct Run<'a> {
    pub(crate) campaign: &'a Campaign,
    pub(crate) folder: &'a Folder,
    /// Where the campaign's file is.
    pub(crate) base: &'a Path,
    pub(crate) cells: Range<u64>,
    pub(crate) workers: usize,
    /// No progress bar.
    pub(crate) quiet: bool,
}

/// The lab that was built with this program, otherwise the one that `PATH` finds.
fn lab() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("lab"));
    beside.filter(|lab| lab.is_file()).unwrap_or_else(|| "lab".into())
}

impl Run<'_> {
    /// Runs all that are not done. An interruption is an error, as is what no other cell would
    /// survive either.
    pub(crate) fn run(&self) -> Result<Tally, Problem> {
        let lab = lab();
        let interrupted = interrupts()?;
        let stop = AtomicBool::new(false);
        let next = AtomicU64::new(self.cells.start);
        let bar = self.bar();
        let state = State {
            tally: Mutex::new(Tally {
                cells: self.cells.end - self.cells.start,
                ..Tally::default()
            }),
            problem: Mutex::new(None),
            bar: &bar,
        };
        let setting = Setting { folder: self.folder, base: self.base, lab: &lab, stop: &stop };
        let begin = Instant::now();
        thread::scope(|scope| {
            let work = || self.work(&next, &setting, &state);
            let workers: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                if interrupted.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
                bar.tick();
                thread::sleep(Duration::from_millis(20));
            }
        });
        bar.finish_and_clear();
        let mut tally = state.tally.into_inner().unwrap_or_default();
        tally.took = begin.elapsed();
        if let Ok(Some(problem)) = state.problem.into_inner() {
            return Err(problem);
        }
        if interrupted.load(Ordering::Relaxed)
            && tally.before + tally.done + tally.failed < tally.cells
        {
            let there = tally.before + tally.done;
            let says = format!(
                "{there} of {} cells are done and kept; the same command continues with the rest",
                tally.cells
            );
            return Err(Problem::interrupted().advise(says));
        }
        Ok(tally)
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::new(self.cells.end - self.cells.start);
        if self.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {eta} left{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    }

    /// Cell after cell, as long as there are any.
    fn work(&self, next: &AtomicU64, setting: &Setting<'_>, state: &State<'_>) {
        while !setting.stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = self.campaign.cell(index).filter(|_| index < self.cells.end) else {
                return;
            };
            if self.folder.is_done(&cell) {
                let short = self.folder.read(&cell).is_some_and(|result| fell_short(&result));
                state.count(|tally| {
                    tally.before += 1;
                    tally.fell_short += u64::from(short);
                });
                state.bar.reset_eta(); // what took no time tells nothing about the rest
                continue;
            }
            match child::run(&cell, setting) {
                Ok(Outcome::Done { fell_short }) => state.count(|tally| {
                    tally.done += 1;
                    tally.fell_short += u64::from(fell_short);
                }),
                Ok(Outcome::Failed(why)) => state.count(|tally| {
                    tally.failed += 1;
                    if tally.named.len() < NAMED_MOST {
                        tally.named.push((cell.full_name(), why));
                    }
                    state.bar.set_message(format!(", {} failed", tally.failed));
                }),
                Ok(Outcome::Stopped) => return,
                Err(problem) => {
                    setting.stop.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = state.problem.lock() {
                        first.get_or_insert(problem);
                    }
                    return;
                }
            }
        }
    }
}

struct State<'a> {
    tally: Mutex<Tally>,
    problem: Mutex<Option<Problem>>,
    bar: &'a ProgressBar,
}

impl State<'_> {
    fn count(&self, count: impl FnOnce(&mut Tally)) {
        if let Ok(mut tally) = self.tally.lock() {
            count(&mut tally);
        }
        self.bar.inc(1);
    }
}

/// Becomes true when a person, or the system, wants the program to end.
fn interrupts() -> Result<Arc<AtomicBool>, Problem> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = if ignores_hangup() { None } else { Some(SIGHUP) };
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| Problem::new(format!("cannot catch signals: {error}")))?;
    }
    Ok(interrupted)
}

/// Whether whoever started the program, `nohup` perhaps, wants it to outlive the terminal.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & 1 << (SIGHUP - 1) != 0)
}
