//! What a link does to packets.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::{Loss, Outages, Queue};

/// What one way of a link does to packets.
///
/// ```
/// use stackwright_contract::Duration;
/// use stackwright_simulator::{Conditions, Loss};
/// let loss = Loss::Bernoulli(0.1);
/// let radio = Conditions { delay: Duration::from_millis(40), loss, ..Conditions::IDEAL };
/// # assert_eq!(radio.duplicate, 0.0);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// In octets per second; `None` is without limit. At least 1.
    pub rate: Option<u64>,
    /// How many octets of framing go with each packet: they take time, and nothing else sees them.
    pub overhead: usize,
    /// The longest packet that passes, in octets without framing; `None` is without limit. A stream
    /// keeps to it unasked.
    pub mtu: Option<usize>,
    /// What may wait for its turn. Counts only where there is a `rate`.
    pub queue: Queue,
    /// How long a packet is under way, at least.
    pub delay: Duration,
    /// How much longer it may be, by chance: any time up to this is equally likely.
    pub jitter: Duration,
    /// Whether packets stay in order whatever the jitter. Only what is held back by `reorder` comes
    /// later then.
    pub keeps_order: bool,
    /// Which packets are held back so that later ones overtake them.
    pub reorder: Reorder,
    /// Which packets are lost.
    pub loss: Loss,
    /// The probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
    /// The probability that one bit of a packet is altered, 0 to 1.
    pub corrupt: f64,
    /// The probability of each bit to be altered, 0 to 1. Framing is not touched, nor are the
    /// headers of a simulated datagram, which have no checksum here.
    pub bit_errors: f64,
    /// When the link is down.
    pub outages: Outages,
}

impl Conditions {
    /// Nothing is lost, and everything arrives at once.
    pub const IDEAL: Self = Conditions {
        rate: None,
        overhead: 0,
        mtu: None,
        queue: Queue::UNLIMITED,
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        keeps_order: false,
        reorder: Reorder::NEVER,
        loss: Loss::None,
        duplicate: 0.0,
        corrupt: 0.0,
        bit_errors: 0.0,
        outages: Outages::None,
    };
}

/// Which packets are held back, and for how long.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reorder {
    /// The probability that a packet is, 0 to 1.
    pub probability: f64,
    /// How much later it arrives.
    pub by: Duration,
}

impl Reorder {
    /// None is.
    pub const NEVER: Self = Reorder { probability: 0.0, by: Duration::ZERO };
}
