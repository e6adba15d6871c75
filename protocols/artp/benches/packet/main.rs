//! What a data packet costs at both ends together: ARTP's configuration of the engine, static and boxed, against the same
//! path by hand; and the same as layers, with everything around it.
//!
//! ```text
//! cargo bench -p stackwright-artp --bench packet                 all of it
//! cargo bench -p stackwright-artp --bench packet -- --counts     only what is exact: fails where it misses
//! ```
//!
//! A round is a batch of messages, which are made in blocks of the pool, delivered and given back to it, with one
//! acknowledgement for every sixteen packets. Nothing is lost and there is no I/O. Times are taken in turns of one run and compared
//! as ratios; instructions and allocations are counted, and exact.

#[path = "../../../../crates/compose/benches/crossing/count.rs"]
mod count;
mod ends;
mod monolith;

use std::process::ExitCode;

use ends::{End, HEADROOM, Pair};
use stackwright_artp::Config;
use stackwright_contract::services::Quality;
use stackwright_wire::{BufferTree, Message};

/// Messages of a round, and packets for each acknowledgement.
const BATCH: u64 = 16;

/// The longest packet.
const PACKET: u16 = 1452;

fn config() -> Config {
    Config { packet: PACKET, gather_most: BATCH, ..Config::default() }
}

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
                let message = self.message(octets);
                self.here.send(self.now, message, Quality::default());
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
            let released = self.here.released();
            self.room.messages += released.messages;
        }
        delivered
    }
}

impl<A, B> Pair<A, B> {
    /// A message as an application makes one.
    fn message(&self, octets: usize) -> BufferTree {
        if HEADROOM + octets > self.memory.pool.block() {
            return BufferTree::with_headroom(HEADROOM, &PAYLOAD[..octets]);
        }
        let mut block = self.memory.pool.take();
        block[HEADROOM..HEADROOM + octets].copy_from_slice(&PAYLOAD[..octets]);
        BufferTree::from_block(block, HEADROOM, HEADROOM + octets)
    }
}

static PAYLOAD: [u8; 10_000] = [b'x'; 10_000];

const ROWS: [&str; 3] = ["monolith", "static", "boxed"];

fn subject(row: &str) -> Box<dyn Rounds> {
    let config = config();
    match row {
        "monolith" => Box::new(Pair::new(ends::by_hand(&config, 0), ends::by_hand(&config, 1), &config)),
        "static" => {
            Box::new(Pair::new(ends::written_down(&config, 0), ends::written_down(&config, 1), &config))
        }
        "boxed" => Box::new(Pair::new(ends::boxed(&config, 0), ends::boxed(&config, 1), &config)),
        _ => panic!("there is no {row}"),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [count::ALONE, which, number] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let (row, octets) = which.split_once('/').expect("a row and a length");
        let octets = octets.parse().expect("a length");
        std::hint::black_box(subject(row).run(octets, number.parse().expect("a number of rounds")));
        return ExitCode::SUCCESS;
    }
    for octets in [64, 1400, 10_000] {
        for row in ROWS {
            let mut s = subject(row);
            s.run(octets, 3000);
            let allocations = count::allocations(|| {
                s.run(octets, 1000);
            });
            let mut best = f64::MAX;
            for _ in 0..9 {
                let start = std::time::Instant::now();
                s.run(octets, 1000);
                best = best.min(start.elapsed().as_nanos() as f64 / 16000.0);
            }
            let i = count::instructions(&format!("{row}/{octets}"), 2000).unwrap_or(0.0) / 16.0;
            println!("{octets} {row}: {best:.1} ns, {i:.1} instr, {} alloc", allocations as f64 / 16000.0);
        }
    }
    ExitCode::SUCCESS
}
