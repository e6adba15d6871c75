//! What a lookup costs, by size of the map and length of the key; and experiment E1 of the thesis
//! (table 5.2).
//!
//! ```text
//! cargo bench -p stackwright-base --bench maps
//! cargo bench -p stackwright-base --bench maps -- --quick
//! ```
//!
//! All subjects with keys of one length run in turns, and only ratios of turns of one round count.
//! `hashbrown` has its own customary hash, foldhash; our maps have theirs.
//!
//! # What a miss of the cache costs
//!
//! Two things can be meant by what a lookup costs, and both are printed.
//!
//! Whoever resolves messages one at a time, and goes on with what was found, waits for a lookup as
//! long as it takes from its key to its value. That is timed by lookups in a chain, each of which
//! asks for the key that the one before has found. It is what a demultiplexer pays, and what the
//! thesis timed, whose processor did one thing after the other; so these are the rows by which the
//! promise is judged.
//!
//! A loop over keys that are all known beforehand is another matter. A processor of today has so
//! many lookups under way in it as its window holds instructions, and as long as it waits for
//! memory, the ratio of two maps is that of their instructions, whatever these do. A lookup without
//! a cache is some thirty instructions long, of which three of a hundred are not one; and to
//! remember what was found takes at least one, to see whether it is found again three more. So no
//! cache keeps the promise there. Those rows are printed with a verdict of their own, which does
//! not count.
//!
//! Small maps, whose bindings are all near, show in both kinds of rows how well the processor
//! foresees where a chain ends. That depends on the addresses of the code, too, and these on
//! chance: in one process the cache costs nothing, in the next, of the same program, a tenth. So
//! there are several, each of which has the code where the kernel happens to put it, and medians
//! are of all of them. Where in memory a large map lies is chance, too, and makes another tenth:
//! with the cache and without it the same map is asked. Where in a page a function lies is the
//! linker's part of chance. A script makes that of no account, too, by programs that are the same
//! but for the order of their functions:
//!
//! ```text
//! crates/base/benches/maps/shuffled.sh
//! ```

mod aligned;
mod chains;
mod measure;
mod report;
mod subjects;

use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode};
use std::{env, fs};

use measure::{Race, Ratio};
use subjects::Cell;

/// The greatest number of bindings, at which the smallest is looked back upon.
const MANY: usize = 1_000_000;

/// A folder of programs like this one, which are asked instead of it.
const LAYOUTS: &str = "STACKWRIGHT_MAPS_LAYOUTS";
/// Tells a process for keys of which length it is to print times, which is all that it does.
const OCTETS: &str = "STACKWRIGHT_MAPS_OCTETS";

/// A promise, and what has been seen of it.
struct Promise {
    what: &'static str,
    most: f64,
    seen: Vec<(String, Ratio)>,
    /// Whether the interval's upper end has to keep it, not only the ratio.
    surely: bool,
}

impl Promise {
    fn new(what: &'static str, most: f64, surely: bool) -> Self {
        Promise { what, most, surely, seen: Vec::new() }
    }

    fn see(&mut self, octets: usize, bindings: usize, ratio: Ratio) {
        self.seen.push((format!("{octets} octets, {bindings} bindings"), ratio));
    }

    /// Says whether it is kept.
    fn judge(&self) -> bool {
        let judged = |ratio: &Ratio| if self.surely { ratio.high } else { ratio.value };
        let missed = self.seen.iter().filter(|(_, ratio)| judged(ratio) > self.most).count();
        let worst =
            self.seen.iter().max_by(|left, right| judged(&left.1).total_cmp(&judged(&right.1)));
        let (place, worst) = worst.expect("something was measured");
        let verdict = if missed == 0 { "met".into() } else { format!("MISSED in {missed}") };
        println!(
            "{}: {verdict} of {} (at most {}{}; worst {worst} with {place})",
            self.what,
            self.seen.len(),
            self.most,
            if self.surely { ", upper end" } else { "" },
        );
        for (place, ratio) in self.seen.iter().filter(|(_, ratio)| judged(ratio) > self.most) {
            println!("    {ratio} with {place}");
        }
        missed == 0
    }
}

struct Promises {
    flat: Promise,
    flat_open: Promise,
    flat_dependent: Promise,
    flat_open_dependent: Promise,
    miss: Promise,
    miss_called: Promise,
    miss_keyed: Promise,
    miss_fixed: Promise,
    open: Promise,
    flat_fixed: Promise,
    overlapped: Promise,
    overlapped_called: Promise,
    overlapped_keyed: Promise,
    overlapped_fixed: Promise,
    open_dependent: Promise,
}

fn main() -> ExitCode {
    let quick = env::args().any(|argument| argument == "--quick");
    let (processes, rounds) = if quick { (3, 6) } else { (36, 8) };
    let mut promises = Promises {
        flat: Promise::new("1. chained with cache, hit at 10^6 / hit at 100", 1.05, true),
        flat_open: Promise::new("1. open addressing, hit at 10^6 / hit at 100", 1.05, true),
        flat_dependent: Promise::new(
            "1. chained with cache, the same, dependent lookups",
            1.05,
            true,
        ),
        flat_open_dependent: Promise::new(
            "1. open addressing, the same, dependent lookups",
            1.05,
            true,
        ),
        miss: Promise::new(
            "2. chained, cache misses / no cache, buckets grow, dependent lookups",
            1.03,
            false,
        ),
        miss_called: Promise::new("2. the same, each lookup a call", 1.03, false),
        miss_keyed: Promise::new("2. the same, keyed hashing", 1.03, false),
        miss_fixed: Promise::new("2. the same, 101 buckets", 1.03, false),
        open: Promise::new("3. open addressing / hashbrown, keys in random order", 1.1, false),
        flat_fixed: Promise::new("4. E1: hit at 1000 / hit at 100, 101 buckets", 1.05, true),
        overlapped: Promise::new("chained, cache misses / no cache, buckets grow", 1.03, false),
        overlapped_called: Promise::new("the same, each lookup a call", 1.03, false),
        overlapped_keyed: Promise::new("the same, keyed hashing", 1.03, false),
        overlapped_fixed: Promise::new("the same, 101 buckets", 1.03, false),
        open_dependent: Promise::new("open addressing / hashbrown, dependent lookups", 1.1, false),
    };
    length::<4>(processes, rounds, &mut promises);
    length::<7>(processes, rounds, &mut promises);
    length::<8>(processes, rounds, &mut promises);
    length::<12>(processes, rounds, &mut promises);
    length::<14>(processes, rounds, &mut promises);
    promises.judge()
}

impl Promises {
    /// Prints every verdict; success if all promises that count are kept.
    fn judge(&self) -> ExitCode {
        let kept = [
            &self.flat,
            &self.flat_open,
            &self.flat_dependent,
            &self.flat_open_dependent,
            &self.miss,
            &self.miss_called,
            &self.miss_keyed,
            &self.miss_fixed,
            &self.open,
            &self.flat_fixed,
        ]
        .map(Promise::judge);
        println!("overlapped lookups, and open addressing's dependent ones, not judged:");
        let beside = [
            &self.overlapped,
            &self.overlapped_called,
            &self.overlapped_keyed,
            &self.overlapped_fixed,
            &self.open_dependent,
        ];
        for promise in beside {
            promise.judge();
        }
        if kept.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Times and reports all that has keys of `N` octets.
fn length<const N: usize>(processes: usize, rounds: usize, promises: &mut Promises) {
    let asked = env::var(OCTETS).ok();
    if asked.as_ref().is_some_and(|octets| *octets != N.to_string()) {
        return;
    }
    let mut race = Race::of(rounds);
    // Hits with the fewest and with the most bindings are compared, and so run close to each other.
    let sizes = [100, MANY].into_iter().chain((200..=1000).step_by(100));
    let mut cells: Vec<Cell> =
        sizes.map(|bindings| subjects::enter::<N>(&mut race, bindings)).collect();
    cells.sort_by_key(|cell| cell.bindings);
    race.run();
    if asked.is_some() {
        race.print();
        process::exit(0);
    }
    let programs = programs();
    for (_, program) in (1..processes).zip(programs.iter().cycle()) {
        race.take(&elsewhere(program, N));
    }
    report::overlapped::<N>(&race, &cells, promises);
    report::dependent::<N>(&race, &cells, promises);
    report::fixed::<N>(&race, &cells, promises);
}

/// The programs that are asked for times.
fn programs() -> Vec<PathBuf> {
    match env::var_os(LAYOUTS) {
        Some(folder) => {
            let files = fs::read_dir(folder).expect("a folder of programs");
            files.map(|file| file.expect("a program").path()).collect()
        }
        None => vec![env::current_exe().expect("this program's path")],
    }
}

/// What a program like this one prints in another process.
fn elsewhere(program: &Path, octets: usize) -> String {
    let printed =
        Command::new(program).args(env::args().skip(1)).env(OCTETS, octets.to_string()).output();
    let printed = printed.expect("a program that starts");
    assert!(
        printed.status.success(),
        "{}: {}",
        program.display(),
        String::from_utf8_lossy(&printed.stderr)
    );
    String::from_utf8(printed.stdout).expect("times")
}
