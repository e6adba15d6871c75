//! Times, amounts and rates as people write them.

use std::num::NonZero;
use std::time::Duration;

/// Reads a duration with a unit (`500ms`, `1m 30s`), or in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok();
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map_or_else(|| humantime::parse_duration(text).map_err(|error| error.to_string()), Ok)
}

/// Reads a duration that is not zero, and not longer than a day.
pub(crate) fn patience(text: &str) -> Result<Duration, String> {
    const DAY: Duration = Duration::from_secs(86_400);
    let time = duration(text)?;
    if time.is_zero() || time > DAY {
        return Err("it must be longer than nothing and at most a day, such as 30s".into());
    }
    Ok(time)
}

/// Reads a number of octets such as `10kB`, `1.5 GB` or `64KiB`, at least 1.
pub(crate) fn octets(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "write a number, if you like with kB, MB, GB, TB, KiB, MiB, GiB or TiB, \
                         such as 10kB";
    let (number, unit) = number(text).ok_or(WRONG)?;
    let unit = unit.strip_suffix(['b', 'B']).unwrap_or(unit);
    amount(number, multiple(unit).ok_or(WRONG)?).ok_or(WRONG)
}

/// Reads a rate such as `500k`, `2 MB/s` or `10 Mb/s`, in octets a second: bits only where it says
/// `b/s`, `bit/s` or `bps`.
pub(crate) fn rate(text: &str) -> Result<NonZero<u64>, &'static str> {
    const WRONG: &str = "write octets a second, such as 500k or 2 MB/s, or bits, such as 10 Mb/s";
    let (number, unit) = number(text).ok_or(WRONG)?;
    let bits = ["b/s", "bit/s", "bps"].iter().find_map(|end| unit.strip_suffix(end));
    let (prefix, bits_each) = match bits {
        Some(prefix) => (prefix, 1.0),
        None => {
            let unit = unit.strip_suffix("/s").unwrap_or(unit);
            (unit.strip_suffix('B').unwrap_or(unit), 8.0)
        }
    };
    let octets = amount(number * bits_each / 8.0, multiple(prefix).ok_or(WRONG)?);
    octets.and_then(NonZero::new).ok_or(WRONG)
}

/// Reads a rate on the air such as `1200`, `1200 b/s` or `9.6 kb/s`, in bit/s, at least 1.
pub(crate) fn bits(text: &str) -> Option<u64> {
    let (number, unit) = number(text)?;
    let ends = ["b/s", "bit/s", "bps", ""].iter();
    let prefix = ends.filter_map(|end| unit.strip_suffix(end)).next()?;
    amount(number, multiple(prefix)?)
}

/// Reads a rate on the air for `--rate`: at least 50 bit/s.
pub(crate) fn air_rate(text: &str) -> Result<u32, &'static str> {
    let rate = bits(text).and_then(|bits| u32::try_from(bits).ok()).filter(|bits| *bits >= 50);
    rate.ok_or("write at least 50 bit/s, such as 1200 or '9.6 kb/s'")
}

/// Reads a rate in octets a second, as [`rate`] does; the unit may also be that of an amount.
pub(crate) fn octet_rate(text: &str) -> Result<u64, &'static str> {
    rate(text).map(NonZero::get).or_else(|wrong| octets(text).map_err(|_| wrong))
}

/// Splits a number and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((number.parse().ok()?, unit.trim_start()))
}

/// What a prefix stands for; those with an `i` are powers of 1024.
fn multiple(prefix: &str) -> Option<f64> {
    let (letter, base) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1024.0),
        None => (prefix, 1000.0),
    };
    let power = match letter {
        "" if base < 1024.0 => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        _ => return None,
    };
    Some(f64::powi(base, power))
}

/// A whole number of octets, at least 1, exact as far as a `f64` is.
fn amount(number: f64, multiple: f64) -> Option<u64> {
    let octets = (number * multiple).round();
    (1.0..9.0e15).contains(&octets).then_some(octets as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        for (text, read) in [
            ("10kB", 10_000),
            ("2 GB", 2_000_000_000),
            ("64", 64),
            ("1.5kB", 1_500),
            ("64KiB", 65_536),
            ("1 MiB", 1 << 20),
            ("7B", 7),
            ("3m", 3_000_000),
        ] {
            assert_eq!(octets(text), Ok(read), "{text}");
        }
        for wrong in ["", "kB", "0", "-1", "7 XB", "99999999999TB", "1e3", "5iB", "1..2"] {
            assert!(octets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_octets_unless_they_say_bits() {
        for (text, read) in [
            ("500k", 500_000),
            ("2M", 2_000_000),
            ("1.5 MB/s", 1_500_000),
            ("64KiB/s", 65_536),
            ("300", 300),
            ("300/s", 300),
            ("10 Mb/s", 1_250_000),
            ("9600bit/s", 1_200),
            ("1200 bps", 150),
            ("1Kib/s", 128),
        ] {
            assert_eq!(rate(text).map(NonZero::get), Ok(read), "{text}");
        }
        assert_eq!(octet_rate("8 Mb/s"), Ok(1_000_000));
        assert_eq!(octet_rate("1MB"), Ok(1_000_000));
        assert_eq!(octet_rate("1Mb"), Ok(1_000_000), "an old spelling");
        assert!(octet_rate("fast").is_err());
        // Is `10Mb` megabits or megabytes? Programs differ.
        for wrong in ["", "0", "fast", "-1k", "10Mb", "3 b/s", "5 k/m", "1 b/s/s"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_on_the_air_are_bits() {
        for (text, read) in [
            ("1200", 1200),
            ("1200 b/s", 1200),
            ("1.2 kb/s", 1200),
            ("9600bit/s", 9600),
            ("9600 bps", 9600),
            ("2 Mb/s", 2_000_000),
        ] {
            assert_eq!(bits(text), Some(read), "{text}");
        }
        for wrong in ["", "0", "fast", "1200 B/s", "1200 baud", "-1"] {
            assert_eq!(bits(wrong), None, "{wrong}");
        }
        assert_eq!(air_rate("9.6 kb/s"), Ok(9600));
        assert!(air_rate("49").is_err() && air_rate("5 Gb/s").is_err());
    }

    #[test]
    fn times_are_read_with_and_without_a_unit() {
        assert_eq!(duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        for wrong in ["0", "2d", "soon", "-1"] {
            assert!(patience(wrong).is_err(), "{wrong}");
        }
    }
}
