//! What an application asks of its transport.

use stackwright_transport::rules::{Misfit, Property};

/// In which order messages are wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeliveryOrder {
    /// As they come: nothing waits for what is late.
    #[default]
    Any,
    /// None overtakes another; what is late is lost.
    Sequenced,
    /// All of them, in the order in which they were sent.
    Total,
}

/// What an application asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requirements {
    /// What is sent arrives, or the end of the association says that it did not.
    pub reliable: bool,
    /// In which order.
    pub order: DeliveryOrder,
    /// Messages keep their bounds; else octets are all that counts.
    pub bounds: bool,
    /// Messages can be of no use after a while, and are dropped then.
    pub expires: bool,
    /// What was altered must be noticed here: the layer below does not.
    pub checked: bool,
    /// Much is to be sent, as fast as the way takes it.
    pub throughput: bool,
    /// The other application decides whether there is an association at all.
    pub decided: bool,
}

impl Default for Requirements {
    /// Reliable messages in any order, over a layer that checks.
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
    /// The format carries none of what a wish takes.
    Format(&'static str, Property),
    /// The rule book refuses what was chosen.
    Misfit(Misfit),
}

impl core::fmt::Display for Unmet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unmet::Contradiction(one, other) => write!(f, "{one} excludes {other}: give up one of them"),
            Unmet::Format(wish, needed) => {
                write!(f, "{wish} takes ")?;
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
