//! `peers`: transports that others wrote, under the workloads of the lab, so that ours can be held
//! beside them.
//!
//! | file | what |
//! | --- | --- |
//! | `arguments.rs` | the command line |
//! | `plan.rs` | what one run does, as both ends are told |
//! | `control.rs` | the TCP connection beside the transport: the plan, the word to stop, the receiver's count |
//! | `serve.rs`, `tally.rs` | the receiving end, and what it counts |
//! | `run.rs`, `course.rs` | the sending end, and what it knows while it runs |
//! | `transport/` | a file or a folder for each transport, and the workloads that several of them share |

#![deny(unsafe_code)]

mod arguments;
mod control;
mod course;
mod plan;
mod problem;
mod run;
mod serve;
mod tally;
mod transport;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve { transport, address } => serve::serve(transport, address),
        Command::Run(run) => run.plan().and_then(|plan| run::run(&plan, run.address)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("peers: {problem}");
            ExitCode::FAILURE
        }
    }
}
