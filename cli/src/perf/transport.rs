//! The stacks that are measured, each an equation.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use stackwright::artp::{self, Cipher as Seal, Congestion, Protection, Sealing, Secret};
use stackwright::compose::{Opaque, Over};
use stackwright::contract::Protocol;
use stackwright::contract::services::{Credit, Datagrams};
use stackwright::framed::Framed;
use stackwright::ordered::{self, Ordered};
use stackwright::policies::profile::{Bounds, Path, PolicyValues};
use stackwright::tailored::configurations::AnyOrder;
use stackwright::tailored::{self, Named};
use stackwright::transport::words::Terms;
use stackwright::wire::{BufferTree, Message, Pool};
use stackwright::xtp;
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram, XtpService,
};
use stackwright_drivers::Readiness;
use stackwright_drivers::ip::{self, Ip};
use stackwright_drivers::tcp::{Tcp, has_congestion};
use stackwright_drivers::udp::Udp;
pub(super) use stackwright_endpoint::Stack;
use stackwright_endpoint::{Config, System};

use super::arguments::{Cipher, Key, Run, Tuning};
use super::group;
use super::place::{Place, Transport};
use crate::problem::Problem;
use crate::stacks::{SHORT, Xtp, packet, pool};

/// Makes a stack: one for each thread that serves, or for each endpoint.
pub(super) trait Make<S>: Fn(&System) -> S + Clone + Send + 'static {}

impl<S, F: Fn(&System) -> S + Clone + Send + 'static> Make<S> for F {}

/// A stack that is measured, whichever it is: what is done with it is compiled once, not once for
/// each.
pub(super) type Measuring<M> = Opaque<Datagrams<M>, Readiness>;

/// What makes one.
type Making<M> = Arc<dyn Fn(&System) -> Measuring<M> + Send + Sync>;

fn making<M: Measured, S: Protocol<Provides = Datagrams<M>, Uses = Readiness> + 'static>(
    make: impl Fn(&System) -> S + Send + Sync + 'static,
) -> Making<M> {
    Arc::new(move |system| Opaque::new(make(system)))
}

/// The key of those who name none.
const KNOWN: Key = [0x5a; 32];

/// A kind of message whose stacks are measured.
pub(super) trait Measured: Message {
    /// The blocks that all stacks of a thread share: only one of them receives at a time.
    fn blocks() -> Arc<Pool<Self>>;
}

impl Measured for BufferTree {
    fn blocks() -> Arc<Pool<Self>> {
        std::thread_local! {
            static BLOCKS: Arc<Pool<BufferTree>> = pool();
        }
        BLOCKS.with(Arc::clone)
    }
}

/// How fast an isochronous stream is, in octets per second, where nobody says it: 10 Mb/s.
pub(super) const RATE: u64 = 1_250_000;

/// How many octets of it leave at once.
const BURST: u32 = 16 << 10;

/// At least this much may wait to be sent.
const SEND: usize = 10 << 20;

impl Transport {
    /// Returns what makes such stacks, for associations with `place`.
    pub(super) fn make(self, place: &Place, tuning: &Tuning) -> impl Make<Measuring<BufferTree>> {
        let making = self.making(place, *tuning);
        move |system: &System| making(system)
    }

    /// Returns the same with messages `M`, where `--copies` counts them.
    pub(super) fn make_with<M: Measured>(
        self,
        place: &Place,
        tuning: &Tuning,
    ) -> impl Make<Measuring<M>> {
        let making = self.making_with::<M>(place, *tuning);
        move |system: &System| making(system)
    }

    fn making(self, place: &Place, tuning: Tuning) -> Making<BufferTree> {
        let address = place.address.ip();
        match self {
            Transport::Xtp if place.is_group() => making(move |system| {
                let common = xtp_config(system, address, &tuning);
                let upper = group::upper(system, common, tuning.members);
                Over::new(upper, system.udp_with(BufferTree::blocks()))
            }),
            Transport::XtpIp if place.is_group() => making(move |system| {
                let common = xtp_config(system, address, &without_udp(address, &tuning));
                Over::new(group::upper(system, common, tuning.members), xtp_below(system))
            }),
            Transport::Tailored => making(move |system| tailored(system, address, &tuning)),
            Transport::TransactionXtp => {
                making(move |system| xtp::<BufferTree, Transaction>(system, address, &tuning))
            }
            Transport::AcknowledgedXtp => making(move |system| {
                xtp::<BufferTree, AcknowledgedDatagram>(system, address, &tuning)
            }),
            Transport::UnacknowledgedXtp => making(move |system| {
                xtp::<BufferTree, UnacknowledgedDatagram>(system, address, &tuning)
            }),
            Transport::BulkXtp => making(move |system| {
                Over::new(Framed::default(), xtp::<BufferTree, BulkData>(system, address, &tuning))
            }),
            Transport::IsochronousXtp => {
                let tuning = Tuning { rate: tuning.rate.or(Some(RATE)), ..tuning };
                making(move |system| xtp::<BufferTree, IsochronousStream>(system, address, &tuning))
            }
            Transport::XtpIp => making(move |system| {
                let tuning = without_udp(address, &tuning);
                let upper = xtp_layer::<_, Connection>(system, address, &tuning);
                Over::new(upper, xtp_below(system))
            }),
            _ => self.making_with(place, tuning),
        }
    }

    fn making_with<M: Measured>(self, place: &Place, tuning: Tuning) -> Making<M> {
        let address = place.address.ip();
        let artp = move |system: &System| {
            let config = artp_config(system, address, &tuning);
            let upper = artp::layer_sharing(config, system.seed(), M::blocks());
            Over::new(upper, system.udp_with(M::blocks()))
        };
        let ordered = move |system: &System| {
            Over::new(Ordered::new(ordered::Config::default()), artp(system))
        };
        let congestion = tuning.congestion.unwrap_or_default();
        let tcp = move |system: &System| {
            let tcp = Tcp::<M>::new(system.registry(), 0, M::blocks());
            match kernels(congestion) {
                Some(name) => tcp.with_congestion(name),
                None => tcp,
            }
        };
        match self {
            Transport::Udp => making(|system| system.udp_with(M::blocks())),
            Transport::Tcp => making(move |system| Over::new(Framed::default(), tcp(system))),
            Transport::Artp => making(artp),
            Transport::OrderedArtp => {
                making(move |system| Over::new(Framed::default(), ordered(system)))
            }
            Transport::Xtp => making(move |system| xtp::<M, Connection>(system, address, &tuning)),
            Transport::StreamXtp => making(move |system| {
                Over::new(Framed::default(), xtp::<M, Stream>(system, address, &tuning))
            }),
            _ => unreachable!("`options::check` refuses to count what is not counted"),
        }
    }

    /// The name of the congestion control, where there is one.
    pub(super) fn congestion(self, tuning: &Tuning) -> Option<&'static str> {
        let congestion = tuning.congestion.unwrap_or_default();
        match self {
            Transport::Udp => None,
            transport if transport.is_xtp() => None,
            Transport::Tcp => kernels(congestion),
            Transport::Tailored => Some("cubic"),
            _ => Some(match congestion {
                Congestion::Document => "document",
                Congestion::NewReno => "new-reno",
                Congestion::Cubic => "cubic",
                Congestion::Bbr => "bbr",
                Congestion::Own(judge) => judge.name,
            }),
        }
    }

    /// Whether an association can do what is measured.
    ///
    /// # Errors
    /// What to measure instead.
    pub(super) fn allows(self, run: &Run, place: &Place) -> Result<(), Problem> {
        if self != Transport::TransactionXtp || run.requests {
            return Ok(());
        }
        let why = "a transaction is a request and its answer; measure it with --requests";
        Err(Problem::Unfit { what: place.url(), why })
    }

    /// Whether the system has what `tuning` asks of its TCP.
    ///
    /// # Errors
    /// What it does not have.
    pub(super) fn check(self, place: &Place, tuning: &Tuning) -> Result<(), Problem> {
        let short = tuning.packet.is_some_and(|octets| octets < xtp::PACKET_LEAST);
        if short && self.is_xtp() {
            return Err(Problem::Measurement { url: place.url(), why: SHORT.into() });
        }
        if place.is_group() && !matches!(self, Transport::Xtp | Transport::XtpIp) {
            let why = "only xtp:// and xtp+ip:// send to a group".into();
            return Err(Problem::Measurement { url: place.url(), why });
        }
        if self == Transport::XtpIp {
            ip::is_permitted(ip::XTP)
                .map_err(|why| Problem::Measurement { url: place.url(), why: why.to_string() })?;
        }
        let known = self.congestion(tuning);
        if self != Transport::Tcp || known.is_some_and(has_congestion) {
            return Ok(());
        }
        let why = match known {
            Some(name) => format!(
                "this system's TCP has no congestion control {name}; as root: modprobe tcp_{name}"
            ),
            None => "this congestion control is ARTP's; choose cubic, bbr or new-reno".to_owned(),
        };
        Err(Problem::Measurement { url: place.url(), why })
    }
}

/// What an endpoint keeps, and takes.
pub(super) fn endpoint(tuning: &Tuning) -> Config {
    let credit = Credit { octets: SEND.max(2 * tuning.longest), messages: 1 << 14 };
    let spin = Duration::from_micros(tuning.spin.unwrap_or_default());
    Config { credit, arrivals_most: 256, spin, shared_port: false }
}

/// What the kernel calls a congestion control of its TCP.
fn kernels(congestion: Congestion) -> Option<&'static str> {
    match congestion {
        Congestion::Cubic => Some("cubic"),
        Congestion::Bbr => Some("bbr"),
        // It is the one of RFC 6582.
        Congestion::NewReno => Some("reno"),
        Congestion::Document | Congestion::Own(_) => None,
    }
}

fn xtp<M: Measured, S: XtpService>(
    system: &System,
    address: IpAddr,
    tuning: &Tuning,
) -> Over<Xtp<S, M>, Udp<M>> {
    Over::new(xtp_layer(system, address, tuning), system.udp_with(M::blocks()))
}

/// XTP without UDP below.
fn xtp_below(system: &System) -> Ip<BufferTree> {
    Ip::new(ip::XTP, system.registry(), 0, BufferTree::blocks())
}

/// A packet may be longer by the header of UDP.
fn without_udp(address: IpAddr, tuning: &Tuning) -> Tuning {
    Tuning { packet: Some(tuning.packet.unwrap_or(packet(address) + 8)), ..*tuning }
}

fn xtp_layer<M: Message, S: XtpService>(
    system: &System,
    address: IpAddr,
    tuning: &Tuning,
) -> Xtp<S, M> {
    xtp::layer(xtp_config(system, address, tuning), system.seed())
}

fn xtp_config(system: &System, address: IpAddr, tuning: &Tuning) -> xtp::Config {
    let usual = xtp::Config::new(system.secret());
    xtp::Config {
        packet: tuning.packet.unwrap_or(packet(address)),
        sends: tuning.rate.map_or(usual.sends, |rate| Terms {
            rate: u32::try_from(rate).unwrap_or(u32::MAX),
            burst: BURST,
        }),
        window: tuning.flight.map_or(usual.window, |octets| octets.min(1 << 30) as u32),
        send: Credit { octets: SEND.max(2 * tuning.longest), ..usual.send },
        run: tuning.run.map_or(usual.run, usize::from),
        checks_data: !tuning.unchecked,
        ..usual
    }
}

/// `reliable; flow_control(4096); checksum(internet)`.
fn tailored(
    system: &System,
    address: IpAddr,
    tuning: &Tuning,
) -> Over<tailored::Layer<Named<AnyOrder<BufferTree>>>, Udp<BufferTree>> {
    let packet = tailored_packet(address, tuning);
    let values = PolicyValues {
        path: Path { packet: packet.into(), ..Path::DEFAULT },
        bounds: Bounds { window: 4096, ..Bounds::DEFAULT },
        ..PolicyValues::RELIABLE
    };
    let usual = tailored::Config::new(system.secret());
    let send = Credit { octets: SEND.max(2 * tuning.longest), messages: 4096 };
    let config = tailored::Config { packet, send, half_open_most: 1024, ..usual };
    let upper = tailored::layer(Named::new(values), config, system.seed());
    Over::new(upper, system.udp_with(BufferTree::blocks()))
}

fn tailored_packet(address: IpAddr, tuning: &Tuning) -> u16 {
    tuning.packet.unwrap_or_else(|| packet(address)).max(tailored::PACKET_LEAST)
}

fn artp_config(system: &System, address: IpAddr, tuning: &Tuning) -> artp::Config {
    let usual = artp::Config::new(system.secret());
    let packet = tuning.packet.unwrap_or_else(|| packet(address));
    let flight = tuning.flight.map(|octets| (octets / u64::from(packet)).clamp(16, 1 << 24) as u32);
    let sealing =
        |cipher| Protection::Sealed(Sealing::new(cipher, Secret(tuning.key.unwrap_or(KNOWN))));
    artp::Config {
        packet,
        window: tuning.window.or(flight).unwrap_or(usual.window),
        send: Credit { octets: SEND.max(2 * tuning.longest), messages: 4096 },
        gather_most: tuning.gather.map_or(usual.gather_most, u64::from),
        gather_full: tuning.gather.unwrap_or(usual.gather_full),
        congestion: tuning.congestion.unwrap_or(usual.congestion),
        protection: match tuning.cipher {
            Cipher::None => Protection::Absent,
            Cipher::Aes256Gcm => sealing(Seal::Aes256Gcm),
            Cipher::ChaCha20Poly1305 => sealing(Seal::ChaCha20Poly1305),
        },
        half_open_most: 1024,
        epoch: system.epoch(),
        first: tuning.first,
        run: tuning.run.map_or(usual.run, usize::from),
        ..usual
    }
}

/// Describes what a stack at `place` is configured to do, but for what is drawn for each.
#[cfg(test)]
pub(super) fn described(system: &System, place: &Place, tuning: &Tuning) -> String {
    let address = place.address.ip();
    let (secret, epoch) = ([0; 16], 0);
    let xtp = |tuning: &Tuning| xtp::Config { secret, ..xtp_config(system, address, tuning) };
    match place.transport {
        Transport::Udp => String::new(),
        Transport::Tcp => format!("{:?}", place.transport.congestion(tuning)),
        Transport::Artp | Transport::OrderedArtp => {
            let config = artp::Config { secret, epoch, ..artp_config(system, address, tuning) };
            format!("{config:?}")
        }
        Transport::Tailored => format!("{:?}", tailored_packet(address, tuning)),
        _ if place.is_group() => {
            format!("{:?} {}", xtp(&without_udp(address, tuning)), tuning.members)
        }
        Transport::XtpIp => format!("{:?}", xtp(&without_udp(address, tuning))),
        _ => format!("{:?}", xtp(tuning)),
    }
}

/// What goes wrong with an association, said for a person.
pub(super) fn failed(place: &Place, error: stackwright_endpoint::Error) -> Problem {
    use stackwright::contract::services::Ended;
    use stackwright_endpoint::Error;
    let url = place.url();
    match error {
        // Nothing is sent to a group where there is no way to it.
        Error::Ended(Ended::Unreachable) if place.is_group() => no_way(url),
        Error::Ended(why @ (Ended::Unreachable | Ended::Expired)) => {
            Problem::Nobody { url, why: why.to_string() }
        }
        Error::NotYet => Problem::Nobody { url, why: "timed out".into() },
        Error::TooLong { longest } => Problem::Measurement {
            url,
            why: format!("a message has at most {longest} octets here: choose a smaller --size"),
        },
        other => Problem::Measurement { url, why: other.to_string() },
    }
}

/// Says that this system cannot send to a group, or receive from it.
pub(super) fn no_way(url: String) -> Problem {
    let why = "this system has no route for the group, and so no interface to join it on: \
               as root, ip route add GROUP dev INTERFACE";
    Problem::Measurement { url, why: why.into() }
}
