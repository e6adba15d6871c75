//! The configuration.

use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_contract::{CallSign, Duration};

/// The configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Whether an own address is used only after probes have found nobody else with it (RFC 5227
    /// §2.1, RFC 4862 §5.4), and announced then.
    pub probes: bool,
    /// Time between two solicitations (RFC 4861 §10, RETRANS_TIMER). On a slow link it is at least
    /// twice what the longest frame takes.
    pub retransmit_time: Duration,
    /// How long a neighbour is believed to be reachable after it answered, times a random factor
    /// between .5 and 1.5 (RFC 4861 §6.3.2).
    pub reachable_time: Duration,
    /// How long a neighbour has to confirm that it is reachable by what it sends, before it is
    /// asked (RFC 4861 §10, DELAY_FIRST_PROBE_TIME).
    pub delay: Duration,
    /// The own call sign, where the stations are those of AX.25.
    pub call: Option<CallSign>,
    /// Neighbours whose addresses are known and never change.
    pub neighbors: Vec<(IpAddr, [u8; 6])>,
}

/// The times of RFC 4861 §10.
impl Default for Config {
    fn default() -> Self {
        Config {
            probes: true,
            retransmit_time: Duration::from_secs(1),
            reachable_time: Duration::from_secs(30),
            delay: Duration::from_secs(5),
            call: None,
            neighbors: Vec::new(),
        }
    }
}

impl Config {
    /// Returns the configuration of a radio station. What was learned is believed for a quarter of
    /// an hour, and own addresses are used at once: nothing is sent that nobody needs.
    pub fn radio(call: CallSign) -> Self {
        let reachable_time = Duration::from_secs(900);
        Config { probes: false, reachable_time, call: Some(call), ..Config::default() }
    }
}
