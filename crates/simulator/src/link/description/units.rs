//! Quantities as people write them: a number and a unit.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};
use stackwright_contract::Duration;

use crate::SteppedDelay;

/// A quantity that is written as text with a unit.
pub(crate) trait Quantity: Sized {
    /// The expected form, for an error.
    const EXPECTED: &'static str;
    fn read(text: &str) -> Option<Self>;
    /// Makes the quantity of a number without a unit, if that has a meaning.
    fn of_number(_number: u64) -> Option<Self> {
        None
    }
    /// Writes text that [`read`](Quantity::read) reads as the same quantity.
    fn text(&self) -> String;
}

/// A span of time in a description: `"20 ms"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time(pub Duration);

/// A number of octets in a description: `1200`, `"64 kB"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OctetCount(pub u64);

/// The same of a radio: a number alone is bits per second, as radio amateurs write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AirRate(pub(crate) Option<u64>);

/// The delay of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delay(pub(crate) SteppedDelay);

/// A rate in octets per second; `None` is without limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rate(pub(crate) Option<u64>);

/// The limits of a queue: octets and packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    pub(crate) octets: Option<u64>,
    pub(crate) packets: Option<usize>,
}

/// Units of time, in nanoseconds.
const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
];

/// Units of rates, in bits per second.
const RATES: &[(&str, u64)] = &[
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
];

/// Units of sizes, in octets.
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const UNLIMITED: &str = "unlimited";

/// Reads a number that is not negative, and one of the units behind it. It is exact, and a fraction
/// is rounded to a whole number of the first unit.
fn whole(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(*factor);
    }
    let value = (number.parse::<f64>().ok()? * *factor as f64).round();
    // A smaller value is exact in a cast.
    (value < u64::MAX as f64).then_some(value as u64)
}

impl Quantity for Time {
    const EXPECTED: &'static str = "a time such as \"20 ms\" (ns, us, ms, s, min, h)";

    fn read(text: &str) -> Option<Self> {
        whole(text, TIMES).map(|nanoseconds| Time(Duration::from_nanos(nanoseconds)))
    }

    fn text(&self) -> String {
        let nanoseconds = self.0.as_nanos();
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)];
        let exact = units.iter().find(|(_, factor)| nanoseconds.is_multiple_of(*factor));
        let (unit, factor) = exact.copied().unwrap_or(("ns", 1));
        format!("{} {unit}", nanoseconds / factor)
    }
}

impl Quantity for Delay {
    const EXPECTED: &'static str =
        "a delay such as \"600 ms\", or \"+1 s\" for that much more than the link's";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        Some(Delay(match text.strip_prefix('+') {
            Some(more) => SteppedDelay::Added(Time::read(more)?.0),
            None => SteppedDelay::Exactly(Time::read(text)?.0),
        }))
    }

    fn text(&self) -> String {
        match self.0 {
            SteppedDelay::Added(more) => format!("+{}", Time(more).text()),
            SteppedDelay::Exactly(delay) => Time(delay).text(),
        }
    }
}

impl Quantity for OctetCount {
    const EXPECTED: &'static str =
        "a size such as 1200 or \"64 kB\" (B, kB, MB, GB, TB, KiB, MiB, GiB)";

    fn read(text: &str) -> Option<Self> {
        whole(text, SIZES).map(OctetCount)
    }

    fn of_number(number: u64) -> Option<Self> {
        Some(OctetCount(number))
    }

    fn text(&self) -> String {
        format!("{} B", self.0)
    }
}

impl Quantity for Rate {
    const EXPECTED: &'static str = "a rate such as \"100 Mb/s\" (b/s, kb/s, Mb/s, Gb/s; B/s and so on for octets), at least 8 b/s, or \"unlimited\"";

    fn read(text: &str) -> Option<Self> {
        if text == UNLIMITED {
            return Some(Rate(None));
        }
        let octets = whole(text, RATES)? / 8;
        (octets > 0).then_some(Rate(Some(octets)))
    }

    fn text(&self) -> String {
        self.0.map_or(UNLIMITED.to_owned(), |octets| format!("{octets} B/s"))
    }
}

impl Quantity for AirRate {
    const EXPECTED: &'static str =
        "a rate such as 1200 or \"9.6 kb/s\" (b/s, kb/s, Mb/s; B/s for octets), at least 8 b/s";

    fn read(text: &str) -> Option<Self> {
        let number = || text.trim().parse().ok().and_then(Self::of_number);
        Rate::read(text).map(|rate| AirRate(rate.0)).or_else(number)
    }

    fn of_number(number: u64) -> Option<Self> {
        (number >= 8).then_some(AirRate(Some(number / 8)))
    }

    fn text(&self) -> String {
        Rate(self.0).text()
    }
}

impl Quantity for Places {
    const EXPECTED: &'static str =
        "a queue such as \"64 kB\" (B, kB, MB, KiB, MiB), \"50 packets\", or \"unlimited\"";

    fn read(text: &str) -> Option<Self> {
        if text == UNLIMITED {
            return Some(Places { octets: None, packets: None });
        }
        if let Some(number) = text.strip_suffix("packets") {
            return Some(Places { octets: None, packets: Some(number.trim().parse().ok()?) });
        }
        Some(Places { octets: Some(whole(text, SIZES)?), packets: None })
    }

    fn text(&self) -> String {
        match (self.octets, self.packets) {
            (Some(octets), _) => format!("{octets} B"),
            (None, Some(packets)) => format!("{packets} packets"),
            (None, None) => UNLIMITED.to_owned(),
        }
    }
}

struct Reader<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for Reader<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        Q::read(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Q, E> {
        Q::of_number(number).ok_or_else(|| E::invalid_type(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Q, E> {
        let whole = u64::try_from(number).ok().and_then(Q::of_number);
        whole.ok_or_else(|| E::invalid_type(Unexpected::Signed(number), &self))
    }
}

/// Serializes each kind of quantity as text.
macro_rules! as_text {
    ($($quantity:ty),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Reader(PhantomData))
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.text())
            }
        }
    )*};
}

as_text!(Time, Delay, OctetCount, Rate, AirRate, Places);

/// Serializes durations in public types.
pub(crate) mod time {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, Time};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Time::deserialize(from).map(|time| time.0)
    }

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        Time(*duration).serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written() {
        let time = |text| Time::read(text).map(|time| time.0.as_nanos());
        assert_eq!(time("20 ms"), Some(20_000_000));
        assert_eq!(time("25.6us"), Some(25_600));
        assert_eq!(time(" 95  min"), Some(95 * 60 * 1_000_000_000));
        let octets = |text| OctetCount::read(text).map(|octets| octets.0);
        assert_eq!(octets("64 kB"), Some(64_000));
        assert_eq!(octets("1.5MiB"), Some(3 << 19));
        assert_eq!(
            octets("-1 B").or(octets("12 parsecs")).or(octets("1..2 MB")).or(octets("1200")),
            None
        );
        let rate = |text| Rate::read(text).map(|rate| rate.0);
        assert_eq!(rate("100 Mb/s"), Some(Some(12_500_000)));
        assert_eq!(rate("9.6 kb/s"), Some(Some(1200)));
        assert_eq!(rate("9.6 kbit/s"), Some(Some(1200)));
        assert_eq!(rate("150 B/s"), Some(Some(150)));
        assert_eq!(rate("unlimited"), Some(None));
        let places = |text| Places::read(text).map(|places| (places.octets, places.packets));
        assert_eq!(places("64 kB"), Some((Some(64_000), None)));
        assert_eq!(places("64 KiB"), Some((Some(65_536), None)));
        assert_eq!(places("50 packets"), Some((None, Some(50))));
        for text in [
            "",
            "20",
            "ms",
            "-1 s",
            "1..2 s",
            "20 Ms",
            "1e9 s",
            "nan s",
            "inf s",
            "99999999999999999999 s",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        for text in ["7 b/s", "0 Mb/s", "100 Mb", "100 mb/s"] {
            assert_eq!(rate(text), None, "{text}");
        }
        for text in ["packets", "-5 packets", "1.5 packets", "5 kb"] {
            assert_eq!(places(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for nanoseconds in [0, 1, 1500, 2_000_000, 3_000_001, 600_000_000_000, u64::MAX] {
            let time = Time(Duration::from_nanos(nanoseconds));
            assert_eq!(Time::read(&time.text()), Some(time));
        }
        for rate in [Rate(None), Rate(Some(1)), Rate(Some(12_500_000))] {
            assert_eq!(Rate::read(&rate.text()), Some(rate));
        }
        for (octets, packets) in [(None, None), (Some(5), None), (None, Some(7))] {
            let places = Places { octets, packets };
            assert_eq!(Places::read(&places.text()), Some(places));
        }
    }
}
