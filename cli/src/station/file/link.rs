//! `[ax25]`: the links of a station, and its peers.

use std::time::Duration;

use stackwright::ax25::header::{DIGIPEATERS_MOST, DigipeaterPath};
use stackwright::ax25::{Digipeating, FrameLength, LinkVersion};
use stackwright::contract::CallSign;

use super::tnc::{TncEntry, number_of};
use super::{CALL, CALLS, Read, StationFile};
use crate::call::other_call;
use crate::station::reader::{Entry, Table};

const VERSION: &str = "\"auto\", \"2.0\" or \"2.2\"";
/// How long an answer may take at first, and one transmission at most.
const FRACK: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
const KEY_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(180)];

/// What is known of another station.
#[derive(Debug)]
pub(crate) struct PeerEntry {
    pub(crate) call: CallSign,
    pub(crate) via: Vec<CallSign>,
    /// Where it is said.
    pub(crate) version: Option<LinkVersion>,
    /// The number of the TNC by which it is reached.
    pub(crate) port: u8,
}

/// Reads how links are, and the peers.
pub(super) fn links(table: &Table<'_>, file: &mut StationFile) -> Read<()> {
    table.only(&[
        "version",
        "frame",
        "paclen",
        "maxframe",
        "emaxframe",
        "frack",
        "retry",
        "retries",
        "keyup",
        "digipeat",
        "peer",
    ])?;
    let links = &mut file.links;
    if let Some(entry) = table.get("version") {
        links.version = version(&entry)?;
    }
    if let Some(entry) = table.get("frame") {
        let is_adaptive = entry.text("").is_ok_and(|text| text == "adaptive");
        links.frame = if is_adaptive {
            FrameLength::Adaptive
        } else {
            let number = entry.number(32..257);
            let number = number.map_err(|_| entry.is_not("\"adaptive\", or 32 to 256 octets"))?;
            FrameLength::Fixed(number as u16)
        };
    }
    if let Some(entry) = table.get("paclen") {
        links.paclen = entry.number(32..257)? as u16;
    }
    if let Some(entry) = table.get("maxframe") {
        links.window = entry.number(1..8)? as u8;
    }
    if let Some(entry) = table.get("emaxframe") {
        links.window_extended = entry.number(1..64)? as u8;
    }
    if let Some(entry) = table.get("frack") {
        links.timeout = within(&entry, FRACK)?;
    }
    // TNCs say RETRY, and people both.
    if let (Some(_), Some(entry)) = (table.get("retry"), table.get("retries")) {
        return Err(entry.mistake("it is `retry`, which stands there, too"));
    }
    if let Some(entry) = table.get("retry").or_else(|| table.get("retries")) {
        links.tries = entry.number(1..256)? as u8;
    }
    if let Some(entry) = table.get("keyup") {
        links.key_up = within(&entry, KEY_UP)?;
    }
    if let Some(entry) = table.get("digipeat") {
        links.digipeat = digipeat(&entry)?;
    }
    if let Some(entry) = table.get("peer") {
        for item in entry.items("a list of tables: [[ax25.peer]]")? {
            let peer = peer(&item.table()?, &file.tncs)?;
            if file.peers.iter().any(|before| before.call == peer.call) {
                return Err(item.mistake("this station has an entry before"));
            }
            file.peers.push(peer);
        }
    }
    Ok(())
}

fn peer(table: &Table<'_>, tncs: &[TncEntry]) -> Read<PeerEntry> {
    table.only(&["call", "via", "version", "tnc"])?;
    let call = table.get("call").ok_or_else(|| table.mistake(format!("its `call` is {CALL}")))?;
    let call = call.parsed(CALL, other_call)?;
    let mut via = Vec::new();
    if let Some(entry) = table.get("via") {
        for item in entry.items(CALLS)? {
            via.push(item.parsed(CALL, other_call)?);
        }
        if DigipeaterPath::through(&via).is_none() {
            let most = format!("a list of at most {DIGIPEATERS_MOST} digipeaters");
            return Err(entry.is_not(&most));
        }
    }
    let version = table.get("version").map(|entry| version(&entry)).transpose()?;
    let mut port = 0;
    if let Some(entry) = table.get("tnc") {
        port = number_of(&entry, tncs)?;
    }
    Ok(PeerEntry { call, via, version, port })
}

/// Reads which frames of others are repeated.
fn digipeat(entry: &Entry<'_>) -> Read<Digipeating> {
    if let Ok(table) = entry.table() {
        table.only(&["wide"])?;
        let most =
            table.get("wide").ok_or_else(|| entry.is_not("{ wide = 2 }, or true or false"))?;
        return Ok(Digipeating::Wide { most: most.number(1..8)? as u8 });
    }
    Ok(if entry.truth()? { Digipeating::Named } else { Digipeating::Off })
}

/// Reads a time of this range.
fn within(entry: &Entry<'_>, [least, most]: [Duration; 2]) -> Read<Duration> {
    let time = entry.time(most)?;
    let shown = humantime::format_duration(least);
    let too_short = || entry.is_not(&format!("a time of at least {shown}"));
    if time < least { Err(too_short()) } else { Ok(time) }
}

fn version(entry: &Entry<'_>) -> Read<LinkVersion> {
    match entry.text(VERSION)? {
        "auto" => Ok(LinkVersion::Auto),
        "2.0" => Ok(LinkVersion::V20),
        "2.2" => Ok(LinkVersion::V22),
        _ => Err(entry.is_not(VERSION)),
    }
}
