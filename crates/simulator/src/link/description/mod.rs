//! A link as a text: what a file says of it.
//!
//! ```toml
//! profile = "wan"                 # where to begin; else an ideal link
//! rate = "100 Mb/s"
//! delay = "20 ms"
//! jitter = "2 ms"
//! delay-steps = [{ at = "5 s", delay = "+1 s", for = "200 ms" }, { at = "9 s", delay = "600 ms", packets = 400 }]
//! keeps-order = true              # however large the jitter
//! queue = "64 kB"                 # or "50 packets"
//! codel = { target = "5 ms", interval = "100 ms" }
//! mtu = 1500                      # octets
//! steps = [{ at = "8 s", rate = "10 Mb/s" }, { at = "9 s", mtu = 1280, loss = 0.1, ecn = "mark" }]
//! ecn = "keep"                    # or "bleach", "mark", "mark-all", "swap"
//! policer = { rate = "10 Mb/s", burst = "50 kB" }
//! overhead = 38                   # octets of framing for each packet
//! loss = 0.01                     # or { every = 10 }, { listed = [3, 7] }, { gilbert-elliott = { p = 0.01, r = 0.2 } }
//! duplicate = 0.001
//! reorder = { probability = 0.01, by = "5 ms" }
//! corrupt = 0.001                 # one bit of a packet
//! bit-errors = 1e-6               # each bit
//! pass = { period = "95 min", length = "8 min", first = "0 s" }   # or outages = [{ from = "2 s", to = "3 s" }]
//!
//! [back]                          # one way is different; `forward` is the other
//! rate = "2 Mb/s"
//! ```
//!
//! All may be left out. A table `channel` makes it a half-duplex channel that all share, of which
//! `rate`, `delay`, `queue`, `mtu`, `overhead` and `bit-errors` may be said as well:
//!
//! ```toml
//! rate = "1200 b/s"
//! channel = { key-up = "500 ms", tail = "10 ms", slot = "100 ms", persistence = 0.25, hidden = [[0, 1]] }
//! ```

mod forms;
mod loss;
mod probability;
mod profile_name;
mod resolve;
mod units;

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::{EcnTreatment, Loss};
pub use resolve::LinkFlaw;

use forms::List;
pub(crate) use probability::Probability;
pub(crate) use profile_name::ProfileName;
pub(crate) use units::{AirRate, Rate, time};
use units::{Delay, Places};
pub use units::{OctetCount, Time};

/// A link as a file describes it. What is left out is as in its profile, or ideal.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinkDescription {
    profile: Option<ProfileName>,
    rate: Option<Rate>,
    delay: Option<Time>,
    delay_steps: Option<List<Step>>,
    jitter: Option<Time>,
    keeps_order: Option<bool>,
    queue: Option<Places>,
    codel: Option<Wait>,
    mtu: Option<usize>,
    steps: Option<List<Change>>,
    ecn: Option<EcnTreatment>,
    policer: Option<Limit>,
    overhead: Option<usize>,
    loss: Option<Loss>,
    duplicate: Option<Probability>,
    reorder: Option<Held>,
    corrupt: Option<Probability>,
    bit_errors: Option<Probability>,
    pass: Option<Pass>,
    outages: Option<List<Outage>>,
    channel: Option<Shared>,
    forward: Option<Box<LinkDescription>>,
    back: Option<Box<LinkDescription>>,
}

/// `codel`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
struct Wait {
    target: Time,
    interval: Time,
}

impl Default for Wait {
    fn default() -> Self {
        Wait { target: Time(Duration::from_millis(5)), interval: Time(Duration::from_millis(100)) }
    }
}

/// `reorder`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Held {
    probability: Probability,
    by: Time,
}

/// `pass`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Pass {
    period: Time,
    length: Time,
    #[serde(default)]
    first: Time,
}

/// One of `outages`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Outage {
    from: Time,
    to: Time,
}

/// One of `delay-steps`: for ever, if it does not say until when.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Step {
    at: Time,
    delay: Delay,
    #[serde(rename = "for")]
    time: Option<Time>,
    packets: Option<u64>,
}

/// One of `steps`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Change {
    at: Time,
    rate: Option<Rate>,
    mtu: Option<usize>,
    ecn: Option<EcnTreatment>,
    loss: Option<f64>,
}

/// `policer`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Limit {
    rate: Rate,
    burst: OctetCount,
}

/// `channel`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "kebab-case", default)]
struct Shared {
    key_up: Option<Time>,
    tail: Option<Time>,
    slot: Option<Time>,
    persistence: Option<Probability>,
    /// Pairs of stations, counted from 0, that do not hear each other.
    hidden: Option<Vec<(usize, usize)>>,
}
