//! A qlog of one association: when it was opened and ended, and what its transport knew of the path
//! meanwhile.
//!
//! The format is that of qlog 0.3 as JSON text sequences (RFC 7464), which viewers of QUIC's logs
//! read: times in milliseconds since the log began. There are no events of single packets; what was
//! lost is told as counts.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use stackwright_contract::Participant;
use stackwright_contract::ask::PathReport;
use stackwright_contract::services::Ended;

/// How often the path is looked at, at most.
const INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct Qlog {
    /// Until it fails.
    into: Option<Box<dyn Write + Send>>,
    since: Instant,
    /// When the path was last looked at, and what was written of it.
    looked: Option<Instant>,
    written: Option<PathReport>,
}

impl Qlog {
    /// Begins a log.
    pub(crate) fn new(into: Box<dyn Write + Send>) -> Self {
        let mut log = Qlog { into: Some(into), since: Instant::now(), looked: None, written: None };
        log.record(format_args!(
            r#"{{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"stackwright","trace":{{"vantage_point":{{"type":"unknown"}},"common_fields":{{"time_format":"relative"}}}}}}"#
        ));
        log
    }

    fn record(&mut self, record: std::fmt::Arguments<'_>) {
        let Some(into) = &mut self.into else { return };
        // A log that cannot be written stops nothing else.
        if writeln!(into, "\x1e{record}").is_err() {
            self.into = None;
        }
    }

    fn event(&mut self, name: &str, data: std::fmt::Arguments<'_>) {
        let time = self.since.elapsed().as_secs_f64() * 1e3;
        self.record(format_args!(r#"{{"time":{time:.3},"name":"{name}","data":{{{data}}}}}"#));
    }

    pub(crate) fn opened(&mut self, (local, remote): (Participant, Participant)) {
        let [local, remote] = [local, remote].map(Participant::internet);
        if let (Some(local), Some(remote)) = (local, remote) {
            self.event(
                "connectivity:connection_started",
                format_args!(
                    r#""src_ip":"{}","src_port":{},"dst_ip":"{}","dst_port":{}"#,
                    local.ip(),
                    local.port(),
                    remote.ip(),
                    remote.port()
                ),
            );
        }
    }

    pub(crate) fn ended(&mut self, why: Ended) {
        self.event("connectivity:connection_closed", format_args!(r#""trigger":"{why:?}""#));
        self.flush();
    }

    /// Whether the path is to be looked at again.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.looked.is_none_or(|looked| now.duration_since(looked) >= INTERVAL);
        if is_due {
            self.looked = Some(now);
        }
        is_due && self.into.is_some()
    }

    /// Writes what has changed of the path.
    pub(crate) fn path(&mut self, report: PathReport) {
        let before = self.written.replace(report);
        if before == Some(report) {
            return;
        }
        let mut data = Vec::new();
        let mut say = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                let separator = if data.is_empty() { "" } else { "," };
                let _ = write!(data, r#"{separator}"{name}":{value}"#);
            }
        };
        let milliseconds = |time: Option<Duration>| Some(time?.as_secs_f64() * 1e3);
        say("smoothed_rtt", milliseconds(report.round_trip));
        say("rtt_variance", milliseconds(report.variation));
        say("min_rtt", milliseconds(report.least));
        say("congestion_window", report.window.map(|octets| octets as f64));
        say("bytes_in_flight", Some(report.in_flight as f64));
        say("pacing_rate", report.pace.map(|octets| octets as f64 * 8.0));
        self.event("recovery:metrics_updated", format_args!("{}", String::from_utf8_lossy(&data)));
        let counts = |report: PathReport| {
            [report.lost, report.retransmitted, report.timeouts, report.duplicates]
        };
        let now = counts(report);
        if before.map_or([0; 4], counts) != now {
            let [lost, retransmitted, timeouts, duplicates] = now;
            self.event(
                "stackwright:losses",
                format_args!(
                    r#""lost_bytes":{lost},"retransmitted_packets":{retransmitted},"timeouts":{timeouts},"duplicate_packets":{duplicates}"#
                ),
            );
        }
    }

    fn flush(&mut self) {
        let _: io::Result<()> = self.into.as_mut().map_or(Ok(()), Write::flush);
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        self.flush();
    }
}
