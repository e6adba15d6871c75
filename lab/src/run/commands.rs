//! The commands on scenarios: `lab run`, `search` and `sweep`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use stackwright_results::{Problem, say};
use stackwright_simulator::Profile;

use super::both::both;
use super::outcome::Outcome;
use super::search::{Found, search};
use super::simulated::{self, Keep};
use super::sweep::{Mishap, sweep};
use super::{real, written};
use crate::measure::Stop;
use crate::scenario::{self, Scenario};

/// A scenario file, and values to override.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// The scenario file (TOML)
    scenario: PathBuf,
    /// Override a value of the scenario, such as links.0.loss=0.05; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Source {
    fn load(&self) -> Result<Scenario, Problem> {
        Scenario::load(&self.scenario, &self.set)
    }
}

/// Run a scenario in the simulator, or on real sockets over a modelled link
///
/// The exit code is 1 if a guarantee was violated, 3 if a flow did not deliver all that its
/// transport promises to, or did not end in time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab run lab/scenarios/geo.toml
  lab run lab/scenarios/geo.toml --set links.0.loss=0.05 --json
  sudo lab run lab/scenarios/geo.toml --real")]
pub(crate) struct Run {
    #[command(flatten)]
    source: Source,
    /// Seed of all random choices [default: the file's, else 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Use real sockets over a modelled link, as in `lab link` (needs root)
    #[arg(long)]
    real: bool,
    /// Run both ways, and check that the goodput of each flow agrees within 5 %
    #[arg(long, conflicts_with_all = ["real", "trace", "packets", "repeat"])]
    both: bool,
    /// Write a trace of all events, as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "real")]
    trace: Option<PathBuf>,
    /// Write the packets of one station, as pcapng
    #[arg(long, value_name = "FILE", conflicts_with = "real")]
    packets: Option<PathBuf>,
    /// The station whose packets are written [default: the first]
    #[arg(long, value_name = "STATION", requires = "packets")]
    at: Option<String>,
    /// Run it several times with one seed, and count the different traces
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["real", "trace", "packets"])]
    repeat: Option<u64>,
    /// Write the result to a file, as JSON; the command then succeeds whatever the outcome of the
    /// run
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let scenario = self.source.load()?;
        let seed = self.seed.unwrap_or(scenario.seed);
        if let Some(times) = self.repeat {
            return repeat(&scenario, seed, times);
        }
        if self.both {
            return self.both(&scenario, seed);
        }
        let (outcome, place) = if self.real {
            (self.real(&scenario, seed)?, "real")
        } else {
            let packets = self.packets.as_ref().map(|_| self.station(&scenario)).transpose()?;
            let keep = Keep { trace: true, packets, ..Keep::default() };
            let run = simulated::run(&scenario, seed, scenario.faults.as_deref(), keep);
            if let Some(path) = &self.trace {
                written::trace(path, &run.world.trace())?;
            }
            if let Some(path) = &self.packets {
                written::octets(path, &run.packets)?;
            }
            (run.outcome, "simulated")
        };
        if self.out.is_none() && !self.json {
            say!("{}", outcome.text(&scenario).trim_end());
        }
        self.tell(&outcome.json(&scenario, place))?;
        if self.out.is_some() { Ok(()) } else { self.verdict(&scenario, &outcome) }
    }

    fn real(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, Problem> {
        real::run(scenario, &self.source.scenario, &self.source.set, seed)
    }

    /// Writes and prints a result, as far as it is asked for.
    fn tell(&self, object: &Value) -> Result<(), Problem> {
        if let Some(path) = &self.out {
            written::whole(path, |file| writeln!(file, "{object}"))?;
        }
        if self.json {
            say!("{object}");
        }
        Ok(())
    }

    /// The same file in the simulator and on real sockets.
    fn both(&self, scenario: &Scenario, seed: u64) -> Result<(), Problem> {
        let says = |what: &str| {
            if self.out.is_none() && !self.json {
                say!("{}", what.trim_end());
            }
        };
        let compared = both(scenario, seed, || self.real(scenario, seed), says)?;
        self.tell(&compared.json(scenario))?;
        if self.out.is_some() {
            return Ok(());
        }
        self.verdict(scenario, &compared.simulated)?;
        self.verdict(scenario, &compared.real)?;
        compared.verdict()
    }

    /// Whether what came of a run fails the command.
    fn verdict(&self, scenario: &Scenario, outcome: &Outcome) -> Result<(), Problem> {
        if let Some(violated) = outcome.violated() {
            let advice = format!(
                "`lab search {}` finds the smallest set of faults that causes it",
                self.source.scenario.display()
            );
            return Err(Problem::new(violated).advise(advice));
        }
        match outcome.failure(scenario) {
            Some(says) => Err(Problem::unfinished(says)),
            None => Ok(()),
        }
    }
}

impl Run {
    /// Whose packets are to be kept.
    fn station(&self, scenario: &Scenario) -> Result<usize, Problem> {
        let Some(name) = &self.at else { return Ok(0) };
        let station = scenario.stations.iter().position(|station| station == name);
        station.ok_or_else(|| Problem::usage(scenario::unknown_station(name, &scenario.stations)))
    }
}

/// One seed again and again: there is one trace, or something is left to chance that should not be.
fn repeat(scenario: &Scenario, seed: u64, times: u64) -> Result<(), Problem> {
    let bar = progress(times);
    let mut hashes = std::collections::BTreeSet::new();
    for _ in 0..times {
        let keep = Keep { trace: true, ..Keep::default() };
        let outcome = simulated::run(scenario, seed, scenario.faults.as_deref(), keep).outcome;
        hashes.extend(outcome.trace);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let shown: Vec<String> = hashes.iter().take(4).map(|hash| format!("{hash:016x}")).collect();
    say!("{times} runs with seed {seed}, traces: {} ({})", hashes.len(), shown.join(", "));
    match hashes.len() {
        0 | 1 => Ok(()),
        _ => Err(Problem::new("runs with the same seed gave different traces")),
    }
}

/// Run a scenario with many seeds; reduce a failure to the fewest faults that cause it, as a
/// scenario
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab search lab/scenarios/geo.toml --seeds 10000")]
pub(crate) struct Search {
    #[command(flatten)]
    source: Source,
    /// The number of seeds
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// The number of threads [default: one per core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Write the reduced scenario to a file instead of the terminal
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let scenario = self.source.load()?;
        if scenario.faults.is_some() {
            return Err(Problem::usage(
                "this scenario lists its faults, so every seed gives the same run",
            )
            .advise("run it with `lab run`, or remove `faults` to search"));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stop = Stop::on_signals().map_err(Problem::new)?;
        let bar = progress(self.seeds);
        let begin = Instant::now();
        let jobs = self.jobs.unwrap_or(cores);
        let (run, found) = search(&scenario, self.first, self.seeds, jobs, || bar.inc(1), &stop);
        bar.finish_and_clear();
        let hourly = run as f64 / begin.elapsed().as_secs_f64().max(1e-9) * 3600.0;
        if self.json {
            let found = found.as_ref().map(|found| {
                json!({ "seed": found.seed, "broken": found.broken.to_string(), "faults": found.faults.len(), "of": found.of })
            });
            say!("{}", json!({ "scenarios": run, "per_hour": hourly, "found": found }));
        } else {
            say!("{run} scenarios, {hourly:.0} per hour");
        }
        if let Some(found) = found {
            return Err(self.tell(&scenario, &found)?);
        }
        if stop.asked() { Err(Problem::interrupted()) } else { Ok(()) }
    }

    fn tell(&self, scenario: &Scenario, found: &Found) -> Result<Problem, Problem> {
        let text = scenario::written(&scenario.text, found.seed, &found.faults, &scenario.stations);
        let faults = match (found.faults.len(), found.of) {
            (0, _) => "it takes no fault".to_owned(),
            (enough, of) => format!("{enough} of {of} faults suffice"),
        };
        let problem = Problem::new(format!("seed {}: {}; {faults}", found.seed, found.broken));
        match &self.into {
            Some(path) => {
                written::octets(path, text.as_bytes())?;
                Ok(problem.advise(format!("lab run {}", path.display())))
            }
            None => {
                if !self.json {
                    say!("\n{text}");
                }
                Ok(problem.advise("save these lines in a file, and run it with `lab run`"))
            }
        }
    }
}

/// Lose, duplicate, delay and corrupt exactly the n-th packet, for each n and both directions
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab sweep lab/scenarios/geo.toml")]
pub(crate) struct Sweep {
    #[command(flatten)]
    source: Source,
    /// The largest n
    #[arg(long, default_value_t = 100)]
    to: u64,
    /// The faults to inject
    #[arg(long, value_delimiter = ',', default_value = "lose,duplicate,delay,alter")]
    mishaps: Vec<Mishap>,
    /// The delay of a delayed packet or a duplicate, in milliseconds
    #[arg(long, default_value_t = 300)]
    late: u64,
}

impl Sweep {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let scenario = self.source.load()?;
        let ways = super::sweep::ways(&scenario).len() as u64;
        let bar = progress(ways * self.mishaps.len() as u64 * self.to);
        let stop = Stop::on_signals().map_err(Problem::new)?;
        let late = Duration::from_millis(self.late);
        let (run, failures) = sweep(&scenario, &self.mishaps, self.to, late, || {
            bar.inc(1);
            !stop.asked()
        });
        bar.finish_and_clear();
        say!("{run} runs, {} violated a guarantee", failures.len());
        for failure in failures.iter().take(10) {
            say!("  {}", failure.broken);
        }
        match failures.first() {
            None if stop.asked() => Err(Problem::interrupted()),
            None => Ok(()),
            Some(first) => {
                say!(
                    "\n{}",
                    scenario::written(
                        &scenario.text,
                        scenario.seed,
                        &[first.fault],
                        &scenario.stations
                    )
                );
                Err(Problem::new(&first.broken)
                    .advise("save the scenario above in a file to reproduce it with `lab run`"))
            }
        }
    }
}

/// Prints the named link profiles.
pub(crate) fn profiles() {
    for profile in Profile::ALL {
        say!("{:<20}{}", profile.name, profile.about);
    }
}

fn progress(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {per_sec}, {eta} left");
    let bar = ProgressBar::new(length);
    style.map(|style| bar.set_style(style)).ok();
    bar
}
