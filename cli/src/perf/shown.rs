//! What a person sees of a measurement, in the units of networks: decimal, and bits for rates.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::report::say;

/// An amount of octets.
pub(crate) fn amount(octets: u64) -> String {
    scaled(octets as f64, "B")
}

/// A rate.
pub(crate) fn rate(octets: u64, took: Duration) -> String {
    scaled(8.0 * octets as f64 / took.as_secs_f64().max(1e-9), "b/s")
}

fn scaled(mut value: f64, unit: &str) -> String {
    let mut prefix = "";
    for next in ["k", "M", "G", "T"] {
        if value < 999.5 {
            break;
        }
        (value, prefix) = (value / 1000.0, next);
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {prefix}{unit}")
}

/// How long a step of an exchange took.
pub(crate) fn short(took: Duration) -> String {
    match took.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

/// A line each second, where a person watches.
pub(super) struct Intervals {
    watched: bool,
    begin: Instant,
    next: Duration,
    before: u64,
}

impl Intervals {
    pub(super) fn new(json: bool) -> Self {
        let watched = !json && io::stdout().is_terminal();
        Intervals { watched, begin: Instant::now(), next: Duration::from_secs(1), before: 0 }
    }

    /// So much has moved by now.
    pub(super) fn moved(&mut self, now: Instant, octets: impl FnOnce() -> u64) {
        if !self.watched {
            return;
        }
        let passed = now.duration_since(self.begin);
        if passed < self.next {
            return;
        }
        let from = self.next.saturating_sub(Duration::from_secs(1));
        let (octets, lasted) = (octets(), passed.saturating_sub(from));
        let new = octets.saturating_sub(self.before);
        let (from, to) = (from.as_secs_f64(), passed.as_secs_f64());
        say!("{from:>6.1} – {to:>5.1} s   {:>10}   {:>12}", amount(new), rate(new, lasted));
        self.before = octets;
        self.next = passed + Duration::from_secs(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        assert_eq!(amount(999), "999 B");
        assert_eq!(amount(1_000), "1.00 kB");
        assert_eq!(amount(99_960_000), "100 MB");
        assert_eq!(rate(125_000_000, Duration::from_secs(1)), "1.00 Gb/s");
        assert_eq!(rate(0, Duration::ZERO), "0.00 b/s");
        assert_eq!(short(Duration::from_nanos(12_340)), "12.3 µs");
    }
}
