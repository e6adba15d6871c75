//! The `lab` program: modelled links, the same workloads for every transport, and comparison
//! tables.
#![forbid(unsafe_code)]

mod check;
mod documents;
mod link;
mod measure;
mod page;
mod picture;
mod run;
mod scenario;
mod table;
mod transfer;
mod transport;
mod watch;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stackwright_results::Problem;

/// Compare transports on modelled links: scenarios, measurements, and tables.
#[derive(Parser, Debug)]
#[command(name = "lab", version)]
#[command(after_help = "\
Examples:
  lab run lab/scenarios/geo.toml
  lab table transports --quick
  lab profiles")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Search(run::Search),
    Sweep(run::Sweep),
    Watch(watch::Watch),
    Picture(picture::Arguments),
    /// List the named link profiles
    Profiles,
    Link(Box<link::Arguments>),
    Check(check::Arguments),
    Table(table::Arguments),
    Transfer(Box<transfer::Arguments>),
    Documents(documents::Arguments),
    /// Moved: `campaign` and `report` are programs of their own
    #[command(hide = true, alias = "report")]
    Campaign(Elsewhere),
    #[command(hide = true)]
    BindingsEnd(table::BindingsEnd),
    #[command(hide = true)]
    GroupScale(table::GroupScale),
    #[command(hide = true)]
    InetEnd(table::InetEnd),
    #[command(hide = true)]
    Station(run::Station),
    #[command(hide = true)]
    TransferStation(transfer::Station),
}

/// What was said behind the name of a program that this one held once.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

impl Elsewhere {
    fn problem() -> Problem {
        Problem::usage("campaigns and reports are programs of their own").advise(
            "cargo build --release -p stackwright-reports; then: campaign FILE --into DIR, report DIR",
        )
    }
}

fn main() -> ExitCode {
    let well = |()| ExitCode::SUCCESS;
    let done: Result<ExitCode, Problem> = match Arguments::parse().command {
        Command::Run(run) => run.run().map(well),
        Command::Search(search) => search.run().map(well),
        Command::Sweep(sweep) => sweep.run().map(well),
        Command::Watch(watch) => watch.run().map(well),
        Command::Picture(picture) => picture.obey().map(well),
        Command::Profiles => {
            run::profiles();
            Ok(ExitCode::SUCCESS)
        }
        Command::Link(arguments) => link::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Table(arguments) => arguments.obey().map(well),
        Command::Campaign(_) => Err(Elsewhere::problem()),
        Command::Transfer(arguments) => arguments.obey().map(well),
        Command::Documents(arguments) => arguments.obey().map(well),
        Command::TransferStation(station) => station.run().map(well),
        Command::BindingsEnd(end) => end.run().map(well),
        Command::GroupScale(scale) => scale.run().map(well),
        Command::InetEnd(end) => end.run().map(well),
        Command::Station(station) => station.run().map(well),
    };
    done.unwrap_or_else(|problem| problem.end("lab"))
}
