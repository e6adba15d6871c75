//! Runs targets on mutations of their corpus, on the stable compiler and without coverage.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use stackwright_targets::{Mutations, TARGETS, Target, corpus, shortened};

const USAGE: &str = "usage: stackwright-targets NAME|all [--seconds N] [--seed S]";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// Whether no target failed.
fn run() -> Result<bool, String> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().ok_or(USAGE)?;
    let (mut seconds, mut seed) = (60, 0);
    while let Some(option) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok()).ok_or(USAGE)?;
        match option.as_str() {
            "--seconds" => seconds = value,
            "--seed" => seed = value,
            _ => return Err(USAGE.into()),
        }
    }
    let chosen: Vec<&Target> =
        TARGETS.iter().filter(|target| name == "all" || name == target.name).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        return Err(format!("there is no target {name}; there are {}", names.join(", ")));
    }
    let mut well = true;
    for target in chosen {
        well &= one(target, Duration::from_secs(seconds), seed)?;
    }
    Ok(well)
}

fn one(target: &Target, time: Duration, seed: u64) -> Result<bool, String> {
    let corpus =
        corpus(target.name).map_err(|error| format!("the corpus of {}: {error}", target.name))?;
    let mut mutations = Mutations::new(&corpus, seed);
    let begin = Instant::now();
    let mut executions = 0_u64;
    // The clock is asked seldom: some targets take less than it does.
    while begin.elapsed() < time {
        for _ in 0..100 {
            let input = mutations.another();
            executions += 1;
            if panic::catch_unwind(|| (target.run)(input)).is_err() {
                let path = keep(target, input)?;
                println!(
                    "{}: FAILED after {executions} executions: {}",
                    target.name,
                    path.display()
                );
                return Ok(false);
            }
        }
    }
    let rate = executions as f64 / begin.elapsed().as_secs_f64();
    println!("{}: {executions} executions, {rate:.0} a second, no failure", target.name);
    Ok(true)
}

/// Writes the shortest input found that fails into a file.
fn keep(target: &Target, input: &[u8]) -> Result<PathBuf, String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {})); // one report of the failure is enough
    let fails =
        |input: &[u8]| panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err();
    let shortest = shortened(input, fails);
    panic::set_hook(hook);
    let folder = env::temp_dir().join("stackwright-targets");
    let path = folder.join(format!("{}-{:016x}", target.name, sum(&shortest)));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, shortest))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// FNV-1a: two inputs have two names.
fn sum(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |sum, octet| {
        (sum ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    })
}
