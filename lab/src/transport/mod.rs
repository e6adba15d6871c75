//! Transports: what a flow of a scenario may run on.

mod framed;
#[cfg(test)]
mod planted;
pub(crate) mod window;

use serde::Deserialize;
use stackwright::compose::Over;
use stackwright::stop_and_wait::{Rules, StopAndWait};
use stackwright::wire::SingleBuffer;
use stackwright_contract::services::{Datagrams, Streams};
use stackwright_contract::{Duration, Protocol, Service};

use crate::scenario::{Octets, Time};
use framed::Framed;
use window::Window;

/// What the messages of all workloads are.
pub(crate) type M = SingleBuffer;

/// A transport, as a scenario file names it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Transport {
    /// UDP, and nothing above it.
    Udp,
    /// The kernel's TCP, each message with its length before it. The simulator's loses nothing, and has no congestion
    /// control: what is lost on the way is late.
    Tcp,
    /// Datagrams under a byte window; nothing is sent again.
    Window {
        octets: Octets,
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
    /// Stop-and-wait with a bug, for whoever looks for bugs.
    #[cfg(test)]
    Planted,
}

fn window_patience() -> Time {
    Time::of(Duration::from_secs(3))
}

fn patience() -> Time {
    Time::of(Duration::from_millis(200))
}

fn tries() -> u8 {
    30
}

/// What a transport may stand on: one of the two.
pub(crate) trait Lowers {
    /// What both use.
    type Uses: Service;
    type Datagrams: Protocol<Provides = Datagrams<M>, Uses = Self::Uses> + 'static;
    type Streams: Protocol<Provides = Streams<M>, Uses = Self::Uses> + 'static;
    fn datagrams(self) -> Self::Datagrams;
    fn streams(self) -> Self::Streams;
}

/// What is done with the stack of a transport, whichever it is.
pub(crate) trait Stacked<U: Service> {
    type Done;
    fn stacked<P>(self, stack: P) -> Self::Done
    where
        P: Protocol<Provides = Datagrams<M>, Uses = U> + 'static;
}

impl Transport {
    /// Whether there is one association at most between two addresses: then each needs a port of its own.
    pub(crate) fn one_per_peer(&self) -> bool {
        !matches!(self, Transport::Udp | Transport::Tcp)
    }

    /// Puts the transport on one of the two, and does with the stack what is to be done with it.
    pub(crate) fn over<L, D>(&self, lowers: L, seed: u64, then: D) -> D::Done
    where
        L: Lowers,
        D: Stacked<L::Uses>,
    {
        match self {
            Transport::Udp => then.stacked(lowers.datagrams()),
            Transport::Tcp => then.stacked(Over::new(Framed::default(), lowers.streams())),
            Transport::Window { octets, patience } => {
                let rules = window::Rules::new(octets.0, patience.duration());
                then.stacked(Over::new(Window::<M>::new(rules, seed), lowers.datagrams()))
            }
            Transport::StopAndWait { patience, tries } => {
                let mut rules = Rules::default();
                (rules.patience, rules.tries_most) = (patience.duration(), *tries);
                then.stacked(Over::new(StopAndWait::<M>::new(rules, seed), lowers.datagrams()))
            }
            #[cfg(test)]
            Transport::Planted => {
                let forgetful = Over::new(planted::Forgetful::default(), lowers.datagrams());
                then.stacked(Over::new(StopAndWait::<M>::new(Rules::default(), seed), forgetful))
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
            #[cfg(test)]
            Transport::Planted => "planted",
        }
    }
}
