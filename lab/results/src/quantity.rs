//! Numbers for people: three digits that count, and a unit in whose size they are short.

/// `value` in `unit`. Seconds become milli-, micro- or nanoseconds where they are few.
pub fn quantity(value: f64, unit: &str) -> String {
    if unit == "s" {
        for (scale, name) in [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")] {
            if value.abs() >= scale {
                return format!("{} {name}", digits(value / scale));
            }
        }
        return format!("{} ns", digits(value * 1e9));
    }
    format!("{} {unit}", digits(value)).trim_end().to_owned()
}

/// Three digits that count, or all before the point.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let places = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 12) as usize,
    };
    format!("{value:.places$}")
}

/// A step of an axis: `100k`, `5M`.
pub fn step(value: f64) -> String {
    for (scale, name) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value.abs() >= scale {
            return format!("{}{name}", trimmed(value / scale));
        }
    }
    trimmed(value)
}

/// Without zeros that say nothing.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bits per second, as people read them.
pub fn rate(bits: f64) -> String {
    let units = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    match units.into_iter().find(|(unit, _)| bits >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", bits / unit),
        None => format!("{bits:.0} b/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (value, unit, text) in [
            (0.035_31, "s", "35.3 ms"),
            (9.75, "s", "9.75 s"),
            (0.000_001_234, "s", "1.23 µs"),
            (17.0e-9, "s", "17.0 ns"),
            (0.0, "s", "0 ns"),
            (1288.0, "kB", "1288 kB"),
            (88.891, "Mb/s", "88.9 Mb/s"),
            (f64::NAN, "", "–"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
        for (value, text) in [(1.0, "1"), (100_000.0, "100k"), (0.001, "0.001"), (2.5e9, "2.5G")] {
            assert_eq!(step(value), text);
        }
    }
}
