//! The `lab` program: one wire for everybody, the same workloads for every transport, and tables that tell who won.

mod check;
mod link;
mod measure;
mod problem;
mod report;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use problem::Problem;

/// One wire for everybody: links with delay, loss and a rate, the same workloads for every transport, tables and reports.
#[derive(Parser, Debug)]
#[command(name = "lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Link(Box<link::Arguments>),
    Check(check::Arguments),
    Table(table::Arguments),
    Report(report::Arguments),
}

fn main() -> ExitCode {
    let done: Result<ExitCode, Problem> = match Arguments::parse().command {
        Command::Link(arguments) => link::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Table(arguments) => arguments.obey().map(|()| ExitCode::SUCCESS),
        Command::Report(arguments) => arguments.obey().map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(problem) => {
            problem.tell();
            ExitCode::from(problem.exit_code())
        }
    }
}
