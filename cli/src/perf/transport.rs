//! The stacks that are measured, each a graph of parts.

use std::cell::Cell;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stackwright::artp::{self, Cipher as Seal, Congestion, Protection, Sealing, Secret};
use stackwright::compose::graph::{Builder, Description};
use stackwright::contract::services::{Credit, Datagrams};
use stackwright::framed::Framed;
use stackwright::ordered::{self, Ordered};
use stackwright::policies::profile::{Bounds, Path, Plan, PolicyValues};
use stackwright::policies::switching::PlannedSwitching;
use stackwright::tailored::configurations::AnyOrder;
use stackwright::tailored::{self, Demand, Named, Planned};
use stackwright::transport::words::Terms;
use stackwright::wire::Pool;
use stackwright::xstp;
use stackwright::xtp;
use stackwright::xtp::multicast::{self, GroupConfig, ReliableMulticast};
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram, XtpService,
};
use stackwright_drivers::ip::{self, Ip};
use stackwright_drivers::tcp::{Tcp, has_congestion};
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::{Config, System, blocking};
use stackwright_parts::{Boxed, Message, Part, STREAMS_GIVE, ServedStreams, Stack};

use super::arguments::{Cipher, Key, Run, Tuning};
use super::layers;
use super::place::{Place, Transport, between};
use crate::placement::{Placement, remote};
use crate::problem::Problem;
use crate::stacks::{SHORT, packet, pool};

/// A stack that is measured.
pub(super) type Measured = Stack<Datagrams<Message>>;
/// Measures, or is measured.
pub(super) type Endpoint = blocking::Endpoint<Measured>;
pub(super) type Association = blocking::Association<Measured>;

std::thread_local! {
    /// The blocks that all stacks of a thread share: only one of them receives at a time.
    static BLOCKS: Arc<Pool<Message>> = pool();
}

fn blocks() -> Arc<Pool<Message>> {
    BLOCKS.with(Arc::clone)
}

/// The key of those who name none.
const KNOWN: Key = [0x5a; 32];

/// How fast an isochronous stream is, in octets per second, where nobody says it: 10 Mb/s.
pub(super) const RATE: u64 = 1_250_000;

/// How many octets of it leave at once.
const BURST: u32 = 16 << 10;

/// At least this much may wait to be sent.
const SEND: usize = 10 << 20;

/// Makes stacks: one for each thread that serves, or for each endpoint.
#[derive(Clone)]
pub(super) struct Make {
    transport: Transport,
    address: IpAddr,
    tuning: Tuning,
    /// The socket of a server that has the transport.
    server: Option<PathBuf>,
    placement: Placement,
}

impl Make {
    /// Makes them for associations with `place`.
    ///
    /// # Errors
    /// If the server is not there that should have the transport.
    pub(super) fn new(
        place: &Place,
        tuning: &Tuning,
        placement: &Placement,
    ) -> Result<Self, Problem> {
        Ok(Make {
            transport: place.transport,
            address: place.address.ip(),
            tuning: *tuning,
            server: placement.socket(place.transport.scheme())?,
            placement: placement.clone(),
        })
    }

    /// The name of the congestion control, where it is known.
    pub(super) fn congestion(&self) -> Option<&'static str> {
        self.transport.congestion(&self.tuning).filter(|_| self.server.is_none())
    }

    /// Returns what makes one.
    pub(super) fn stacks(&self) -> impl Fn(&System) -> Measured + Send + 'static {
        let make = self.clone();
        move |system| make.stack(system)
    }

    fn stack(&self, system: &System) -> Measured {
        self.placement.grant(&system.registry());
        if let Some(socket) = self.server.clone() {
            return self.served(socket, system);
        }
        if let Transport::Listed(name) = self.transport {
            return self.listed(name, system);
        }
        let parts = self.transport.parts(self.address.is_multicast());
        let lowers = parts[1..].iter().map(Some).chain([None]);
        let meter = layers::meter(self.transport.scheme());
        let builder = parts.iter().zip(lowers).fold(Builder::new(), |builder, (name, lower)| {
            let part = self.part(name, system);
            let part = layers::part(meter.as_ref(), name, lower.copied(), part);
            let builder = builder.node(name, part);
            lower.into_iter().fold(builder, |builder, lower| builder.over(lower))
        });
        builder.top(parts[0]).build().expect("the rule book takes each of them")
    }

    /// Builds the application's side of a stack that is in a server. Where that provides streams,
    /// messages are framed on this side.
    fn served(&self, socket: PathBuf, system: &System) -> Measured {
        let transport = self.transport;
        let is_framed = match transport {
            Transport::Listed(name) => between(name).is_some_and(|(above, _)| above.is_some()),
            _ => transport.parts(self.address.is_multicast())[0] == "framed",
        };
        let builder = if is_framed && transport != Transport::OrderedArtp {
            let streams: ServedStreams =
                remote::<_, STREAMS_GIVE>(socket, system.registry(), 0, blocks());
            let framed = Framed::<Message>::default().boxed();
            let builder = Builder::new().node("framed", framed).over("server").top("framed");
            builder.node("server", streams.boxed())
        } else {
            let stack = remote::<Datagrams<Message>, 0>(socket, system.registry(), 0, blocks());
            Builder::new().node("server", stack.boxed()).top("server")
        };
        builder.build().expect("the rule book takes both")
    }

    /// Builds the stack of a protocol of the catalogue, as a file would describe it.
    fn listed(&self, name: &str, system: &System) -> Measured {
        let (description, adapter) = description(name);
        let bottom = Cell::new(Some(self.part(adapter, system)));
        let registry = stackwright_parts::described(|| fastrand::u64(..));
        let registry = registry
            .with(adapter, "", &[], move |_| Ok(bottom.take().expect("a stack has one adapter")));
        description.build(&layers::measured(registry, name)).expect("it was looked at")
    }

    fn part(&self, name: &str, system: &System) -> Boxed {
        let Make { address, tuning, .. } = self;
        match name {
            "udp" => system.udp_with(blocks()).boxed(),
            "ip" => Ip::new(self.transport.protocol(), system.registry(), 0, blocks()).boxed(),
            "tcp" => {
                let tcp = Tcp::new(system.registry(), 0, blocks());
                match kernels(tuning.congestion.unwrap_or_default()) {
                    Some(name) => tcp.with_congestion(name).boxed(),
                    None => tcp.boxed(),
                }
            }
            "framed" => Framed::<Message>::default().boxed(),
            "ordered" => Ordered::<Message>::new(ordered::Config::default()).boxed(),
            "artp" => {
                let config = artp_config(system, *address, tuning);
                artp::layer_sharing(config, system.seed(), blocks()).boxed()
            }
            "xstp" => xstp::layer::<Message>(xstp_config(tuning), system.seed()).boxed(),
            "tailored" => tailored(system, *address, tuning),
            "xtp group" => {
                let common = self.xtp(system);
                let members = tuning.members;
                let config = GroupConfig { common, members, ..GroupConfig::new(common.secret) };
                multicast::layer::<Message, ReliableMulticast>(config, system.seed()).boxed()
            }
            AcknowledgedDatagram::NAME => self.service::<AcknowledgedDatagram>(system),
            BulkData::NAME => self.service::<BulkData>(system),
            Connection::NAME => self.service::<Connection>(system),
            IsochronousStream::NAME => self.service::<IsochronousStream>(system),
            Stream::NAME => self.service::<Stream>(system),
            Transaction::NAME => self.service::<Transaction>(system),
            UnacknowledgedDatagram::NAME => self.service::<UnacknowledgedDatagram>(system),
            other => unreachable!("`{other}` is a part of no stack"),
        }
    }

    fn service<S: XtpService>(&self, system: &System) -> Boxed
    where
        xtp::Layer<Message, S>: Part,
    {
        xtp::layer::<Message, S>(self.xtp(system), system.seed()).boxed()
    }

    fn xtp(&self, system: &System) -> xtp::Config {
        xtp_config(system, self.transport, self.address, &self.tuning)
    }
}

/// Describes the stack of a protocol of the catalogue; returns its adapter, too.
fn description(name: &str) -> (Description, &'static str) {
    let (above, adapter) = between(name).expect("an address names no other");
    let top = above.map(|above| format!("[{above}]\nover = \"{name}\"\n")).unwrap_or_default();
    let text = format!(
        "top = \"{}\"\n{top}[{name}]\nover = \"{adapter}\"\n[{adapter}]\n",
        above.unwrap_or(name)
    );
    (Description::read(&text).expect("names are those of an address"), adapter)
}

/// Says why the rule book refuses the stack of a protocol of the catalogue, or what its file would
/// have to say.
fn refused(name: &str) -> Option<String> {
    let (description, adapter) = description(name);
    let registry = stackwright_parts::described(|| 0).with(adapter, "", &[], move |_| {
        Ok(if adapter == "udp" { Udp::<Message>::shown() } else { Tcp::<Message>::shown() })
    });
    description.look(&registry).err().map(|flaw| flaw.says().to_owned())
}

impl Transport {
    /// The parts of its stacks, from the top.
    fn parts(self, is_group: bool) -> &'static [&'static str] {
        match self {
            Transport::Udp => &["udp"],
            Transport::Tcp => &["framed", "tcp"],
            Transport::Artp => &["artp", "udp"],
            Transport::OrderedArtp => &["framed", "ordered", "artp", "udp"],
            Transport::Tailored => &["tailored", "udp"],
            Transport::Xtp if is_group => &["xtp group", "udp"],
            Transport::XtpIp if is_group => &["xtp group", "ip"],
            Transport::Xtp => &[Connection::NAME, "udp"],
            Transport::XtpIp => &[Connection::NAME, "ip"],
            Transport::StreamXtp => &["framed", Stream::NAME, "udp"],
            Transport::Xstp => &["framed", "xstp", "ip"],
            Transport::TransactionXtp => &[Transaction::NAME, "udp"],
            Transport::AcknowledgedXtp => &[AcknowledgedDatagram::NAME, "udp"],
            Transport::UnacknowledgedXtp => &[UnacknowledgedDatagram::NAME, "udp"],
            Transport::BulkXtp => &["framed", BulkData::NAME, "udp"],
            Transport::IsochronousXtp => &[IsochronousStream::NAME, "udp"],
            Transport::Listed(name) => unreachable!("`{name}` is described"),
        }
    }

    /// Its number among the protocols of IP, where it stands on raw sockets.
    fn protocol(self) -> u8 {
        if self == Transport::Xstp { xstp::PROTOCOL } else { ip::XTP }
    }

    /// The name of the congestion control, where there is one.
    pub(super) fn congestion(self, tuning: &Tuning) -> Option<&'static str> {
        let congestion = tuning.congestion.unwrap_or_default();
        match self {
            Transport::Udp | Transport::Xstp | Transport::Listed(_) => None,
            transport if transport.is_xtp() => None,
            Transport::Tcp => kernels(congestion),
            Transport::Tailored => match &tuning.services {
                None => Some("cubic"),
                Some(demand) => {
                    let plan = planned(demand, tailored::PACKET_LEAST);
                    let name = plan.choices().find(|choice| choice.slot == "congestion")?.name;
                    Some(name.strip_prefix("congestion ").unwrap_or(name))
                }
            },
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
    pub(super) fn check(
        self,
        place: &Place,
        tuning: &Tuning,
        placement: &Placement,
    ) -> Result<(), Problem> {
        let short = tuning.packet.is_some_and(|octets| octets < xtp::PACKET_LEAST);
        if short && self.is_xtp() {
            return Err(Problem::Measurement { url: place.url(), why: SHORT.into() });
        }
        if place.is_group() && !matches!(self, Transport::Xtp | Transport::XtpIp) {
            let why = "only xtp:// and xtp+ip:// send to a group".into();
            return Err(Problem::Measurement { url: place.url(), why });
        }
        if let Transport::Listed(name) = self
            && let Some(why) = refused(name)
        {
            return Err(Problem::Measurement { url: place.url(), why });
        }
        let has_rights = *placement != Placement::Library;
        if !has_rights && matches!(self, Transport::XtpIp | Transport::Xstp) {
            ip::is_permitted(self.protocol())
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

fn xtp_config(
    system: &System,
    transport: Transport,
    address: IpAddr,
    tuning: &Tuning,
) -> xtp::Config {
    let usual = xtp::Config::new(system.secret());
    // Without UDP a packet may be longer by its header.
    let longest = packet(address) + if transport == Transport::XtpIp { 8 } else { 0 };
    let rate = tuning.rate.or((transport == Transport::IsochronousXtp).then_some(RATE));
    xtp::Config {
        packet: tuning.packet.unwrap_or(longest),
        sends: rate.map_or(usual.sends, |rate| Terms {
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

/// The packet has room for a header of IPv4 in 1500 octets by default.
fn xstp_config(tuning: &Tuning) -> xstp::Config {
    let usual = xstp::Config::new();
    xstp::Config { packet: tuning.packet.unwrap_or(usual.packet), ..usual }
}

/// `reliable; flow_control(4096); checksum(internet)`, unless services are named.
fn tailored(system: &System, address: IpAddr, tuning: &Tuning) -> Boxed {
    let packet = tailored_packet(address, tuning);
    let usual = tailored::Config::new(system.secret());
    let send = Credit { octets: SEND.max(2 * tuning.longest), messages: 4096 };
    let config = tailored::Config { packet, send, half_open_most: 1024, ..usual };
    if let Some(demand) = &tuning.services {
        let plan = planned(demand, packet);
        let policies = Planned::<Message, PlannedSwitching>::new(plan, &demand.bounds)
            .expect("it was planned for this format");
        let host = tailored::TailoredHost::new(policies, config);
        let host = if demand.covers_body { host } else { host.checking_headers() };
        return tailored::layer_of(host, system.seed()).boxed();
    }
    let values = PolicyValues {
        path: Path { packet: packet.into(), ..Path::DEFAULT },
        bounds: Bounds { window: 4096, ..Bounds::DEFAULT },
        ..PolicyValues::RELIABLE
    };
    tailored::layer(Named::<AnyOrder<Message>>::new(values), config, system.seed()).boxed()
}

/// The plan of services that met each other when they were read, for packets of `packet` octets.
fn planned(demand: &Demand, packet: u16) -> Plan {
    let path = Path { packet: packet.into(), ..demand.path };
    Demand { path, ..*demand }.plan().expect("a longer packet contradicts no service")
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
    let xtp = xtp::Config { secret, ..xtp_config(system, place.transport, address, tuning) };
    match place.transport {
        Transport::Udp | Transport::Listed(_) => String::new(),
        Transport::Tcp => format!("{:?}", place.transport.congestion(tuning)),
        Transport::Artp | Transport::OrderedArtp => {
            let config = artp::Config { secret, epoch, ..artp_config(system, address, tuning) };
            format!("{config:?}")
        }
        Transport::Xstp => format!("{:?}", xstp_config(tuning)),
        Transport::Tailored => {
            format!("{:?} {:?}", tailored_packet(address, tuning), tuning.services)
        }
        _ => format!("{xtp:?} {}", tuning.members),
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
