//! The `lab` program: one wire for everybody, the same workloads for every transport, and tables that tell who won.
#![deny(unsafe_code)]

mod check;
mod link;
mod problem;

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
}

fn main() -> ExitCode {
    let done: Result<ExitCode, Problem> = match Arguments::parse().command {
        Command::Link(arguments) => link::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
    };
    match done {
        Ok(code) => code,
        Err(problem) => {
            problem.tell();
            ExitCode::from(problem.exit_code())
        }
    }
}
