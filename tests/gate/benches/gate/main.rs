//! The instruction gate: counts what runs for every packet, and fails where a count grew by more
//! than 3 %.
//!
//! ```text
//! cargo bench -p stackwright-gate                      counts, and compares with baseline.toml
//! cargo bench -p stackwright-gate -- --accept          writes baseline.toml: commit it with the change
//! cargo bench -p stackwright-gate -- map ftp           only figures with one of these words in their names; all else stays
//! cargo bench -p stackwright-gate -- --repeat 5        counts five times, elsewhere each time: fails where anything differs
//! cargo bench -p stackwright-gate -- --json            one object, for programs
//! ```

mod artp;
mod ax25;
mod crossing;
mod events;
mod ftp;
mod headers;
mod inet;
mod ip;
mod kiss;
mod loss;
mod maps;
mod messages;
mod roles;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use stackwright_gate::baseline::Baseline;
use stackwright_gate::count::{self, ALONE, Counts, Surroundings};
use stackwright_gate::machine::Machine;
use stackwright_gate::subject::Figure;
use stackwright_gate::verdict::{Verdict, judge};

/// Counts the instructions of what runs for every packet, and fails where a count grew by more than
/// 3 %.
#[derive(Parser, Debug)]
#[command(name = "gate")]
struct Arguments {
    /// Write the baseline. Commit it together with the change that made the figures what they are.
    #[arg(long)]
    accept: bool,
    /// Count so many times, in other surroundings each time, and fail where a count differs.
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// One JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Only figures with one of these words in their names.
    words: Vec<String>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What goes wrong is said in the end, by `main`.
type Outcome = Result<bool, Box<dyn std::error::Error>>;

fn figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    artp::add(&mut figures);
    ax25::add(&mut figures);
    loss::add(&mut figures);
    kiss::add(&mut figures);
    crossing::add(&mut figures);
    maps::add(&mut figures);
    headers::add(&mut figures);
    inet::add(&mut figures);
    ip::add(&mut figures);
    events::add(&mut figures);
    ftp::add(&mut figures);
    messages::add(&mut figures);
    roles::add(&mut figures);
    figures
}

fn main() -> ExitCode {
    // Under valgrind nothing but the figure shall run.
    let words: Vec<String> = std::env::args().skip(1).take(2).collect();
    if let [alone, name] = &words[..]
        && alone == ALONE
    {
        let Some(figure) = figures().into_iter().find(|figure| figure.name == *name) else {
            eprintln!("gate: there is no figure `{name}`");
            return ExitCode::from(2);
        };
        figure.run();
        return ExitCode::SUCCESS;
    }
    match gate(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the gate is open.
fn gate(arguments: &Arguments) -> Outcome {
    let chosen = |name: &str| {
        arguments.words.is_empty()
            || arguments.words.iter().any(|word| name.contains(word.as_str()))
    };
    let figures: Vec<(String, u64)> = figures()
        .into_iter()
        .map(|figure| (figure.name, figure.rounds))
        .filter(|(name, _)| chosen(name))
        .collect();
    if figures.is_empty() {
        return Err(format!("no figure's name has {} in it", arguments.words.join(" or ")).into());
    }
    let counts = count(&figures, &Surroundings::default())?;
    for time in 1..arguments.repeat {
        if !same(&counts, &count(&figures, &elsewhere(time))?, time) {
            return Ok(false);
        }
    }
    let machine = Machine::here();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.toml");
    if arguments.accept {
        return accept(&path, machine, counts, arguments.words.is_empty());
    }
    let mut baseline = match fs::read_to_string(&path) {
        Ok(text) => Baseline::decode(&text)?,
        Err(error) => {
            return Err(
                format!("{}: {error}; make it with tests/gate/accept", path.display()).into()
            );
        }
    };
    baseline.instructions.retain(|name, _| chosen(name));
    let verdict = judge(&baseline, &machine, &counts);
    if arguments.json {
        println!("{}", as_json(&machine, &counts, &verdict));
    } else {
        print(&baseline, &counts, &verdict);
    }
    Ok(verdict.passes())
}

/// Counts everything once, and shows how far it is.
fn count(
    figures: &[(String, u64)],
    surroundings: &Surroundings,
) -> Result<Counts, count::Uncounted> {
    let style = ProgressStyle::with_template("counting {bar:30} {pos}/{len} {eta}");
    let bar = ProgressBar::new(figures.len() as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let counts = count::all(figures, surroundings, || bar.inc(1));
    bar.finish_and_clear();
    counts
}

/// Other surroundings each time: an environment of another size, another working directory.
fn elsewhere(time: u32) -> Surroundings {
    let folders: [PathBuf; 3] =
        [std::env::temp_dir(), env!("CARGO_MANIFEST_DIR").into(), "/".into()];
    let folder = folders[time as usize % folders.len()].clone();
    Surroundings { environment: time as usize * 1237, folder }
}

/// Whether a repetition counted the same; says where it did not.
fn same(counts: &Counts, again: &Counts, time: u32) -> bool {
    let differ = counts.iter().zip(again).filter(|(first, second)| first != second);
    let mut same = true;
    for ((name, first), (_, second)) in differ {
        same = false;
        eprintln!(
            "gate: `{name}` is not exact: {first:.2} instructions, and {second:.2} in repetition {time}"
        );
    }
    same
}

/// Writes the baseline. Where only some figures were counted, the others stay, if they were counted
/// alike.
fn accept(path: &Path, machine: Machine, mut counts: Counts, all: bool) -> Outcome {
    if !all {
        let old = Baseline::decode(&fs::read_to_string(path)?)?;
        if !machine.differences(&old.machine).is_empty() {
            return Err("the baseline is another machine's: accept all figures, not some".into());
        }
        for (name, count) in old.instructions {
            counts.entry(name).or_insert(count);
        }
    }
    let figures = counts.len();
    fs::write(path, Baseline { machine, instructions: counts }.encode())?;
    println!("{} has {figures} figures: commit it together with the change", path.display());
    Ok(true)
}

fn print(baseline: &Baseline, counts: &Counts, verdict: &Verdict) {
    for (name, count) in counts {
        match baseline.instructions.get(name) {
            Some(from) => println!("{name:34} {count:>10.2}  {:.3}", count / from),
            None => println!("{name:34} {count:>10.2}  -"),
        }
    }
    match verdict {
        Verdict::Elsewhere(differences) => {
            println!("not judged: {}", differences.join("; "));
        }
        Verdict::Judged(findings) => {
            for finding in findings {
                println!("{finding}");
            }
            let fails = findings.iter().filter(|finding| finding.fails()).count();
            match fails {
                0 => println!("{} figures, none above the baseline", counts.len()),
                _ => println!("{} figures; {fails} of them close the gate", counts.len()),
            }
        }
    }
}

fn as_json(machine: &Machine, counts: &Counts, verdict: &Verdict) -> serde_json::Value {
    let machine: serde_json::Map<_, _> =
        machine.parts().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let (judged, says) = match verdict {
        Verdict::Elsewhere(differences) => (false, differences.clone()),
        Verdict::Judged(findings) => (true, findings.iter().map(ToString::to_string).collect()),
    };
    serde_json::json!({
        "machine": machine,
        "instructions": counts,
        "judged": judged,
        "passes": verdict.passes(),
        "findings": says,
    })
}
