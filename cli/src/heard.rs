//! `heard`: the stations heard, by a TNC while it listens, or by a station that has been listening.

use std::time::{Duration, Instant as Clock};

use clap::Args;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use stackwright::agw::{AgwHeader, StationHeard, StationsHeard};
use stackwright::ax25::header::Addresses;
use stackwright::contract::Instant;
use stackwright_drivers::Driver;

use crate::agw::AgwClient;
use crate::hearing::{States, hear, tnc};
use crate::problem::Problem;
use crate::quantity::duration;
use crate::report::say;
use crate::stacks;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright heard tcp://127.0.0.1:8001
  stackwright heard tcp://127.0.0.1:8001 --time '10 min' --json
  stackwright heard --agw 127.0.0.1:8000")]
pub(crate) struct Heard {
    /// The line to the TNC, as of `monitor`. It listens until Ctrl-C, then prints the list.
    #[arg(required_unless_present = "agw")]
    pub(crate) line: Option<String>,
    /// Ask a running station (`[serve] agw`), or another program that serves AGW, whom it has
    /// heard.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["line", "time"])]
    pub(crate) agw: Option<String>,
    /// Listen this long, such as '10 min'.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Print JSON lines, one per station.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A line of the list.
#[derive(PartialEq, Debug)]
struct Entry {
    port: u8,
    call: String,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Only a station of ours tells them.
    frames: Option<u32>,
    via: Vec<String>,
}

pub(crate) fn run(heard: &Heard) -> Result<(), Problem> {
    let entries = match (&heard.agw, &heard.line) {
        (Some(agw), _) => asked(agw)?,
        (None, line) => listened(line.as_deref().unwrap_or_default(), heard.time)?,
    };
    if !heard.json {
        say!("{:<9}  {:<19}  {:>6}  {:>4}  via", "station", "last heard", "frames", "port");
    }
    for Entry { port, call, first, last, frames, via } in entries {
        if heard.json {
            let (first, last) = (first.map(|at| at.to_string()), last.map(|at| at.to_string()));
            say!(
                "{}",
                json!({ "call": call, "port": port, "first": first, "last": last,
                        "frames": frames, "via": via })
            );
            continue;
        }
        let local = |at: Timestamp| TimeZone::system().to_datetime(at);
        let last = last.map(|at| local(at).strftime("%Y-%m-%d %H:%M:%S").to_string());
        let frames = frames.map_or("?".into(), |frames| frames.to_string());
        let (last, via) = (last.unwrap_or_default(), via.join(","));
        say!("{call:<9}  {last:<19}  {frames:>6}  {port:>4}  {via}");
    }
    Ok(())
}

/// Listens at a TNC. A station that is heard for the first time is printed at once.
fn listened(line: &str, time: Option<Duration>) -> Result<Vec<Entry>, Problem> {
    let mut driver = Driver::new(fastrand::u64(..))?;
    driver.context().listen(Box::new(States { line: line.into() }));
    let mut frames = tnc(line, &driver, stacks::pool())?;
    let (mut stations, begun) = (StationsHeard::default(), Clock::now());
    hear(&mut driver, &mut frames, time.map(|time| begun + time), |word| {
        if let Some((port, frame)) = word
            && let Ok((addresses, _)) = Addresses::decode(frame)
            && stations.note(port, &addresses, Instant::START + begun.elapsed())
        {
            eprintln!("heard {}", addresses.source);
        }
        Ok(true)
    })?;
    let start = Timestamp::now().checked_sub(begun.elapsed()).unwrap_or_default();
    let at = |at: Instant| {
        let since = SignedDuration::try_from(at.since(Instant::START)).ok()?;
        start.checked_add(since).ok()
    };
    let entry = |station: &StationHeard| Entry {
        port: station.port,
        call: station.call.to_string(),
        first: at(station.first),
        last: at(station.last),
        frames: Some(station.frames),
        via: station.via().map(|call| call.to_string()).collect(),
    };
    Ok(stations.iter().map(entry).collect())
}

/// How many frames are read of a station at most.
const ANSWERS_MOST: usize = 1000;

/// Asks a station by AGW.
fn asked(place: &str) -> Result<Vec<Entry>, Problem> {
    let mut station = AgwClient::connect(place)?;
    station.ask(AgwHeader::of(b'G'), &[])?;
    let why = "what answers there is no AGW server";
    let (_, ports) = station.answer()?;
    let ports = ports_of(&ports).ok_or_else(|| Problem::Unfit { what: place.into(), why })?;
    // Answers come in order: that to `R` says that those before it are complete.
    for port in 0..ports {
        station.ask(AgwHeader { port, ..AgwHeader::of(b'H') }, &[])?;
    }
    station.ask(AgwHeader::of(b'R'), &[])?;
    let mut entries = Vec::new();
    for _ in 0..ANSWERS_MOST {
        let (header, data) = station.answer()?;
        match header.kind {
            b'R' => break,
            b'H' => entries.extend(entry(header.port, &data)),
            _ => {}
        }
    }
    Ok(entries)
}

/// Returns how many ports the answer to `G` names: `2;Port1 vhf;Port2 uhf;`.
fn ports_of(data: &[u8]) -> Option<u8> {
    let (count, _) = str::from_utf8(data).ok()?.split_once(';')?;
    count.trim().parse().ok()
}

/// Reads the answer to `H`: call sign, first and last time, in UTC as ours and AGWPE's; behind the
/// zero octet, of ours, frames and digipeaters.
fn entry(port: u8, data: &[u8]) -> Option<Entry> {
    let mut texts = data.split(|octet| *octet == 0).map(|text| str::from_utf8(text).ok());
    let (text, behind) = (texts.next()??, texts.next().flatten().unwrap_or_default());
    let mut words = text.split_whitespace();
    let call = words.next()?.to_owned();
    let mut time = || {
        let text = format!("{} {}", words.next()?, words.next()?);
        let time = DateTime::strptime("%a,%d%b%Y %H:%M:%S", text).ok()?;
        TimeZone::UTC.to_timestamp(time).ok()
    };
    let (first, last) = (time(), time());
    let mut behind = behind.split(' ');
    let frames = behind.next().and_then(|frames| frames.parse().ok());
    let via = behind.filter(|_| frames.is_some()).map(Into::into).collect();
    Some(Entry { port, call, first, last, frames, via })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_ours_and_of_agwpe_are_read() {
        let at = |text: &str| text.parse().ok();
        let ours = b"N0BBB-7  Sat,28Nov2026 18:00:00  Sat,28Nov2026 18:01:09\x0012 RELAY-1 R2\0";
        let mut expected = Entry {
            port: 1,
            call: "N0BBB-7".into(),
            first: at("2026-11-28T18:00:00Z"),
            last: at("2026-11-28T18:01:09Z"),
            frames: Some(12),
            via: vec!["RELAY-1".into(), "R2".into()],
        };
        assert_eq!(entry(1, ours).as_ref(), Some(&expected));
        // AGWPE has two binary times behind it.
        let other = [&ours[..55], b"\0\xea\x07\x0b\0\x06\0\x1c\0"].concat();
        (expected.frames, expected.via) = (None, vec![]);
        assert_eq!(entry(1, &other), Some(expected));
        assert_eq!(entry(1, b"N0BBB long ago\0").and_then(|entry| entry.last), None);
        for data in [&b""[..], b"\0", b"\xff\0", b"   \0"] {
            assert_eq!(entry(0, data), None, "{data:?}");
        }
    }

    #[test]
    fn ports_are_counted() {
        assert_eq!(ports_of(b"2;Port1 vhf;Port2 uhf;\0"), Some(2));
        assert_eq!(ports_of(b"many;"), None);
        assert_eq!(ports_of(b"\xff;"), None);
    }
}
