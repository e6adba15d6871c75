//! The file of a station.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use stackwright::ax25::header::{DIGIPEATERS_MOST, DigipeaterPath};
use stackwright::ax25::{self, FrameLength, Identification, LinkVersion};
use stackwright::contract::CallSign;
use stackwright::kiss::{self, ChannelAccess, PORTS_MOST};
use toml::de::DeTable;

use super::reader::{Entry, Mistake, Table};
use super::tncs::TNCS_MOST;
use crate::call::{other_call, own_call};
use crate::line::LineAddress;
use crate::tnc::TncAddress;

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
    pub(super) kiss: Option<SocketAddr>,
    /// Call signs of programs at the port for KISS, which have links of their own.
    pub(super) kiss_calls: Vec<CallSign>,
    /// Those programs also hear what the station and others of them send.
    pub(super) kiss_echo: bool,
    pub(super) identification: Option<Identification>,
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

/// A TNC of the station.
#[derive(Debug)]
pub(super) struct TncEntry {
    pub(super) name: String,
    /// As it is written.
    pub(super) shown: String,
    pub(super) line: TncAddress,
    /// Its port that is used.
    pub(super) port: u8,
    pub(super) kiss: kiss::Config,
}

/// What is known of another station.
#[derive(Debug)]
pub(super) struct PeerEntry {
    pub(super) call: CallSign,
    pub(super) via: Vec<CallSign>,
    /// Where it is said.
    pub(super) version: Option<LinkVersion>,
    /// The number of the TNC by which it is reached.
    pub(super) port: u8,
}

type Read<T> = Result<T, Mistake>;

const CALL: &str = "a call sign, such as \"N0AAA-1\"";
const CALLS: &str = "a list of call signs, such as [\"RELAY-1\"]";
const VERSION: &str = "\"auto\", \"2.0\" or \"2.2\"";
const HOUR: Duration = Duration::from_secs(3600);
/// How long an answer may take at first, and one transmission at most.
const FRACK: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
const KEY_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(180)];
const TIME_OF_TNC: Duration = Duration::from_millis(2550);

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
    top.only(&["call", "aliases", "tnc", "ax25", "serve", "identify", "rules"])?;
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
        identification: None,
        transmit: true,
        duty: None,
        encryption: Encryption::Refused,
    };
    if let Some(entry) = top.get("ax25") {
        links(&entry.table()?, &mut file)?;
    }
    if let Some(entry) = top.get("serve") {
        let serve = entry.table()?;
        serve.only(&["agw", "kiss", "kiss_calls", "kiss_echo"])?;
        file.kiss_calls = own_calls(serve.get("kiss_calls"))?;
        let is_shared = |call: &CallSign| *call == file.call || file.aliases.contains(call);
        if let Some(entry) = serve.get("kiss_calls")
            && file.kiss_calls.iter().any(is_shared)
        {
            return Err(entry.mistake("the station itself answers for one of them: one list each"));
        }
        file.kiss_echo = serve.get("kiss_echo").map_or(Ok(false), |entry| entry.truth())?;
        file.agw = serve.get("agw").map(|entry| listen(&entry)).transpose()?;
        file.kiss = serve.get("kiss").map(|entry| listen(&entry)).transpose()?;
    }
    if file.agw.is_none() && file.kiss.is_none() && !file.links.digipeat {
        let says =
            "the station does nothing: write [serve] with agw = \"127.0.0.1:8000\" for programs";
        return Err(top.mistake(says));
    }
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
    let served = [("AGW", file.agw), ("KISS", file.kiss)];
    let entry = |key: &str| top.get("serve").and_then(|serve| serve.table().ok()?.get(key));
    if let (Some(agw), Some(kiss)) = (file.agw, file.kiss)
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
            TncAddress::Axudp { host, port, local } => {
                let own = SocketAddr::from((Ipv4Addr::UNSPECIFIED, *local));
                let why = "it leads back to this station: name the other one's port";
                meets(own, host, *port).then(|| why.into())
            }
            TncAddress::Line(_) => None,
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
    let own: Vec<_> = [&[file.call], &file.aliases[..], &file.kiss_calls].concat();
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

fn tncs(top: &Table<'_>) -> Read<Vec<TncEntry>> {
    const EXAMPLE: &str =
        "a station has a TNC: write [tnc.vhf] with line = \"tcp://127.0.0.1:8001\"";
    const NAMED: &str = "a TNC has a name: write [tnc.vhf], with `line` and `rate` below it";
    let entry = top.get("tnc").ok_or_else(|| top.mistake(EXAMPLE))?;
    let tables = entry.table().map_err(|_| entry.mistake(NAMED))?;
    if tables.get("line").is_some_and(|line| line.table().is_err()) {
        return Err(entry.mistake(NAMED));
    }
    let mut tncs: Vec<TncEntry> = Vec::new();
    for (name, table) in tables.tables()? {
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

fn tnc(name: String, table: &Table<'_>) -> Read<TncEntry> {
    table.only(&["line", "rate", "kiss"])?;
    const LINE: &str = "a line to a TNC, such as \"tcp://127.0.0.1:8001\"";
    let entry = table.get("line").ok_or_else(|| table.mistake(format!("`line` is {LINE}")))?;
    let line = entry.parsed(LINE, TncAddress::parse)?;
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

fn links(table: &Table<'_>, file: &mut StationFile) -> Read<()> {
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
        links.digipeat = entry.truth()?;
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
        let names: Vec<_> = tncs.iter().map(|tnc| format!("\"{}\"", tnc.name)).collect();
        let wanted = format!("the name of a TNC: {}", names.join(" or "));
        let name = entry.text(&wanted)?;
        let place = tncs.iter().position(|tnc| tnc.name == name);
        port = place.ok_or_else(|| entry.is_not(&wanted))? as u8;
    }
    Ok(PeerEntry { call, via, version, port })
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

fn listen(entry: &Entry<'_>) -> Read<SocketAddr> {
    const WANTED: &str = "an address and a port, such as \"127.0.0.1:8000\"";
    entry.text(WANTED)?.parse().map_err(|_| entry.is_not(WANTED))
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

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"
call = "N0BBB-1"
[tnc.vhf]
line = "tcp://127.0.0.1:8001"
[serve]
agw = "127.0.0.1:8000"
"#;

    #[test]
    fn little_is_enough() {
        let file = read(LEAST).expect("a station");
        assert_eq!((file.call.to_string(), &file.tncs[0].name[..]), ("N0BBB-1".into(), "vhf"));
        assert_eq!(file.links, ax25::Config::new(file.call));
        assert!(file.transmit && file.duty.is_none());
        let identification = file.identification.expect("a station identifies");
        assert_eq!(identification.every, Duration::from_secs(600));
        assert_eq!(identification.text, b"N0BBB-1 Stackwright station");
    }

    #[test]
    fn everything_is_read() {
        let file = read(
            r#"
call = "n0bbb-1"
aliases = ["N0BBB-7"]
[tnc.uhf]
line = "serial:///dev/ttyUSB0?baud=19200"
rate = "9.6 kb/s"
kiss = { txdelay = "300 ms", persistence = 0.25, slot = "100ms", tail = "50 ms", duplex = "off", port = 1, ackmode = "on", txbuf = false, check = true, enter = "KISS ON\r", leave = "\u00C0\u00FF\u00C0" }
[ax25]
version = "2.2"
frame = 128
paclen = 200
maxframe = 7
emaxframe = 16
frack = "5 s"
retry = 4
keyup = "8 s"
digipeat = "on"
[[ax25.peer]]
call = "N0AAA"
via = ["RELAY-1", "RELAY-2"]
version = "2.0"
[serve]
agw = "127.0.0.1:8000"
kiss = "[::1]:8101"
kiss_calls = ["N0BBB-9"]
[identify]
every = "5 min"
text = "Club station"
[rules]
transmit = false
duty = "20 %"
"#,
        )
        .expect("a station");
        let kiss = &file.tncs[0].kiss;
        assert_eq!((kiss.rate.get(), file.tncs[0].port, kiss.ports), (9600, 1, 2));
        let access = ChannelAccess {
            tx_delay: Some(Duration::from_millis(300)),
            persistence: Some(63),
            slot_time: Some(Duration::from_millis(100)),
            tx_tail: Some(Duration::from_millis(50)),
            full_duplex: Some(false),
        };
        assert_eq!(kiss.access, access);
        assert!(kiss.acknowledged && !kiss.asks_queue && kiss.checked);
        assert_eq!((&kiss.enter[..], &kiss.leave[..]), (&b"KISS ON\r"[..], &b"\xC0\xFF\xC0"[..]));
        let links = ax25::Config {
            version: LinkVersion::V22,
            frame: FrameLength::Fixed(128),
            paclen: 200,
            window: 7,
            window_extended: 16,
            timeout: Duration::from_secs(5),
            tries: 4,
            key_up: Duration::from_secs(8),
            digipeat: true,
            ..ax25::Config::new(file.call)
        };
        assert_eq!(file.links, links);
        assert_eq!((file.peers[0].via.len(), file.peers[0].version), (2, Some(LinkVersion::V20)));
        assert!(!file.transmit && file.agw.is_some() && file.kiss.is_some());
        assert_eq!((file.aliases.len(), file.kiss_calls.len(), file.duty), (1, 1, Some(20)));
    }

    #[test]
    fn a_station_has_two_tncs() {
        let file = read(
            r#"
call = "N0BBB-1"
[tnc.vhf]
line = "tcp://127.0.0.1:8001"
[tnc.uhf]
line = "tcp://127.0.0.1:8001"
rate = 9600
kiss = { port = 1 }
[[ax25.peer]]
call = "N0AAA"
via = ["RELAY-1"]
tnc = "uhf"
[serve]
agw = "127.0.0.1:8000"
[rules]
encryption = "allowed-here"
"#,
        )
        .expect("two ports of one server of TNCs");
        let tncs: Vec<_> = file.tncs.iter().map(|tnc| (&tnc.name[..], tnc.port)).collect();
        assert_eq!(tncs, [("vhf", 0), ("uhf", 1)]);
        assert_eq!(file.peers[0].port, 1);
        assert_eq!(file.encryption, Encryption::AllowedHere);
        assert_eq!(read(LEAST).expect("a station").encryption, Encryption::Refused);
    }

    /// Every mistake has its place, and says what to write.
    #[test]
    fn mistakes_are_told_where_they_are() {
        const FIRST: &str = "tcp://127.0.0.1:8001";
        let vary = |from: &str, to: &str| LEAST.replace(from, to);
        let second =
            |line: &str| vary("[serve]", &format!("[tnc.uhf]\nline = \"{line}\"\n[serve]"));
        for (text, at, says) in [
            (vary("call = \"N0BBB-1\"", ""), "", "call = \"MYCALL\""),
            (vary("N0BBB-1", "N0CALL"), "\"N0CALL\"", "write your own"),
            (vary("N0BBB-1", "RELAY"), "\"RELAY\"", "a letter and a digit"),
            (vary("\"N0BBB-1\"", "7"), "7", "such as \"N0AAA-1\", and 7 stands there"),
            (vary("[tnc.vhf]", "[tnc.vhf]\nspeed = 3"), "speed", "line, rate, kiss"),
            (vary("[tnc.vhf]", "[tnc]"), "", "write [tnc.vhf]"),
            (vary("[tnc.vhf]", "[[tnc]]"), "", "write [tnc.vhf]"),
            (vary("\"N0BBB-1\"", "N0BBB-1"), "", "write \"N0BBB-1\""),
            (format!("{LEAST}[ax25]\ndigipeat = yes"), "", "write true or false"),
            (vary("line =", "rate = \"fast\"\nline ="), "\"fast\"", "such as 1200 or \"9.6 kb/s\""),
            (vary("tcp://127.0.0.1:8001", "localhost:8001"), "\"localhost:8001\"", "tcp://"),
            (vary("line =", "rate = 9_600_000_000\nline ="), "9_600_000_000", "50 to 10000000 b/s"),
            (vary("[tnc.vhf]\nline = \"tcp://127.0.0.1:8001\"", ""), "", "[tnc.vhf]"),
            (second(&format!("pty:./a\"\n[tnc.shf]\nline = \"{FIRST}")), "", "at most two TNCs"),
            (second(FIRST), "\"tcp://127.0.0.1:8001\"", "the TNC vhf has it already"),
            (second("axudp://192.0.2.7?local=0"), "\"axudp://192.0.2.7?local=0\"", "?local=10093"),
            (vary(FIRST, "axudp://h").replace("[serve]", "kiss = {}\n[serve]"), "{}", "no KISS"),
            (
                second("axudp://192.0.2.7").replace(FIRST, "axudp://192.0.2.8"),
                "\"axudp://192.0.2.7\"",
                "the TNC vhf has it already",
            ),
            (format!("{LEAST}[[ax25.peer]]\ncall = \"A\"\ntnc = \"uhf\""), "\"uhf\"", "\"vhf\""),
            (vary("127.0.0.1:8000", "8000"), "\"8000\"", "\"127.0.0.1:8000\""),
            (vary("agw =", "ftp ="), "ftp", "there is agw, kiss"),
            (vary("agw =", "kiss_calls = [\"N0BBB-1\"]\nagw ="), "[\"N0BBB-1\"]", "one list each"),
            (vary("[serve]\nagw = \"127.0.0.1:8000\"", ""), "", "agw = \"127.0.0.1:8000\""),
            (format!("{LEAST}[ax25]\nversion = \"3\""), "\"3\"", "\"2.0\" or \"2.2\""),
            (format!("{LEAST}[ax25]\nframe = 12"), "12", "32 to 256"),
            (format!("{LEAST}[[ax25.peer]]\nvia = []"), "", "its `call`"),
            (format!("{LEAST}[[ax25.peer]]\ncall = \"A\"\nvia = \"B\""), "\"B\"", "a list"),
            (format!("{LEAST}kiss = \"127.0.0.1:8000\""), "\"127.0.0.1:8000\"", "AGW has it"),
            (format!("{LEAST}kiss = \"0.0.0.0:8000\""), "\"0.0.0.0:8000\"", "AGW has it"),
            (vary(FIRST, "tcp://127.0.0.1:8000"), "\"tcp://127.0.0.1:8000\"", "that speak AGW"),
            (vary(FIRST, "tcp://localhost:8000"), "\"tcp://localhost:8000\"", "that speak AGW"),
            (
                format!("{LEAST}kiss = \"0.0.0.0:8001\""),
                "\"tcp://127.0.0.1:8001\"",
                "that speak KISS",
            ),
            (vary(FIRST, "axudp://127.0.0.1"), "\"axudp://127.0.0.1\"", "leads back"),
            (format!("{LEAST}[[ax25.peer]]\ncall = \"N0BBB-1\""), "\"N0BBB-1\"", "own call"),
            (
                format!(
                    "aliases = [\"N0BBB\"]{LEAST}[[ax25.peer]]\ncall = \"A\"\nvia = [\"N0BBB\"]"
                ),
                "[\"N0BBB\"]",
                "own call",
            ),
            (format!("{LEAST}[ax25]\nmaxframe = 8"), "8", "1 to 7"),
            (format!("{LEAST}[ax25]\nemaxframe = 64"), "64", "1 to 63"),
            (format!("{LEAST}[ax25]\npaclen = 257"), "257", "32 to 256"),
            (format!("{LEAST}[ax25]\nfrack = \"10 ms\""), "\"10 ms\"", "at least 1s"),
            (format!("{LEAST}[ax25]\nfrack = 3"), "3", "such as \"300 ms\""),
            (format!("{LEAST}[ax25]\nretry = 0"), "0", "1 to 255"),
            (format!("{LEAST}[ax25]\nretry = 3\nretries = 3"), "3", "it is `retry`"),
            (format!("{LEAST}[ax25]\nkeyup = \"1 h\""), "\"1 h\"", "a time up to 3m"),
            (format!("{LEAST}[identify]\nevery = \"10 s\""), "\"10 s\"", "one minute"),
            (format!("{LEAST}[identify]\nevery = 10"), "10", "\"10 min\""),
            (format!("{LEAST}[rules]\nduty = \"0 %\""), "\"0 %\"", "\"1 %\""),
            (format!("{LEAST}[rules]\nencryption = true"), "true", "\"allowed-here\""),
            (format!("{LEAST}[rules]\nencryption = \"yes\""), "\"yes\"", "as amateur radio has it"),
            (format!("{LEAST}[rules]\ntransmit = \"no\""), "\"no\"", "true or false"),
            (format!("{LEAST}[ipv4]\n"), "ipv4", "there is call, aliases, tnc"),
            ("call = ".into(), "", "cannot be read"),
        ] {
            let mistake = read(&text).expect_err(&text);
            assert!(mistake.says.contains(says), "{text}: {}", mistake.says);
            if !at.is_empty() {
                assert_eq!(&text[mistake.span], at, "{text}");
            }
        }
    }
}
