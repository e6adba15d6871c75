//! Lines for people.

use std::fmt::Display;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use stackwright::contract::Instant;

use crate::printable::Printable;

/// Says a line on standard output, as [`PrintableLines`](crate::printable::PrintableLines). Where
/// nobody reads it any more (`| head`), the work goes on all the same.
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stdout(),
            "{}",
            $crate::printable::PrintableLines(format_args!($($line)*))
        );
    }};
}
pub(crate) use say;

/// Octets per second.
pub(crate) fn rate(octets: u64, took: Duration) -> u64 {
    (octets as f64 / took.as_secs_f64().max(1e-9)) as u64
}

/// A duration as a person says it.
pub(crate) fn short(took: Duration) -> String {
    match took.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 100.0 => format!("{seconds:.2} s"),
        seconds => format!("{:.0} s", seconds),
    }
}

/// A line of a dialogue, with the time since the start of the run. A peer may have written it.
pub(crate) fn note(now: Instant, protocol: &str, text: &dyn Display) {
    let text = text.to_string();
    for line in text.lines() {
        let at = now.nanoseconds() as f64 / 1e6;
        eprintln!("{at:>10.3} ms  {protocol}  {}", Printable(line));
    }
}

/// A line of what a station does, with the time of day. Another station may have written it.
pub(crate) fn log(protocol: &str, text: &dyn Display) {
    let now = TimeZone::system().to_datetime(Timestamp::now());
    let now = now.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let text = text.to_string();
    for line in text.lines() {
        eprintln!("{now}  {protocol}  {}", Printable(line));
    }
}
