//! `connect`: a terminal on an AX.25 link, through the TNC of a radio.
//!
//! | file | what |
//! | --- | --- |
//! | `terminal.rs` | the person, or the pipe, at this end |
//! | `tnc.rs` | what is known of the TNC |

mod terminal;
mod tnc;

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use stackwright::ax25::header::DigipeaterPath;
use stackwright::ax25::{AirRules, AirRulesConfig, Ax25, LinkVersion, Route};
use stackwright::compose::{Over, stack};
use stackwright::contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright::contract::{
    Address, CallSign, Either, Handle, IndicationOf, Outlet, Protocol as _, RequestOf,
};
use stackwright::wire::Message as _;
use stackwright::{ax25, kiss};
use stackwright_drivers::Driver;

use crate::call::{other_call, own_call};
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::quantity::air_rate;
use crate::stacks::{self, Message};
use crate::tnc::{TncAddress, TncFrames};
use terminal::Terminal;
use tnc::Tnc;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright connect N0BBB-1 tcp://127.0.0.1:8001 --call N0AAA
  stackwright connect N0BBB-1 serial:///dev/ttyUSB0 --call N0AAA --via RELAY-1
  stackwright connect N0BBB-1 tcp://127.0.0.1:8001 --call N0AAA --answer > received.txt")]
pub(crate) struct Connect {
    /// The call sign of the station to call, such as N0BBB-1.
    #[arg(value_name = "CALL")]
    pub(crate) peer: String,
    /// The line to the TNC, which speaks KISS: tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or
    /// pty:PATH for a terminal that is made there. Without a TNC, frames go over UDP to another
    /// station: axudp://host:10093, received at ?local=10093.
    pub(crate) line: String,
    /// Your call sign; nothing is transmitted without one.
    #[arg(long, value_name = "MYCALL")]
    pub(crate) call: Option<String>,
    /// Wait for the call of CALL instead of calling. Other stations are refused.
    #[arg(long, conflicts_with = "via")]
    pub(crate) answer: bool,
    /// The digipeaters on the way, in order.
    #[arg(long, value_name = "CALL,CALL", value_delimiter = ',')]
    pub(crate) via: Vec<String>,
    /// The rate on the air in bit/s, such as 1200 or '9.6 kb/s'; timers depend on it.
    #[arg(long, value_name = "RATE", default_value_t = 1200, value_parser = air_rate)]
    pub(crate) rate: u32,
    /// The port of a TNC with several radios.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..16))]
    pub(crate) port: u8,
    /// The version of AX.25 [default: try 2.2, fall back to 2.0].
    #[arg(long, value_enum)]
    pub(crate) version: Option<Ax25Version>,
    /// Show events, and packets that a layer drops.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// A version of AX.25.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Ax25Version {
    /// For stations that do not answer newer frames.
    #[value(name = "2.0")]
    V20,
    /// Without falling back.
    #[value(name = "2.2")]
    V22,
}

impl From<Ax25Version> for stackwright::ax25::LinkVersion {
    fn from(version: Ax25Version) -> Self {
        match version {
            Ax25Version::V20 => stackwright::ax25::LinkVersion::V20,
            Ax25Version::V22 => stackwright::ax25::LinkVersion::V22,
        }
    }
}

stack! {
    /// Links of a station, through a TNC.
    pub(crate) LinkStack =
        Ax25<Message> over AirRules<Message> over TncFrames
}

/// What waits for calls.
const LISTENER: Handle = Handle { index: 0, generation: 0 };
/// The first link, and the only one where this station calls.
const LINK: Handle = Handle { index: 1, generation: 0 };
/// How many octets may wait to be shown.
const ROOM: Credit = Credit::of_octets(8192);
/// How long the TNC may be away at the start.
const TNC_WITHIN: Duration = Duration::from_secs(10);
/// How long the last frames may take to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(250);

/// The two ends of a link, and what is between.
struct Ends {
    own: CallSign,
    peer: CallSign,
    path: DigipeaterPath,
}

impl Ends {
    fn of(connect: &Connect) -> Result<Self, Problem> {
        let own = connect.call.as_deref().ok_or(Problem::NoCall)?;
        let bad = |call: &str, why| Problem::Call { call: call.into(), why };
        let peer = other_call(&connect.peer).map_err(|why| bad(&connect.peer, why))?;
        let own = own_call(own).map_err(|why| bad(own, why))?;
        if own == peer {
            return Err(bad(&connect.peer, "it is this station's own; name the other one"));
        }
        let relays = connect.via.iter().map(|call| other_call(call).map_err(|why| bad(call, why)));
        let relays = relays.collect::<Result<Vec<_>, _>>()?;
        if relays.contains(&own) {
            return Err(bad(
                &own.to_string(),
                "it is this station's own, and repeats nothing of its own",
            ));
        }
        let path = DigipeaterPath::through(&relays);
        let path = path.ok_or(Problem::Unfit {
            what: "--via".into(),
            why: "a frame passes at most eight digipeaters",
        })?;
        Ok(Ends { own, peer, path })
    }
}

pub(crate) fn run(connect: &Connect) -> Result<(), Problem> {
    let unfit = |why| Problem::Line { line: connect.line.clone(), why };
    let address = TncAddress::parse(&connect.line).map_err(unfit)?;
    let ends = Ends::of(connect)?;
    let pool = stacks::pool();
    let mut driver = Driver::new(fastrand::u64(..))?;
    let (tnc, listener) = Tnc::new(connect.line.clone(), connect.verbose);
    driver.context().listen(Box::new(listener));
    let rate = NonZeroU32::new(connect.rate).unwrap_or(NonZeroU32::MIN);
    let kiss = kiss::Config { rate, ports: connect.port + 1, ..kiss::Config::default() };
    let config = ax25::Config {
        version: connect.version.map_or(LinkVersion::Auto, Into::into),
        rate: rate.get(),
        routes: vec![Route { port: connect.port, path: ends.path }],
        ..ax25::Config::new(ends.own)
    };
    let links = Ax25::sharing(config, pool.clone());
    let tnc_frames = address.open(kiss, &driver, 0, pool)?;
    let rules = AirRulesConfig { rate: rate.get(), ..AirRulesConfig::of(ends.own) };
    let mut stack: LinkStack = Over::new(links, Over::new(AirRules::new(rules), tnc_frames));
    let mut link = Link::default();
    let interrupted = interrupts()?;
    let begun = Instant::now();
    while !tnc.is_up() {
        if interrupted.load(Relaxed) {
            return Err(Problem::Interrupted);
        }
        if begun.elapsed() > TNC_WITHIN {
            return Err(Problem::NoTnc { line: connect.line.clone(), why: tnc.why() });
        }
        driver.turn(&mut stack, &mut link, Some(LOOK))?;
    }
    let Ends { own, peer, .. } = ends;
    let mut terminal = Terminal::start(driver.waker()?);
    let station = |call, route| Address::Station { call, pid: ax25::header::pid::NONE, route };
    let mut name = LINK;
    if connect.answer {
        eprintln!("waiting as {own} until {peer} calls");
        let listen = StreamsRequest::Listen { listener: LISTENER, local: station(own, 0).into() };
        driver.request(&mut stack, Either::Left(listen), &mut link);
        driver.request(&mut stack, Either::Left(awaiting(name)), &mut link);
    } else {
        eprintln!("calling {peer} as {own}");
        let remote = station(peer, 1).into();
        let (association, local, credit) = (name, None, ROOM);
        let open = StreamsRequest::Open { association, remote, local, credit };
        driver.request(&mut stack, Either::Left(open), &mut link);
    }
    let mut closing = false;
    loop {
        if let Some(caller) = link.caller.filter(|caller| *caller != peer && !closing) {
            if link.ended.is_none() && std::mem::take(&mut link.tells_open) {
                eprintln!("{caller} called, and is turned away");
                let request = StreamsRequest::Close { name };
                driver.request(&mut stack, Either::Left(request), &mut link);
            } else if link.ended.is_some() {
                link = Link::default();
                name.generation += 1;
                driver.request(&mut stack, Either::Left(awaiting(name)), &mut link);
            }
            link.came.clear();
            driver.turn(&mut stack, &mut link, Some(LOOK))?;
            continue;
        }
        let shown = link.came.len();
        if shown > 0 {
            terminal.show(&link.came)?;
            link.came.clear();
            let credit = Credit::of_octets(shown);
            let request = StreamsRequest::Credit { association: name, credit };
            driver.request(&mut stack, Either::Left(request), &mut link);
        }
        if let Some(why) = link.ended {
            // The peer is owed the answer to its DISC, or this side's own.
            let ended = Instant::now();
            while !stack.may_exit() && tnc.is_up() && ended.elapsed() < LEAVE_WITHIN {
                driver.turn(&mut stack, &mut link, Some(Duration::from_millis(50)))?;
            }
            // A person sees that the link is closed. What a pipe still holds would be lost.
            if why == Ended::Finished && !closing && terminal.holds_input() {
                return Err(Problem::Unsent { peer });
            }
            return end(peer, &link, why);
        }
        if std::mem::take(&mut link.tells_open) {
            eprintln!("connected to {peer}; {} ends the link", terminal.end_key());
        }
        if !closing && interrupted.load(Relaxed) {
            closing = true;
            eprintln!("closing the link; once more to leave at once");
            let request = StreamsRequest::Close { name };
            driver.request(&mut stack, Either::Left(request), &mut link);
        }
        if link.opened && !closing {
            while let Some(octets) = terminal.take(link.credit) {
                link.credit -= octets.len();
                let (batch, properties) =
                    (Message::with_headroom(0, &octets).into(), Default::default());
                let request = StreamsRequest::Send { association: name, batch, properties };
                driver.request(&mut stack, Either::Left(request), &mut link);
            }
            // One that answers without any input, as in a script, only receives: the peer ends it.
            if terminal.is_over() && !(connect.answer && terminal.is_without_input()) {
                closing = true;
                let request = StreamsRequest::Finish { association: name };
                driver.request(&mut stack, Either::Left(request), &mut link);
            }
        }
        driver.turn(&mut stack, &mut link, Some(LOOK))?;
    }
}

fn awaiting(association: Handle) -> StreamsRequest<Message> {
    StreamsRequest::Await { listener: LISTENER, association, credit: ROOM }
}

/// What the end of the link means to the person.
fn end(peer: CallSign, link: &Link, why: Ended) -> Result<(), Problem> {
    match why {
        Ended::Finished if link.opened => {
            eprintln!("the link to {peer} is closed");
            Ok(())
        }
        Ended::Finished | Ended::Aborted => Err(Problem::Interrupted),
        why => Err(Problem::Link { peer, opened: link.opened, why }),
    }
}

/// What was told of the link, and was not handled yet.
#[derive(Default)]
struct Link {
    opened: bool,
    /// The station at its other end.
    caller: Option<CallSign>,
    /// It has opened just now.
    tells_open: bool,
    came: Vec<u8>,
    credit: usize,
    ended: Option<Ended>,
}

impl Outlet<LinkStack> for Link {
    fn indicate(&mut self, indication: IndicationOf<LinkStack>) {
        // Nobody asked for datagrams.
        let Either::Left(told) = indication else { return };
        match told {
            StreamsIndication::Opened { credit, remote, .. } => {
                (self.opened, self.tells_open) = (true, true);
                if let Address::Station { call, .. } = remote.address {
                    self.caller = Some(call);
                }
                self.credit = credit.octets;
            }
            StreamsIndication::Delivered { batch, .. } => {
                batch.as_octets().each(|octets| self.came.extend_from_slice(octets));
            }
            StreamsIndication::Credit { credit, .. } => self.credit += credit.octets,
            StreamsIndication::Ended { why, .. } => self.ended = Some(why),
            // A link has one end, which its last word tells.
            StreamsIndication::Finished { .. }
            | StreamsIndication::Listening { .. }
            | StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
        }
    }

    fn request(&mut self, request: RequestOf<LinkStack>) {
        match request {}
    }
}
