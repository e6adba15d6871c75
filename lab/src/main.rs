//! The `lab` program: modelled links, the same workloads for every transport, and comparison
//! tables.
#![deny(unsafe_code)]

mod campaign;
mod check;
mod documents;
mod flaw;
mod link;
mod measure;
mod problem;
mod report;
mod run;
mod say;
mod scenario;
mod table;
mod transfer;
mod transport;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use problem::Problem;

/// Compare transports on modelled links: scenarios, measurements, tables and reports.
#[derive(Parser, Debug)]
#[command(name = "lab", version)]
#[command(after_help = "\
Examples:
  lab run lab/scenarios/geo.toml
  lab table transports --quick
  lab report")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Search(run::Search),
    Sweep(run::Sweep),
    /// List the named link profiles
    Profiles,
    Link(Box<link::Arguments>),
    Check(check::Arguments),
    Table(table::Arguments),
    Report(report::Arguments),
    Campaign(campaign::Arguments),
    Transfer(Box<transfer::Arguments>),
    Documents(documents::Arguments),
    #[command(hide = true)]
    Station(run::Station),
    #[command(hide = true)]
    TransferStation(transfer::Station),
}

fn main() -> ExitCode {
    let well = |()| ExitCode::SUCCESS;
    let done: Result<ExitCode, Problem> = match Arguments::parse().command {
        Command::Run(run) => run.run().map(well),
        Command::Search(search) => search.run().map(well),
        Command::Sweep(sweep) => sweep.run().map(well),
        Command::Profiles => {
            run::profiles();
            Ok(ExitCode::SUCCESS)
        }
        Command::Link(arguments) => link::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Table(arguments) => arguments.obey().map(well),
        Command::Report(arguments) => arguments.obey().map(well),
        Command::Campaign(arguments) => campaign::campaign(&arguments).map(well),
        Command::Transfer(arguments) => arguments.obey().map(well),
        Command::Documents(arguments) => arguments.obey().map(well),
        Command::TransferStation(station) => station.run().map(well),
        Command::Station(station) => station.run().map(well),
    };
    match done {
        Ok(code) => code,
        Err(problem) => {
            problem.tell();
            ExitCode::from(problem.exit_code())
        }
    }
}
