//! What a channel does to frames, and how its stations behave.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::Hearing;

/// What a shared channel does to frames, and by which parameters its stations take their turns:
/// those of KISS.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChannelConditions {
    /// In octets per second. At least 1.
    pub rate: u64,
    /// How many octets of framing go with each packet: they take time, and nothing else sees them.
    pub overhead: usize,
    /// The longest packet that passes, in octets without framing; `None` is without limit.
    pub mtu: Option<usize>,
    /// How many packets may wait in each station; what comes when there is no place is dropped.
    pub queue: usize,
    /// How long a transmitter is on before the first octet: TXDELAY.
    pub key_up: Duration,
    /// How long it stays on behind the last octet: TXtail.
    pub tail: Duration,
    /// How long a station waits before it draws again: SlotTime.
    pub slot: Duration,
    /// The probability that a station which hears nobody sends, drawn once a slot, above 0 and up
    /// to 1: p.
    pub persistence: f64,
    /// How long a signal is under way between any two.
    pub delay: Duration,
    /// The probability of each bit to be altered, 0 to 1, for each who hears it on its own. Framing
    /// is not touched.
    pub bit_errors: f64,
    /// Who hears whom.
    pub hearing: Hearing,
}

impl ChannelConditions {
    /// A channel of so many octets per second, on which transmitters are on at once, stations do
    /// not hesitate, and all that do not speak at once are heard.
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
}
