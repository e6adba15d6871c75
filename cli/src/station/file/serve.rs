//! `[serve]` and `[ipv4]`: what the station offers to programs, and to other stations.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use stackwright::contract::CallSign;
use stackwright::ip::IpRoute;

use super::{CALL, Read, StationFile, own_calls};
use crate::air::network_of;
use crate::call::other_call;
use crate::inet::{Network, is_device};
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
    /// Whether it relays, and reaches others by relays.
    pub(crate) dsr: bool,
    /// Whether headers are short to stations that have the same rules.
    pub(crate) compress: bool,
    /// By which programs of this machine reach others.
    pub(crate) device: Option<DeviceEntry>,
    /// To what is behind other stations.
    pub(crate) routes: Vec<IpRoute>,
}

/// A TUN device.
#[derive(Debug)]
pub(crate) struct DeviceEntry {
    pub(crate) name: String,
    /// The station's address there; the kernel has another one of that network.
    pub(crate) own: Network,
}

impl HostEntry {
    pub(super) fn of(call: CallSign) -> Self {
        let (neighbors, routes) = (Vec::new(), Vec::new());
        let own = network_of(call);
        HostEntry { own, neighbors, dsr: false, compress: true, device: None, routes }
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
    table.only(&["address", "neighbour", "dsr", "compress", "device", "route"])?;
    file.host.dsr = table.get("dsr").map_or(Ok(false), |entry| entry.truth())?;
    file.host.compress = table.get("compress").map_or(Ok(true), |entry| entry.truth())?;
    file.host.device = table.get("device").map(|entry| device(&entry)).transpose()?;
    if !file.is_host() {
        return Err(entry.mistake(
            "nothing uses it: write ftp = { root = \"…\" } in [serve], or dsr = true here",
        ));
    }
    if let Some(entry) = table.get("address") {
        file.host.own = network(&entry)?;
    }
    let items = table.get("route").map(|entry| entry.items("tables: [[ipv4.route]]"));
    for item in items.transpose()?.unwrap_or_default() {
        file.host.routes.push(route(&item)?);
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

fn network(entry: &Entry<'_>) -> Read<Network> {
    const WANTED: &str = "an address with its prefix, such as \"44.0.0.2/24\"";
    let own = entry.text(WANTED)?.parse().ok().filter(|own: &Network| own.address.is_ipv4());
    own.ok_or_else(|| entry.is_not(WANTED))
}

fn device(entry: &Entry<'_>) -> Read<DeviceEntry> {
    const WANTED: &str = "a table, such as { name = \"ax0\", address = \"44.1.0.1/30\" }";
    let table = entry.table().map_err(|_| entry.is_not(WANTED))?;
    table.only(&["name", "address"])?;
    let (Some(name), Some(own)) = (table.get("name"), table.get("address")) else {
        return Err(entry.is_not(WANTED));
    };
    const NAME: &str = "the name of a TUN device, such as \"ax0\"";
    let text = name.text(NAME)?;
    if !is_device(text) {
        return Err(name.is_not(NAME));
    }
    Ok(DeviceEntry { name: text.into(), own: network(&own)? })
}

fn route(entry: &Entry<'_>) -> Read<IpRoute> {
    const WANTED: &str = "a table, such as { to = \"44.2.0.0/30\", via = \"44.0.0.2\" }";
    let table = entry.table().map_err(|_| entry.is_not(WANTED))?;
    table.only(&["to", "via"])?;
    let (Some(to), Some(via)) = (table.get("to"), table.get("via")) else {
        return Err(entry.is_not(WANTED));
    };
    let (prefix, length) = if to.text(WANTED)? == "default" {
        (Ipv4Addr::UNSPECIFIED.into(), 0)
    } else {
        let Network { address, length } = network(&to)?;
        (address, length)
    };
    const ROUTER: &str = "the address of a station, such as \"44.0.0.2\"";
    let router: Ipv4Addr = via.text(ROUTER)?.parse().map_err(|_| via.is_not(ROUTER))?;
    Ok(IpRoute { prefix, length, interface: 0, next_hop: Some(router.into()), metric: 0 })
}

fn listen(entry: &Entry<'_>) -> Read<SocketAddr> {
    const WANTED: &str = "an address and a port, such as \"127.0.0.1:8000\"";
    entry.text(WANTED)?.parse().map_err(|_| entry.is_not(WANTED))
}
