//! `[serve]` and `[ipv4]`: what the station offers to programs, and to other stations.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use stackwright::contract::CallSign;

use super::{CALL, Read, StationFile, own_calls};
use crate::air::network_of;
use crate::call::other_call;
use crate::inet::Network;
use crate::line::LineAddress;
use crate::station::reader::{Entry, Table};

/// Where programs find KISS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KissPlace {
    Address(SocketAddr),
    /// At a pseudo terminal, of which this is the link.
    Terminal(PathBuf),
}

impl KissPlace {
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        if let KissPlace::Address(address) = self { Some(*address) } else { None }
    }
}

/// A folder that other stations reach.
#[derive(Debug)]
pub(crate) struct FolderEntry {
    pub(crate) root: PathBuf,
    /// Whether others may store.
    pub(crate) writable: bool,
}

/// The station as a host of IPv4.
#[derive(Debug)]
pub(crate) struct HostEntry {
    pub(crate) own: Network,
    /// Stations whose addresses do not follow from their call signs.
    pub(crate) neighbors: Vec<(Ipv4Addr, CallSign)>,
}

impl HostEntry {
    pub(super) fn of(call: CallSign) -> Self {
        HostEntry { own: network_of(call), neighbors: Vec::new() }
    }
}

/// Reads what is served.
pub(super) fn serve(serve: &Table<'_>, file: &mut StationFile) -> Read<()> {
    serve.only(&["agw", "kiss", "kiss_calls", "kiss_echo", "ftp"])?;
    file.kiss_calls = own_calls(serve.get("kiss_calls"))?;
    let is_shared = |call: &CallSign| *call == file.call || file.aliases.contains(call);
    if let Some(entry) = serve.get("kiss_calls")
        && file.kiss_calls.iter().any(is_shared)
    {
        return Err(entry.mistake("the station itself answers for one of them: one list each"));
    }
    file.kiss_echo = serve.get("kiss_echo").map_or(Ok(false), |entry| entry.truth())?;
    file.agw = serve.get("agw").map(|entry| listen(&entry)).transpose()?;
    file.kiss = serve.get("kiss").map(|entry| kiss(&entry)).transpose()?;
    file.folder = serve.get("ftp").map(|entry| folder(&entry)).transpose()?;
    Ok(())
}

fn folder(entry: &Entry<'_>) -> Read<FolderEntry> {
    let table = entry.table().map_err(|_| {
        entry.is_not("a table, such as { root = \"/srv/radio\", writable = false }")
    })?;
    table.only(&["root", "writable", "over"])?;
    const ROOT: &str = "a folder, such as \"/srv/radio\"";
    let root = table.get("root").ok_or_else(|| table.mistake(format!("its `root` is {ROOT}")))?;
    let path = PathBuf::from(root.text(ROOT)?);
    if !path.is_dir() {
        return Err(root.mistake("there is no such folder"));
    }
    if let Some(over) = table.get("over")
        && over.text("\"xstp\"")? != "xstp"
    {
        return Err(over.is_not("\"xstp\""));
    }
    let writable = table.get("writable").map_or(Ok(false), |entry| entry.truth())?;
    Ok(FolderEntry { root: path, writable })
}

/// Reads the host.
pub(super) fn host(entry: &Entry<'_>, file: &mut StationFile) -> Read<()> {
    let table = entry.table()?;
    table.only(&["address", "neighbour"])?;
    if file.folder.is_none() {
        return Err(entry.mistake("nothing uses it: write ftp = { root = \"…\" } in [serve]"));
    }
    if let Some(entry) = table.get("address") {
        const WANTED: &str = "an address with its prefix, such as \"44.0.0.2/24\"";
        let own = entry.text(WANTED)?.parse().ok().filter(|own: &Network| own.address.is_ipv4());
        file.host.own = own.ok_or_else(|| entry.is_not(WANTED))?;
    }
    let items = table.get("neighbour").map(|entry| entry.items("tables: [[ipv4.neighbour]]"));
    for item in items.transpose()?.unwrap_or_default() {
        let neighbor = item.table()?;
        neighbor.only(&["address", "call"])?;
        let needs =
            |key| neighbor.get(key).ok_or_else(|| neighbor.mistake(format!("`{key}` is missing")));
        const ADDRESS: &str = "an address of IPv4, such as \"44.0.0.1\"";
        let entry = needs("address")?;
        let address: Ipv4Addr = entry.text(ADDRESS)?.parse().map_err(|_| entry.is_not(ADDRESS))?;
        if file.host.own.address == IpAddr::V4(address) {
            return Err(entry.mistake("it is this station's own"));
        }
        if file.host.neighbors.iter().any(|(before, _)| *before == address) {
            return Err(entry.mistake("a neighbour before has it"));
        }
        file.host.neighbors.push((address, needs("call")?.parsed(CALL, other_call)?));
    }
    Ok(())
}

fn kiss(entry: &Entry<'_>) -> Read<KissPlace> {
    const WANTED: &str =
        "an address and a port, such as \"127.0.0.1:8101\", or a terminal, such as \"pty:./tnc\"";
    let text = entry.text(WANTED)?;
    if let Ok(LineAddress::Pty { link }) = LineAddress::parse(text) {
        return Ok(KissPlace::Terminal(link));
    }
    Ok(KissPlace::Address(text.parse().map_err(|_| entry.is_not(WANTED))?))
}

fn listen(entry: &Entry<'_>) -> Read<SocketAddr> {
    const WANTED: &str = "an address and a port, such as \"127.0.0.1:8000\"";
    entry.text(WANTED)?.parse().map_err(|_| entry.is_not(WANTED))
}
