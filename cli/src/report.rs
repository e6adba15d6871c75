//! What a person, or a program, sees of a transfer.

use std::fmt::{Arguments, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::json;
use stackwright::contract::{Instant, Listener};

/// Says a line on standard output. Where nobody reads it any more (`| head`), the work goes on all
/// the same.
macro_rules! say {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($line)*);
    }};
}
pub(crate) use say;

/// Shows how a transfer goes: a bar where a person watches, nothing otherwise, JSON lines for
/// programs.
pub(crate) struct Progress {
    /// Where a person watches.
    bar: Option<ProgressBar>,
    json: bool,
    url: String,
}

impl Progress {
    pub(crate) fn new(url: &str, json: bool) -> Self {
        let watched = !json && io::stderr().is_terminal();
        Progress { bar: watched.then(ProgressBar::new_spinner), json, url: url.into() }
    }

    pub(crate) fn began(&self, size: Option<u64>) {
        if let (Some(size), Some(bar)) = (size, &self.bar) {
            bar.set_length(size);
            let style =
                "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .expect("a template that is tested by every transfer"),
            );
        }
        if self.json {
            say!("{}", json!({ "event": "began", "url": self.url, "size": size }));
        }
    }

    pub(crate) fn moved(&self, octets: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(octets);
        }
    }

    pub(crate) fn done(&self, what: &str, octets: u64, took: Duration) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = took.as_secs_f64();
        if self.json {
            say!(
                "{}",
                json!({
                    "event": "done", "url": self.url, "file": what, "octets": octets, "seconds": seconds,
                    "octets_per_second": rate(octets, took),
                })
            );
        } else {
            say!(
                "{what}: {} in {} ({}/s)",
                HumanBytes(octets),
                short(took),
                HumanBytes(rate(octets, took))
            );
        }
    }
}

/// Octets per second.
pub(crate) fn rate(octets: u64, took: Duration) -> u64 {
    (octets as f64 / took.as_secs_f64().max(1e-9)) as u64
}

/// A duration as a person says it.
pub(crate) fn short(took: Duration) -> String {
    match took.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 100.0 => format!("{seconds:.2} s"),
        seconds => format!("{:.0} s", seconds),
    }
}

/// A line of a dialogue, with the time since the start of the run.
pub(crate) fn note(now: Instant, protocol: &str, text: &dyn Display) {
    let _ =
        writeln!(io::stderr(), "{:>10.3} ms  {protocol}  {text}", now.nanoseconds() as f64 / 1e6);
}

/// Remembers the last thing the server said, and says everything where that was asked.
pub(crate) struct Dialogue {
    verbose: bool,
    last: Arc<Mutex<Option<String>>>,
}

impl Dialogue {
    pub(crate) fn new(verbose: bool) -> (Self, Arc<Mutex<Option<String>>>) {
        let last = Arc::default();
        (Dialogue { verbose, last: Arc::clone(&last) }, last)
    }
}

impl Listener for Dialogue {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        if self.verbose {
            note(now, protocol, &format_args!("dropped: {reason}"));
        }
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        let text = what.to_string();
        if self.verbose {
            note(now, protocol, &text);
        }
        // A farewell (RFC 959 §4.2: 221) explains nothing that went before.
        if let Some(said) = text.strip_prefix("◂ ").filter(|said| !said.starts_with("221")) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(said.lines().next().unwrap_or_default().into());
        }
    }
}
