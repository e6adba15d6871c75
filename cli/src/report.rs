//! Lines for people, and what is said of a dialogue.

use std::fmt::{Arguments, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use stackwright::contract::{Instant, Listener};
use stackwright::ftp::client::UNCONFIRMED;
use stackwright::ftp::listing::UNREADABLE;

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

/// What was said during a request that its outcome does not tell.
#[derive(Default)]
pub(crate) struct Said {
    /// The last thing the server said.
    pub(crate) last: Option<String>,
    /// How many lines of listings were not understood.
    pub(crate) unreadable: u64,
}

/// Remembers what was said, and says everything where that was asked.
pub(crate) struct Dialogue {
    verbose: bool,
    said: Arc<Mutex<Said>>,
}

impl Dialogue {
    pub(crate) fn new(verbose: bool) -> (Self, Arc<Mutex<Said>>) {
        let said = Arc::default();
        (Dialogue { verbose, said: Arc::clone(&said) }, said)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Dialogue {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        if self.verbose {
            note(now, protocol, &format_args!("dropped: {reason}"));
        }
        if reason == UNREADABLE {
            self.said().unreadable += 1;
        }
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        let text = what.to_string();
        if self.verbose {
            note(now, protocol, &text);
        } else if text == UNCONFIRMED {
            eprintln!("stackwright: {text}");
        }
        // A farewell (RFC 959 §4.2: 221) explains nothing that went before.
        if let Some(said) = text.strip_prefix("◂ ").filter(|said| !said.starts_with("221")) {
            let line = said.lines().next().unwrap_or_default();
            self.said().last = Some(Printable(line).to_string());
        }
    }
}
