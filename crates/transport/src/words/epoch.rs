//! Epochs: what was sent between two changes of the rules.

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
