//! `station`: a packet radio station from a file. Programs share its links (AGW) and its TNC
//! (KISS), and other stations reach programs at call signs, and a folder.
//!
//! | file | what |
//! | --- | --- |
//! | `file.rs`, `reader.rs` | the file |
//! | `setup.rs` | the stack that it describes |
//! | `host.rs` | its host of IPv4 |
//! | `tncs.rs` | its TNCs, as one |
//! | `served.rs` | what is above its FTP server |
//! | `log.rs` | what its operator is told |

mod file;
mod host;
mod log;
mod reader;
mod served;
mod setup;
mod tncs;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant as Clock};

use clap::Args;
use stackwright::ax25::Digipeating;
use stackwright::contract::services::Ended;
use stackwright::contract::{IndicationOf, Nothing, Outlet, Participant, Protocol as _, RequestOf};

use crate::flawed::Flawed;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::{say, short};
use file::{
    DeviceEntry, Encryption, FILE_MOST, FolderEntry, KissPlace, ProgramEntry, StationFile, TncEntry,
};
use log::Log;
use setup::Setup;
use stackwright_parts::Stack;

/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(500);
/// How long links may take to end then: as long as AGW gives them.
const END_WITHIN: Duration = Duration::from_secs(12);

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright station station.toml --check
  stackwright station station.toml --dry-run
  stackwright station station.toml")]
pub(crate) struct Station {
    /// The station's file, in TOML: call sign, TNCs, and services for programs.
    pub(crate) file: PathBuf,
    /// Only check the file.
    #[arg(long)]
    pub(crate) check: bool,
    /// Transmit nothing; show the frames instead, with their air time.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show transmitted frames, and packets that a layer drops.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

pub(crate) fn run(station: &Station) -> Result<(), Problem> {
    let mut file = load(&station.file)?;
    if station.dry_run {
        file.transmit = false;
    }
    describe(&file);
    if station.check {
        say!("Nothing is wrong with it.");
        return Ok(());
    }
    let Setup { mut driver, mut stack, acting } = Setup::of(&file)?;
    let tncs = file.tncs.iter().map(|tnc| tnc.shown.clone()).collect();
    driver.context().listen(Box::new(Log::new(station.verbose, tncs, acting)));
    let interrupted = interrupts()?;
    // A listener is told of, or refused, with the first turn.
    driver.turn(&mut stack, &mut Nobody, Some(Duration::ZERO))?;
    for (what, address, there) in [
        ("AGW", file.agw, setup::agw(&stack).listening()),
        ("KISS", file.kiss.as_ref().and_then(KissPlace::address), setup::hub(&stack).listening()),
    ] {
        if let Some(address) = address {
            let local = listening(there).map_err(|why| Problem::Listen { address, why })?;
            say!("{what} for programs: {local}");
        }
    }
    if let Some(KissPlace::Terminal(link)) = &file.kiss {
        say!("KISS for programs: {}", link.display());
    }
    say!("Press Ctrl-C to stop.");
    while !interrupted.load(Relaxed) {
        driver.turn(&mut stack, &mut Nobody, Some(LOOK))?;
        setup::start_programs(&mut stack, driver.context());
    }
    setup::stop(&mut stack);
    let begun = Clock::now();
    while begun.elapsed() < END_WITHIN {
        // With the turn that ends them, the last word leaves, too.
        let is_over = setup::agw(&stack).links() == 0;
        driver.turn(&mut stack, &mut Nobody, Some(Duration::from_millis(50)))?;
        if is_over && stack.may_exit() {
            break;
        }
    }
    setup::tncs(&mut stack).leave();
    driver.turn(&mut stack, &mut Nobody, Some(Duration::ZERO))?;
    let transmitted = setup::tncs(&mut stack).transmitted();
    say!("Transmitted {} frames, {} on the air.", transmitted.frames, short(transmitted.air));
    Ok(())
}

fn listening(there: Option<Result<Participant, Ended>>) -> Result<Participant, Ended> {
    there.unwrap_or(Err(Ended::Unavailable))
}

/// Reads the file.
fn load(path: &Path) -> Result<StationFile, Problem> {
    let unread = |why| Problem::Path { path: path.into(), why };
    let mut text = String::new();
    let opened = File::open(path).map_err(unread)?;
    opened.take(FILE_MOST as u64 + 1).read_to_string(&mut text).map_err(unread)?;
    let name = path.display().to_string();
    if text.len() > FILE_MOST {
        let says = format!("a station's file has at most {FILE_MOST} octets");
        return Err(Problem::Station(Box::new(Flawed::at(&name, &text, None, &says))));
    }
    file::read(&text).map_err(|mistake| {
        let flawed = Flawed::at(&name, &text, Some(&mistake.span), &mistake.says);
        Problem::Station(Box::new(flawed))
    })
}

/// Tells what the station will do.
fn describe(file: &StationFile) {
    let StationFile { call, tncs, .. } = file;
    let aliases: String = file.aliases.iter().map(|alias| format!(", {alias}")).collect();
    let tncs: String = tncs
        .iter()
        .map(|TncEntry { name, shown, kiss, .. }| {
            format!("; TNC {name} at {shown}, {} bit/s", kiss.rate)
        })
        .collect();
    say!("Station {call}{aliases}{tncs}.");
    if file.tncs.len() > 1 {
        let ports = (0..).zip(&file.tncs).map(|(port, tnc)| format!("{} is {port}", tnc.name));
        say!("  Ports of programs: {}.", ports.collect::<Vec<_>>().join(", "));
    }
    if !file.transmit {
        say!("  It only receives: what it would transmit is shown.");
    }
    if let Some(duty) = file.duty {
        say!("  It transmits at most {duty} % of the time.");
    }
    match file.encryption {
        Encryption::Refused => {
            say!("  What it recognises as encrypted (TLS, SSH, IPsec) is not transmitted.");
        }
        Encryption::AllowedHere => {
            say!("  It transmits what is encrypted, too, which amateur radio does not allow.");
        }
    }
    match file.links.digipeat {
        Digipeating::Off => {}
        Digipeating::Named => say!("  It repeats frames that name it as a digipeater."),
        Digipeating::Wide { most } => {
            say!(
                "  It repeats frames that name it as a digipeater, or WIDEn-N to WIDE{most}-{most}."
            );
        }
    }
    if let Some(FolderEntry { root, writable }) = &file.folder {
        let may = if *writable { "fetch and store" } else { "fetch" };
        say!(
            "  Other stations may {may} files of {}, at {}.",
            root.display(),
            file.host.own.address
        );
    }
    for ProgramEntry { call, run, most } in &file.programs {
        say!("  Callers of {call} are connected to {}, at most {most} at once.", run.join(" "));
    }
    if file.host.dsr {
        say!("  It relays packets for other stations (DSR), as {}.", file.host.own.address);
    }
    if let Some(DeviceEntry { name, own }) = &file.host.device {
        say!("  Programs of this machine reach other stations through {name}, by {}.", own.address);
    }
    let kiss = file.kiss.as_ref().and_then(KissPlace::address);
    for address in [file.agw, kiss].into_iter().flatten() {
        if !address.ip().is_loopback() {
            say!("  Other machines can reach {address}, and transmit with your call sign.");
        }
    }
}

/// There is nothing above the station.
struct Nobody;

impl Outlet<Stack<Nothing>> for Nobody {
    fn indicate(&mut self, never: IndicationOf<Stack<Nothing>>) {
        match never {}
    }

    fn request(&mut self, request: RequestOf<Stack<Nothing>>) {
        match request {}
    }
}
