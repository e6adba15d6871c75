//! The `stackwright` program.

mod arguments;
mod demo;
mod described;
mod dissect;
mod explain;
mod features;
mod graphs;
mod ls;
mod power;
mod problem;
mod registry;
mod remote;
mod report;
mod secret;
mod serve;
mod shown;
mod stacks;
mod transfer;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (json, done) = match &arguments.command {
        Command::Demo => (false, demo::run()),
        Command::Serve(serve) => (serve.json, serve::run(serve)),
        Command::Get(get) => (get.connection.json, transfer::get(get)),
        Command::Put(put) => (put.connection.json, transfer::put(put)),
        Command::Ls(ls) => (ls.connection.json, ls::run(ls)),
        Command::Explain(explain) => (explain.json, explain::explain(explain)),
        Command::Draw(draw) => (false, explain::draw(draw)),
        Command::Features(features) => (features.json, features::run(features)),
        Command::Dissect(dissect) => (dissect.json, dissect::run(dissect)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            problem.tell(json);
            ExitCode::from(problem.exit_code())
        }
    }
}
