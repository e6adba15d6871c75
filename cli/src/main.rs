//! The `stackwright` program.
#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

/// As that of `std`, which it hides in the whole program, with the text as `PrintableLines`.
/// Where nobody reads standard error any more, the work goes on all the same.
macro_rules! eprintln {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "{}",
            $crate::printable::PrintableLines(format_args!($($line)*))
        );
    }};
}

mod address;
mod agw;
mod air;
mod aprs;
mod arguments;
mod bookmark;
mod bookmarks;
mod call;
mod channel;
mod client;
mod connect;
mod demo;
mod described;
mod descriptors;
mod dissect;
mod dissector;
mod explain;
mod features;
mod flawed;
mod generate;
mod graphs;
mod group;
mod heard;
mod hearing;
mod host;
mod identity;
mod images;
mod inet;
mod interrupts;
mod jis;
mod kept;
mod line;
mod monitor;
mod netrc;
mod packets;
mod perf;
mod ping;
mod pipe;
mod placement;
mod power;
mod printable;
mod problem;
mod proxy;
mod quantity;
mod refused;
mod registry;
mod remote;
mod report;
mod router;
mod secret;
mod serve;
mod shell;
mod socks;
mod spec;
mod specification;
mod stacks;
mod start;
mod state_folder;
mod station;
mod tnc;
mod trust;

use std::ffi::OsString;

use clap::CommandFactory;

use arguments::{Arguments, Command};
use bookmark::Bookmark;
use perf::Perf;
use problem::Problem;

/// Does what the command line says; gives the exit code.
fn run() -> u8 {
    obey(std::env::args_os().collect())
}

fn obey(words: Vec<OsString>) -> u8 {
    let arguments = Arguments::read(words).unwrap_or_else(|error| error.exit());
    let (json, done) = match &arguments.command {
        Command::Demo(demo) => (false, demo::run(demo)),
        Command::Serve(serve) => (serve.json, serve::run(serve)),
        Command::Get(get) => (get.connection.json, client::get::run(get)),
        Command::Put(put) => (put.connection.json, client::put::run(put)),
        Command::Cat(cat) => (cat.connection.json, client::get::cat(cat)),
        Command::Mirror(mirror) => (mirror.connection.json, client::mirror::run(mirror)),
        Command::Transfers(transfers) => (transfers.json, client::journal::transfers(transfers)),
        Command::Resume(resume) => (resume.json, client::journal::resume(resume, &again)),
        Command::Forget(forget) => (false, client::journal::forget(forget)),
        Command::Rm(rm) => (rm.connection.json, client::manage::rm(rm)),
        Command::Mkdir(mkdir) => (mkdir.connection.json, client::manage::mkdir(mkdir)),
        Command::Mv(mv) => (mv.connection.json, client::manage::mv(mv)),
        Command::Ls(ls) => (ls.connection.json, client::ls::run(ls)),
        Command::Shell(shell) => (shell.connection.json, shell::run(shell)),
        Command::Bookmark(bookmark) => {
            (matches!(bookmark, Bookmark::List { json: true }), bookmark::run(bookmark))
        }
        Command::Perf(Perf::Layers(layers)) => return layers.run(obey),
        Command::Perf(perf) => (perf.json(), perf::run(perf)),
        Command::Ping(ping) => (ping.json, ping::run(ping)),
        Command::Route(router) => (router.json, router::run(router)),
        Command::Socks(socks) => (socks.json, socks::run(socks)),
        Command::Explain(explain) => (explain.json, explain::explain(explain)),
        Command::Draw(draw) => (false, explain::draw(draw)),
        Command::Features(features) => (features.json, features::run(features)),
        Command::Channel(channel) => (channel.json, channel::run(channel)),
        Command::Monitor(monitor) => (monitor.json, monitor::run(monitor)),
        Command::Group(group) => (group.json(), group::run(group)),
        Command::Host(host) => (host.json, host::run(host)),
        Command::Heard(heard) => (heard.json, heard::run(heard)),
        Command::Aprs(aprs) => (aprs.json, aprs::run(aprs)),
        Command::Station(station) => (false, station::run(station)),
        Command::Connect(connect) => (false, connect::run(connect)),
        Command::Dissect(dissect) => (dissect.json, dissect::run(dissect)),
        Command::Dissector(dissector) => (false, dissector::run(dissector)),
        Command::Jis(jis) => (false, jis::run(jis)),
        Command::Spec(spec) => (false, spec::run(spec)),
        Command::Completions(completions) => {
            (false, generate::completions(completions, Arguments::command()))
        }
        Command::Manual(manual) => (false, generate::manual(manual, Arguments::command())),
    };
    match done {
        Ok(()) => 0,
        Err(problem) => {
            problem.tell(json);
            problem.exit_code()
        }
    }
}

/// Does what the command line of a copy says; `None` where it is none.
fn again(words: Vec<OsString>) -> Option<Result<(), Problem>> {
    Some(match Arguments::read(words).ok()?.command {
        Command::Get(get) => client::get::run(&get),
        Command::Put(put) => client::put::run(&put),
        Command::Mirror(mirror) => client::mirror::run(&mirror),
        _ => return None,
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    run().into()
}
