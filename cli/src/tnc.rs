//! A TNC by the address of its line: KISS over a line, or AXUDP in its place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use stackwright::axudp::{self, Axudp, AxudpPeer};
use stackwright::compose::Over;
use stackwright::contract::ask::{Ask, Question};
use stackwright::contract::services::Frames;
use stackwright::contract::{
    CallSign, Context, Facts, IndicationOf, IndicationTo, Instant, Outlet, Protocol, RequestOf,
    RequestTo, rules,
};
use stackwright::kiss::{self, Kiss};
use stackwright::wire::Pool;
use stackwright_drivers::line::Line;
use stackwright_drivers::udp::Udp;
use stackwright_drivers::{Driver, Readiness};

use crate::address::{host_and_port, resolve};
use crate::line::LineAddress;
use crate::problem::Problem;
use crate::stacks::Message;

/// KISS over a line.
type KissTnc = Over<Kiss<Message>, Line<Message>>;
/// AXUDP over a socket.
type AxudpTnc = Over<Axudp<Message>, Udp<Message>>;

/// Where a TNC is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TncAddress {
    /// At a line.
    Line(LineAddress),
    /// Other stations take its place, over UDP: `axudp://HOST:PORT?local=PORT`, and those of which
    /// it is known where they are.
    Axudp { host: String, port: u16, local: u16, table: Vec<(CallSign, String, u16)> },
}

impl TncAddress {
    /// Takes an address apart.
    ///
    /// # Errors
    /// Says what is wrong with it, and what to write in its place.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        match text.split_once(':') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("axudp") => axudp(rest),
            _ => LineAddress::parse(text).map(TncAddress::Line),
        }
    }

    /// Opens it in a lane of `driver`. What is at its other end need not be there yet.
    pub(crate) fn open(
        self,
        config: kiss::Config,
        driver: &Driver,
        lane: usize,
        pool: Arc<Pool<Message>>,
    ) -> Result<TncFrames, Problem> {
        Ok(match self {
            TncAddress::Line(line) => {
                let line = line.open(driver, lane, pool.clone())?;
                TncFrames::Kiss(Box::new(Over::new(Kiss::sharing(config, pool), line)))
            }
            TncAddress::Axudp { host, port, local, table } => {
                // A host with several addresses is one peer; all leave from one port.
                let first = |host: &str, port, is_fit: &dyn Fn(&SocketAddr) -> bool| {
                    let found = resolve(host, port)?.into_iter().find(is_fit);
                    let why = std::io::ErrorKind::AddrNotAvailable.into();
                    found.ok_or_else(|| Problem::Host { host: host.into(), why })
                };
                let default = first(&host, port, &|_| true)?;
                let is_v6 = default.is_ipv6();
                let mut peers = vec![default.into()];
                for (call, host, port) in table {
                    let remote = first(&host, port, &|address| address.is_ipv6() == is_v6)?;
                    peers.push(AxudpPeer { call: Some(call), ..remote.into() });
                }
                let any: IpAddr =
                    if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
                let udp = Udp::new(driver.registry(), lane, pool);
                let udp = if peers.len() > 1 { udp.sharing_port() } else { udp };
                let config =
                    axudp::Config { local: Some(SocketAddr::new(any, local).into()), peers };
                TncFrames::Axudp(Box::new(Over::new(Axudp::new(config), udp)))
            }
        })
    }
}

fn axudp(rest: &str) -> Result<TncAddress, &'static str> {
    const FORM: &str = "write // before the host, as in axudp://host:10093";
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let place = place.strip_prefix("//").ok_or(FORM)?;
    let place = place.strip_suffix('/').unwrap_or(place);
    if place.contains(['/', '#', '@']) || place.contains(char::is_control) {
        return Err("only a host and a port may stand in it, as in axudp://host:10093");
    }
    let (host, port) = host_and_port(place)?;
    let mut local = axudp::PORT;
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let number = setting.strip_prefix("local=").ok_or("after the ? only local may be set")?;
        let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
        local = number
            .parse()
            .ok()
            .filter(|port| is_number && *port > 0)
            .ok_or("local is this station's own port of UDP, as in ?local=10093")?;
    }
    match port.unwrap_or(axudp::PORT) {
        0 => Err("port 0 is no port of a station"),
        port => Ok(TncAddress::Axudp { host, port, local, table: Vec::new() }),
    }
}

/// The frames of a TNC.
pub(crate) enum TncFrames {
    /// KISS over a line.
    Kiss(Box<KissTnc>),
    /// AXUDP.
    Axudp(Box<AxudpTnc>),
}

impl TncFrames {
    /// Returns whether `protocol` is the one that says whether the TNC is there: by the events
    /// `up`, and `down:` with the reason.
    pub(crate) fn tells_state(protocol: &str) -> bool {
        protocol == <Line<Message> as Protocol>::FACTS.name
            || protocol == <Axudp<Message> as Protocol>::FACTS.name
    }

    /// Takes the TNC out of KISS, where its configuration says so.
    pub(crate) fn leave(&mut self) {
        if let TncFrames::Kiss(tnc) = self {
            tnc.upper.leave();
        }
    }
}

/// Says what a protocol that [tells](TncFrames::tells_state) of the TNC at `line` means, and what
/// to do where it is not there.
pub(crate) fn state_of_tnc(line: &str, event: &str) -> String {
    let Some(why) = event.strip_prefix("down: ") else {
        return format!("the TNC at {line} is there");
    };
    let (why, advice) = if why.contains("Connection refused") {
        ("nobody listens there", "start the modem, or correct its address (Direwolf: KISSPORT)")
    } else if why.contains("No such file") {
        ("there is no such device", "plug it in, or correct its path")
    } else if why.contains("Permission denied") {
        ("this user may not open it", "add the user to the group of the device, often dialout")
    } else {
        (why, "it is tried again")
    };
    format!("no TNC at {line}: {why}; {advice}")
}

/// Lends the outlet of the whole to the one that there is, which is compiled once, whoever stands
/// on it.
struct Lent<'a>(&'a mut dyn Outlet<TncFrames>);

impl<P> Outlet<P> for Lent<'_>
where
    P: Protocol<Provides = Frames<Message>, Uses = Readiness>,
{
    fn indicate(&mut self, indication: IndicationOf<P>) {
        self.0.indicate(indication);
    }

    fn request(&mut self, never: RequestOf<P>) {
        self.0.request(never);
    }
}

/// Calls the one that there is.
macro_rules! either {
    ($this:expr, $tnc:ident => $call:expr) => {
        match $this {
            TncFrames::Kiss($tnc) => $call,
            TncFrames::Axudp($tnc) => $call,
        }
    };
}

impl Protocol for TncFrames {
    const FACTS: Facts = rules::joined(&KissTnc::FACTS, &AxudpTnc::FACTS);
    type Provides = Frames<Message>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        either!(self, tnc => tnc.handle_request(cx, request, &mut Lent(out)));
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        ready: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        either!(self, tnc => tnc.handle_indication(cx, ready, &mut Lent(out)));
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        either!(self, tnc => tnc.handle_timeout(cx, &mut Lent(out)));
    }

    fn next_deadline(&self) -> Option<Instant> {
        either!(self, tnc => tnc.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        either!(self, tnc => tnc.flush(cx, &mut Lent(out)));
    }

    fn wants_flush(&self) -> bool {
        either!(self, tnc => tnc.wants_flush())
    }

    fn may_exit(&self) -> bool {
        either!(self, tnc => tnc.may_exit())
    }

    fn ask(&self, port: u8, question: &mut Question<'_>, below: &dyn Ask<Readiness>) {
        either!(self, tnc => tnc.ask(port, question, below));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tnc_is_at_a_line_or_over_udp() {
        let axudp = |host: &str, port, local| {
            let (host, table) = (host.into(), Vec::new());
            TncAddress::Axudp { host, port, local, table }
        };
        for (text, address) in [
            ("axudp://192.0.2.7:10094", axudp("192.0.2.7", 10094, 10093)),
            ("axudp://Relay.example", axudp("relay.example", 10093, 10093)),
            (" AXUDP://[2001:db8::1]:93/?local=94 ", axudp("[2001:db8::1]", 93, 94)),
        ] {
            assert_eq!(TncAddress::parse(text), Ok(address), "{text}");
        }
        let line = LineAddress::Pty { link: "./tnc".into() };
        assert_eq!(TncAddress::parse("pty:./tnc"), Ok(TncAddress::Line(line)));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (text, says) in [
            ("axudp:host", "axudp://host:10093"),
            ("axudp://", "no host"),
            ("axudp://host:0", "port 0"),
            ("axudp://host:70000", "65535"),
            ("axudp://me@host", "only a host and a port"),
            ("axudp://host/path", "only a host and a port"),
            ("axudp://ho\nst", "only a host and a port"),
            ("axudp://host?port=1", "only local"),
            ("axudp://host?local=0", "?local=10093"),
            ("axudp://host?local=+5", "?local=10093"),
            ("udp://host:8001", "tcp, serial, pty or axudp"),
        ] {
            let why = TncAddress::parse(text).expect_err(text);
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
