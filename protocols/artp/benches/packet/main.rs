//! What a data packet costs at both ends together: ARTP's configuration of the engine, static and
//! boxed, against the same path by hand; and as layers, with all that stands around an engine.
//!
//! ```text
//! cargo bench -p stackwright-artp --bench packet                 all of it
//! cargo bench -p stackwright-artp --bench packet -- --counts     only what is exact: instructions, allocations, sizes
//! ```
//!
//! A round is a batch of sixteen messages: each is made in a block of the pool, sent, received,
//! taken and given back to the pool; one acknowledgement of them all goes the other way. Nothing is
//! lost, and there is no I/O. Times are taken in turns, in random order, and compared as ratios;
//! instructions and allocations are counted, and exact.

#[path = "../../../../crates/compose/benches/crossing/count.rs"]
mod count;
mod ends;
mod layers;
mod monolith;
mod sizes;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use ends::{End, Pair, boxed, by_hand, message, written_down};
use layers::Layers;
use stackwright_artp::{Config, policies};
use stackwright_contract::services::MessageProperties;
use stackwright_programs::statistics::{median, ratio};
use stackwright_wire::Message;

/// Messages of a round, and packets for each acknowledgement.
const BATCH: u64 = 16;

/// The longest packet, in octets: as much as an Ethernet carries below UDP and IPv6.
const PACKET: u16 = 1452;

/// What is measured, and at most which multiple of the monolith it may cost.
const ROWS: [(&str, Option<f64>); 5] = [
    ("monolith", None),
    ("static", Some(1.6)),
    ("boxed", Some(2.2)),
    ("static layer", None),
    ("boxed layer", None),
];

/// Octets of a message; the first is what targets are for.
const LENGTHS: [usize; 3] = [64, 1400, 10_000];

/// Something that sends messages of a length.
trait Rounds {
    /// So many rounds; gives how many octets were delivered.
    fn run(&mut self, octets: usize, rounds: u64) -> usize;
}

impl<A: End, B: End> Rounds for Pair<A, B> {
    fn run(&mut self, octets: usize, rounds: u64) -> usize {
        let mut delivered = 0;
        for _ in 0..rounds {
            for _ in 0..BATCH {
                let message = message(&self.memory.pool, octets);
                self.here.send(self.now, message, MessageProperties::default(), &self.memory);
            }
            let mut arrived = 0;
            while arrived < BATCH {
                self.exchange();
                while let Some((message, _)) = self.there.take(self.now) {
                    delivered += message.len();
                    arrived += 1;
                    message.reclaim(&self.memory.pool);
                }
            }
            black_box(self.here.released());
        }
        delivered
    }
}

fn config() -> Config {
    Config { packet: PACKET, gather_most: BATCH, gather_full: BATCH as u32, ..Config::new([0; 16]) }
}

fn subject(row: &str) -> Box<dyn Rounds> {
    let config = &config();
    match row {
        "monolith" => Box::new(Pair::new(by_hand(config, 0), by_hand(config, 1), config)),
        "static" => Box::new(Pair::new(written_down(config, 0), written_down(config, 1), config)),
        "boxed" => Box::new(Pair::new(boxed(config, 0), boxed(config, 1), config)),
        "static layer" => Box::new(Layers::new(config, policies)),
        "boxed layer" => Box::new(Layers::new(config, |session, config, secrets| {
            policies(session, config, secrets).boxed()
        })),
        _ => panic!("there is no {row}"),
    }
}

/// The window has opened, and memory was asked for.
fn warm(row: &str, octets: usize) -> Box<dyn Rounds> {
    let mut subject = subject(row);
    assert_eq!(subject.run(octets, WARM), octets * (BATCH * WARM) as usize, "everything arrives");
    subject
}

const WARM: u64 = 300;

/// Nanoseconds a message, of each row, turn by turn.
fn times(octets: usize) -> Vec<Vec<f64>> {
    const TURNS: usize = 300;
    let rounds = if octets > 2 * usize::from(PACKET) { 8 } else { 128 };
    let mut subjects: Vec<_> = ROWS.iter().map(|(row, _)| warm(row, octets)).collect();
    let mut times = vec![Vec::with_capacity(TURNS); ROWS.len()];
    let (mut random, mut order) = (fastrand::Rng::with_seed(1), Vec::from_iter(0..ROWS.len()));
    for _ in 0..TURNS {
        random.shuffle(&mut order);
        for row in &order {
            let start = Instant::now();
            black_box(subjects[*row].run(octets, rounds));
            times[*row].push(start.elapsed().as_nanos() as f64 / (rounds * BATCH) as f64);
        }
    }
    times
}

/// Whether the targets are met.
fn time(octets: usize) -> bool {
    let times = times(octets);
    let mut met = true;
    println!("\n{octets} octets: nanoseconds a message, and the ratio to the monolith");
    for ((row, most), ours) in ROWS.iter().zip(&times) {
        let (Some(middle), Some(ratio)) = (median(ours), ratio(ours, &times[0])) else { continue };
        print!("{row:14} {middle:8.1}  {:.2} ({:.2} … {:.2})", ratio.value, ratio.low, ratio.high);
        match most.filter(|_| octets == LENGTHS[0]) {
            Some(most) if ratio.value <= most => println!(", at most {most}: met"),
            Some(most) => {
                met = false;
                println!(", at most {most}: MISSED");
            }
            None => println!(),
        }
    }
    met
}

/// Whether nothing is allocated where nothing need be.
fn count(octets: usize) -> bool {
    let rounds = if octets > 2 * usize::from(PACKET) { 64 } else { 512 };
    let mut met = true;
    println!(
        "\n{octets} octets: instructions a message, the ratio to the monolith, and allocations"
    );
    let mut first = None;
    for (row, _) in ROWS {
        let mut subject = warm(row, octets);
        let allocations = count::allocations(|| {
            black_box(subject.run(octets, rounds));
        });
        let allocations = allocations as f64 / (rounds * BATCH) as f64;
        met &= allocations == 0.0 || octets > usize::from(PACKET);
        let Some(counted) = count::instructions(&format!("{row}/{octets}"), rounds) else {
            println!(
                "{row:14} not counted, for there is no valgrind here; {allocations:.2} allocations"
            );
            continue;
        };
        let counted = counted / BATCH as f64;
        let ratio = counted / *first.get_or_insert(counted);
        println!("{row:14} {counted:8.1}  {ratio:.2}  {allocations:.2} allocations");
    }
    met
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [count::ALONE, which, rounds] = words[..] {
        let (row, octets) = which.split_once('/').expect("a row and a length");
        let (octets, rounds) =
            (octets.parse().expect("a length"), rounds.parse::<u64>().expect("a number"));
        black_box(subject(row).run(octets, WARM + rounds));
        return ExitCode::SUCCESS;
    }
    let mut met = sizes::print(&config());
    if !words.contains(&"--counts") {
        met &= LENGTHS.into_iter().fold(true, |met, octets| time(octets) & met);
    }
    met &= LENGTHS.into_iter().fold(true, |met, octets| count(octets) & met);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
