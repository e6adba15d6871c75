//! Quantities as people write them: `100 Mb/s`, `20 ms`, `64 kB`.

use std::time::Duration;

use stackwright_simulator::Queue;

/// Octets per second, of bits per second.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let units = [("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9)];
    let octets = quantity(text, &units, "a rate like `10 Mb/s` (b/s, kb/s, Mb/s, Gb/s)")? / 8.0;
    if octets < 1.0 { Err("the least rate is 8 b/s".into()) } else { Ok(octets as u64) }
}

/// A time.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)];
    let seconds = quantity(text, &units, "a time like `20 ms` (us, ms, s, min)")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "that is longer than can be counted".into())
}

/// What may wait: octets or packets.
pub(super) fn queue(text: &str) -> Result<Queue, String> {
    let units = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("packets", -1.0)];
    let size = quantity(text, &units, "a size like `64 kB` or `50 packets` (B, kB, MB, packets)")?;
    Ok(if size < 0.0 { Queue::packets(-size as usize) } else { Queue::octets(size as u64) })
}

/// A probability: 0 to 1, or with a sign of percent.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse(),
    };
    match value {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("a probability is expected: 0 to 1, like `0.01`, or `1 %`".into()),
    }
}

/// A number and one of `units`, in the units' measure.
fn quantity(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    let text = text.trim();
    let digits = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let known = units.iter().find(|(name, _)| *name == unit.trim());
    match (number.parse::<f64>(), known) {
        (Ok(number), Some((_, measure))) if number.is_finite() => Ok(number * measure),
        _ => Err(format!("{expected} is expected")),
    }
}
