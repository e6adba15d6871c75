//! The stacks that are measured, each an equation.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use stackwright::artp::{self, Cipher as Seal, Congestion, Protection, Sealing, Secret};
use stackwright::compose::Over;
use stackwright::contract::services::Credit;
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

/// What is done with a stack, whichever it is.
pub(super) trait Use {
    /// What comes of it.
    type Result;

    /// Does it.
    fn with<S: Stack>(self, make: impl Make<S>) -> Self::Result;
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
const RATE: u64 = 1_250_000;

/// How many octets of it leave at once.
const BURST: u32 = 16 << 10;

/// At least this much may wait to be sent.
const SEND: usize = 10 << 20;

impl Transport {
    /// Lends a way to make such stacks, for associations with `place`.
    pub(super) fn lend<U: Use>(self, place: &Place, tuning: &Tuning, user: U) -> U::Result {
        let (address, tuning) = (place.address.ip(), *tuning);
        match self {
            Transport::Xtp if place.is_group() => user.with(move |system: &System| {
                let common = xtp_config(system, address, &tuning);
                let upper = group::upper(system, common, tuning.members);
                Over::new(upper, system.udp_with(BufferTree::blocks()))
            }),
            Transport::XtpIp if place.is_group() => user.with(move |system: &System| {
                let common = xtp_config(system, address, &without_udp(address, &tuning));
                Over::new(group::upper(system, common, tuning.members), xtp_below(system))
            }),
            Transport::Tailored => {
                user.with(move |system: &System| tailored(system, address, &tuning))
            }
            Transport::TransactionXtp => user.with(move |system: &System| {
                xtp::<BufferTree, Transaction>(system, address, &tuning)
            }),
            Transport::AcknowledgedXtp => user.with(move |system: &System| {
                xtp::<BufferTree, AcknowledgedDatagram>(system, address, &tuning)
            }),
            Transport::UnacknowledgedXtp => user.with(move |system: &System| {
                xtp::<BufferTree, UnacknowledgedDatagram>(system, address, &tuning)
            }),
            Transport::BulkXtp => user.with(move |system: &System| {
                Over::new(Framed::default(), xtp::<BufferTree, BulkData>(system, address, &tuning))
            }),
            Transport::IsochronousXtp => {
                let tuning = Tuning { rate: tuning.rate.or(Some(RATE)), ..tuning };
                user.with(move |system: &System| {
                    xtp::<BufferTree, IsochronousStream>(system, address, &tuning)
                })
            }
            Transport::XtpIp => user.with(move |system: &System| {
                let tuning = without_udp(address, &tuning);
                let upper = xtp_layer::<_, Connection>(system, address, &tuning);
                Over::new(upper, xtp_below(system))
            }),
            _ => self.lend_with::<BufferTree, _>(place, &tuning, user),
        }
    }

    /// Returns whether copies are counted: its stacks are also compiled with messages that count.
    fn is_counted(self, place: &Place) -> bool {
        match self {
            Transport::Udp | Transport::Tcp | Transport::Artp | Transport::OrderedArtp => true,
            Transport::Xtp | Transport::StreamXtp => !place.is_group(),
            _ => false,
        }
    }

    /// Lends the same with messages `M`, if they are [counted](Transport::is_counted).
    pub(super) fn lend_with<M: Measured, U: Use>(
        self,
        place: &Place,
        tuning: &Tuning,
        user: U,
    ) -> U::Result {
        let (address, tuning) = (place.address.ip(), *tuning);
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
            Transport::Udp => user.with(|system: &System| system.udp_with(M::blocks())),
            Transport::Tcp => {
                user.with(move |system: &System| Over::new(Framed::default(), tcp(system)))
            }
            Transport::Artp => user.with(artp),
            Transport::OrderedArtp => {
                user.with(move |system: &System| Over::new(Framed::default(), ordered(system)))
            }
            Transport::Xtp => {
                user.with(move |system: &System| xtp::<M, Connection>(system, address, &tuning))
            }
            Transport::StreamXtp => user.with(move |system: &System| {
                Over::new(Framed::default(), xtp::<M, Stream>(system, address, &tuning))
            }),
            _ => unreachable!("`check` refuses to count what is not counted"),
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
        let why = match self {
            Transport::TransactionXtp if !run.requests => {
                "a transaction is a request and its answer; measure it with --requests"
            }
            Transport::UnacknowledgedXtp if run.requests || run.associations.is_some() => {
                "nothing is answered here; measure it without --requests and --associations"
            }
            _ => return Ok(()),
        };
        Err(Problem::Measurement { url: place.url(), why: why.into() })
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
        if tuning.copies && !self.is_counted(place) {
            let why = "--copies counts those of udp, tcp, artp, ordered+artp, xtp and stream+xtp";
            return Err(Problem::Measurement { url: place.url(), why: why.into() });
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
    let packet = tuning.packet.unwrap_or_else(|| packet(address)).max(tailored::PACKET_LEAST);
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

/// What goes wrong with an association, said for a person.
pub(super) fn failed(place: &Place, error: stackwright_endpoint::Error) -> Problem {
    use stackwright::contract::services::Ended;
    use stackwright_endpoint::Error;
    let url = place.url();
    match error {
        Error::Ended(why @ (Ended::Unreachable | Ended::Expired)) => {
            Problem::Nobody { url, why: why.to_string() }
        }
        Error::NotYet => Problem::Nobody { url, why: "timed out".into() },
        Error::TooLong { longest } => Problem::Measurement {
            url,
            why: format!("--size is too much: this transport sends at most {longest} octets"),
        },
        other => Problem::Measurement { url, why: other.to_string() },
    }
}
