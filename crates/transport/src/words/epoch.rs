//! Epochs: what was sent between two changes of the rules.

use stackwright_contract::{PhaseRule, RuleRefusal};

/// The units that were sent between two changes of the rules, and the phase by whose rules they
/// go. Later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Epoch(u32);

/// The bits of an epoch that are its phase; as many of its number travel.
const BITS: u32 = 2;

impl Epoch {
    /// The most phases between which an association switches.
    pub const PHASES: usize = 1 << BITS;

    /// The first one, in the first phase.
    pub const FIRST: Epoch = Epoch(0);

    /// Returns its phase.
    pub const fn phase(self) -> usize {
        self.0 as usize % Self::PHASES
    }

    /// Returns its place among the others, from 0.
    pub const fn serial(self) -> u32 {
        self.0 >> BITS
    }

    /// Returns the next epoch, in `phase`; `None` if there is no such phase, or if all epochs have
    /// been.
    #[must_use]
    pub fn next(self, phase: u8) -> Option<Self> {
        let is_phase = usize::from(phase) < Self::PHASES;
        let serial = self.serial().checked_add(1).filter(|serial| *serial < 1 << (32 - BITS))?;
        is_phase.then_some(Epoch((serial << BITS) | u32::from(phase)))
    }

    /// Returns the epoch of the same number in `phase`.
    #[must_use]
    pub const fn in_phase(self, phase: u8) -> Self {
        Epoch((self.serial() << BITS) | (phase as u32 % Self::PHASES as u32))
    }

    /// Returns the four bits that a packet carries.
    pub const fn bits(self) -> u8 {
        self.0 as u8 & 0b1111
    }

    /// Returns the epoch that a new unit with these bits is of, where the newest of which a unit
    /// has arrived is this one. Units of two epochs are on their way at most, one of which the
    /// receiver knows: it is the one before this, this, or one of the next two.
    #[must_use]
    pub const fn nearest(self, bits: u8) -> Self {
        let before = self.serial().saturating_sub(1);
        let ahead = ((bits >> BITS) as u32).wrapping_sub(before) % Self::PHASES as u32;
        Epoch((before.wrapping_add(ahead) << BITS) | (bits as u32 % Self::PHASES as u32))
    }
}

/// What a packet says of the epoch of its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EpochMark {
    /// The [bits](Epoch::bits) of the epoch.
    pub bits: u8,
    /// Whether the unit is the first of its epoch.
    pub first: bool,
}

/// What two ends tell each other of the rule by which one of them sends. A question is repeated
/// until an answer with the same phase and date arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleProposal {
    /// What is said of the rule.
    pub act: RuleAct,
    /// The phase that has the rule from then on; 0 in a wish.
    pub phase: u8,
    /// The rule.
    pub rule: PhaseRule,
    /// The date of the question, by which an old copy is told from a new question: the number that
    /// the sender of messages, or in a wish their receiver, expected next when it asked, and a
    /// count of the questions with that number.
    pub date: (u64, u8),
}

/// What is said of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleAct {
    /// A receiver of messages asks for it.
    Wish,
    /// The answer to a wish: a sender goes by it, or is about to.
    Grant,
    /// The answer to a wish: it does not.
    Decline(RuleRefusal),
    /// A sender of messages asks whether its receiver takes it.
    Propose,
    /// The answer to a proposal: it takes it.
    Accept,
    /// The answer to a proposal: it does not.
    Refuse(RuleRefusal),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bits_tell_the_epochs_that_may_be_on_their_way() {
        let mut newest = Epoch::default();
        for phase in [1, 0, 3, 2, 0, 1, 2, 3, 0, 1] {
            let next = newest.next(phase).unwrap();
            let after = next.next(3 - phase).unwrap();
            for epoch in [newest, next, after] {
                assert_eq!(newest.nearest(epoch.bits()), epoch);
            }
            assert_eq!(next.nearest(newest.bits()), newest);
            newest = next;
        }
        assert_eq!(newest.next(4), None, "there is no fifth phase");
        assert_eq!(Epoch(u32::MAX).next(0), None, "no epoch is used twice");
    }
}
