//! What an application requires of its transport.

use stackwright_transport::rules::{Misfit, Property};

/// The order in which messages are delivered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeliveryOrder {
    /// As they arrive: nothing waits for what is late.
    #[default]
    Any,
    /// In the order in which they were sent; what is late is dropped.
    Sequenced,
    /// All of them, in the order in which they were sent.
    Total,
}

/// What an application requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requirements {
    /// Whether what is sent arrives, or the end of the association says that it did not.
    pub reliable: bool,
    /// The order of delivery.
    pub order: DeliveryOrder,
    /// Whether messages keep their bounds; else octets are all that counts.
    pub bounds: bool,
    /// Whether messages may have a lifetime, after which they are dropped.
    pub expires: bool,
    /// Whether altered octets have to be noticed here: the layer below does not notice them.
    pub checked: bool,
    /// Whether much is to be sent, as fast as the path takes it.
    pub throughput: bool,
    /// Whether the peer's application decides on an association before anything is sent.
    pub decided: bool,
}

impl Default for Requirements {
    /// Returns reliable messages in any order, over a layer that checks.
    fn default() -> Self {
        Requirements {
            reliable: true,
            order: DeliveryOrder::Any,
            bounds: true,
            expires: false,
            checked: false,
            throughput: false,
            decided: true,
        }
    }
}

/// Why there is no plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmet {
    /// Two requirements exclude each other.
    Contradiction(&'static str, &'static str),
    /// The format carries none of what a requirement takes.
    Format(&'static str, Property),
    /// The rule book refuses what was chosen.
    Misfit(Misfit),
}

impl core::fmt::Display for Unmet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unmet::Contradiction(one, other) => {
                write!(f, "{one} excludes {other}: give up one of them")
            }
            Unmet::Format(requirement, needed) => {
                write!(f, "{requirement} takes ")?;
                for (nth, words) in needed.words().enumerate() {
                    write!(f, "{}{words}", if nth == 0 { "" } else { ", or " })?;
                }
                f.write_str(", and this one is none")
            }
            Unmet::Misfit(misfit) => misfit.explain().fmt(f),
        }
    }
}

impl core::error::Error for Unmet {}
