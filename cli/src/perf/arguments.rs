//! The command line of `stackwright perf`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use stackwright::artp::Congestion;
use stackwright::tailored::Demand;

use super::layers::Layers;
use super::options;
use super::place::PORT;
use crate::placement::Placement;
use crate::quantity::{duration, octet_rate, octets, patience};
use crate::stacks::PACKET;

/// Measure a transport between two processes: throughput, latency, associations, processor time.
#[derive(Subcommand)]
// Built when used, like the commands beside it: otherwise a transfer of 100 kB takes 8 % longer.
#[command(defer = true)]
pub(crate) enum Perf {
    /// Run the server: count arriving messages, answer requests, and report to the client.
    Serve(Serve),
    /// Run a measurement against a server, by default bulk; figures count messages that the server
    /// received.
    Run(Run),
    /// Run another command, and tell the time and the octets of header of each layer of its stack.
    Layers(Layers),
}

impl Perf {
    pub(crate) fn json(&self) -> bool {
        match self {
            Perf::Serve(serve) => serve.json,
            Perf::Run(run) => run.json,
            Perf::Layers(_) => false,
        }
    }
}

const SERVE_EXAMPLES: &str = "

Examples:
  stackwright perf serve
  stackwright perf serve artp://0.0.0.0:4330 --cores 4";

const RUN_EXAMPLES: &str = "

Examples:
  stackwright perf run artp://HOST:4330
  stackwright perf run artp://HOST:4330 --requests
  stackwright perf run tcp://HOST:4330 --octets 1GB --json";

#[derive(Args)]
#[command(after_help = format!("{}{SERVE_EXAMPLES}", options::help()))]
pub(crate) struct Serve {
    /// Transport and address: artp://ADDR:PORT, udp://…, tcp://…, ordered+artp://…,
    /// tailored://…, or XTP with one of its services: xtp://…, stream+xtp://…,
    /// transaction+xtp://…, acknowledged+xtp://…, unacknowledged+xtp://…, bulk+xtp://…,
    /// isochronous+xtp://…; or as root on IP itself: xtp+ip://ADDR, which has no ports, and
    /// xstp://…. Any other name is that of a protocol that a stack file describes alone, such as
    /// stop-and-wait://…. An address alone means ARTP; port 0 picks a free port.
    #[arg(default_value_t = format!("artp://127.0.0.1:{PORT}"))]
    pub(crate) url: String,
    /// Run N threads, each with its own stack and socket at the same address.
    ///
    /// The kernel assigns each association to one of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cores: u16,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Where the transport is: `library`, `server=FOLDER` of `stackwright host`, or
    /// `granted=FOLDER`: here, with low ports and raw sockets that such a server opens.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    pub(crate) placement: Placement,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also report the octets received so far, twice a second.
    #[arg(long, requires = "json")]
    pub(crate) intervals: bool,
}

#[derive(Args, Clone)]
#[command(after_help = format!("{}{RUN_EXAMPLES}", options::help()))]
pub(crate) struct Run {
    /// The address of `stackwright perf serve`: artp://host:port, udp://…, tcp://…,
    /// ordered+artp://…, tailored://…, xtp://…, stream+xtp://…, transaction+xtp://… (with
    /// --requests), acknowledged+xtp://…, unacknowledged+xtp://…, bulk+xtp://…,
    /// isochronous+xtp://…, xtp+ip://host or xstp://…; or a protocol that a stack file describes,
    /// such as stop-and-wait://….
    pub(crate) url: String,
    /// Length of a message, at least 16 octets [default: 10kB; 64 with --requests or
    /// --associations].
    #[arg(long, value_name = "OCTETS", value_parser = octets)]
    pub(crate) size: Option<u64>,
    /// Send for this long, in seconds or with a unit (500ms, 2m).
    #[arg(long, default_value = "5s", value_parser = patience)]
    pub(crate) time: Duration,
    /// Send this many octets, such as 1GB, instead of sending for a time.
    #[arg(long, value_parser = octets, conflicts_with = "time")]
    pub(crate) octets: Option<u64>,
    /// Open N associations, exchange one message on each while all are open, and close them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["octets", "time", "copies"])]
    pub(crate) associations: Option<u32>,
    /// Measure latency: send a message, wait for a reply of the same size, repeat.
    #[arg(long, conflicts_with_all = ["associations", "copies"])]
    pub(crate) requests: bool,
    /// Report how often each end copies an octet of payload in user space.
    #[arg(long, conflicts_with = "cipher")]
    pub(crate) copies: bool,
    /// Repeat --associations N times.
    #[arg(long, value_name = "N", requires = "associations", default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Keep all associations open for this long, to inspect memory; --json prints a line at the
    /// start.
    #[arg(long, value_name = "TIME", requires = "associations", value_parser = duration)]
    pub(crate) hold: Option<Duration>,
    /// To a group, such as xtp://239.77.1.1 or xtp+ip://239.77.1.1: wait for N receivers before
    /// data counts as received [default: those that answer within half a second].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) members: u16,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Where the transport is: `library`, `server=FOLDER` of `stackwright host`, or
    /// `granted=FOLDER`: here, with low ports and raw sockets that such a server opens.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    pub(crate) placement: Placement,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

// Options of a transport. As a doc comment this would replace the help of both commands.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Tuning {
    /// The longest packet of ARTP or XTP, in octets; ARTP's ends use the smaller value [default:
    /// what fits into 1500 octets].
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// ARTP's window: the most packets in flight.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) window: Option<u32>,
    /// The window of ARTP or XTP in octets, such as 4MB.
    #[arg(long, value_name = "OCTETS", value_parser = octets, conflicts_with = "window")]
    pub(crate) flight: Option<u64>,
    /// The send rate of isochronous+xtp and bulk+xtp, such as 1 MB/s, or 8 Mb/s (bits) [default:
    /// 1.25 MB/s; bulk+xtp: unlimited].
    #[arg(long, value_name = "RATE", value_parser = octet_rate)]
    pub(crate) rate: Option<u64>,
    /// The most octets of packets that ARTP and XTP write into one buffer, to send them in one
    /// system call; 0 gives each packet its own buffer [default: 65507].
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(..=65_507))]
    pub(crate) run: Option<u16>,
    /// Let XTP's checks cover headers only (NOCHECK): payload may arrive altered.
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Acknowledge every N-th ARTP packet, or earlier when the delay timer expires.
    ///
    /// The default is every 2 full packets, or up to 32 short ones of the same total length. An end
    /// that only receives has no round-trip time, and acknowledges at least every second packet.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) gather: Option<u32>,
    /// Congestion control: cubic, bbr, new-reno or, for ARTP, document (that of its specification);
    /// for TCP, one of the kernel's [default: cubic].
    ///
    /// The default does not depend on the system's setting for TCP.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub(crate) congestion: Option<Congestion>,
    /// The services of the tailored transport, such as "reliable; flow_control(256);
    /// congestion(fitted)", or a specification, whose services may change; both ends need the same
    /// order, checks and window [default: reliable; flow_control(4096);
    /// checksum(internet)].
    #[arg(long, value_name = "SERVICES", value_parser = services)]
    pub(crate) services: Option<Demand>,
    /// Encrypt ARTP's datagrams; both ends need the same cipher and key.
    #[arg(long, value_enum, default_value_t = Cipher::None)]
    pub(crate) cipher: Cipher,
    /// The cipher's key, 64 hexadecimal digits [default: a fixed public key, for measurements
    /// only].
    #[arg(long, value_name = "HEX", value_parser = key, requires = "cipher")]
    pub(crate) key: Option<Key>,
    /// Busy-poll this long before sleeping; 50 halves latency if each end has its own core.
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub(crate) spin: Option<u64>,
    /// ARTP's first packet number; a number just below 4294967296 wraps soon.
    #[arg(long, value_name = "NUMBER", hide = true)]
    pub(crate) first: Option<u32>,
    /// The longest message, in octets.
    #[arg(skip)]
    pub(crate) longest: usize,
    /// The receivers of a group that are waited for.
    #[arg(skip)]
    pub(crate) members: u16,
}

impl Tuning {
    /// Returns the same options with what else `run` says of the transport.
    pub(crate) fn of(&self, run: &Run) -> Self {
        let longest = usize::try_from(run.size.unwrap_or(0)).unwrap_or(usize::MAX);
        Tuning { longest, members: run.members, ..*self }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cipher {
    #[default]
    None,
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

pub(crate) type Key = [u8; 32];

fn key(text: &str) -> Result<Key, &'static str> {
    const WRONG: &str = "a key is 64 hexadecimal digits";
    if text.len() != 64 || !text.is_ascii() {
        return Err(WRONG);
    }
    let mut key = Key::default();
    for (place, octet) in key.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&text[2 * place..][..2], 16).map_err(|_| WRONG)?;
    }
    Ok(key)
}

fn services(of: &str) -> Result<Demand, String> {
    crate::specification::demanded(of).map_err(|why| why.to_string())
}

fn congestion(name: &str) -> Result<Congestion, &'static str> {
    name.parse().map_err(|()| "choose cubic, bbr, new-reno or document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        assert_eq!(key(&"0f".repeat(32)), Ok([15; 32]));
        assert!(
            key("0f").is_err() && key(&"0g".repeat(32)).is_err() && key(&"é".repeat(32)).is_err()
        );
    }
}
