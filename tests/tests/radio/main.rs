//! Packet radio: our AX.25 against that of others, over KISS. A trial whose stranger is not on this
//! machine counts as ignored; with `CI=true` it fails.

mod agw;
mod air;
mod ax25ipd;
mod channel;
mod direwolf;
mod gensio;
mod hub;
mod kernel;
mod load;
mod operator;
mod pat;
mod process;
mod programs;
mod station;
#[path = "../strangers/waiting.rs"]
mod waiting;

use std::env;
use std::process::ExitCode;

use libtest_mimic::{Completion, Failed, Trial, run};
use stackwright_programs::processes::find;
use stackwright_programs::rig;

fn main() -> ExitCode {
    // What takes longest begins first: of the rest, some give a program half a second to connect.
    let arguments = waiting::arguments(2);
    let trials = [
        direwolf::trials(),
        gensio::trials(),
        ax25ipd::trials(),
        channel::trials(),
        programs::trials(),
        operator::trials(),
        kernel::trials(),
        pat::trials(),
        load::trials(),
    ];
    run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}

/// A trial that needs a program.
fn trial(name: &str, program: &'static str, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || {
        if find(program).is_some() {
            run();
            return Ok(Completion::Completed);
        }
        let reason = format!("missing: {program}");
        if env::var("CI").is_ok_and(|value| value == "true") {
            return Err(Failed::from(reason));
        }
        Ok(Completion::ignored_with(reason))
    })
}
