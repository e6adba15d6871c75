//! `socks`: a SOCKS 5 proxy whose connections onward are made by TCP and IP of our own.
//!
//! | file | what |
//! | --- | --- |
//! | here | the command, and its stack |
//! | `relay.rs` | clients, from their first octet to their last |
//! | `pair.rs` | the streams of a client and its server |

mod pair;
mod relay;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::{Args, value_parser};
use stackwright::contract::services::Streams;
use stackwright::contract::{Both, IndicationOf, Outlet, Protocol, RequestOf};

use crate::described::Described;
use crate::graphs;
use crate::inet::Inet;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::stacks::Message;
use relay::Relay;

/// How long the driver sleeps at most: silent clients are looked for as often.
const TURN: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright socks --inet sw0=10.77.0.2/24
  curl --socks5-hostname 127.0.0.1:1080 http://10.77.0.1/")]
pub(crate) struct Socks {
    /// Connect from an address that the system does not have: on this device (TUN, TAP, veth or a
    /// network card), such as sw0=10.77.0.2/24. Or a stack file with two tops: the first takes
    /// clients, the second connects onward.
    #[arg(long, value_name = "DEVICE=ADDR/LENGTH|FILE")]
    pub(crate) inet: PathBuf,
    /// Where clients come. Whoever reaches it may use it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:1080")]
    pub(crate) listen: SocketAddr,
    /// The most clients at once; others wait.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200,
        value_parser = value_parser!(u16).range(1..=10_000)
    )]
    pub(crate) clients: u16,
    /// Print JSON lines, one per event.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Clients, beside servers.
type Sides = Both<Streams<Message>, Streams<Message>>;

pub(crate) fn run(socks: &Socks) -> Result<(), Problem> {
    let inet = socks.inet.to_str().and_then(|text| text.parse::<Inet>().ok());
    let described = match inet {
        Some(inet) => Described::on_device("socks", &inet)?,
        None => graphs::load::<Sides>(Path::new(&socks.inet))?,
    };
    let (mut driver, mut stack) = graphs::alone::<Sides>(&described, false)?;
    let interrupted = interrupts()?;
    let mut relay = Relay::new(socks, driver.waker()?);
    let mut told = Told::default();
    while !interrupted.load(Relaxed) {
        relay.look(driver.now());
        loop {
            told.0.drain(..).for_each(|word| relay.hear(driver.now(), word));
            if relay.asks.is_empty() {
                break;
            }
            driver.requests(&mut stack, std::mem::take(&mut relay.asks), &mut told);
        }
        if let Some(why) = relay.refused {
            return Err(Problem::Listen { address: socks.listen, why });
        }
        driver.turn(&mut stack, &mut told, Some(TURN))?;
    }
    Ok(())
}

/// What the stack has told, and was not heard yet.
#[derive(Default)]
struct Told(VecDeque<relay::Word>);

impl<S: Protocol<Provides = Sides>> Outlet<S> for Told {
    fn indicate(&mut self, word: IndicationOf<S>) {
        self.0.push_back(word);
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}
