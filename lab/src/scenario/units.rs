//! Sizes and times as people write them.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use stackwright_contract::Duration;

/// A number of octets: `1200`, `"64 kB"`, `"1 MiB"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Octets(pub(crate) u64);

/// A span of time: `"20 ms"`, `"1.5 s"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Time(Duration);

impl Time {
    pub(crate) const fn of(duration: Duration) -> Self {
        Time(duration)
    }

    pub(crate) const fn duration(self) -> Duration {
        self.0
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 octet"),
            octets => write!(f, "{octets} octets"),
        }
    }
}

const SIZES: [(&str, f64); 8] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];

const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

/// A number with one of these units; in what the unit with the factor 1 is. `None` where it is none, or beyond 2^63.
fn measure(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(split);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let value = number.parse::<f64>().ok()? * factor;
    (value < i64::MAX as f64).then_some(value.round() as u64)
}

impl std::str::FromStr for Octets {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().parse().ok();
        number
            .or_else(|| measure(text, &SIZES))
            .map(Octets)
            .ok_or("a size is a number of octets, or has a unit: \"64 kB\"")
    }
}

impl std::str::FromStr for Time {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let nanoseconds =
            measure(text, &TIMES).ok_or("a time has a unit: \"20 ms\", \"1.5 s\", \"8 min\"")?;
        Ok(Time(Duration::from_nanos(nanoseconds)))
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Octets;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size, as 1200 or \"64 kB\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Octets, E> {
                u64::try_from(number).map(Octets).map_err(|_| E::custom("a size is not negative"))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Octets, E> {
                Ok(Octets(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Octets, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let octets = |text: &str| text.parse::<Octets>().ok().map(|octets| octets.0);
        assert_eq!(octets("1200"), Some(1200));
        assert_eq!(octets("64 kB"), Some(64_000));
        assert_eq!(octets("1.5MiB"), Some(3 << 19));
        let time = |text: &str| text.parse::<Time>().ok().map(Time::duration);
        assert_eq!(time("20 ms"), Some(Duration::from_millis(20)));
        assert_eq!(time("1.5 s"), Some(Duration::from_millis(1500)));
        assert_eq!(time("95min"), Some(Duration::from_secs(5700)));
    }

    #[test]
    fn what_means_nothing_is_not() {
        for text in ["", "kB", "12 parsecs", "-1 B", "1e99 B", "1..2 MB", "99999999999 GB"] {
            assert!(text.parse::<Octets>().is_err(), "{text}");
        }
        for text in ["", "5", "5 m", "ms", "-5 s"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }
}
