//! `lab transfer`: so many octets by ARTP from one process to another, and whether they arrived as they were sent.
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
use stackwright_simulator::{LinkDescription, Octets, Profile};

pub(crate) use station::Station;

use crate::link::Counts;
use crate::problem::Problem;
use processes::Outcome;
use work::Work;

/// Send octets by ARTP over UDP from one process to another: nothing may be lost, doubled or altered
///
/// The two are on the loopback interface, or at the ends of a wire that `lab link` makes. Rates are those of payload. A single
/// datagram is compared by SHA-256, many by a sum over all that does not ask for their order.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How many octets
    #[arg(long, default_value = "200 MB", value_parser = octets)]
    octets: u64,
    /// In datagrams of so many, the last of which may have fewer
    #[arg(long, default_value = "10 kB", value_parser = octets)]
    datagram: u64,
    /// The longest packet, header included
    #[arg(long, default_value = "65507", value_parser = octets)]
    packet: u64,
    /// How many octets of packets may be on their way, at most
    #[arg(long, default_value = "4 MiB", value_parser = octets)]
    flight: u64,
    /// What bounds what is on its way: document, new-reno, cubic or bbr
    #[arg(long, default_value_t, value_parser = congestion)]
    congestion: Congestion,
    /// Only what the document knows: a datagram has 65535 fragments at most
    #[arg(long)]
    version_one: bool,
    /// What lies between the two, as a scenario says it of a link: `{ loss = 0.05, mtu = 16000 }` (needs root) [default: the
    /// loopback interface]
    #[arg(long, value_name = "LINK", value_parser = link)]
    wire: Option<Profile>,
    /// Write what arrives into this file, beside doing the same without it, and writing the same octets without a network
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// What is sent follows from it, and what the wire does
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn octets(text: &str) -> Result<u64, String> {
    let value = text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number));
    serde_json::from_value::<Octets>(value).map(|octets| octets.0).map_err(|why| why.to_string())
}

fn congestion(name: &str) -> Result<Congestion, &'static str> {
    name.parse().map_err(|()| "document, new-reno, cubic or bbr")
}

fn link(text: &str) -> Result<Profile, String> {
    let table = toml::from_str::<toml::Table>(&format!("link = {text}")).map_err(|why| why.to_string())?;
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
            println!("{}", json!({ "outcome": outcome, "plain": plain, "ratio": ratio }));
            return Ok(());
        }
        let Outcome { sender, receiver, wire } = outcome;
        let longest = self.datagram.min(self.octets) as f64;
        println!("{} octets in {} datagrams, as they were sent", receiver.octets, receiver.datagrams);
        println!(
            "  {:.2} s, {:.2} Gb/s",
            receiver.seconds,
            receiver.octets as f64 * 8e-9 / receiver.seconds.max(1e-9)
        );
        for (who, said) in [("sender", sender), ("receiver", receiver)] {
            println!(
                "  {who:<9}{:.2} s of a processor, at most {:.1} MB of memory, {:.2} of the longest datagram; {} dropped",
                said.processor,
                said.memory as f64 * 1e-6,
                said.memory as f64 / longest,
                said.dropped
            );
        }
        for (way, report) in ["there", "back"].into_iter().zip(wire.iter().flatten()) {
            let Counts { offered, lost, queue_drops, marked, .. } = report.all;
            println!(
                "  {way:<9}{offered} packets, {lost} lost, {queue_drops} dropped by the queue, {marked} marked by it"
            );
        }
        if let Some((plain, ratio)) = file {
            println!(
                "  into the file {ratio:.2} of the longer of the sum alone and a plain loop of writes ({plain:.2} s)"
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
