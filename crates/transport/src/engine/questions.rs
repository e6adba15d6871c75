//! The numbers of inquiries, this side's and the peer's.

use alloc::boxed::Box;

use stackwright_contract::Instant;

use crate::words::Nanoseconds;

/// The number of the last inquiries whose time of sending is kept: an answer that takes longer is
/// no measurement of the path.
const KEPT: usize = 16;

/// The inquiries of an association. Their numbers wrap.
pub(super) struct Questions {
    /// The last one that left.
    pub(super) asked: u32,
    /// When each of the last ones left, if one did.
    asked_at: Option<Box<[Instant; KEPT]>>,
    /// The last one that the peer answered.
    heard: u32,
    /// The peer's last one.
    pub(super) answered: u32,
}

impl Questions {
    /// Creates them, with `number` before the first of either side.
    pub(super) const fn behind(number: u32) -> Self {
        Questions { asked: number, asked_at: None, heard: number, answered: number }
    }

    /// Returns the number of the next one.
    #[inline]
    pub(super) const fn next(&self) -> u32 {
        self.asked.wrapping_add(1)
    }

    /// Records that the one of this number leaves.
    #[inline]
    pub(super) fn on_asked(&mut self, number: u32, now: Instant) {
        self.asked = number;
        let asked_at = self.asked_at.get_or_insert_with(|| Box::new([Instant::START; KEPT]));
        asked_at[number as usize % KEPT] = now;
    }

    /// Returns whether the one of this number left, and was not answered yet.
    pub(super) const fn is_open(&self, number: u32) -> bool {
        (number.wrapping_sub(self.heard) as i32) > 0
            && (self.asked.wrapping_sub(number) as i32) >= 0
    }

    /// Returns when the one of this number left, if that is still known.
    pub(super) fn asked_at(&self, number: u32) -> Option<Instant> {
        let is_known = self.asked.wrapping_sub(number) < KEPT as u32;
        self.last_at(number).filter(|_| is_known)
    }

    /// Returns when the one of this number left, or the one that took its place.
    fn last_at(&self, number: u32) -> Option<Instant> {
        self.asked_at.as_ref().map(|asked_at| asked_at[number as usize % KEPT])
    }

    /// Records that the one of this number was answered. Returns how long that took, at least.
    pub(super) fn on_answer(&mut self, number: u32, now: Instant) -> Nanoseconds {
        self.heard = number;
        self.last_at(number).map_or(0, |asked_at| now.nanoseconds_since(asked_at))
    }
}
