//! A conformance kit for congestion judges: it runs any of them over a matrix of paths and through
//! steps of delay, and puts what it did beside what NewReno, CUBIC and BBR do: a table with
//! verdicts, and a page with curves.
//!
//! | file | what |
//! | --- | --- |
//! | `bottleneck.rs` | sessions of ARTP through one bottleneck, in virtual time |
//! | `trial.rs` | what is run: paths, steps of delay, two flows |
//! | `watch.rs` | what is recorded: the window and the pace after every event |
//! | `verdict.rs` | the bars |
//! | `table.rs`, `page.rs` | what is told |
//!
//! A judge of one's own is a type that implements
//! [`slots::Congestion`]; `examples/src/bin/my-judge.rs`
//! is one, and `docs/a-judge-of-ones-own.md` explains it. The built-in ones are run by
//! `cargo run --release -p stackwright-conformance -- cubic`.

mod bottleneck;
mod page;
mod table;
mod trial;
mod verdict;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::Parser;
use stackwright_artp::{Congestion, Judge};
use stackwright_transport::slots;

pub use bottleneck::{Bottleneck, MBIT, Mishap, Path};
pub use trial::{Kind, Outcome, Trial, matrix, quick};
pub use verdict::{Miss, misses};
pub use watch::{Figures, Point};

/// The judges that every candidate is put beside.
const REFERENCES: [Congestion; 3] = [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];

/// What the command line says.
#[derive(Parser, Debug)]
#[command(about = "Runs a congestion judge over many paths, beside NewReno, CUBIC and BBR")]
pub struct Options {
    /// Fewer and shorter runs: half a minute in place of minutes
    #[arg(long)]
    pub quick: bool,
    /// Only runs whose name contains this, such as `10 Mb/s` or `two flows`
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// The page with the curves
    #[arg(long, value_name = "FILE", default_value = "conformance.html")]
    pub out: PathBuf,
}

/// What each judge did in a trial: the candidate first.
#[derive(Debug)]
pub struct Row {
    /// What was run.
    pub trial: Trial,
    /// The judges and what they did.
    pub outcomes: Vec<(Congestion, Outcome)>,
}

/// The `main` of a program with a judge of its own: reads the command line, runs everything, prints
/// the table and writes the page.
pub fn main(name: &'static str, make: fn(u64) -> Box<dyn slots::Congestion>) -> ExitCode {
    conclude(Congestion::Own(Judge { name, make }), &Options::parse())
}

/// Runs `candidate`, prints the table and writes the page.
pub fn conclude(candidate: Congestion, options: &Options) -> ExitCode {
    let mut trials = if options.quick { quick() } else { matrix() };
    if let Some(only) = &options.only {
        trials.retain(|trial| trial.to_string().contains(only));
    }
    let rows = run(candidate, &trials);
    print!("{}", table::table(&rows));
    match page::page(&rows).and_then(|page| Ok(std::fs::write(&options.out, page)?)) {
        Ok(()) => {
            println!("The curves are in {}.", options.out.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("cannot write {}: {why}", options.out.display());
            ExitCode::FAILURE
        }
    }
}

/// Runs `candidate` and the references through `trials`, on all processors.
pub fn run(candidate: Congestion, trials: &[Trial]) -> Vec<Row> {
    let references = REFERENCES.into_iter().filter(|reference| *reference != candidate);
    let judges: Vec<_> = std::iter::once(candidate).chain(references).collect();
    let jobs: Vec<_> =
        trials.iter().flat_map(|trial| judges.iter().map(move |judge| (*trial, *judge))).collect();
    let outcomes: Vec<_> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let nth = next.fetch_add(1, Ordering::Relaxed)
            && let Some((trial, judge)) = jobs.get(nth)
        {
            let outcome = trial.run(*judge);
            *outcomes[nth].lock().expect("no other thread failed") = Some(outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut outcomes = outcomes
        .into_iter()
        .map(|outcome| outcome.into_inner().expect("no thread failed").expect("each job was done"));
    trials
        .iter()
        .map(|trial| {
            let outcomes = judges.iter().copied().zip(outcomes.by_ref()).collect();
            Row { trial: *trial, outcomes }
        })
        .collect()
}
