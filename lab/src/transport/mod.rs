//! Transports: what a flow of a scenario may run on.

mod lowers;
#[cfg(test)]
mod planted;
mod window;
mod woven;

pub(crate) use lowers::{Lowers, Real, Simulated};
pub(crate) use woven::{Described, Woven};

use std::ops::RangeInclusive;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use stackwright::compose::Over;
use stackwright::contract::words::Speaks;
use stackwright::framed::Framed;
use stackwright::stop_and_wait::{Rules, StopAndWait};
use stackwright::wire::SingleBuffer;
use stackwright_artp as artp;
use stackwright_contract::services::Datagrams;
use stackwright_contract::{Duration, Guarantees, Protocol, Service};

use crate::problem::Problem;
use crate::scenario::{OctetCount, Time};
use window::Window;

/// What the messages of all workloads are.
pub(crate) type M = SingleBuffer;

/// A transport, as a scenario file names it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Transport {
    /// UDP, and nothing above it.
    Udp,
    /// The kernel's TCP, each message with its length before it. The simulator's loses nothing, and
    /// has no congestion control: what is lost on the way is late.
    Tcp,
    /// Datagrams under a byte window; nothing is sent again.
    Window {
        octets: OctetCount,
        #[serde(default = "window_patience")]
        patience: Time,
    },
    /// One message at a time, sent again until it is acknowledged.
    StopAndWait {
        #[serde(default = "patience")]
        patience: Time,
        #[serde(default = "tries")]
        tries: u8,
    },
    /// Reliable datagrams of any size, in no order, sessions between two addresses.
    Artp {
        /// The longest packet, header included.
        #[serde(default = "packet")]
        packet: OctetCount,
        /// How many packets may be on their way.
        #[serde(default = "window")]
        window: u32,
        /// `cubic`, `bbr`, `new-reno` or `document`.
        #[serde(default, deserialize_with = "congestion")]
        congestion: artp::Congestion,
    },
    /// A graph that a file describes, as `stackwright draw` shows them: it provides datagrams, on
    /// one adapter.
    Graph(Described),
    /// Stop-and-wait with a bug, for whoever looks for bugs.
    #[cfg(test)]
    Planted,
}

/// How long a window waits for somebody who hears, where nobody says how long.
const WINDOW_PATIENCE: Duration = Duration::from_secs(3);

fn window_patience() -> Time {
    Time(WINDOW_PATIENCE)
}

fn patience() -> Time {
    Time(Duration::from_millis(200))
}

fn tries() -> u8 {
    30
}

fn packet() -> OctetCount {
    OctetCount(u64::from(artp::Config::new([0; 16]).packet))
}

fn window() -> u32 {
    artp::Config::new([0; 16]).window
}

fn congestion<'de, D: Deserializer<'de>>(name: D) -> Result<artp::Congestion, D::Error> {
    let known = String::deserialize(name)?.parse();
    known.map_err(|()| D::Error::custom("congestion must be cubic, bbr, new-reno or document"))
}

/// The packets that ARTP can have: room for a proposal, and what UDP takes.
const PACKETS: RangeInclusive<u64> = 191..=65_507;

/// How many sessions two addresses have between them: a number of eight bits, and 0 is none.
const SESSIONS: usize = 255;

/// What is done with the stack of a transport, whichever it is.
pub(crate) trait Stacked<U: Service> {
    type Done;
    /// One that the compiler has put together, and what it promises.
    fn stacked<P>(self, stack: P, given: Guarantees) -> Self::Done
    where
        P: Protocol<Provides = Datagrams<M>, Uses = U> + 'static;
    /// One that was put together of a description.
    fn woven(self, graph: Woven<U>) -> Self::Done;
}

fn stacked<U, D, P>(then: D, stack: P) -> D::Done
where
    U: Service,
    D: Stacked<U>,
    P: Protocol<Provides = Datagrams<M>, Uses = U> + 'static,
{
    then.stacked(stack, P::FACTS.gives)
}

impl Transport {
    /// Reads what the transport names, from `folder` on.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn complete(&mut self, folder: &Path) -> Result<(), Problem> {
        match self {
            Transport::Graph(described) => described.load(folder),
            Transport::Artp { packet, window, .. }
                if !PACKETS.contains(&packet.0) || *window == 0 =>
            {
                let [least, most] = [PACKETS.start(), PACKETS.end()];
                Err(Problem::usage(format!(
                    "artp: packets must have {least} to {most} octets, and the window at least one packet"
                )))
            }
            _ => Ok(()),
        }
    }

    /// How many associations there may be between two addresses: of more, each needs a port of its
    /// own.
    pub(crate) fn associations_most(&self) -> usize {
        match self {
            Transport::Udp | Transport::Tcp => usize::MAX,
            Transport::Artp { .. } => SESSIONS,
            _ => 1,
        }
    }

    /// Puts the transport on one of the two, and does with the stack what is to be done with it.
    pub(crate) fn over<L, D>(&self, lowers: L, seed: u64, then: D) -> D::Done
    where
        L: Lowers + 'static,
        L::Uses: Speaks<M, L::Uses>,
        D: Stacked<L::Uses>,
    {
        match self {
            Transport::Udp => stacked(then, lowers.datagrams()),
            Transport::Tcp => stacked(then, Over::new(Framed::default(), lowers.streams())),
            Transport::Graph(described) => then.woven(described.build(lowers, seed)),
            Transport::Window { octets, patience } => {
                let rules = window::Rules::new(octets.0, patience.0);
                stacked(then, Over::new(Window::<M>::new(rules, seed), lowers.datagrams()))
            }
            Transport::StopAndWait { patience, tries } => {
                let mut rules = Rules::default();
                (rules.timeout, rules.tries_most) = (patience.0, *tries);
                stacked(then, Over::new(StopAndWait::<M>::new(rules, seed), lowers.datagrams()))
            }
            Transport::Artp { packet, window, congestion } => {
                let config = artp::Config {
                    packet: packet.0 as u16,
                    window: *window,
                    congestion: *congestion,
                    ..artp::Config::new(u128::from(seed).to_be_bytes())
                };
                stacked(then, Over::new(artp::layer::<M>(config, seed), lowers.datagrams()))
            }
            #[cfg(test)]
            Transport::Planted => {
                let forgetful = Over::new(planted::Forgetful::default(), lowers.datagrams());
                stacked(then, Over::new(StopAndWait::<M>::new(Rules::default(), seed), forgetful))
            }
        }
    }

    /// As a scenario file names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Window { .. } => "window",
            Transport::StopAndWait { .. } => "stop-and-wait",
            Transport::Artp { .. } => "artp",
            Transport::Graph(_) => "graph",
            #[cfg(test)]
            Transport::Planted => "planted",
        }
    }
}
