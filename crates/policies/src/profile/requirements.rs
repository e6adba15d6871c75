//! What an application requires of its transport.

use core::num::NonZeroU64;

use stackwright_transport::rules::{Misfit, Property};

use crate::switching::PhaseRules;

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

/// How an association begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum AssociationStart {
    /// The peer's application decides on it before anything is sent.
    #[default]
    Decided,
    /// Both sides know of it from elsewhere.
    Known,
    /// With the first packet, which has data in it.
    FirstPacket,
}

/// What is sent again when something is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Repetition {
    /// Whatever suits the path.
    #[default]
    Any,
    /// What is missing, and nothing else.
    Selective,
    /// What is missing, and all that followed it.
    GoBackN,
}

/// Which check notices altered octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CheckKind {
    /// The Internet checksum, 16 bits.
    #[default]
    Internet,
    /// CRC-32C.
    Crc32c,
    /// CXOR, 32 bits.
    Cxor,
}

/// Which congestion control is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CongestionKind {
    /// Whatever suits the path.
    #[default]
    Any,
    /// None.
    Absent,
    /// AIMD.
    Aimd,
    /// NewReno.
    NewReno,
    /// CUBIC.
    Cubic,
    /// BBR.
    Bbr,
    /// CUBIC or BBR, whichever suits what the path shows while data flow.
    Fitted,
    /// Two inquiries find out why something was lost.
    Probing,
}

/// A rate that is never exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedRate {
    /// Octets per second.
    pub octets: NonZeroU64,
    /// Octets that may leave at once; 0: as many as suit the path.
    pub burst: u32,
}

/// What an application requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requirements {
    /// Whether what is sent arrives, or the end of the association says that it did not.
    pub reliable: bool,
    /// The order of delivery.
    pub order: DeliveryOrder,
    /// The rules of each phase, where they change while data flow: then `order` and `resends` are
    /// those of the phases. The first phase has the number 0.
    pub phases: PhaseRules,
    /// Whether the two ends negotiate further rules while data flow. They begin with that of the
    /// first phase, which is the strongest that can be required.
    pub negotiates: bool,
    /// Whether messages keep their bounds; else octets are all that counts.
    pub bounds: bool,
    /// Whether messages may have a lifetime, after which they are dropped.
    pub expires: bool,
    /// Whether altered octets have to be noticed here: the layer below does not notice them.
    pub checked: bool,
    /// Which check notices them.
    pub check: CheckKind,
    /// Whether much is to be sent, as fast as the path takes it.
    pub throughput: bool,
    /// How an association begins.
    pub start: AssociationStart,
    /// What is sent again when something is lost.
    pub repetition: Repetition,
    /// How many times something is sent again before it is abandoned; `None`: until it arrives.
    pub resends: Option<u16>,
    /// Whether a receiver reports a gap as soon as it shows, and else when it is asked.
    pub gaps_at_once: bool,
    /// Whether a receiver that does not read must stop the sender.
    pub flow_control: bool,
    /// Which congestion control is used.
    pub congestion: CongestionKind,
    /// A rate that is never exceeded, whatever the path takes.
    pub rate: Option<FixedRate>,
}

impl Requirements {
    /// Returns whether messages go by the rules of their phases.
    pub fn switches(&self) -> bool {
        self.phases.iter().any(Option::is_some)
    }
}

impl Default for Requirements {
    /// Returns reliable messages in any order, over a layer that checks.
    fn default() -> Self {
        Requirements {
            reliable: true,
            order: DeliveryOrder::Any,
            phases: [None; 4],
            negotiates: false,
            bounds: true,
            expires: false,
            checked: false,
            check: CheckKind::Internet,
            throughput: false,
            start: AssociationStart::Decided,
            repetition: Repetition::Any,
            resends: None,
            gaps_at_once: false,
            flow_control: false,
            congestion: CongestionKind::Any,
            rate: None,
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
