//! `ping`: whether a host answers, asked by IP of our own: on a device, or by radio.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::{Args, value_parser};
use serde_json::json;
use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
};
use stackwright::contract::{
    Address, Handle, Instant, Outlet, Participant, Protocol, RequestOf, Trouble,
};
use stackwright::wire::Header as _;
use stackwright::wire::Message as _;
use stackwright::wire::check::Internet;
use stackwright::wire::internet::{Icmp, pseudo_header};

use crate::address;
use crate::air::{self, AirLink};
use crate::described::Described;
use crate::graphs;
use crate::inet::Inet;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::quantity::patience;
use crate::report::{say, short};
use crate::stacks::Message;

/// What an answer may be late, where nothing else is asked for.
const PATIENCE: Duration = Duration::from_secs(2);
/// By radio, a route may be searched for, and others use the channel.
const PATIENCE_BY_RADIO: Duration = Duration::from_secs(60);

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright ping 10.77.0.1 --inet sw0=10.77.0.2/24
  stackwright ping fd00::1 --inet sw0=fd00::2/64 --size 1000
  stackwright ping 'ax25://N0BBB@127.0.0.1:8001?dsr=true' --call N0AAA")]
pub(crate) struct Ping {
    /// The host to ask; by radio, a station at its TNC: ax25://CALL@host:8001, with ?dsr=true
    /// through others that relay.
    pub(crate) host: String,
    /// A device of this machine, and an own address there that the system does not have, such as
    /// sw0=10.77.0.2/24.
    #[arg(long, value_name = "DEVICE=ADDR/LENGTH", required_unless_present = "call")]
    pub(crate) inet: Option<Inet>,
    /// Your call sign, to ask a station by radio; nothing is transmitted without one.
    #[arg(long, value_name = "MYCALL", conflicts_with = "inet")]
    pub(crate) call: Option<String>,
    /// How many times to ask.
    #[arg(
        long,
        short,
        value_name = "N",
        default_value_t = 4,
        value_parser = value_parser!(u16).range(1..)
    )]
    pub(crate) count: u16,
    /// How many octets to ask for an echo of.
    #[arg(
        long,
        short,
        value_name = "OCTETS",
        default_value_t = 56,
        value_parser = value_parser!(u16).range(..=65_507)
    )]
    pub(crate) size: u16,
    /// How long to wait between two questions.
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = patience)]
    pub(crate) interval: Duration,
    /// Print JSON lines, one per answer.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Echo requests and replies, by the version of IP (RFC 792, RFC 4443 §4.1, §4.2).
const ECHO: [(u8, u8); 2] = [(8, 0), (128, 129)];

pub(crate) fn run(ping: &Ping) -> Result<(), Problem> {
    let (host, described) = find(ping)?;
    let (mut driver, mut stack) = graphs::alone::<Datagrams<Message>>(&described, false)?;
    let interrupted = interrupts()?;
    let mut asked = Asked::new(ping, host);
    let open = DatagramsRequest::Open {
        association: NAME,
        remote: Participant::from(Address::InternetProtocol { host, protocol: asked.protocol() }),
        local: None,
        credit: Credit { octets: 1 << 20, messages: 64 },
    };
    driver.request(&mut stack, open, &mut asked);
    let mut next = driver.now();
    while !asked.is_done(driver.now()) && !interrupted.load(Relaxed) {
        let now = driver.now();
        if asked.ends.is_some() && asked.sent < ping.count && now >= next {
            let request = asked.question(now);
            driver.request(&mut stack, request, &mut asked);
            next = now + ping.interval;
        }
        let credit = std::mem::take(&mut asked.used);
        if credit != Credit::NONE {
            let request = DatagramsRequest::Credit { association: NAME, credit };
            driver.request(&mut stack, request, &mut asked);
        }
        let wait = next.since(driver.now()).clamp(Duration::from_millis(1), PATIENCE / 20);
        driver.turn(&mut stack, &mut asked, Some(wait))?;
        let now = driver.now();
        std::mem::take(&mut asked.came).into_iter().for_each(|message| asked.answer(now, message));
    }
    asked.conclude()
}

/// Finds the host, and the stack by which it is reached.
fn find(ping: &Ping) -> Result<(IpAddr, Described), Problem> {
    let Some(inet) = &ping.inet else {
        let wrong = |why| Problem::Url { url: ping.host.clone(), why };
        let (text, settings) = air::split(&ping.host);
        let address = address::Address::parse(text).map_err(wrong)?;
        if address.scheme != "ax25" {
            return Err(wrong("by radio it begins with ax25://"));
        }
        let link = AirLink::read(&address, settings).map_err(wrong)?;
        let described = Described::ip_on_air(&link, ping.call.as_deref())?;
        return Ok((link.peer_address().into(), described));
    };
    let described = Described::on_device("ping", inet)?;
    if let Ok(host) = ping.host.parse() {
        return Ok((host, described));
    }
    let none = |why| Problem::Host { host: ping.host.clone(), why };
    let all = (ping.host.as_str(), 0).to_socket_addrs().map_err(none)?;
    let mut fitting =
        all.map(|at| at.ip()).filter(|ip| ip.is_ipv4() == inet.network.address.is_ipv4());
    let missing = || std::io::Error::other("it has no address of the own address' kind");
    let host = fitting.next().ok_or_else(|| none(missing()))?;
    Ok((host, described))
}

/// The only association.
const NAME: Handle = Handle { index: 0, generation: 0 };

/// What was asked, and what came back.
struct Asked<'a> {
    ping: &'a Ping,
    host: IpAddr,
    /// Tells our questions from those of others.
    identifier: u16,
    /// The own address, once the way is open.
    ends: Option<IpAddr>,
    sent: u16,
    /// When each question left; `None` once it is answered: an answer may come twice.
    left: Vec<Option<Instant>>,
    /// When the last one did.
    last: Instant,
    times: Vec<Duration>,
    used: Credit,
    /// What came, and was not looked at yet.
    came: Vec<Message>,
    failed: Option<Ended>,
}

impl<'a> Asked<'a> {
    fn new(ping: &'a Ping, host: IpAddr) -> Self {
        Asked {
            ping,
            host,
            identifier: fastrand::u16(..),
            ends: None,
            sent: 0,
            left: Vec::new(),
            last: Instant::START,
            times: Vec::new(),
            used: Credit::NONE,
            came: Vec::new(),
            failed: None,
        }
    }

    fn protocol(&self) -> u8 {
        if self.host.is_ipv4() { 1 } else { 58 }
    }

    fn echo(&self) -> (u8, u8) {
        ECHO[usize::from(self.host.is_ipv6())]
    }

    fn is_done(&self, now: Instant) -> bool {
        let all = self.times.len() == usize::from(self.ping.count);
        let patience = if self.ping.inet.is_some() { PATIENCE } else { PATIENCE_BY_RADIO };
        let late = self.sent == self.ping.count && now.since(self.last) > patience;
        self.failed.is_some() || all || late
    }

    /// The next question.
    fn question(&mut self, now: Instant) -> DatagramsRequest<Message> {
        self.sent += 1;
        self.left.push(Some(now));
        self.last = now;
        let rest = u32::from(self.identifier) << 16 | u32::from(self.sent);
        let header = Icmp { icmp_type: self.echo().0, code: 0, checksum: 0, rest };
        let mut octets = vec![0; Icmp::LENGTH];
        header.encode(&mut octets);
        octets.extend((0..self.ping.size).map(|place| place as u8));
        let mut check = Internet::new();
        if let Some(own @ IpAddr::V6(_)) = self.ends {
            let sum = pseudo_header(own, self.host, self.protocol(), octets.len() as u32);
            check.add(&sum.to_be_bytes());
        }
        check.add(&octets);
        octets[2..4].copy_from_slice(&check.value().to_be_bytes());
        let batch = Message::with_headroom(HEADROOM, &octets).into();
        DatagramsRequest::Send { association: NAME, batch, properties: Default::default() }
    }

    fn answer(&mut self, now: Instant, mut message: Message) {
        let Ok(header) = message.pull::<Icmp>() else { return };
        let (identifier, number) = ((header.rest >> 16) as u16, header.rest as u16);
        if (header.icmp_type, identifier) != (self.echo().1, self.identifier) {
            return;
        }
        let place = usize::from(number).wrapping_sub(1);
        let Some(left) = self.left.get_mut(place).and_then(Option::take) else { return };
        let took = now.since(left);
        self.times.push(took);
        let octets = message.len();
        if self.ping.json {
            let took = took.as_secs_f64();
            say!(
                "{}",
                json!({
                    "event": "answer", "host": self.host.to_string(), "number": number,
                    "octets": octets, "seconds": took,
                })
            );
        } else {
            say!("{octets} octets from {}: number {number}, {}", self.host, short(took));
        }
    }

    fn trouble(&self, by: Participant, what: Trouble) {
        let by = match by.address {
            Address::InternetProtocol { host, .. } => host.to_string(),
            _ => "this side".into(),
        };
        if self.ping.json {
            say!("{}", json!({ "event": "trouble", "by": by, "what": what.to_string() }));
        } else {
            say!("{by} says: {what}");
        }
    }

    /// Says what all answers have in common.
    fn conclude(mut self) -> Result<(), Problem> {
        if let Some(why) = self.failed {
            return Err(Problem::Nobody { url: self.ping.host.clone(), why: why.to_string() });
        }
        self.times.sort();
        let (sent, received) = (self.sent, self.times.len());
        let spread = [0, received / 2, received.saturating_sub(1)];
        let [least, median, most] = spread.map(|place| self.times.get(place).copied());
        if self.ping.json {
            let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
            say!(
                "{}",
                json!({
                    "event": "done", "sent": sent, "received": received, "least": seconds(least),
                    "median": seconds(median), "most": seconds(most),
                })
            );
        } else if let (Some(least), Some(median), Some(most)) = (least, median, most) {
            say!(
                "{received} of {sent} answered; round trip {} at least, {} median, {} at most",
                short(least),
                short(median),
                short(most)
            );
        }
        if received == 0 {
            let why = format!("none of {sent} questions was answered");
            return Err(Problem::Nobody { url: self.ping.host.clone(), why });
        }
        Ok(())
    }
}

/// Room for the headers of IP and of a link.
const HEADROOM: usize = 64;

impl<S: Protocol<Provides = Datagrams<Message>>> Outlet<S> for Asked<'_> {
    fn indicate(&mut self, indication: DatagramsIndication<Message>) {
        match indication {
            DatagramsIndication::Opened { local, .. } => {
                if let Address::InternetProtocol { host, .. } = local.address {
                    self.ends = Some(host);
                }
            }
            DatagramsIndication::Delivered { batch, .. } => {
                self.used += batch.cost();
                self.came.extend(batch);
            }
            DatagramsIndication::Reported { by, what, .. } => self.trouble(by, what),
            DatagramsIndication::Ended { why, .. } => self.failed = Some(why),
            _ => {}
        }
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}
