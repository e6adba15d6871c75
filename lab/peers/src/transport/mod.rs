//! The transports, and what joins them.
//!
//! | file | what |
//! | --- | --- |
//! | `blocking.rs` | bulk and requests over calls that block: tcp, srt |
//! | `asynchronous.rs` | all workloads over futures on one thread: quinn, s2n-quic, kcp, and associations of tcp |
//! | the others | one transport each, with the settings that README.md explains |

mod asynchronous;
mod blocking;
mod certificate;
mod enet;
mod kcp;
mod quinn;
mod s2n;
mod srt;
mod tcp;
mod udp;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use crate::course::Course;
use crate::plan::{Plan, Transport};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;
use crate::watch::Lap;

/// Nanoseconds from a request to its reply.
pub(crate) type Latencies = Histogram<u64>;

/// What receives a run.
type Serving = Box<dyn FnOnce(&Plan, &Tally) -> Result<(), Problem>>;

/// A receiving end that listens.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) serve: Serving,
}

/// What a sender can tell of itself.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Exchanges; in a bulk the receiver's octets tell it.
    pub(crate) messages: Option<u64>,
    /// Until the last reply, where that is the end and not the receiver's count.
    pub(crate) lap: Option<Lap>,
    pub(crate) latencies: Option<Latencies>,
    /// Packets or segments that the sender thought lost, where the transport tells.
    pub(crate) retransmitted: Option<u64>,
}

/// # Errors
/// When a transport is not installed.
pub(crate) fn available(transport: Transport) -> Result<(), Problem> {
    match transport {
        Transport::Srt => srt::available(),
        _ => Ok(()),
    }
}

/// # Errors
/// When it cannot listen, or not for such a plan.
pub(crate) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    match plan.transport {
        Transport::Tcp => tcp::listen(plan, local),
        Transport::Udp => udp::listen(plan, local),
        Transport::Quinn => quinn::listen(plan, local),
        Transport::S2nQuic => s2n::listen(plan, local),
        Transport::Kcp => kcp::listen(plan, local),
        Transport::Enet => enet::listen(plan, local),
        Transport::Srt => srt::listen(plan, local),
    }
}

/// Sends: a bulk until the course is over, else until all is answered.
///
/// # Errors
/// When the transport gives up.
pub(crate) fn send(
    plan: &Plan,
    remote: SocketAddr,
    certificate: Option<Vec<u8>>,
    course: &Course,
) -> Result<Sent, Problem> {
    match plan.transport {
        Transport::Tcp => tcp::send(plan, remote, course),
        Transport::Udp => udp::send(plan, remote, course),
        Transport::Quinn => quinn::send(plan, remote, certificate, course),
        Transport::S2nQuic => s2n::send(plan, remote, certificate, course),
        Transport::Kcp => kcp::send(plan, remote, course),
        Transport::Enet => enet::send(plan, remote, course),
        Transport::Srt => srt::send(plan, remote, course),
    }
}

/// What a socket may hold in the kernel, each way: what these systems grant without being asked for
/// more. With the usual 200 kB a burst of any of these transports is lost before anybody has read
/// it.
const SOCKET_BUFFER: usize = 4 << 20;

/// How long a blocking call waits before it looks whether the run is over.
const GLANCE: Duration = Duration::from_millis(200);

/// A UDP socket with room for bursts.
///
/// # Errors
/// When it cannot be bound.
fn udp_socket(local: SocketAddr) -> Result<UdpSocket, Problem> {
    let open = || {
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_recv_buffer_size(SOCKET_BUFFER)?;
        socket.set_send_buffer_size(SOCKET_BUFFER)?;
        socket.bind(&local.into())?;
        Ok::<_, std::io::Error>(socket.into())
    };
    open().tried(&format!("a UDP socket at {local}"))
}

/// The unspecified address of the same family, any port: where one sends from.
fn from_anywhere(remote: SocketAddr) -> SocketAddr {
    let unspecified: IpAddr = match remote {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(unspecified, 0)
}

/// A histogram from nanoseconds to ten minutes, to a thousandth.
fn latencies() -> Result<Latencies, Problem> {
    Histogram::new_with_bounds(1, 600_000_000_000, 3).tried("a histogram")
}

fn record(latencies: &mut Latencies, begin: Instant) {
    latencies.saturating_record(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
}

/// Lets this process have as many descriptors as the system permits: some transports take one for
/// each association.
pub(crate) fn many_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Without it, a run with too many associations fails, and says so.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
