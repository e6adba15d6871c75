//! Strangers: our program against clients and servers that nobody here wrote, and against peers
//! that mean harm.
//!
//! A trial is named `who/what/how/size`, so that `cargo test --test strangers vsftpd/get` runs one
//! group. One whose stranger is not on this machine counts as ignored and says who is missing; with
//! `CI=true` it fails.

mod crowd;
mod daemons;
mod dialogue;
mod hostile_clients;
mod hostile_servers;
mod interrupted;
mod memory;
mod names;
mod proxies;
mod radio;
mod redis;
mod reported;
mod scripted;
mod setting;
mod their_clients;
mod their_forms;
mod their_servers;
mod their_trees;
mod thousand;
mod tls;
mod waiting;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::run;

fn main() -> ExitCode {
    let arguments = waiting::arguments(4);
    // The servers live as long as the setting, and end with it: here, whatever a trial did.
    let setting = Arc::new(setting::Setting::new());
    // What takes longest, frames at 1200 bit/s, begins first.
    let trials = [
        radio::trials(),
        their_servers::trials(&setting),
        their_clients::trials(&setting),
        their_forms::trials(),
        their_trees::trials(),
        proxies::trials(&setting),
        tls::trials(&setting),
        crowd::trials(),
        thousand::trials(),
        memory::trials(),
        names::trials(),
        daemons::trials(),
        hostile_clients::trials(),
        hostile_servers::trials(),
        interrupted::trials(),
        reported::trials(),
        redis::trials(),
    ];
    run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
