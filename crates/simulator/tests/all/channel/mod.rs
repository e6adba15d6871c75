//! A shared channel: who waits for whom, who is heard, and what it costs.

mod access;
mod air_bits;
mod description;
mod errors;
mod stations;
mod world;

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Channel, ChannelConditions, LinkPacket, Reception};

/// A frame that knows which it is and how much of it was altered.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Probe {
    number: u64,
    octets: usize,
    altered: u64,
}

fn probe(number: u64, octets: usize) -> Probe {
    Probe { number, octets, altered: 0 }
}

impl LinkPacket for Probe {
    fn octets(&self) -> usize {
        self.octets
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn alter(&mut self, _bit: u64) {
        self.altered += 1;
    }
}

fn at(milliseconds: u64) -> Instant {
    Instant::START + millis(milliseconds)
}

fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// 1000 octets a second, so that an octet takes a millisecond; stations do not hesitate.
fn plain() -> ChannelConditions {
    ChannelConditions::ideal(1000)
}

/// Lets everything happen that is going to.
fn rest(channel: &mut Channel<Probe>) -> Vec<Reception<Probe>> {
    let mut heard = Vec::new();
    while let Some(deadline) = channel.next_deadline() {
        channel.handle_timeout(deadline, &mut heard);
    }
    heard
}

/// What happens up to that time.
fn until(channel: &mut Channel<Probe>, end: Instant) -> Vec<Reception<Probe>> {
    let mut heard = Vec::new();
    while let Some(deadline) = channel.next_deadline().filter(|deadline| *deadline <= end) {
        channel.handle_timeout(deadline, &mut heard);
    }
    heard
}

/// When, at whom and which: in milliseconds.
fn told(heard: &[Reception<Probe>]) -> Vec<(u64, usize, u64)> {
    let told = |heard: &Reception<Probe>| {
        (heard.time.nanoseconds() / 1_000_000, heard.station, heard.packet.number)
    };
    heard.iter().map(told).collect()
}
