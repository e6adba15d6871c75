//! `aprs`: messages of APRS, each sent until it is acknowledged.
//!
//! | file | what |
//! | --- | --- |
//! | `message.rs` | a message, in its frame |
//! | `exchange.rs` | when it is sent again; which of those that arrive are new |
//! | `air.rs` | a TNC, or a station by AGW |

mod air;
mod exchange;
mod message;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant as Clock};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use stackwright::ax25::header::DigipeaterPath;
use stackwright::contract::CallSign;

use crate::call::{other_call, own_call};
use crate::interrupts::interrupts;
use crate::printable::Printable;
use crate::problem::Problem;
use crate::quantity::duration;
use crate::report::say;
use air::Air;
use exchange::{Arrived, Due, Inbox, Outgoing};
use message::{AprsMessage, Body, objection};

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright aprs tcp://127.0.0.1:8001 --call N0AAA send N0BBB-7 'Hello, are you there?'
  stackwright aprs --agw 127.0.0.1:8000 --call N0AAA --via WIDE1-1 send N0BBB-7 'Hello'
  stackwright aprs tcp://127.0.0.1:8001 --call N0BBB-7 --json listen")]
pub(crate) struct Aprs {
    /// The line to the TNC, as of `monitor`.
    #[arg(required_unless_present = "agw")]
    pub(crate) line: Option<String>,
    /// Use a running station (`[serve] agw`), or another program that serves AGW, in place of a
    /// TNC.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "line")]
    pub(crate) agw: Option<String>,
    /// Your call sign, with AGW one of the station; nothing is transmitted without one.
    #[arg(long, value_name = "MYCALL", global = true)]
    pub(crate) call: Option<String>,
    /// The digipeaters that repeat what is sent, in order, such as WIDE1-1.
    #[arg(long, value_name = "CALL,CALL", value_delimiter = ',', global = true)]
    pub(crate) via: Vec<String>,
    /// The port of a TNC or a station with several radios, on which a message is sent.
    #[arg(long, value_name = "PORT", default_value_t = 0, global = true)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..16))]
    pub(crate) port: u8,
    /// Print JSON lines.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Subcommand)]
pub(crate) enum Action {
    /// Send a message, again and again until it is acknowledged.
    Send {
        /// To whom.
        #[arg(value_name = "CALL")]
        to: String,
        /// At most 67 octets, without |, ~ and {.
        text: String,
        /// How often it is sent at most.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=20))]
        tries: u32,
        /// The pause before it is sent again, which doubles each time, up to two minutes.
        #[arg(long, value_name = "TIME", default_value = "8 s", value_parser = duration)]
        pause: Duration,
    },
    /// Print the messages to your call sign, and acknowledge them, until Ctrl-C.
    Listen {
        /// Listen this long, such as '10 min'.
        #[arg(long, value_name = "TIME", value_parser = duration)]
        time: Option<Duration>,
    },
}

/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(250);

/// A station of APRS.
struct Station {
    air: Air,
    own: CallSign,
    path: DigipeaterPath,
    port: u8,
    json: bool,
}

pub(crate) fn run(aprs: &Aprs) -> Result<(), Problem> {
    let own = aprs.call.as_deref().ok_or(Problem::NoCall)?;
    let bad = |call: &str, why| Problem::Call { call: call.into(), why };
    let own = own_call(own).map_err(|why| bad(own, why))?;
    let relays = aprs.via.iter().map(|call| other_call(call).map_err(|why| bad(call, why)));
    let path = DigipeaterPath::through(&relays.collect::<Result<Vec<_>, _>>()?);
    let why = "a frame passes at most eight digipeaters";
    let path = path.ok_or(Problem::Unfit { what: "--via".into(), why })?;
    let station = || -> Result<Station, Problem> {
        let air = match (&aprs.agw, &aprs.line) {
            (Some(agw), _) => Air::agw(agw, own)?,
            (None, line) => Air::tnc(line.as_deref().unwrap_or_default(), own, aprs.port)?,
        };
        Ok(Station { air, own, path, port: aprs.port, json: aprs.json })
    };
    match &aprs.action {
        Action::Send { to, text, tries, pause } => {
            let to = other_call(to).map_err(|why| bad(to, why))?;
            if let Some(why) = objection(text) {
                return Err(Problem::Unfit { what: "the text".into(), why });
            }
            let (mut station, id) = (station()?, fastrand::u32(1..100_000));
            station.send(Outgoing::new(to, id, text.clone(), *tries, *pause, Clock::now()))
        }
        Action::Listen { time } => station()?.listen(*time),
    }
}

impl Station {
    /// Returns the next message to this station, if one comes in that time: its port, who sent it,
    /// the digipeaters that it passed, and what it says.
    fn next(
        &mut self,
        most: Duration,
    ) -> Result<Option<(u8, CallSign, DigipeaterPath, Body)>, Problem> {
        let Some((port, frame)) = self.air.next(most.min(LOOK))? else { return Ok(None) };
        let message = AprsMessage::of_frame(&frame).filter(|(.., message)| message.to == self.own);
        Ok(message.map(|(from, path, message)| (port, from, path, message.body)))
    }

    fn transmit(&mut self, port: u8, message: &AprsMessage) -> Result<(), Problem> {
        self.air.send(port, &message.frame(self.own, self.path))
    }

    fn send(&mut self, mut outgoing: Outgoing) -> Result<(), Problem> {
        let (interrupted, to) = (interrupts()?, outgoing.to);
        while !interrupted.load(Relaxed) {
            let now = Clock::now();
            let until = match outgoing.due(now) {
                Due::Send(message) => {
                    self.transmit(self.port, &message)?;
                    eprintln!(
                        "sent to {to}, {} of at most {}",
                        outgoing.tries, outgoing.tries_most
                    );
                    continue;
                }
                Due::Wait(until) => until,
                Due::GivenUp => {
                    return Err(Problem::Unacknowledged { peer: to, tries: outgoing.tries });
                }
            };
            let Some((_, from, _, body)) = self.next(until.duration_since(now))? else { continue };
            match outgoing.settled(from, &body) {
                Some(true) if self.json => {
                    say!("{}", json!({ "to": to.to_string(), "tries": outgoing.tries }));
                }
                Some(true) => say!("{to} has acknowledged it"),
                Some(false) => return Err(Problem::Rejected { peer: to }),
                None => continue,
            }
            return Ok(());
        }
        Err(Problem::Interrupted)
    }

    fn listen(&mut self, time: Option<Duration>) -> Result<(), Problem> {
        let (interrupted, begun, mut inbox) = (interrupts()?, Clock::now(), Inbox::default());
        eprintln!("listening as {}", self.own);
        while !interrupted.load(Relaxed) && time.is_none_or(|time| begun.elapsed() < time) {
            let Some((port, from, path, body)) = self.next(LOOK)? else { continue };
            let Body::Text { text, id } = body else { continue };
            let arrived = inbox.arrives(from, &text, id.as_deref(), Clock::now());
            let Arrived { is_new, acknowledgement } = arrived;
            if let Some(acknowledgement) = acknowledgement {
                self.transmit(port, &acknowledgement)?;
            }
            if is_new && self.json {
                let via = path.iter().filter(|(_, repeated)| *repeated);
                let via: Vec<_> = via.map(|(call, _)| call.to_string()).collect();
                let (from, at) = (from.to_string(), Timestamp::now().to_string());
                say!(
                    "{}",
                    json!({ "at": at, "from": from, "port": port, "via": via, "id": id,
                            "text": text })
                );
            } else if is_new {
                say!("{from}: {}", Printable(text));
            }
        }
        Ok(())
    }
}
