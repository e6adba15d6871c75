//! Which stack a URL names: those of `stackwright perf`, on the same wire.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use stackwright_artp as artp;
use stackwright_compose::{Opaque, Over};
use stackwright_contract::services::{Datagrams, Streams};
use stackwright_contract::{Guarantees, Protocol};
use stackwright_drivers::Readiness;
use stackwright_drivers::ipc::Near;
use stackwright_drivers::unix::UnixStreams;
use stackwright_endpoint::System;
use stackwright_framed::Framed;
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_tailored::{self as tailored, Named, configurations::AnyOrder};
use stackwright_wire::BufferTree;
use stackwright_xtp::{self as xtp, services::Connection};

use crate::failure::Failure;
use crate::unframed::Unframed;

/// A stack that provides messages: each is a type of its own inside, and the endpoint above it is
/// compiled once.
pub(crate) type Stack = Opaque<Datagrams<BufferTree>, Readiness>;

/// What a scheme names.
struct Scheme {
    name: &'static str,
    make: fn(&System) -> Stack,
    /// Whether it carries octets in order in place of messages.
    is_stream: bool,
}

/// What a URL names.
pub(crate) struct StackUrl {
    scheme: &'static Scheme,
    /// The socket of a server that has the stack.
    server: Option<PathBuf>,
    /// Where it listens.
    pub(crate) local: Option<SocketAddr>,
}

impl StackUrl {
    pub(crate) fn is_stream(&self) -> bool {
        self.scheme.is_stream
    }

    /// Makes the stack.
    #[inline(never)]
    pub(crate) fn stack(self, system: &System) -> Stack {
        let Some(socket) = self.server else { return (self.scheme.make)(system) };
        let lines = UnixStreams::new(socket, system.registry(), 0, System::pool());
        hidden(Over::new(Near::<Datagrams<_>>::default(), lines))
    }
}

const fn messages(name: &'static str, make: fn(&System) -> Stack) -> Scheme {
    Scheme { name, make, is_stream: false }
}

static SCHEMES: [Scheme; 6] = [
    messages("artp", |system| {
        let config = artp::Config {
            epoch: system.epoch(),
            expires: true,
            ..artp::Config::new(system.secret())
        };
        let pool = System::pool();
        let artp = artp::layer_sharing::<BufferTree>(config, system.seed(), pool.clone());
        hidden(Over::new(artp, system.udp_with(pool)))
    }),
    messages("tailored", |system| {
        let bounds = Bounds { window: 4096, ..Bounds::DEFAULT };
        let values = PolicyValues { bounds, ..PolicyValues::RELIABLE };
        let (parts, config) =
            (Named::<AnyOrder<_>>::new(values), tailored::Config::new(system.secret()));
        hidden(Over::new(tailored::layer(parts, config, system.seed()), system.udp()))
    }),
    messages("tcp", |system| Opaque::new(Over::new(Framed::default(), tcp(system)))),
    messages("udp", |system| hidden(system.udp())),
    messages("xtp", |system| {
        let config = xtp::Config::new(system.secret());
        let xtp = xtp::layer::<BufferTree, Connection>(config, system.seed());
        hidden(Over::new(xtp, system.udp()))
    }),
    Scheme {
        name: "stream+tcp",
        make: |system| Opaque::new(Over::new(Unframed, tcp(system))),
        is_stream: true,
    },
];

/// Hides what a stack is made of, but for what `SW_BACKGROUND` stands on: any thread may run it.
fn hidden<P, const GIVES: u16>(stack: P) -> Opaque<P::Provides, Readiness, GIVES>
where
    P: Protocol<Uses = Readiness> + Send + 'static,
{
    Opaque::new(stack)
}

/// What each octet of TCP is promised.
const TCP: u16 = Guarantees::RELIABLE.and(Guarantees::ORDERED).bits();

/// The kernel's TCP, compiled once for both that stand on it.
fn tcp(system: &System) -> Opaque<Streams<BufferTree>, Readiness, TCP> {
    hidden(system.tcp())
}

/// Reads `scheme://host:port?server=FOLDER`; without host and port, it listens nowhere.
pub(crate) fn read(url: &str) -> Result<StackUrl, Failure> {
    let (name, place) = url.split_once(':').ok_or(Failure::Invalid)?;
    let place = place.strip_prefix("//").ok_or(Failure::Invalid)?;
    let scheme = SCHEMES.iter().find(|scheme| scheme.name == name).ok_or(Failure::Invalid)?;
    let (place, server) = match place.split_once('?') {
        Some((place, query)) => {
            let folder = query.strip_prefix("server=").filter(|folder| !folder.is_empty());
            // Those that `stackwright host` has, as messages.
            let folder = folder.filter(|_| matches!(name, "artp" | "udp" | "xtp"));
            let folder = folder.ok_or(Failure::Invalid)?;
            (place, Some([folder, "/", name].concat().into()))
        }
        None => (place, None),
    };
    let place = place.strip_suffix('/').unwrap_or(place);
    let local = (!place.is_empty()).then(|| address(place)).transpose()?;
    Ok(StackUrl { scheme, server, local })
}

/// Reads `host:port`. A name is resolved as the system does it, which may take long.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or(Failure::Invalid)?;
    let port: u16 = port.parse().map_err(|_| Failure::Invalid)?;
    if host.is_empty() || host.contains([':', '[', ']', '/', '@', '?', '#']) {
        return Err(Failure::Invalid);
    }
    let mut found = (host, port).to_socket_addrs().map_err(|_| Failure::Unreachable)?;
    found.next().ok_or(Failure::Unreachable)
}
