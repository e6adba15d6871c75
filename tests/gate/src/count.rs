//! Counts, by valgrind's callgrind, of this program run again for one figure.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use crate::subject::COUNTED;

/// The word that makes the program do the work of one figure, and nothing else.
pub const ALONE: &str = "alone";

/// Instructions of one round, by figure.
pub type Counts = BTreeMap<String, f64>;

/// Why there is no count.
#[derive(Debug, thiserror::Error)]
pub enum Uncounted {
    /// There is no valgrind.
    #[error("valgrind cannot be started ({0}); on Debian: apt-get install valgrind")]
    Absent(#[from] std::io::Error),
    /// Valgrind, or the work under it, failed.
    #[error("nothing was counted for `{figure}`; valgrind said:\n{said}")]
    Failed {
        /// Which.
        figure: String,
        /// The end of what it said.
        said: String,
    },
}

/// Where a count runs. It shall not matter.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Octets that the environment has more.
    pub environment: usize,
    /// The working directory.
    pub folder: PathBuf,
}

impl Default for Surroundings {
    fn default() -> Self {
        Surroundings { environment: 0, folder: "/".into() }
    }
}

/// Counts all `figures`, which are names and rounds, on every processor; tells `done` after each.
pub fn all(
    figures: &[(String, u64)],
    surroundings: &Surroundings,
    done: impl Fn() + Sync,
) -> Result<Counts, Uncounted> {
    let waiting = Mutex::new(figures.iter());
    let counted = Mutex::new(Counts::new());
    let work = || -> Result<(), Uncounted> {
        loop {
            let next = waiting.lock().map_or(None, |mut waiting| waiting.next());
            let Some((name, rounds)) = next else { return Ok(()) };
            let count = one(name, surroundings)?;
            if let Ok(mut counted) = counted.lock() {
                counted.insert(name.clone(), per_round(count, *rounds));
            }
            done();
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(counted.into_inner().unwrap_or_default())
}

/// To a hundredth of an instruction, as it is written into a baseline.
fn per_round(count: u64, rounds: u64) -> f64 {
    (count as f64 / rounds as f64 * 100.0).round() / 100.0
}

/// Instructions of all rounds of one figure.
///
/// The environment is empty but for the path, so that nothing in it chooses another allocator,
/// another `memcpy` or other options of valgrind.
fn one(figure: &str, surroundings: &Surroundings) -> Result<u64, Uncounted> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(env::current_exe()?)
        .args([ALONE, figure])
        .current_dir(&surroundings.folder)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    if surroundings.environment > 0 {
        valgrind.env("SURROUNDINGS", "x".repeat(surroundings.environment));
    }
    let output = valgrind.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match collected(&said) {
        Some(count) if output.status.success() && count > 0 => Ok(count),
        _ => Err(Uncounted::Failed { figure: figure.to_owned(), said: last_lines(&said) }),
    }
}

/// Callgrind's own words: `==7== Collected : 123456`.
fn collected(said: &str) -> Option<u64> {
    let (_, count) = said.split_once("Collected : ")?;
    count.split_whitespace().next()?.parse().ok()
}

fn last_lines(said: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_callgrind_says() {
        let said =
            "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n==7== I   refs:      123,456\n";
        assert_eq!(collected(said), Some(123_456));
        assert_eq!(collected("valgrind: failed to start"), None);
    }

    #[test]
    fn says_the_end_of_what_went_wrong() {
        let said: Vec<String> = (0..40).map(|line| format!("line {line}")).collect();
        assert!(last_lines(&said.join("\n")).starts_with("line 28\n"));
        assert_eq!(last_lines("one"), "one");
    }

    #[test]
    fn a_figure_is_exact_to_a_hundredth() {
        assert_eq!(per_round(123_456, 1024), 120.56);
    }
}
