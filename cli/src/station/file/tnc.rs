//! `[tnc.…]`: the TNCs of a station.

use std::num::NonZeroU32;
use std::time::Duration;

use stackwright::axudp;
use stackwright::kiss::{self, ChannelAccess, PORTS_MOST};

use super::Read;
use crate::address::host_and_port;
use crate::call::other_call;
use crate::line::LineAddress;
use crate::station::reader::{Entry, Table};
use crate::station::tncs::TNCS_MOST;
use crate::tnc::TncAddress;

const TIME_OF_TNC: Duration = Duration::from_millis(2550);

/// A TNC of the station.
#[derive(Debug)]
pub(crate) struct TncEntry {
    pub(crate) name: String,
    /// As it is written.
    pub(crate) shown: String,
    pub(crate) line: TncAddress,
    /// Its port that is used.
    pub(crate) port: u8,
    pub(crate) kiss: kiss::Config,
}

/// Reads one or two, in the order of the file.
pub(super) fn tncs(top: &Table<'_>) -> Read<Vec<TncEntry>> {
    const EXAMPLE: &str =
        "a station has a TNC: write [tnc.vhf] with line = \"tcp://127.0.0.1:8001\"";
    const NAMED: &str = "a TNC has a name: write [tnc.vhf], with `line` and `rate` below it";
    let entry = top.get("tnc").ok_or_else(|| top.mistake(EXAMPLE))?;
    let tables = entry.table().map_err(|_| entry.mistake(NAMED))?;
    if tables.get("line").is_some_and(|line| line.table().is_err()) {
        return Err(entry.mistake(NAMED));
    }
    let mut tncs: Vec<TncEntry> = Vec::new();
    for (name, entry) in tables.entries()? {
        let table = entry.table()?;
        if tncs.len() >= TNCS_MOST {
            let says = "a station has at most two TNCs: write a file of its own for this one";
            return Err(table.mistake(says));
        }
        let next = tnc(name, &table)?;
        let other = tncs.iter().find(|other| is_taken(other, &next));
        if let (Some(other), Some(entry)) = (other, table.get("line")) {
            return Err(entry.mistake(&format!("the TNC {} has it already", other.name)));
        }
        tncs.push(next);
    }
    if tncs.is_empty() { Err(top.mistake(EXAMPLE)) } else { Ok(tncs) }
}

/// Returns whether two TNCs cannot be at their lines together.
fn is_taken(one: &TncEntry, other: &TncEntry) -> bool {
    match (&one.line, &other.line) {
        // At a server, the ports of one TNC may be two of the station's.
        (TncAddress::Line(LineAddress::Tcp { .. }), _) => {
            (&one.line, one.port) == (&other.line, other.port)
        }
        (TncAddress::Axudp { local, .. }, TncAddress::Axudp { local: its, .. }) => local == its,
        (line, its) => line == its,
    }
}

/// Reads the name of a TNC; returns its number.
pub(super) fn number_of(entry: &Entry<'_>, tncs: &[TncEntry]) -> Read<u8> {
    let names: Vec<_> = tncs.iter().map(|tnc| format!("\"{}\"", tnc.name)).collect();
    let wanted = format!("the name of a TNC: {}", names.join(" or "));
    let name = entry.text(&wanted)?;
    let place = tncs.iter().position(|tnc| tnc.name == name);
    Ok(place.ok_or_else(|| entry.is_not(&wanted))? as u8)
}

fn tnc(name: String, table: &Table<'_>) -> Read<TncEntry> {
    table.only(&["line", "rate", "kiss", "peers"])?;
    const LINE: &str = "a line to a TNC, such as \"tcp://127.0.0.1:8001\"";
    let entry = table.get("line").ok_or_else(|| table.mistake(format!("`line` is {LINE}")))?;
    let mut line = entry.parsed(LINE, TncAddress::parse)?;
    if let Some(entry) = table.get("peers") {
        let TncAddress::Axudp { table: known, .. } = &mut line else {
            return Err(entry.mistake("only a line axudp://… has peers"));
        };
        for (call, entry) in entry.table()?.entries()? {
            let call = other_call(&call).map_err(|why| entry.mistake(why))?;
            const PEER: &str = "the host of a station, with its port, such as \"192.0.2.7:10093\"";
            let (host, port) = entry.parsed(PEER, host_and_port)?;
            known.push((call, host, port.unwrap_or(axudp::PORT)));
        }
    }
    let mut config = kiss::Config::default();
    if let Some(entry) = table.get("rate") {
        let rate = entry.rate(50..10_000_001)?;
        config.rate = NonZeroU32::new(rate as u32).unwrap_or(config.rate);
    }
    let mut port = 0;
    if let Some(entry) = table.get("kiss") {
        if let TncAddress::Axudp { .. } = line {
            return Err(entry.mistake("over axudp there is no KISS"));
        }
        port = access(&entry.table()?, &mut config)?;
    }
    config.ports = port + 1;
    let shown = match &line {
        TncAddress::Line(LineAddress::Tcp { host, port }) => format!("tcp://{host}:{port}"),
        _ => entry.text(LINE)?.into(),
    };
    Ok(TncEntry { name, shown, line, port, kiss: config })
}

/// Reads what KISS is told; returns the port.
fn access(table: &Table<'_>, config: &mut kiss::Config) -> Read<u8> {
    table.only(&[
        "txdelay",
        "persistence",
        "slot",
        "tail",
        "duplex",
        "port",
        "ackmode",
        "txbuf",
        "check",
        "enter",
        "leave",
    ])?;
    let time = |key| table.get(key).map(|entry| entry.time(TIME_OF_TNC)).transpose();
    let persistence = table.get("persistence").map(|entry| entry.share()).transpose()?;
    config.access = ChannelAccess {
        tx_delay: time("txdelay")?,
        // p = (units + 1) / 256
        persistence: persistence
            .map(|share| ((share * 256.0).round() as u16).saturating_sub(1).min(255) as u8),
        slot_time: time("slot")?,
        tx_tail: time("tail")?,
        full_duplex: table.get("duplex").map(|entry| entry.truth()).transpose()?,
    };
    for (key, is_on) in [
        ("ackmode", &mut config.acknowledged),
        ("txbuf", &mut config.asks_queue),
        ("check", &mut config.checked),
    ] {
        if let Some(entry) = table.get(key) {
            *is_on = entry.truth()?;
        }
    }
    for (key, octets) in [("enter", &mut config.enter), ("leave", &mut config.leave)] {
        if let Some(entry) = table.get(key) {
            let wanted = "a text, of which a character is an octet: \"KISS ON\\rRESTART\\r\"";
            let read: Result<Vec<u8>, _> = entry.text(wanted)?.chars().map(u8::try_from).collect();
            *octets = read.map_err(|_| entry.is_not(wanted))?;
        }
    }
    let port = table.get("port").map(|entry| entry.number(0..PORTS_MOST.into())).transpose()?;
    Ok(port.unwrap_or(0) as u8)
}
