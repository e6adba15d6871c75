//! Each mechanism of a link against its definition: counted over seeds, with bounds that are
//! computed.

mod bit_errors;
mod chances;
mod codel;
mod delay_steps;
mod description;
mod ecn;
mod loss;
mod order;
mod outages;
mod policer;
mod profiles;
mod rate;
mod replay;
mod steps;

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Link, LinkPacket};

/// A packet that knows which it is and what was done to it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Probe {
    number: u64,
    octets: usize,
    altered: Vec<u64>,
    ecn: u8,
}

impl Probe {
    fn new(number: u64, octets: usize) -> Self {
        Probe { number, octets, altered: Vec::new(), ecn: 0 }
    }
}

impl LinkPacket for Probe {
    fn octets(&self) -> usize {
        self.octets
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn ecn(&self) -> u8 {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: u8) {
        self.ecn = ecn;
    }

    fn alter(&mut self, bit: u64) {
        self.altered.push(bit);
    }
}

fn at(nanoseconds: u64) -> Instant {
    Instant::from_nanoseconds(nanoseconds)
}

fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// What arrives of packets of so many octets, of which one is sent every `gap`; in the order in
/// which they were sent.
fn arrivals(link: &mut Link, count: u64, octets: usize, gap: Duration) -> Vec<(Instant, Probe)> {
    let mut arrivals = Vec::new();
    for number in 0..count {
        let now = at(number * gap.as_nanos() as u64);
        match link.carry(now, Probe::new(number, octets)) {
            Carried::Lost => {}
            Carried::Once(time, probe) => arrivals.push((time, probe)),
            Carried::Twice(both) => arrivals.extend(both),
        }
    }
    arrivals
}

/// Whether what has this probability may happen so often in so many trials: within five standard
/// deviations, which by chance is not so once in a million.
fn is_plausible(happened: u64, trials: u64, probability: f64) -> bool {
    let mean = trials as f64 * probability;
    let deviation = (mean * (1.0 - probability)).sqrt();
    (happened as f64 - mean).abs() <= 5.0 * deviation
}
