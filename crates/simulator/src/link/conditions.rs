//! The conditions of a link: what it does to packets.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::{DelayStep, EcnTreatment, LinkStep, Loss, Outages, Policer, Queue};

/// What one direction of a link does to packets.
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
    /// The rate in octets per second; `None`: no limit. At least 1.
    pub rate: Option<u64>,
    /// The octets of framing with each packet: they take time, and nothing else sees them.
    pub overhead: usize,
    /// The longest packet that passes, in octets without framing; `None`: no limit. A stream keeps
    /// to it by itself.
    pub mtu: Option<usize>,
    /// When rate, MTU or the treatment of ECN are other ones.
    pub steps: Cow<'static, [LinkStep]>,
    /// What happens to the ECN field of packets.
    pub ecn: EcnTreatment,
    /// What is dropped before the queue; `None`: nothing.
    pub policer: Option<Policer>,
    /// The queue of packets. It matters only if there is a `rate`.
    pub queue: Queue,
    /// The least propagation delay.
    pub delay: Duration,
    /// When the delay is another one.
    pub delay_steps: Cow<'static, [DelayStep]>,
    /// The most random delay beyond that, uniformly distributed.
    pub jitter: Duration,
    /// Whether packets stay in order whatever the jitter. Only those held back by `reorder` arrive
    /// later then.
    pub keeps_order: bool,
    /// Which packets are held back so that later ones overtake them.
    pub reorder: Reorder,
    /// Which packets are lost.
    pub loss: Loss,
    /// The probability that a packet is duplicated, 0 to 1.
    pub duplicate: f64,
    /// The probability that one bit of a packet is altered, 0 to 1.
    pub corrupt: f64,
    /// The probability of each bit to be altered, 0 to 1. Framing is not affected, nor are the
    /// headers of a simulated datagram, which have no checksum here.
    pub bit_errors: f64,
    /// When the link is down.
    pub outages: Outages,
}

impl Conditions {
    /// No loss, no delay, no limit.
    pub const IDEAL: Self = Conditions {
        rate: None,
        overhead: 0,
        mtu: None,
        steps: Cow::Borrowed(&[]),
        ecn: EcnTreatment::Keep,
        policer: None,
        queue: Queue::UNLIMITED,
        delay: Duration::ZERO,
        delay_steps: Cow::Borrowed(&[]),
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
    /// The probability that a packet is held back, 0 to 1.
    pub probability: f64,
    /// How much later it arrives.
    pub by: Duration,
}

impl Reorder {
    /// No packet is held back.
    pub const NEVER: Self = Reorder { probability: 0.0, by: Duration::ZERO };
}
