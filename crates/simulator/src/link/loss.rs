//! Loss models: which packets are lost in flight.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::chance::happens;

/// Which packets a link loses. Packets are counted from 0 as they are offered to the link, also
/// those that never leave it.
#[derive(Clone, PartialEq, Debug)]
pub enum Loss {
    /// None.
    None,
    /// Each with this probability, 0 to 1, independently.
    Bernoulli(f64),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// The last of every `n` packets; none for 0.
    Every(u64),
    /// Exactly the packets with these numbers.
    Listed(BTreeSet<u64>),
}

/// A Gilbert-Elliott channel: it changes between a good and a bad state, with every packet. It
/// begins in the good one.
///
/// The share of packets that meet the bad state is `p / (p + r)`, and it lasts for `1 / r` packets
/// on average.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliott {
    /// The probability that the bad state follows the good one, 0 to 1.
    pub p: f64,
    /// The probability that the good state follows the bad one, 0 to 1.
    pub r: f64,
    /// The probability that a packet is lost in the good state, 0 to 1.
    pub good: f64,
    /// The probability that a packet is lost in the bad state, 0 to 1.
    pub bad: f64,
}

impl GilbertElliott {
    /// Returns the share of packets that are lost in the long run, 0 to 1.
    pub fn share(&self) -> f64 {
        let changes = self.p + self.r;
        let bad = if changes > 0.0 { self.p / changes } else { 0.0 };
        bad * self.bad + (1.0 - bad) * self.good
    }
}

impl From<f64> for Loss {
    /// Loses each packet with this probability.
    fn from(probability: f64) -> Self {
        if probability > 0.0 { Loss::Bernoulli(probability) } else { Loss::None }
    }
}

impl Loss {
    /// Whether no packet ever arrives.
    pub(super) fn is_total(&self) -> bool {
        match self {
            Loss::Bernoulli(probability) => *probability >= 1.0,
            Loss::GilbertElliott(model) => {
                model.good >= 1.0 && (model.bad >= 1.0 || model.p <= 0.0)
            }
            Loss::Every(n) => *n == 1,
            Loss::None | Loss::Listed(_) => false,
        }
    }

    /// Whether the lost packets are determined by their numbers.
    pub(super) fn is_counted(&self) -> bool {
        matches!(self, Loss::Every(_) | Loss::Listed(_))
    }

    /// Draws whether the `nth` packet is lost. `bad` is the state of a link that has states.
    pub(super) fn strikes(&self, nth: u64, bad: &mut bool, random: &mut Rng) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli(probability) => happens(random, *probability),
            Loss::GilbertElliott(model) => {
                let (loss, change) =
                    if *bad { (model.bad, model.r) } else { (model.good, model.p) };
                let lost = happens(random, loss);
                *bad ^= happens(random, change);
                lost
            }
            Loss::Every(n) => *n > 0 && nth % n == n - 1,
            Loss::Listed(list) => list.contains(&nth),
        }
    }
}
