//! The file of a station.
//!
//! | file | what |
//! | --- | --- |
//! | here | the whole: who the station is, what it serves, its rules |
//! | `file/tnc.rs` | its TNCs |
//! | `file/link.rs` | its links and peers |
//! | `file/beacon.rs` | its beacons |
//! | `file/program.rs` | its programs at call signs |
//! | `file/serve.rs` | what it serves, and its address |

mod beacon;
mod link;
mod program;
mod serve;
#[cfg(test)]
mod tests;
mod tnc;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use stackwright::ax25::{self, Beacon, Digipeating, Identification};
use stackwright::contract::CallSign;
use toml::de::DeTable;

use super::reader::{Entry, Mistake, Table};
use crate::call::own_call;
use crate::line::LineAddress;
use crate::tnc::TncAddress;
use link::links;
use tnc::tncs;

pub(super) use link::PeerEntry;
pub(super) use program::ProgramEntry;
pub(super) use serve::{DeviceEntry, FolderEntry, HostEntry, KissPlace};
pub(super) use tnc::TncEntry;

/// How long a file may be, in octets.
pub(super) const FILE_MOST: usize = 64 << 10;

/// What the file says.
#[derive(Debug)]
pub(super) struct StationFile {
    pub(super) call: CallSign,
    /// Further call signs of the station.
    pub(super) aliases: Vec<CallSign>,
    /// One or two, in the order of the file: the ports of programs.
    pub(super) tncs: Vec<TncEntry>,
    /// How its links are, as far as `[ax25]` says it.
    pub(super) links: ax25::Config,
    pub(super) peers: Vec<PeerEntry>,
    /// Where programs find AGW, and KISS.
    pub(super) agw: Option<SocketAddr>,
    pub(super) kiss: Option<KissPlace>,
    /// Call signs of programs at the port for KISS, which have links of their own.
    pub(super) kiss_calls: Vec<CallSign>,
    /// Those programs also hear what the station and others of them send.
    pub(super) kiss_echo: bool,
    /// What other stations reach by FTP.
    pub(super) folder: Option<FolderEntry>,
    pub(super) host: HostEntry,
    pub(super) identification: Option<Identification>,
    /// With the numbers of their TNCs as ports.
    pub(super) beacons: Vec<Beacon>,
    /// At call signs of their own.
    pub(super) programs: Vec<ProgramEntry>,
    pub(super) transmit: bool,
    /// In percent.
    pub(super) duty: Option<u8>,
    pub(super) encryption: Encryption,
}

/// What becomes of frames that are recognised as encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encryption {
    /// They are not transmitted.
    Refused,
    /// They are transmitted as any other.
    AllowedHere,
}

impl StationFile {
    /// Returns whether anybody uses its address.
    pub(super) fn is_host(&self) -> bool {
        self.folder.is_some() || self.host.dsr || self.host.device.is_some()
    }
}

type Read<T> = Result<T, Mistake>;

const CALL: &str = "a call sign, such as \"N0AAA-1\"";
const CALLS: &str = "a list of call signs, such as [\"RELAY-1\"]";
const HOUR: Duration = Duration::from_secs(3600);

/// Reads the text of a file.
///
/// # Errors
/// The first mistake, with its place.
pub(super) fn read(text: &str) -> Read<StationFile> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let says = match bare_word(text, span.start) {
            Some("yes" | "on" | "no" | "off") => "write true or false".into(),
            Some(word) => format!("a text stands in quotation marks: write \"{word}\""),
            None => format!("this cannot be read: {}", error.message()),
        };
        Mistake { span, says }
    })?;
    let top = Table::whole(&table);
    top.only(&[
        "call", "aliases", "tnc", "ax25", "ipv4", "serve", "identify", "rules", "beacon", "program",
    ])?;
    let call = top.get("call").ok_or_else(|| {
        top.mistake("nothing is transmitted without a call sign: write call = \"MYCALL\"")
    })?;
    let call = call.parsed(CALL, own_call)?;
    let aliases = own_calls(top.get("aliases"))?;
    let mut file = StationFile {
        call,
        aliases,
        tncs: tncs(&top)?,
        links: ax25::Config::new(call),
        peers: Vec::new(),
        agw: None,
        kiss: None,
        kiss_calls: Vec::new(),
        kiss_echo: false,
        folder: None,
        host: HostEntry::of(call),
        identification: None,
        beacons: Vec::new(),
        programs: Vec::new(),
        transmit: true,
        duty: None,
        encryption: Encryption::Refused,
    };
    if let Some(entry) = top.get("ax25") {
        links(&entry.table()?, &mut file)?;
    }
    if let Some(entry) = top.get("serve") {
        serve::serve(&entry.table()?, &mut file)?;
    }
    if let Some(entry) = top.get("ipv4") {
        serve::host(&entry, &mut file)?;
    }
    let offers = file.agw.is_some()
        || file.kiss.is_some()
        || file.is_host()
        || top.get("beacon").is_some()
        || top.get("program").is_some();
    if !offers && file.links.digipeat == Digipeating::Off {
        let says = "the station does nothing: write [serve] with agw = \"127.0.0.1:8000\" for programs, \
             or with ftp = { root = \"/srv/radio\" } for other stations";
        return Err(top.mistake(says));
    }
    file.beacons = beacon::beacons(&top, &file.tncs)?;
    file.programs = program::programs(&top, &file)?;
    identify(&top, &mut file)?;
    rules(&top, &mut file)?;
    places(&top, &file)?;
    own_peers(&top, &file)?;
    Ok(file)
}

/// Returns the word without quotation marks around this place, where a value stands.
fn bare_word(text: &str, at: usize) -> Option<&str> {
    let line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let (_, value) = text[line..].lines().next()?.split_once('=')?;
    let word = value.split('#').next()?.trim();
    let is_word = |octet: u8| octet.is_ascii_alphanumeric() || b"-./:".contains(&octet);
    (!word.is_empty() && word.bytes().all(is_word)).then_some(word)
}

/// Two things at one place would keep each other out.
fn places(top: &Table<'_>, file: &StationFile) -> Read<()> {
    let kiss = file.kiss.as_ref().and_then(KissPlace::address);
    let served = [("AGW", file.agw), ("KISS", kiss)];
    let entry = |key: &str| top.get("serve").and_then(|serve| serve.table().ok()?.get(key));
    if let (Some(agw), Some(kiss)) = (file.agw, kiss)
        && meets(agw, &kiss.ip().to_string(), kiss.port())
        && let Some(entry) = entry("kiss")
    {
        return Err(entry.mistake("AGW has it already: each has a port of its own"));
    }
    let Some(tncs) = top.get("tnc").and_then(|tncs| tncs.table().ok()) else { return Ok(()) };
    for TncEntry { name, line, .. } in &file.tncs {
        let why = match line {
            TncAddress::Line(LineAddress::Tcp { host, port }) => {
                let meets = |(_, at): &&(&str, Option<SocketAddr>)| {
                    at.is_some_and(|at| meets(at, host, *port))
                };
                served.iter().find(meets).map(|(what, _)| {
                    format!("the station itself has it, for programs that speak {what}")
                })
            }
            TncAddress::Axudp { host, port, local, .. } => {
                let own = SocketAddr::from((Ipv4Addr::UNSPECIFIED, *local));
                let why = "it leads back to this station: name the other one's port";
                meets(own, host, *port).then(|| why.into())
            }
            TncAddress::Line(LineAddress::Pty { link }) => {
                let is_taken = file.kiss == Some(KissPlace::Terminal(link.clone()));
                is_taken.then(|| "the station itself has it, for programs that speak KISS".into())
            }
            TncAddress::Line(LineAddress::Serial { .. }) => None,
        };
        let entry = tncs.get(name).and_then(|tnc| tnc.table().ok()?.get("line"));
        if let (Some(why), Some(entry)) = (why, entry) {
            return Err(entry.mistake(&why));
        }
    }
    Ok(())
}

/// Returns whether a host and a port lead to what listens here.
fn meets(listens: SocketAddr, host: &str, port: u16) -> bool {
    let host = host.trim_matches(['[', ']']);
    let ip = if host == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { host.parse().ok() };
    let any = listens.ip().is_unspecified();
    let is_here = |ip: IpAddr| ip == listens.ip() || ip.is_unspecified() || any && ip.is_loopback();
    port != 0 && port == listens.port() && ip.is_some_and(is_here)
}

/// A station is no peer of its own, and no digipeater on its own way.
fn own_peers(top: &Table<'_>, file: &StationFile) -> Read<()> {
    let programs: Vec<_> = file.programs.iter().map(|program| program.call).collect();
    let own: Vec<_> = [&[file.call], &file.aliases[..], &file.kiss_calls, &programs].concat();
    let items = top.get("ax25").and_then(|ax25| ax25.table().ok()?.get("peer")?.items("").ok());
    for (item, peer) in items.into_iter().flatten().zip(&file.peers) {
        let table = item.table()?;
        let key = match peer {
            PeerEntry { call, .. } if own.contains(call) => "call",
            PeerEntry { via, .. } if via.iter().any(|call| own.contains(call)) => "via",
            _ => continue,
        };
        if let Some(entry) = table.get(key) {
            return Err(entry.mistake("it is this station's own call sign"));
        }
    }
    Ok(())
}

/// Reads call signs of the station.
fn own_calls(entry: Option<Entry<'_>>) -> Read<Vec<CallSign>> {
    let Some(entry) = entry else { return Ok(Vec::new()) };
    entry.items(CALLS)?.iter().map(|item| item.parsed(CALL, own_call)).collect()
}

fn identify(top: &Table<'_>, file: &mut StationFile) -> Read<()> {
    let mut identification = Identification {
        every: Duration::from_secs(600),
        text: format!("{} Stackwright station", file.call).into_bytes(),
    };
    if let Some(entry) = top.get("identify") {
        let table = entry.table()?;
        table.only(&["every", "text"])?;
        if let Some(entry) = table.get("every") {
            identification.every = entry.time(HOUR)?;
            if identification.every < Duration::from_secs(60) {
                return Err(entry.is_not("at least one minute: each one takes time on the air"));
            }
        }
        if let Some(entry) = table.get("text") {
            const WANTED: &str = "a text of at most 128 octets";
            let text = entry.text(WANTED)?;
            if text.len() > 128 {
                return Err(entry.is_not(WANTED));
            }
            identification.text = text.into();
        }
    }
    file.identification = Some(identification);
    Ok(())
}

fn rules(top: &Table<'_>, file: &mut StationFile) -> Read<()> {
    let Some(entry) = top.get("rules") else { return Ok(()) };
    let table = entry.table()?;
    table.only(&["transmit", "duty", "encryption"])?;
    if let Some(entry) = table.get("encryption") {
        const WANTED: &str = "\"refused\", as amateur radio has it, or \"allowed-here\", where your \
                              licence allows what nobody else can read";
        file.encryption = match entry.text(WANTED)? {
            "refused" => Encryption::Refused,
            "allowed-here" => Encryption::AllowedHere,
            _ => return Err(entry.is_not(WANTED)),
        };
    }
    if let Some(entry) = table.get("transmit") {
        file.transmit = entry.truth()?;
    }
    if let Some(entry) = table.get("duty") {
        const WANTED: &str = "a share of the time from \"1 %\" to \"99 %\"";
        let percent = entry.text(WANTED)?.strip_suffix('%').map(str::trim_end);
        let percent = percent.and_then(|digits| digits.parse().ok());
        let duty = percent.filter(|percent| (1..100).contains(percent));
        file.duty = Some(duty.ok_or_else(|| entry.is_not(WANTED))?);
    }
    Ok(())
}
