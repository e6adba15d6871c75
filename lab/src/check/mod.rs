//! `lab check`: whether what the lab measures with is right, as programs of others count it.
//!
//! | file | what |
//! | --- | --- |
//! | `throughput.rs` | how much TCP a link carries that delays and loses |
//! | `rate.rs` | whether a link has the rate that it says |
//! | `delay.rs` | whether packets are under way as long as the model says |
//! | `fates.rs` | whether what the model loses, doubles, reorders and alters is what a receiver misses |
//! | `iperf.rs`, `ping.rs`, `snmp.rs` | those who count: iperf3, ping, the kernel |
//! | `row.rs` | what was to be, what was, and the verdict |

mod delay;
mod fates;
mod iperf;
mod ping;
mod rate;
mod row;
mod snmp;
mod throughput;

use std::env;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use indicatif::ProgressBar;
use rustix::process::setpriority_process;
use stackwright_contract::Duration;
use stackwright_results::Problem;

use row::Row;

/// Compare the lab's instruments with other programs
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Check `lab link` against iperf3, ping and the kernel; takes about two minutes (needs root)
    ///
    /// Each row tests a separate link. The exit code is 1 if a row fails.
    Link {
        /// Print JSON lines, one per row
        #[arg(long)]
        json: bool,
    },
}

/// Before all that have no priority of their own, and behind the link.
const PRIORITY: i32 = -15;

/// One comparison, or some on the same link.
struct Check {
    name: &'static str,
    run: fn() -> Result<Vec<Row>, Problem>,
}

const LINK: &[Check] = &[
    Check { name: "TCP throughput with delay and loss", run: throughput::check },
    Check { name: "the rate of TCP", run: rate::check_tcp },
    Check { name: "the rate of UDP", run: rate::check_udp },
    Check { name: "the delay of an idle link", run: delay::check_idle },
    Check { name: "the delay of a full link", run: delay::check_full },
    Check { name: "loss and duplicates, by ping", run: fates::check_ping },
    Check { name: "loss, by iperf3", run: fates::check_loss },
    Check { name: "order, by iperf3", run: fates::check_order },
    Check { name: "corrupted packets, by the kernel", run: fates::check_altered },
];

/// Runs it.
///
/// # Errors
///
/// Where a program or a right is missing. A row that does not hold is no error: it is told by the
/// exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let What::Link { json } = arguments.what;
    for (program, package) in [("iperf3", "iperf3"), ("ping", "iputils-ping")] {
        need(program, package)?;
    }
    // Those who count inherit it: what other programs of this machine do is not what is measured.
    // The link itself is one better. Without the right, the figures are only noisier.
    let _ = setpriority_process(None, PRIORITY);
    let watched = !json && io::stderr().is_terminal();
    let bar = if watched { ProgressBar::new(LINK.len() as u64) } else { ProgressBar::hidden() };
    bar.set_style(
        indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}")
            .expect("a sound template"),
    );
    bar.enable_steady_tick(Duration::from_millis(500));
    let mut all_hold = true;
    if !json {
        say(row::TITLE);
    }
    for check in LINK {
        bar.set_message(check.name);
        for row in (check.run)()? {
            all_hold &= row.holds;
            bar.suspend(|| if json { say(row.json()) } else { say(row) });
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says a line. Where nobody reads it any more, the exit code still tells.
fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn need(program: &str, package: &str) -> Result<(), Problem> {
    let paths = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&paths).any(|folder| folder.join(program).is_file()) {
        return Ok(());
    }
    Err(Problem::new(format!("{program} is not on the PATH, and this check needs it"))
        .advise(format!("install it; on Debian: apt install {package}")))
}
