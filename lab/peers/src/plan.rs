//! What one run does, as both ends are told.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// The transports.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// The kernel's
    Tcp,
    /// Datagrams and nothing above them: the limit
    Udp,
    Quinn,
    S2nQuic,
    Kcp,
    Enet,
    /// The libsrt that is installed
    Srt,
}

impl Display for Transport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Who says how much the kernel's TCP may send.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Congestion {
    Cubic,
    Bbr,
}

impl Congestion {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
        }
    }
}

/// What goes from one end to the other.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Workload {
    /// Messages as fast as they go
    Bulk,
    /// A message, its reply, the next
    Requests,
    /// Many associations at once, an exchange on each
    Associations,
}

/// When it has been enough.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Goal {
    Seconds(f64),
    /// Octets of a bulk; else how many requests, or associations.
    Number(u64),
}

/// One run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Plan {
    pub(crate) transport: Transport,
    pub(crate) workload: Workload,
    pub(crate) goal: Goal,
    /// Octets of a message, and of a reply.
    pub(crate) size: usize,
    /// Octets of the longest IP packet.
    pub(crate) mtu: u16,
    /// Octets that may be on their way, where a transport does not find out by itself.
    pub(crate) window: Option<u32>,
    /// Of the kernel's TCP alone, which always has one: what the system prefers is no matter.
    pub(crate) congestion: Option<Congestion>,
    /// One datagram a call.
    pub(crate) plain: bool,
}

impl Plan {
    /// The longest payload of a UDP datagram to this address.
    pub(crate) fn datagram(&self, address: IpAddr) -> u16 {
        self.mtu.saturating_sub(if address.is_ipv4() { 28 } else { 48 })
    }

    /// Octets that the receiver waits for; nothing where time decides.
    pub(crate) fn octets(&self) -> Option<u64> {
        match (self.workload, self.goal) {
            (Workload::Bulk, Goal::Number(octets)) => Some(octets),
            _ => None,
        }
    }

    /// How many associations; one, unless that is the workload.
    pub(crate) fn associations(&self) -> usize {
        match (self.workload, self.goal) {
            (Workload::Associations, Goal::Number(count)) => count as usize,
            _ => 1,
        }
    }

    /// What stands in every message: it is compared nowhere, so any octets do.
    pub(crate) fn message(&self) -> Vec<u8> {
        (0..self.size).map(|at| at as u8).collect()
    }

    /// # Errors
    /// What no transport can do.
    pub(crate) fn check(self) -> Result<Self, Problem> {
        if self.size == 0 {
            return Err(Problem::new("a message has at least one octet"));
        }
        if self
            .octets()
            .is_some_and(|octets| octets == 0 || !octets.is_multiple_of(self.size as u64))
        {
            return Err(Problem::new(
                "--octets has to be a multiple of --size: messages are sent whole",
            ));
        }
        // Below 1280 no QUIC handshake passes; above 9216 there is no wire, but the kernel's
        // loopback interface.
        let longest = if self.transport == Transport::Tcp { u16::MAX } else { 9216 };
        if !(1280..=longest).contains(&self.mtu) {
            return Err(Problem::new(format!("--mtu is from 1280 to {longest} octets")));
        }
        let enough = match self.goal {
            Goal::Seconds(seconds) => seconds.is_finite() && seconds > 0.0,
            Goal::Number(number) => number > 0,
        };
        if enough {
            Ok(self)
        } else {
            Err(Problem::new("nothing is to be done, so nothing can be measured"))
        }
    }
}
