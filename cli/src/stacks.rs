//! The stacks of this program, each an equation.

use std::io;
use std::net::IpAddr;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stackwright::artp;
use stackwright::compose::{Beside, Over, stack};
use stackwright::contract::{Guarantees, Listener, Protocol};
use stackwright::copy::{self, Copy};
use stackwright::ftp::{Client, Server, client, server};
use stackwright::proxy::{self, Proxy};
use stackwright::tls::{self, ExpectedServer, ServerIdentity, Tls};
use stackwright::wire::Pool;
use stackwright::xtp;
use stackwright::xtp::services::XtpService;
use stackwright_drivers::Driver;
use stackwright_drivers::files::{Disk, DiskOptions, Root};
use stackwright_drivers::tcp::Tcp;

pub(crate) use stackwright_parts::Message;

/// Streams over the kernel's TCP. What stands in between passes every word untouched where it has
/// nothing to do: `Tls` until it is commanded to secure an association, `Proxy` without one.
type Connections = Over<Tls<Message>, Over<Proxy<Message>, Tcp<Message>>>;

stack! {
    /// An FTP server over the kernel's TCP, beside a disk.
    pub(crate) ServerStack =
        Server<Message> over ((Tls<Message> over Tcp<Message>) beside Disk<Message>)
}

stack! {
    /// A copy between an FTP server (on the left) and a disk (on the right).
    pub(crate) CopyStack = Copy<Message> over (
        (Client<Message> over Tls<Message> over Proxy<Message> over Tcp<Message>)
            beside Disk<Message>
    )
}

/// ARTP, whose policies are known to the compiler.
pub(crate) type Artp = artp::Layer<Message>;

/// XTP with the service `S`.
pub(crate) type Xtp<S> = xtp::Layer<Message, S>;

/// Blocks for reading from sockets and disks. Larger ones save system calls and lose more by
/// leaving the processor's cache.
const BLOCK: usize = 64 << 10;
const BLOCKS_KEPT: usize = 256;

/// After how long a silence a TCP connection is probed: a control connection has nothing to say
/// while a file is on its way, and devices in between forget it.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(60);

/// Regions of files are used where all that lies between the disk and the outside sends them.
const REGIONS: bool = <Connections as Protocol>::FACTS.gives.has(Guarantees::REGIONS);

/// What a copy moves is written by the disk, and nobody in between reads it.
const UNREAD: bool = !<CopyStack as Protocol>::FACTS.reads_payload;

// What stands between a client and TCP does not cost a plain copy its splice(2) and sendfile(2).
const _: () = assert!(REGIONS && UNREAD);

/// A driver, its pool, and the adapter that every stack here has on its right.
struct Ground {
    driver: Driver,
    pool: Arc<Pool<Message>>,
    disk: Disk<Message>,
}

/// The lanes of the two adapters.
const NETWORK: usize = 0;
const DISK: usize = 1;

/// The blocks that all adapters of a stack share.
pub(crate) fn pool() -> Arc<Pool<Message>> {
    Arc::new(Pool::new(BLOCK, BLOCKS_KEPT))
}

fn ground(root: &Path, options: DiskOptions) -> io::Result<Ground> {
    let pool = pool();
    let driver = Driver::new(fastrand::u64(..))?;
    let disk = Disk::new(Root::open(root)?, options, driver.registry(), DISK, pool.clone());
    Ok(Ground { driver, pool, disk })
}

impl Ground {
    fn tcp(&self) -> io::Result<Tcp<Message>> {
        let tcp = Tcp::new(self.driver.registry(), NETWORK, self.pool.clone());
        Ok(tcp.with_keepalive(KEEPALIVE))
    }
}

/// How long it is since 1970.
pub(crate) fn since_1970() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// Seconds since 1970, for the dates in listings.
pub(crate) fn epoch() -> Option<u64> {
    since_1970().map(|since| since.as_secs())
}

/// What no stranger can guess, from the operating system.
pub(crate) fn entropy<const OCTETS: usize>() -> io::Result<[u8; OCTETS]> {
    let mut octets = [0; OCTETS];
    getrandom::fill(&mut octets)?;
    Ok(octets)
}

/// ARTP in a driver that was made just now, as far as nobody has to choose.
pub(crate) fn artp_config() -> io::Result<artp::Config> {
    let epoch = since_1970().map_or(0, |since| since.as_micros() as u64);
    Ok(artp::Config { epoch, ..artp::Config::new(entropy()?) })
}

pub(crate) fn artp(config: artp::Config) -> io::Result<Artp> {
    Ok(artp::layer(config, u64::from_ne_bytes(entropy()?)))
}

/// XTP in a driver that was made just now, with packets of at most `packet` octets.
///
/// # Errors
/// If they are too short for it.
pub(crate) fn xtp_config(packet: u16) -> io::Result<xtp::Config> {
    if packet < xtp::PACKET_LEAST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, SHORT));
    }
    Ok(xtp::Config { packet, ..xtp::Config::new(entropy()?) })
}

/// The range of ARTP's longest packet, in octets.
pub(crate) const PACKET: RangeInclusive<i64> = 191..=65_507;

/// What is said of packets that are too short for XTP.
pub(crate) const SHORT: &str = "XTP's longest packet has at least 256 octets";

pub(crate) fn xtp<S: XtpService>(config: xtp::Config) -> io::Result<Xtp<S>> {
    Ok(xtp::layer(config, u64::from_ne_bytes(entropy()?)))
}

/// The longest packet of ARTP or XTP that reaches, or comes from, this address in one piece, in
/// octets: what a path of 1500 octets leaves below the headers of IPv4 (RFC 791 §3.1) or IPv6
/// (RFC 8200 §3) and of UDP.
pub(crate) fn packet(address: IpAddr) -> u16 {
    if address.to_canonical().is_ipv4() { 1500 - 20 - 8 } else { 1500 - 40 - 8 }
}

/// The disk below a server, beside TCP, which sends regions; where a file describes the stack, that
/// is asked of the graph.
pub(crate) fn server_options(writable: bool, sync: bool) -> DiskOptions {
    DiskOptions { regions: REGIONS, writable, sync, ..DiskOptions::default() }
}

/// A server over TCP, which is asked to secure associations only where there is an `identity`.
pub(crate) fn server(
    root: &Path,
    config: server::Config,
    options: DiskOptions,
    identity: Option<ServerIdentity>,
) -> io::Result<(Driver, ServerStack)> {
    let ground = ground(root, options)?;
    let config = server::Config { epoch: epoch(), ..config };
    let tls = tls::Config { identities: identity.into_iter().collect(), ..tls_config() };
    let tcp = ground.tcp()?.ordering_ends()?;
    let streams = Over::new(Tls::new(tls).with_pool(ground.pool.clone()), tcp);
    Ok((ground.driver, Over::new(Server::new(config), Beside::new(streams, ground.disk))))
}

/// TLS in a driver that was made just now, as far as nobody has to choose.
pub(crate) fn tls_config() -> tls::Config {
    tls::Config::at(epoch().unwrap_or(0))
}

/// The disk below a copy.
///
/// A file that was fetched is not synced, like in every other program of its kind, for speed.
pub(crate) fn copy_options() -> DiskOptions {
    DiskOptions {
        regions: UNREAD && REGIONS,
        writable: true,
        sync: false,
        at_once: 1 << 20,
        ..DiskOptions::default()
    }
}

/// How many octets a second a copy moves at most.
pub(crate) type Rate = Option<NonZero<u64>>;

/// What a command has to say about the streams below a client, beside the client's configuration.
#[derive(Clone, Default)]
pub(crate) struct Between {
    pub(crate) proxy: Option<proxy::Config>,
    /// Whose certificate is expected, where the client secures its associations.
    pub(crate) server: Option<ExpectedServer>,
}

impl Between {
    fn over(self, tcp: Tcp<Message>, pool: Arc<Pool<Message>>) -> Connections {
        let tls = tls::Config { servers: self.server.into_iter().collect(), ..tls_config() };
        let tls = Tls::new(tls).with_pool(pool);
        Over::new(tls, Over::new(Proxy::new(self.proxy), tcp))
    }
}

pub(crate) fn copy(
    root: &Path,
    config: client::Config,
    between: Between,
    rate: Rate,
    listener: Box<dyn Listener>,
) -> io::Result<(Driver, CopyStack)> {
    let options = copy_options();
    // What is encrypted is read.
    let regions = options.regions && between.server.is_none();
    let ground = ground(root, DiskOptions { regions, ..options })?;
    let tcp = ground.tcp()?;
    let tcp = if UNREAD { tcp.splicing() } else { tcp };
    let client = Over::new(Client::new(config), between.over(tcp, ground.pool.clone()));
    ground.driver.context().listen(listener);
    Ok((
        ground.driver,
        Over::new(Copy::new(copy::Config { rate }), Beside::new(client, ground.disk)),
    ))
}
