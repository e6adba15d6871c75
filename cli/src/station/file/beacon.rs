//! `[[beacon]]`: what a station says of itself regularly.

use std::time::Duration;

use stackwright::ax25::Beacon;
use stackwright::ax25::header::{DIGIPEATERS_MOST, DigipeaterPath};
use stackwright::contract::CallSign;

use super::tnc::TncEntry;
use super::{CALLS, Read};
use crate::station::reader::Table;

const BEACONS_MOST: usize = 8;
const TEXT_MOST: usize = 256;
const EVERY: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(86_400)];

/// Reads the beacons, each with the number of its TNC as its port.
pub(super) fn beacons(top: &Table<'_>, tncs: &[TncEntry]) -> Read<Vec<Beacon>> {
    let Some(entry) = top.get("beacon") else { return Ok(Vec::new()) };
    let items = entry.items("a list of tables: [[beacon]]")?;
    if items.len() > BEACONS_MOST {
        return Err(entry.mistake("a station has at most eight"));
    }
    items.iter().map(|item| beacon(&item.table()?, tncs)).collect()
}

fn beacon(table: &Table<'_>, tncs: &[TncEntry]) -> Read<Beacon> {
    table.only(&["every", "to", "via", "text", "tnc"])?;
    let missing = |key, such| table.mistake(format!("it has `{key}`, such as {such}"));
    let entry = table.get("every").ok_or_else(|| missing("every", "\"20 min\""))?;
    let every = entry.time(EVERY[1])?;
    if every < EVERY[0] {
        return Err(entry.is_not("at least one minute: each one takes time on the air"));
    }
    let entry = table.get("text").ok_or_else(|| missing("text", "\"a club station\""))?;
    let wanted = format!("a text of at most {TEXT_MOST} octets");
    let text = entry.text(&wanted)?;
    if text.len() > TEXT_MOST {
        return Err(entry.is_not(&wanted));
    }
    // Neither has to be a station's call sign: BEACON, APRS, WIDE1-1.
    let address = |text: &str| text.parse::<CallSign>().map_err(|_| "it is no address of AX.25");
    let to = table.get("to").map(|to| to.parsed("an address, such as \"BEACON\"", address));
    let to = to.unwrap_or_else(|| address("BEACON").map_err(|why| table.mistake(why)))?;
    let mut via = DigipeaterPath::DIRECT;
    if let Some(entry) = table.get("via") {
        let calls: Read<Vec<_>> =
            entry.items(CALLS)?.iter().map(|item| item.parsed(CALLS, address)).collect();
        let most = format!("a list of at most {DIGIPEATERS_MOST} digipeaters");
        via = DigipeaterPath::through(&calls?).ok_or_else(|| entry.is_not(&most))?;
    }
    let port = table.get("tnc").map_or(Ok(0), |entry| super::tnc::number_of(&entry, tncs))?;
    Ok(Beacon { port, every, to, via, text: text.into() })
}
