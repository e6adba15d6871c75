//! What each of the two processes does.

use std::error::Error;
use std::io::{self, BufRead as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use stackwright::compose::Over;
use stackwright::wire::{BufferTree, Message as _};
use stackwright_artp as artp;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::{Config, System, blocking::Endpoint};
use stackwright_results::Problem;

use super::work::{Sum, Summed, Work};
use super::writer::Writer;

/// One side of a transfer.
#[derive(Args, Debug)]
pub(crate) struct Station {
    #[arg(long)]
    role: Role,
    /// Where the receiver is.
    #[arg(long)]
    address: SocketAddr,
    /// Where what arrives is written to.
    #[arg(long)]
    into: Option<PathBuf>,
    #[command(flatten)]
    work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Role {
    Sender,
    Receiver,
}

/// What one of them has to tell.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Told {
    pub(super) octets: u64,
    pub(super) datagrams: u64,
    pub(super) doubled: u64,
    pub(super) sum: Summed,
    /// From the first datagram, or the opening, to the end.
    pub(super) seconds: f64,
    pub(super) processor: f64,
    /// At most, in octets.
    pub(super) memory: u64,
    pub(super) dropped: u64,
}

type Stack = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;
type Done = Result<Told, Box<dyn Error>>;

/// Octets that are free before a datagram.
const HEADROOM: usize = 128;
/// At least this much waits to be sent, or to be heard.
const ROOM: usize = 8 << 20;

impl Station {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let told = match self.role {
            Role::Sender => self.send(),
            Role::Receiver => self.receive(),
        };
        let told = told.map_err(|why| Problem::new(format!("the transfer failed: {why}")))?;
        println!("{}", serde_json::to_string(&told).map_err(Problem::new)?);
        Ok(())
    }

    fn stack(&self) -> impl FnOnce(&System) -> Stack {
        let work = &self.work;
        let packets = work.flight / u64::from(work.packet);
        let (packet, window) = (work.packet, packets.clamp(16, 4096) as u32);
        let (longest, large, congestion) =
            (work.longest() + (2 << 16), work.large, work.congestion);
        let send = Credit { octets: self.room(), messages: 4096 };
        move |system| {
            let config = artp::Config {
                packet,
                window,
                longest,
                send,
                large,
                congestion,
                epoch: system.epoch(),
                ..artp::Config::new(system.secret())
            };
            Over::new(artp::layer(config, system.seed()), system.udp())
        }
    }

    fn room(&self) -> usize {
        self.work.longest().max(ROOM)
    }

    fn config(&self) -> Config {
        let credit = Credit { octets: self.room(), messages: 4096 };
        Config { credit, ..Config::default() }
    }

    fn send(&self) -> Done {
        let work = &self.work;
        let endpoint = Endpoint::new(self.config(), self.stack())?;
        let mut sum = Sum::new(work.datagrams() == 1);
        let association = endpoint.connect(self.address)?;
        let begin = Instant::now();
        for number in 0..work.datagrams() {
            let mut octets = Vec::with_capacity(HEADROOM + work.longest());
            work.fill(number, &mut octets);
            let length = octets.len();
            let message = BufferTree::from_block(octets.into(), 0, length);
            sum.add(number as u32, &message);
            let properties =
                MessageProperties { number: Some(number as u32), ..MessageProperties::default() };
            association.send_message(message, properties)?;
        }
        association.close()?;
        told(&sum, begin, endpoint.dropped())
    }

    fn receive(&self) -> Done {
        let endpoint = Endpoint::bind(self.address, self.config(), self.stack())?;
        println!("{}", serde_json::to_string(&endpoint.local())?);
        let writer = self.into.as_deref().map(Writer::start).transpose()?;
        let mut sum = Sum::new(self.work.datagrams() == 1);
        let association = endpoint.accept()?;
        let begin = Instant::now();
        loop {
            let (message, properties) = match association.receive_message() {
                Ok(received) => received,
                Err(over) if over.is_finished() => break,
                Err(other) => return Err(other.into()),
            };
            let number = properties.number.unwrap_or_default();
            sum.add(number, &message);
            if let Some(writer) = &writer {
                writer.write(u64::from(number) * self.work.datagram, message)?;
            }
        }
        writer.map_or(Ok(()), Writer::finish)?;
        let told = told(&sum, begin, endpoint.dropped());
        // Its farewell may be lost: the sender, who is told of it, says when nobody waits for that
        // any more.
        let _ = io::stdin().lock().lines().next();
        told
    }
}

fn told(sum: &Sum, begin: Instant, dropped: u64) -> Done {
    let seconds = begin.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds_of =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    let Sum { octets, datagrams, doubled, .. } = *sum;
    Ok(Told {
        octets,
        datagrams,
        doubled,
        sum: sum.value(),
        seconds,
        processor: seconds_of(usage.user_time()) + seconds_of(usage.system_time()),
        memory: memory()?,
        dropped,
    })
}

/// The most that was resident, in octets.
fn memory() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = most.and_then(|most| most.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kibibytes.unwrap_or_default() * 1024)
}
