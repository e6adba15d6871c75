//! Transports: what a flow of a scenario may run on.

mod artp;
mod ground;
mod lowers;
#[cfg(test)]
mod planted;
mod window;
mod woven;

pub(crate) use ground::{Ground, Grounded};
pub(crate) use lowers::Lowers;
pub(crate) use woven::{Described, Woven};

use std::path::Path;

use serde::Deserialize;
use stackwright::compose::graph::Builder;
use stackwright::framed::Framed;
use stackwright::stop_and_wait::{Rules, StopAndWait};
use stackwright::wire::SingleBuffer;
use stackwright_contract::Duration;
use stackwright_results::Problem;

use crate::scenario::{OctetCount, Time};
use artp::ArtpKeys;
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
    Artp(Box<ArtpKeys>),
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

/// How many sessions two addresses have between them: a number of eight bits, and 0 is none.
const SESSIONS: usize = 255;

impl Transport {
    /// Reads what the transport names, from `folder` on.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn complete(&mut self, folder: &Path) -> Result<(), Problem> {
        match self {
            Transport::Graph(described) => described.load(folder),
            _ => Ok(()),
        }
    }

    /// How many associations there may be between two addresses: of more, each needs a port of its
    /// own.
    pub(crate) fn associations_most(&self) -> usize {
        match self {
            Transport::Udp | Transport::Tcp => usize::MAX,
            Transport::Artp(_) => SESSIONS,
            _ => 1,
        }
    }

    /// Whether its ends count the packets that they had received before.
    pub(crate) fn counts_duplicates(&self) -> bool {
        matches!(self, Transport::Artp(_))
    }

    /// Puts the transport on its adapter.
    pub(crate) fn over(&self, lowers: Lowers, seed: u64) -> Woven {
        let under = |adapter, top| Builder::new().node("adapter", adapter).top(top);
        let graph = match self {
            Transport::Graph(described) => return described.build(lowers, seed),
            Transport::Udp => under(lowers.datagrams(), "adapter"),
            Transport::Tcp => under(lowers.streams(), "framed")
                .protocol("framed", Framed::<M>::default())
                .over("adapter"),
            Transport::Window { octets, patience } => {
                let rules = window::Rules::new(octets.0, patience.0);
                let window = Window::<M>::new(rules, seed);
                under(lowers.datagrams(), "window").protocol("window", window).over("adapter")
            }
            Transport::StopAndWait { patience, tries } => {
                let mut rules = Rules::default();
                (rules.timeout, rules.tries_most) = (patience.0, *tries);
                let protocol = StopAndWait::<M>::new(rules, seed);
                under(lowers.datagrams(), "stop-and-wait")
                    .protocol("stop-and-wait", protocol)
                    .over("adapter")
            }
            Transport::Artp(keys) => {
                let config = keys.config(u128::from(seed).to_be_bytes());
                let artp = stackwright_artp::layer::<M>(config, seed);
                under(lowers.datagrams(), "artp").protocol("artp", artp).over("adapter")
            }
            #[cfg(test)]
            Transport::Planted => under(lowers.datagrams(), "stop-and-wait")
                .protocol("forgetful", planted::Forgetful::default())
                .over("adapter")
                .protocol("stop-and-wait", StopAndWait::<M>::new(Rules::default(), seed))
                .over("forgetful"),
        };
        graph.build().expect("each of these fits on its adapter")
    }

    /// As a scenario file names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Window { .. } => "window",
            Transport::StopAndWait { .. } => "stop-and-wait",
            Transport::Artp(_) => "artp",
            Transport::Graph(_) => "graph",
            #[cfg(test)]
            Transport::Planted => "planted",
        }
    }
}
