//! `lab transfer`: sends octets by ARTP from one process to another, and checks that they arrive
//! unaltered.
//!
//! | file | what |
//! | --- | --- |
//! | `work.rs` | datagrams, and sums over them that do not ask for their order |
//! | `station.rs` | what each of the two processes does, on an endpoint |
//! | `processes.rs` | both of them, over the loopback interface or a wire, and what they tell |

mod processes;
mod station;
mod work;
mod writer;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use stackwright_artp::Congestion;
use stackwright_results::{Problem, say};
use stackwright_simulator::{LinkDescription, OctetCount, Profile};

pub(crate) use station::Station;

use crate::link::Counts;
use processes::Outcome;
use work::Work;

/// Send octets by ARTP over UDP between two processes, and check that none is lost, duplicated or
/// altered
///
/// The processes use the loopback interface, or a modelled link as in `lab link`. Rates are payload
/// rates. A single datagram is compared by SHA-256, several by a sum that does not depend on their
/// order.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab transfer --octets '10 GB'
  lab transfer --octets '1 GB' --wire '{ loss = 0.01 }'")]
pub(crate) struct Arguments {
    /// Octets to send, such as "200 MB"
    #[arg(long, default_value = "200 MB", value_parser = octets)]
    octets: u64,
    /// The length of a datagram; the last one may be shorter
    #[arg(long, default_value = "10 kB", value_parser = octets)]
    datagram: u64,
    /// The longest packet, in octets, header included
    #[arg(long, default_value = "65507", value_parser = octets)]
    packet: u64,
    /// The most octets in flight
    #[arg(long, default_value = "4 MiB", value_parser = octets)]
    flight: u64,
    /// Congestion control: cubic, bbr, new-reno or document (the specification's)
    #[arg(long, default_value_t, value_parser = congestion)]
    congestion: Congestion,
    /// Use only version 1 of the header: at most 65535 fragments per datagram
    #[arg(long)]
    version_one: bool,
    /// A link between the processes, such as "{ loss = 0.05, mtu = 16000 }" (needs root) [default:
    /// loopback]
    #[arg(long, value_name = "LINK", value_parser = link)]
    wire: Option<Profile>,
    /// Also write the received octets to FILE, and compare with writing them without a network
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Seed of the content and of the link's random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn octets(text: &str) -> Result<u64, String> {
    let value = text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number));
    serde_json::from_value::<OctetCount>(value)
        .map(|octets| octets.0)
        .map_err(|why| why.to_string())
}

fn congestion(name: &str) -> Result<Congestion, &'static str> {
    name.parse().map_err(|()| "choose cubic, bbr, new-reno or document")
}

fn link(text: &str) -> Result<Profile, String> {
    let table =
        toml::from_str::<toml::Table>(&format!("link = {text}")).map_err(|why| why.to_string())?;
    let description = table["link"].clone().try_into::<LinkDescription>();
    description.map_err(|why| why.to_string())?.resolve().map_err(|why| why.to_string())
}

impl Arguments {
    /// Does what is asked.
    ///
    /// # Errors
    /// Where a process fails, or what arrived is not what was sent.
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        let work = Work {
            octets: self.octets,
            datagram: self.datagram.max(1),
            packet: u16::try_from(self.packet)
                .map_err(|_| Problem::usage("a packet has at most 65507 octets"))?,
            flight: self.flight,
            large: !self.version_one,
            congestion: self.congestion,
            seed: self.seed,
        };
        work.check()?;
        let summed = self.once(&work, None)?;
        let Some(file) = &self.into else { return self.tell(&summed, None) };
        let plain = plain(&work, file)?;
        let written = self.once(&work, Some(file))?;
        self.tell(&summed, None)?;
        let ratio = written.receiver.seconds / summed.receiver.seconds.max(plain);
        self.tell(&written, Some((plain, ratio)))
    }

    fn once(&self, work: &Work, file: Option<&Path>) -> Result<Outcome, Problem> {
        let outcome = processes::run(work, self.wire.as_ref(), file)?;
        outcome.check(work)?;
        Ok(outcome)
    }

    fn tell(&self, outcome: &Outcome, file: Option<(f64, f64)>) -> Result<(), Problem> {
        if self.json {
            let (plain, ratio) = file.unzip();
            say!("{}", json!({ "outcome": outcome, "plain": plain, "ratio": ratio }));
            return Ok(());
        }
        let Outcome { sender, receiver, wire } = outcome;
        let longest = self.datagram.min(self.octets) as f64;
        say!("{} octets in {} datagrams arrived unaltered", receiver.octets, receiver.datagrams);
        say!(
            "  {:.2} s, {:.2} Gb/s",
            receiver.seconds,
            receiver.octets as f64 * 8e-9 / receiver.seconds.max(1e-9)
        );
        for (who, said) in [("sender", sender), ("receiver", receiver)] {
            say!(
                "  {who:<9}{:.2} s of processor time, at most {:.1} MB of memory ({:.2} × the longest datagram), {} dropped",
                said.processor,
                said.memory as f64 * 1e-6,
                said.memory as f64 / longest,
                said.dropped
            );
        }
        for (way, report) in ["there", "back"].into_iter().zip(wire.iter().flatten()) {
            let Counts { offered, lost, queue_drops, marked, .. } = report.all;
            say!(
                "  {way:<9}{offered} packets, {lost} lost, {queue_drops} dropped by the queue, {marked} marked by it"
            );
        }
        if let Some((plain, ratio)) = file {
            say!(
                "  writing to the file took {ratio:.2} × the longer of receiving alone and writing alone ({plain:.2} s)"
            );
        }
        Ok(())
    }
}

/// How long it takes to write the same octets without a network.
fn plain(work: &Work, path: &Path) -> Result<f64, Problem> {
    let unwritable = |why| Problem::new(format!("{}: {why}", path.display()));
    let datagrams = work.datagrams();
    let mut file = File::create(path).map_err(unwritable)?;
    let begin = Instant::now();
    let mut datagram = Vec::new();
    for number in 0..datagrams {
        work.fill(number, &mut datagram);
        file.write_all(&datagram).map_err(unwritable)?;
    }
    Ok(begin.elapsed().as_secs_f64())
}
