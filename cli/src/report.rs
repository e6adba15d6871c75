//! What a person, or a program, sees of a transfer.

use std::fmt::{Arguments, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::json;
use stackwright::contract::{Instant, Listener};
use stackwright::ftp::client::UNCONFIRMED;
use stackwright::ftp::listing::UNREADABLE;

use crate::printable::Printable;
use crate::transfer::Done;

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
    /// Whether the file itself goes to standard output.
    output_taken: bool,
}

impl Progress {
    pub(crate) fn new(url: &str, json: bool) -> Self {
        let watched = !json && io::stderr().is_terminal();
        let bar = watched.then(ProgressBar::new_spinner);
        Progress { bar, json, url: url.into(), output_taken: false }
    }

    /// Leaves standard output to the file.
    pub(crate) fn beside_output(self) -> Self {
        Progress { output_taken: true, ..self }
    }

    pub(crate) fn began(&self, size: Option<u64>, there: u64) {
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
            let mut told = json!({ "event": "began", "url": self.url, "size": size });
            if there > 0 {
                told["resumed_at"] = there.into();
            }
            say!("{told}");
        }
    }

    pub(crate) fn moved(&self, octets: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(octets);
        }
    }

    pub(crate) fn done(&self, what: &str, done: &Done) {
        let &Done { octets, moved, took, .. } = done;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = took.as_secs_f64();
        if self.json {
            say!(
                "{}",
                json!({
                    "event": "done", "url": self.url, "file": what, "octets": octets, "seconds": seconds,
                    "octets_per_second": rate(moved, took),
                })
            );
        } else if !self.output_taken {
            say!(
                "{what}: {} in {} ({}/s)",
                HumanBytes(moved),
                short(took),
                HumanBytes(rate(moved, took))
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

/// A line of a dialogue, with the time since the start of the run. A peer may have written it.
pub(crate) fn note(now: Instant, protocol: &str, text: &dyn Display) {
    let text = text.to_string();
    for line in text.lines() {
        let _ = writeln!(
            io::stderr(),
            "{:>10.3} ms  {protocol}  {}",
            now.nanoseconds() as f64 / 1e6,
            Printable(line)
        );
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
