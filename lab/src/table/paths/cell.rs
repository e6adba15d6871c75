//! A path of the table: its name as a cell, what follows from its figures, and how long it is used.

use std::fmt;

use crate::measure::Effort;

/// Bits per second, with the name of each.
pub(super) const RATES: [(&str, u64); 7] = [
    ("1.2k", 1_200),
    ("9.6k", 9_600),
    ("100k", 100_000),
    ("1M", 1_000_000),
    ("10M", 10_000_000),
    ("100M", 100_000_000),
    ("1G", 1_000_000_000),
];
/// Round trips, in milliseconds.
pub(super) const ROUND_TRIPS: [u64; 5] = [1, 20, 100, 300, 600];
/// The probability that a packet is lost, with the name of each.
pub(super) const LOSSES: [(&str, f64); 4] =
    [("0%", 0.0), ("0.1%", 0.001), ("1%", 0.01), ("5%", 0.05)];
/// Queues, as multiples of the bandwidth-delay product.
pub(super) const QUEUES: [(&str, f64); 3] = [("q0.1", 0.1), ("q1", 1.0), ("q4", 4.0)];

/// The longest packet of the path, in octets.
pub(super) const MTU: u64 = 1500;
/// A queue has room for this many packets at least.
const QUEUE_LEAST: u64 = 10;
/// The octets of a message that fills one packet of ARTP's default length, and of that packet on
/// the wire: messages and packets are then the same in number.
pub(super) const MESSAGE: u64 = 1176;
const PACKET: u64 = 1228;
/// The octets of payload in a full packet of TCP, which has timestamps.
pub(super) const TCP_PAYLOAD: u64 = 1448;
/// ARTP's default window, in packets: it is left as it is where it holds four times the
/// bandwidth-delay product.
const WINDOW: u64 = 4096;

/// One path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    rate: (&'static str, u64),
    /// In milliseconds.
    pub(super) round_trip: u64,
    loss: (&'static str, f64),
    queue: (&'static str, f64),
}

impl Cell {
    /// All paths, in the order of the table: a group for each loss and queue.
    pub(super) fn all() -> impl Iterator<Item = Cell> {
        LOSSES.into_iter().flat_map(|loss| {
            QUEUES.into_iter().flat_map(move |queue| {
                ROUND_TRIPS.into_iter().flat_map(move |round_trip| {
                    RATES.into_iter().map(move |rate| Cell { rate, round_trip, loss, queue })
                })
            })
        })
    }

    /// The path that a key names, as [`fmt::Display`] writes it.
    pub(super) fn parse(key: &str) -> Option<Cell> {
        Cell::all().find(|cell| cell.to_string() == key)
    }

    /// In bits per second.
    pub(super) fn rate(&self) -> u64 {
        self.rate.1
    }

    /// The probability that a packet is lost, in both directions.
    pub(super) fn loss(&self) -> f64 {
        self.loss.1
    }

    /// Whether no packet is lost but by a full queue.
    pub(super) fn is_lossless(&self) -> bool {
        self.loss.1 == 0.0
    }

    /// The queue as a multiple of the bandwidth-delay product.
    pub(super) fn queue(&self) -> f64 {
        self.queue.1
    }

    /// What the rows of one loss and queue are called.
    pub(super) fn group(&self) -> String {
        format!("{} lost, queue {} × bandwidth-delay", self.loss.0, self.queue.1)
    }

    /// What a row is called in its group.
    pub(super) fn label(&self) -> String {
        format!("{}bit/s, {} ms", self.rate.0, self.round_trip)
    }

    /// The octets that are on their way when the path is full.
    pub(super) fn bandwidth_delay(&self) -> u64 {
        self.rate.1 * self.round_trip / 8_000
    }

    /// The queue, in octets.
    pub(super) fn queue_octets(&self) -> u64 {
        ((self.queue.1 * self.bandwidth_delay() as f64) as u64).max(QUEUE_LEAST * MTU)
    }

    /// ARTP's window in packets, where the default does not hold four times the bandwidth-delay
    /// product.
    pub(super) fn window(&self) -> Option<u64> {
        Some(4 * self.bandwidth_delay() / MESSAGE).filter(|packets| *packets > WINDOW)
    }

    /// The most payload that ARTP's packets can carry, in bits per second.
    pub(super) fn limit(&self) -> f64 {
        self.rate.1 as f64 * MESSAGE as f64 / PACKET as f64
    }

    /// The same of TCP's.
    pub(super) fn tcp_limit(&self) -> f64 {
        self.rate.1 as f64 * TCP_PAYLOAD as f64 / MTU as f64
    }

    /// How long a transfer lasts at the payload limit, in seconds: `least`, 40 round trips and as
    /// long as so many packets take, at least.
    pub(super) fn seconds(&self, least: f64, packets: u64) -> f64 {
        let packets = (packets * 8 * PACKET) as f64 / self.rate.1 as f64;
        least.max(0.04 * self.round_trip as f64).max(packets)
    }

    /// How many messages that is.
    pub(super) fn messages(&self, seconds: f64) -> u64 {
        (self.limit() * seconds / 8.0 / MESSAGE as f64).ceil() as u64
    }

    /// Whether there is time for it on real sockets, where time is that of the wall clock.
    pub(super) fn is_real(&self, effort: Effort) -> bool {
        let known = (self.rate.0, self.round_trip);
        let chosen = [("9.6k", 20), ("1M", 300), ("10M", 100), ("100M", 100)].contains(&known);
        let fat = known == ("100M", 300);
        let usual = match (self.loss.0, self.queue.0) {
            ("0%", "q1") => chosen || fat,
            ("1%", "q1") => chosen && self.rate.0 != "9.6k",
            _ => false,
        };
        match effort {
            Effort::Full => {
                usual || fat && self.loss.0 == "1%" && self.queue.0 == "q1" || {
                    self.is_lossless() && self.queue.1 >= 1.0
                }
            }
            Effort::Usual => usual,
            Effort::Quick => chosen && self.is_lossless() && self.queue.0 == "q1",
        }
    }

    /// Whether there is time to simulate it: a minute at 1 Gbit/s takes half a minute.
    pub(super) fn is_simulated(&self, effort: Effort) -> bool {
        match effort {
            Effort::Full => true,
            Effort::Usual => self.rate.0 != "1G" || self.is_lossless() && self.queue.0 == "q1",
            Effort::Quick => match (self.loss.0, self.queue.0) {
                ("0%" | "1%", "q1") => self.rate.0 != "1G",
                ("0%", _) => self.rate.1 <= 10_000_000,
                _ => false,
            },
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Cell { rate, round_trip, loss, queue } = self;
        write!(out, "{}/{round_trip}ms/{}/{}", rate.0, loss.0, queue.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        assert_eq!(Cell::all().count(), 420);
        for cell in Cell::all() {
            assert_eq!(Cell::parse(&cell.to_string()), Some(cell));
        }
        assert_eq!(Cell::parse("10M/20ms/1%/q2"), None);
    }

    #[test]
    fn what_follows_from_a_path() {
        let cell = |key| Cell::parse(key).expect("it is one of them");
        let slow = cell("1.2k/1ms/0%/q0.1");
        assert_eq!((slow.queue_octets(), slow.window()), (15_000, None));
        assert!((slow.seconds(60.0, 100) - 818.7).abs() < 0.1, "100 packets");
        assert_eq!(slow.messages(slow.seconds(60.0, 100)), 100);
        let fat = cell("100M/600ms/1%/q0.1");
        assert_eq!((fat.bandwidth_delay(), fat.queue_octets()), (7_500_000, 750_000));
        assert_eq!(fat.window(), Some(25_510));
        assert_eq!((fat.seconds(60.0, 100), fat.seconds(10.0, 100)), (60.0, 24.0));
    }
}
