//! Transports: what a flow of a scenario may run on.

pub(crate) mod window;

use serde::Deserialize;
use stackwright_contract::Duration;

use crate::scenario::{Octets, Time};

/// A transport, as a scenario file names it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Transport {
    /// UDP, and nothing above it.
    Udp,
    /// Datagrams under a byte window; nothing is sent again.
    #[serde(deny_unknown_fields)]
    Window {
        octets: Octets,
        #[serde(default = "window_patience")]
        patience: Time,
    },
    /// One message at a time, sent again until it is acknowledged.
    #[serde(deny_unknown_fields)]
    StopAndWait {
        #[serde(default = "patience")]
        patience: Time,
        #[serde(default = "tries")]
        tries: u8,
    },
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

impl Transport {
    /// As a scenario file names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Window { .. } => "window",
            Transport::StopAndWait { .. } => "stop-and-wait",
        }
    }
}
