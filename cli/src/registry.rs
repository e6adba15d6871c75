//! The protocols that may stand in a described stack: those of the catalogue that a file describes
//! alone, the adapters, and those of which the command has something to say.
//!
//! What the command says completes the file, and wins where both speak. Its address, with the user
//! and the password, and its folder go to one node each: the first that has none of its own.

mod artp;
mod raw;
mod served;
mod xdp;
mod xtp;

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use stackwright::catalogue::{self, CatalogueEntry};
use stackwright::compose::graph::{
    Erased, Flaw, Parameter, ParameterKind, ParameterTable, Parameters,
};
use stackwright::contract::words::Outside;
use stackwright::contract::{Fingerprint, described};
use stackwright::copy::{self, Copy};
use stackwright::ftp::server::{self, Accounts, Anonymous, Rights};
use stackwright::ftp::{Client, Server, client};
use stackwright::kiss::{Hub, HubConfig, LONGEST_MOST, PORTS_MOST};
use stackwright::proxy::{self, Proxy};
use stackwright::tcp::{self as own_tcp, TcpLayer};
use stackwright::tls::{ExpectedServer, Tls};
use stackwright::udp;
use stackwright::wire::Pool;
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram, XtpService,
};
use stackwright_drivers::files::{Disk, DiskOptions, Root};
use stackwright_drivers::ip::Ip as Raw;
use stackwright_drivers::line::Line;
use stackwright_drivers::packet::{self, PacketSocket};
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::tun::{Tun, TunKind, TunOptions};
use stackwright_drivers::udp::Udp;
use stackwright_drivers::xdp::XdpQueue;
use stackwright_drivers::{Driver, Lanes, Readiness};
use stackwright_parts::{Boxed, Part, Registry, Served, ServedStreams};

use crate::descriptors;
use crate::line::LineAddress;
use crate::pipe::Pipe;
use crate::problem::Problem;
use crate::stacks::{self, Message, Rate};
use crate::{identity, trust};

type Made = Result<Boxed, Flaw>;

/// What a described stack is made with.
pub(crate) struct Setting {
    pub(crate) driver: Driver,
    pub(crate) pool: Arc<Pool<Message>>,
    /// The command's, until a node has it.
    pub(crate) client: Cell<Option<client::Config>>,
    pub(crate) near: Cell<Option<Near>>,
    pub(crate) wishes: Wishes,
    pub(crate) taken: RefCell<Taken>,
}

/// Where the command's files are on this machine.
pub(crate) enum Near {
    /// In a folder.
    Folder(Root),
    /// It is one that is open, and in no folder.
    Open(File),
}

/// What the command says to every node that it is about.
#[derive(Default)]
pub(crate) struct Wishes {
    /// Whether it says how long a server is waited for.
    pub(crate) patient: bool,
    /// How long a session without work stays, of a client or a server, where that is not its
    /// default.
    pub(crate) idle: Option<Duration>,
    pub(crate) disk: DiskOptions,
    /// The proxy between a client and its server.
    pub(crate) proxy: Option<proxy::Config>,
    /// How many octets a second a copy moves at most.
    pub(crate) rate: Rate,
    /// Whether clients may store.
    pub(crate) writable: bool,
    pub(crate) sessions: Option<usize>,
    /// The same of one address.
    pub(crate) sessions_per_address: Option<usize>,
    /// The ports of passive data connections.
    pub(crate) passive_ports: Option<RangeInclusive<u16>>,
    /// The address that PASV tells.
    pub(crate) public_address: Option<Ipv4Addr>,
    /// How long a packet of ARTP or XTP may be at most, in octets.
    pub(crate) packet: Option<u16>,
    /// Whether what TCP delivers may stay in the kernel until the disk writes it: nobody in between
    /// reads it.
    pub(crate) splicing: bool,
    /// Who may come in; everybody otherwise.
    pub(crate) accounts: Option<Admission>,
    /// The stack is one for other programs.
    pub(crate) hosted: bool,
    /// Whose certificate the command's client expects, where it encrypts.
    pub(crate) server: Option<ExpectedServer>,
}

/// Says who may come in, once it is known what they may do.
pub(crate) type Admission = Box<dyn Fn(Rights) -> Box<dyn Accounts>>;

/// What became of it, by the names of nodes.
#[derive(Default)]
pub(crate) struct Taken {
    /// Who has the command's address.
    pub(crate) client: Option<String>,
    /// Who has the command's folder.
    pub(crate) disk: Option<String>,
    /// Some layer expects the command's server.
    pub(crate) tls: bool,
    /// Some server lets clients store.
    pub(crate) writable: bool,
}

const CLIENT: &[Parameter] = &[
    Parameter::new(
        "server",
        ParameterKind::Text,
        "address and port, unless the command gives them",
    ),
    Parameter::new("active", ParameterKind::Truth, "the server opens the data connections"),
    Parameter::new(
        "merged",
        ParameterKind::Truth,
        "a `merged` below has control and data on one association, as at the server",
    ),
    Parameter::new(
        "timeout",
        ParameterKind::Number,
        "give up after this much silence of the server, in seconds",
    ),
    Parameter::new("terse", ParameterKind::Truth, "replies have no text that is not needed"),
    Parameter::new("sessions", ParameterKind::Number, "the most files transferred at once"),
    Parameter::new(
        "tls",
        ParameterKind::Text,
        "a `tls` below encrypts: `explicit` (AUTH TLS) or `implicit`, unless the command says it",
    ),
];
const SERVER: &[Parameter] = &[
    Parameter::new(
        "writable",
        ParameterKind::Truth,
        "clients may upload; the disk must be writable, too",
    ),
    Parameter::new("sessions", ParameterKind::Number, "the most clients at once"),
    Parameter::new(
        "idle",
        ParameterKind::Number,
        "disconnect a client after this much silence, in seconds",
    ),
    Parameter::new(
        "merged",
        ParameterKind::Truth,
        "a `merged` below has control and data on one association: clients need not ask for data",
    ),
    Parameter::new(
        "terse",
        ParameterKind::Truth,
        "replies have no text that is not needed, from the start: there is no greeting",
    ),
    Parameter::new("greeting", ParameterKind::Text, "the greeting for clients, one line"),
    Parameter::new(
        "tls",
        ParameterKind::Text,
        "a `tls` below encrypts: `offered` to clients that ask for it, or `required` of all",
    ),
];
const TLS: &[Parameter] = &[
    Parameter::new(
        "server",
        ParameterKind::Text,
        "the name in the server's certificate, unless the command gives it",
    ),
    Parameter::new(
        "pin",
        ParameterKind::Text,
        "the SHA-256 fingerprint of that certificate (default: one that this system trusts)",
    ),
    Parameter::new(
        "certificate",
        ParameterKind::Text,
        "a file with a certificate of this side, in PEM form",
    ),
    Parameter::new("key", ParameterKind::Text, "a file with the key of `certificate`"),
];
const HUB: &[Parameter] = &[
    Parameter::required("listen", ParameterKind::Text, "address and port where programs find it"),
    Parameter::new("ports", ParameterKind::Number, "how many ports of the TNC are shared"),
    Parameter::new("longest", ParameterKind::Number, "how many octets a frame has at most"),
    Parameter::new("echo", ParameterKind::Truth, "whether programs hear each other"),
];
const LINE: &[Parameter] = &[Parameter::required(
    "to",
    ParameterKind::Text,
    "tcp://host:8001, serial:///dev/ttyUSB0?baud=9600 or pty:PATH",
)];
const DEVICE: &[Parameter] =
    &[Parameter::required("device", ParameterKind::Text, "the device's name, such as sw0")];
const DISK: &[Parameter] = &[
    Parameter::new("root", ParameterKind::Text, "the folder, unless the command gives it"),
    Parameter::new("writable", ParameterKind::Truth, "files may be created, renamed and removed"),
];

/// All of them. Without a setting they can be looked at, and nothing is opened.
pub(crate) fn registry(setting: Option<&Rc<Setting>>) -> Registry {
    type Make = fn(&Parameters<'_>, Option<&Setting>) -> Made;
    let own: [(_, _, &'static [Parameter], Make); 24] = [
        ("artp", purpose("artp"), artp::PARAMETERS, artp::make),
        ("copy", purpose("copy"), copy::described::<Message>().parameters, make_copy),
        ("ftp client", purpose("ftp client"), CLIENT, make_client),
        ("ftp server", purpose("ftp server"), SERVER, make_server),
        ("proxy", purpose("proxy"), &[], make_proxy),
        ("tls", purpose("tls"), TLS, make_tls),
        ("kiss hub", purpose("kiss hub"), HUB, make_hub),
        ("tun", "a TUN device of this machine", DEVICE, make_tun),
        (
            "packet",
            "Ethernet frames of a device of this machine: TAP, veth, a network card",
            DEVICE,
            make_packet,
        ),
        (
            "xdp",
            "Ethernet frames of a queue of a device, past the kernel's IP: AF_XDP",
            xdp::PARAMETERS,
            xdp::make,
        ),
        ("line", "a serial line, a pseudo terminal, or TCP to a device", LINE, make_line),
        (
            "tcp",
            "the operating system's TCP; over `ip`, ours",
            own_tcp::described::<Message>().parameters,
            make_tcp,
        ),
        ("udp", "the operating system's UDP; over `ip`, ours", &[], make_udp),
        ("raw ip", "packets of the operating system's IP, as root", raw::PARAMETERS, raw::make),
        ("server", "ARTP in a server of this machine", served::PARAMETERS, served::messages),
        (
            "stream server",
            "streams of a server of this machine",
            served::PARAMETERS,
            served::streams,
        ),
        ("disk", "files below a folder of this machine", DISK, make_disk),
        (Stream::NAME, purpose(Stream::NAME), xtp::PARAMETERS, xtp::make::<Stream>),
        (
            AcknowledgedDatagram::NAME,
            purpose(AcknowledgedDatagram::NAME),
            xtp::PARAMETERS,
            xtp::make::<AcknowledgedDatagram>,
        ),
        (BulkData::NAME, purpose(BulkData::NAME), xtp::PARAMETERS, xtp::make::<BulkData>),
        (
            IsochronousStream::NAME,
            purpose(IsochronousStream::NAME),
            xtp::PARAMETERS,
            xtp::make::<IsochronousStream>,
        ),
        (Connection::NAME, purpose(Connection::NAME), xtp::PARAMETERS, xtp::make::<Connection>),
        (Transaction::NAME, purpose(Transaction::NAME), xtp::PARAMETERS, xtp::make::<Transaction>),
        (
            UnacknowledgedDatagram::NAME,
            purpose(UnacknowledgedDatagram::NAME),
            xtp::PARAMETERS,
            xtp::make::<UnacknowledgedDatagram>,
        ),
    ];
    let described = stackwright_parts::described(|| fastrand::u64(..));
    own.into_iter().fold(described, |registry, (name, purpose, parameters, make)| {
        let setting = setting.cloned();
        registry.with(name, purpose, parameters, move |table| make(table, setting.as_deref()))
    })
}

/// What a protocol provides, and what it uses.
pub(crate) fn services(name: &str) -> [Vec<&'static str>; 2] {
    match name {
        "line" => catalogue::services::<Line<Message>, Message, Readiness>(),
        "tcp" => catalogue::services::<Tcp<Message>, Message, Readiness>(),
        "server" => catalogue::services::<Served, Message, Readiness>(),
        "stream server" => catalogue::services::<ServedStreams, Message, Readiness>(),
        "raw ip" => catalogue::services::<Raw<Message>, Message, Readiness>(),
        "udp" => catalogue::services::<Udp<Message>, Message, Readiness>(),
        "tun" => catalogue::services::<Tun<Message>, Message, Readiness>(),
        "packet" => catalogue::services::<PacketSocket<Message>, Message, Readiness>(),
        "xdp" => catalogue::services::<XdpQueue<Message>, Message, Readiness>(),
        "disk" => catalogue::services::<Disk<Message>, Message, Readiness>(),
        _ => catalogue::find(name).map(CatalogueEntry::services).unwrap_or_default(),
    }
}

fn purpose(name: &str) -> &'static str {
    catalogue::find(name).map_or("", |entry| entry.purpose)
}

fn make_client(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let server = table.parsed::<SocketAddr>("server", "an address and a port")?;
    let timeout = within(table, "timeout", 1..=86_400)?;
    let sessions = within(table, "sessions", 1..=1000)?;
    let tls = one_of(
        table,
        "tls",
        &[("explicit", client::TlsMode::Explicit), ("implicit", client::TlsMode::Implicit)],
    )?;
    let Some(setting) = setting else { return shown::<Client<Message>>() };
    let (mut config, own) = match (server, setting.client.take()) {
        (Some(server), commands) => {
            // The password is for the command's server, and for no other.
            setting.client.set(commands);
            (client::Config::anonymous(server), true)
        }
        (None, Some(config)) => (config, false),
        (None, None) => {
            let says =
                format!("`{}` needs the parameter `server`, an address and port", table.node());
            return Err(table.flaw("server", says));
        }
    };
    if let Some(seconds) = timeout.filter(|_| own || !setting.wishes.patient) {
        config.timeout = Duration::from_secs(seconds);
    }
    if let Some(tls) = tls.filter(|_| own || config.tls == client::TlsMode::Off) {
        config.tls = tls;
    }
    if table.truth("active") == Some(true) {
        config.data = client::DataMode::Active;
    } else if table.truth("merged") == Some(true) {
        config.data = client::DataMode::Merged;
    }
    config.terse |= table.truth("terse") == Some(true);
    if let Some(sessions) = sessions {
        config.sessions_most = sessions as usize;
    }
    if let Some(idle) = setting.wishes.idle {
        config.idle = idle;
    }
    if !own {
        setting.taken.borrow_mut().client = Some(table.node().into());
    }
    Ok(Client::<Message>::new(config).boxed())
}

fn make_server(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let sessions = within(table, "sessions", 1..=1_000_000)?;
    let idle = within(table, "idle", 1..=86_400)?;
    let greeting = table.text("greeting");
    if greeting.is_some_and(|greeting| greeting.chars().any(char::is_control)) {
        let says =
            format!("`greeting` of `{}` must be one line without control characters", table.node());
        return Err(table.flaw("greeting", says));
    }
    let security = one_of(
        table,
        "tls",
        &[
            ("offered", server::SecurityLevel::Offered),
            ("required", server::SecurityLevel::Required),
        ],
    )?;
    let Some(setting) = setting else { return shown::<Server<Message>>() };
    let Wishes { writable, sessions: wished, accounts, .. } = &setting.wishes;
    let rights = Rights { write: *writable || table.truth("writable") == Some(true) };
    setting.taken.borrow_mut().writable |= rights.write;
    let accounts: Box<dyn Accounts> = match accounts {
        Some(accounts) => accounts(rights),
        None => Box::new(Anonymous(rights)),
    };
    let mut config = server::Config { epoch: stacks::epoch(), ..server::Config::new(accounts) };
    if let Some(sessions) = wished.or(sessions.map(|sessions| sessions as usize)) {
        config.sessions_most = sessions;
    }
    if let Some(sessions) = setting.wishes.sessions_per_address {
        config.sessions_per_address = sessions;
    }
    descriptors::provide(config.sessions_most);
    if let Some(idle) = setting.wishes.idle.or(idle.map(Duration::from_secs)) {
        config.idle = idle;
    }
    if let Some(greeting) = greeting {
        config.greeting = greeting.into();
    }
    config.merged = table.truth("merged") == Some(true);
    config.terse = table.truth("terse") == Some(true);
    config.security = security.unwrap_or_default();
    config.passive_ports = setting.wishes.passive_ports.clone();
    config.public_address = setting.wishes.public_address;
    Ok(Server::<Message>::new(config).boxed())
}

fn make_tls(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let pin = table.parsed::<Fingerprint>("pin", "a fingerprint of 64 hexadecimal digits")?;
    let own = match (table.text("certificate"), table.text("key")) {
        (Some(certificate), Some(key)) => Some((Path::new(certificate), Path::new(key))),
        (None, None) => None,
        _ => {
            let says = format!("`{}` needs both `certificate` and `key`, or neither", table.node());
            return Err(table.flaw("", says));
        }
    };
    let Some(setting) = setting else { return shown::<Tls<Message>>() };
    let flaw = |key, problem: Problem| table.flaw(key, problem.to_string());
    let mut config = stacks::tls_config();
    match (table.text("server"), &setting.wishes.server) {
        (Some(name), _) => {
            let server = trust::expect(name, pin).map_err(|problem| flaw("server", problem))?;
            config.servers = vec![server];
        }
        (None, Some(server)) => {
            config.servers = vec![server.clone()];
            setting.taken.borrow_mut().tls = true;
        }
        (None, None) => {}
    }
    if own.is_some() {
        let identity =
            identity::server(own, &[]).map_err(|problem| flaw("certificate", problem))?;
        config.identities = vec![identity];
    }
    Ok(Tls::<Message>::new(config).with_pool(setting.pool.clone()).boxed())
}

fn make_hub(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let listen = table.parsed::<SocketAddr>("listen", "an address and a port")?;
    let ports = within(table, "ports", 1..=PORTS_MOST.into())?;
    let longest = within(table, "longest", 1..=LONGEST_MOST as u64)?;
    let (Some(setting), Some(listen)) = (setting, listen) else {
        return shown::<Hub<Message>>();
    };
    let mut config = HubConfig::at(listen);
    config.ports = ports.map_or(config.ports, |ports| ports as u8);
    config.longest = longest.map_or(config.longest, |octets| octets as usize);
    config.echo = table.truth("echo") == Some(true);
    Ok(Hub::<Message>::new(config, setting.pool.clone()).boxed())
}

fn make_copy(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let made = (copy::described().make)(table, 0).map_err(|unfit| table.unfit(&unfit))?;
    let rate = setting.and_then(|setting| setting.wishes.rate);
    Ok(rate.map_or(made, |_| Copy::<Message>::new(copy::Config { rate })).boxed())
}

fn make_proxy(_: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let Some(setting) = setting else { return shown::<Proxy<Message>>() };
    Ok(Proxy::<Message>::new(setting.wishes.proxy.clone()).boxed())
}

fn make_line(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let text = table.text("to").unwrap_or_default();
    let address = LineAddress::parse(text)
        .map_err(|why| table.flaw("to", format!("`to` of `{}`: {why}", table.node())))?;
    let Some(setting) = setting else { return shown::<Line<Message>>() };
    let line = address.open(&setting.driver, lane, setting.pool.clone());
    Ok(line.map_err(|problem| table.flaw("to", problem.to_string()))?.boxed())
}

/// Makes what a file describes.
fn ours<P>(described: described::Described<P>, table: &Parameters<'_>) -> Result<P, Flaw> {
    (described.make)(table, fastrand::u64(..)).map_err(|unfit| table.unfit(&unfit))
}

fn make_tun(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let Some(setting) = setting else { return shown::<Tun<Message>>() };
    let device = table.text("device").unwrap_or_default();
    let tun = Tun::<Message>::open(device, &setting.driver.registry(), lane, setting.pool.clone());
    tun.map(Part::boxed).map_err(|why| {
        let problem = Problem::Device { device: device.into(), why };
        table.flaw("device", problem.to_string())
    })
}

fn make_packet(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let Some(setting) = setting else { return shown::<PacketSocket<Message>>() };
    let device = table.text("device").unwrap_or_default();
    let (registry, pool) = (setting.driver.registry(), &setting.pool);
    let socket = || PacketSocket::<Message>::open(device, &registry, lane, pool.clone());
    let tap = TunOptions { kind: TunKind::Tap, ..TunOptions::default() };
    // A TAP device to which no program is attached is opened as such; of any other interface, a
    // packet socket sends and hears the frames. A device that does not exist would be made.
    let opened = packet::address(device).and_then(|_| {
        let tap = Tun::<Message>::open_with(device, tap, &registry, lane, pool.clone());
        tap.map(Part::boxed).or_else(|_| socket().map(Part::boxed))
    });
    opened.map_err(|why| {
        let says = format!("the device `{device}` cannot be opened for Ethernet frames: {why}");
        table.flaw("device", says)
    })
}

/// Over IP it is ours; over nothing, the operating system's.
fn make_tcp(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    if table.is_over_others() {
        let Some(_) = setting else { return shown::<TcpLayer<Message>>() };
        return Ok(ours(own_tcp::described::<Message>(), table)?.boxed());
    }
    let lane = lane(table)?;
    let Some(setting) = setting else { return shown::<Tcp<Message>>() };
    let registry = setting.driver.registry();
    let tcp = Tcp::<Message>::new(registry, lane, setting.pool.clone());
    let tcp = tcp.with_keepalive(stacks::KEEPALIVE);
    // An FTP server has to know which of a client's ends was first, here or in another process.
    let tcp = if setting.wishes.accounts.is_some() || setting.wishes.hosted {
        tcp.ordering_ends().map_err(|why| table.flaw("service", why.to_string()))?
    } else {
        tcp
    };
    Ok(if setting.wishes.splicing { tcp.splicing() } else { tcp }.boxed())
}

/// Over IP it is ours; over nothing, the operating system's.
fn make_udp(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    if table.is_over_others() {
        return Ok(Box::new(Erased(ours(udp::described::<Message>(), table)?)));
    }
    let lane = lane(table)?;
    let Some(setting) = setting else { return shown::<Udp<Message>>() };
    let registry = setting.driver.registry();
    Ok(Udp::<Message>::new(registry, lane, setting.pool.clone()).boxed())
}

fn make_disk(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let Some(setting) = setting else {
        lane(table)?;
        return shown::<Disk<Message>>();
    };
    let root = match (table.text("root"), setting.near.take()) {
        (Some(root), commands) => {
            setting.near.set(commands);
            Root::open(root).map_err(|why| table.flaw("root", format!("`{root}`: {why}")))?
        }
        (None, Some(near)) => {
            setting.taken.borrow_mut().disk = Some(table.node().into());
            match near {
                Near::Folder(root) => root,
                Near::Open(file) => return Ok(Box::new(Erased(Pipe::new(file)))),
            }
        }
        (None, None) => {
            let says = format!("`{}` needs the parameter `root`, a folder", table.node());
            return Err(table.flaw("root", says));
        }
    };
    let lane = lane(table)?;
    let options = &setting.wishes.disk;
    let writable = options.writable || table.truth("writable") == Some(true);
    let registry = setting.driver.registry();
    let options = DiskOptions { writable, ..options.clone() };
    Ok(Disk::<Message>::new(root, options, registry, lane, setting.pool.clone()).boxed())
}

/// One of a few words.
fn one_of<T: std::marker::Copy>(
    table: &Parameters<'_>,
    key: &'static str,
    words: &[(&str, T)],
) -> Result<Option<T>, Flaw> {
    let Some(text) = table.text(key) else { return Ok(None) };
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let says = format!("`{key}` of `{}` is one of {}", table.node(), known.join(" and "));
            Err(table.flaw(key, says))
        }
    }
}

/// A number that makes sense.
fn within(
    table: &Parameters<'_>,
    key: &'static str,
    sense: RangeInclusive<u64>,
) -> Result<Option<u64>, Flaw> {
    table.within(key, sense).map_err(|unfit| table.unfit(&unfit))
}

/// An adapter's lane, of which there are not many.
fn lane(table: &Parameters<'_>) -> Result<usize, Flaw> {
    let most = <Outside<Readiness> as Lanes>::LANES;
    let lane = table.lane();
    let says = || format!("`{}` is one adapter too many; the limit is {most}", table.node());
    if lane < most { Ok(lane) } else { Err(table.flaw("", says())) }
}

fn system(table: &Parameters<'_>, why: &io::Error) -> Flaw {
    table.flaw("", format!("the operating system cannot open `{}`: {why}", table.node()))
}

fn shown<P: Part>() -> Made {
    Ok(P::shown())
}
