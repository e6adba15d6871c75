//! The conditions of a channel: what it does to frames, and how its stations behave.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::{AccessParameters, Hearing};

/// What a shared channel does to frames, and the parameters of its medium access: those of
/// KISS, for every station that has none of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChannelConditions {
    /// The rate in octets per second. At least 1.
    pub rate: u64,
    /// The octets of framing with each packet: they take time, and nothing else sees them.
    pub overhead: usize,
    /// The longest packet that passes, in octets without framing; `None`: no limit.
    pub mtu: Option<usize>,
    /// How many packets may wait in each station; what arrives at a full queue is dropped.
    pub queue: usize,
    /// How long a transmitter is on before the first octet: TXDELAY.
    pub key_up: Duration,
    /// How long it stays on behind the last octet: TXtail.
    pub tail: Duration,
    /// How long a station waits before it draws again: SlotTime.
    pub slot: Duration,
    /// The probability that a station sends when the channel is free, drawn once a slot, above 0
    /// and up to 1: p.
    pub persistence: f64,
    /// The propagation delay between any two stations.
    pub delay: Duration,
    /// The probability of each bit to be altered, 0 to 1, independently for each receiver. Framing
    /// is not affected.
    pub bit_errors: f64,
    /// Which stations hear which.
    pub hearing: Hearing,
}

impl ChannelConditions {
    /// Returns a channel of `rate` octets per second, on which transmitters are on at once,
    /// stations do not hesitate, and every frame that does not collide is received.
    pub const fn ideal(rate: u64) -> Self {
        ChannelConditions {
            rate,
            overhead: 0,
            mtu: None,
            queue: usize::MAX,
            key_up: Duration::ZERO,
            tail: Duration::ZERO,
            slot: Duration::from_millis(100),
            persistence: 1.0,
            delay: Duration::ZERO,
            bit_errors: 0.0,
            hearing: Hearing::ALL,
        }
    }

    /// Returns how a station accesses the channel that was not told otherwise.
    pub const fn access(&self) -> AccessParameters {
        let ChannelConditions { key_up, tail, slot, persistence, .. } = *self;
        AccessParameters { key_up, tail, slot, persistence, full_duplex: false }
    }
}
