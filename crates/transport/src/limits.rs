//! The memory that the associations of a layer share.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How much memory all associations of a layer reserve together for what their peers may make them
/// hold: incomplete messages, of which a peer begins as many as it likes and need never end one,
/// windows of [flow control](crate::slots::Flow) that have grown, and what waits for the
/// acknowledgements of a peer beyond what the layer above was allowed at first.
///
/// Each association has `each` octets to itself for incomplete messages. Beyond these, it takes at
/// most as much of the rest as it leaves to the others, so that a few cannot take it all. A message
/// that does not fit is refused before it is acknowledged, and is sent again.
///
/// What grows takes at most half of the total, because a message that is refused for long ends its
/// association, and a window merely stays as it is. What a window may hold is reserved before
/// credit is given for it, until that credit is used up and the application has taken what came;
/// what may wait to be acknowledged, until the association ends. The first window of an
/// association, and its first credit, are its own, beside these limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The total, in octets.
    pub octets: usize,
    /// The share of each association, in octets, part of the total: messages that fit always
    /// proceed. With less left than that, no association is begun, and none is granted.
    pub each: usize,
}

impl Limits {
    /// No bound but that of each association.
    pub const NONE: Limits = Limits { octets: usize::MAX, each: 0 };
}

/// The memory that is reserved.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// One thread at a time runs the layer; so that another may run it later, it is atomic.
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Budget { limits, left: AtomicUsize::new(limits.octets) })
    }

    fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    fn set_left(&self, left: usize) {
        self.left.store(left, Relaxed);
    }

    /// Returns whether there may be another association.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        self.left() >= self.limits.each
    }

    /// Returns the share of a new association.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        self.set_left(self.left().saturating_sub(self.limits.each));
        Share { budget: Arc::clone(self), incomplete: 0, window: 0, unsettled: 0 }
    }

    /// Returns the octets that are reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.limits.octets - self.left()
    }
}

/// The memory that an association has reserved. It is freed with the association.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    /// For incomplete messages.
    incomplete: usize,
    /// For what the window has grown by.
    window: usize,
    /// For messages of the layer above that are not settled.
    unsettled: usize,
}

impl Share {
    /// Returns what the association takes beyond its own share when it has reserved `incomplete`
    /// octets for messages.
    fn beyond(&self, incomplete: usize) -> usize {
        incomplete.saturating_sub(self.budget.limits.each)
    }

    /// Returns whether `incomplete` octets may be reserved for messages.
    pub(crate) fn admits(&self, incomplete: usize) -> bool {
        let (before, after) = (self.beyond(self.incomplete), self.beyond(incomplete));
        let left = self.budget.left().saturating_add(before);
        after <= before || left.checked_sub(after).is_some_and(|others| others >= after)
    }

    /// Sets the reservation for messages to `incomplete` octets.
    #[inline]
    pub(crate) fn set_incomplete(&mut self, incomplete: usize) {
        if incomplete != self.incomplete {
            self.exchange(self.beyond(self.incomplete), self.beyond(incomplete));
            self.incomplete = incomplete;
        }
    }

    /// Reserves `wanted` octets for what the window has grown by, or as many of them as the others
    /// leave, but no fewer than before. Returns how many there are now.
    pub(crate) fn reserve_window(&mut self, wanted: usize) -> usize {
        self.window = self.grow(self.window, wanted);
        self.window
    }

    /// Reserves `wanted` octets for messages of the layer above that are not settled, or as many of
    /// them as the others leave, but no fewer than before. Returns how many there are now.
    pub(crate) fn reserve_unsettled(&mut self, wanted: usize) -> usize {
        self.unsettled = self.grow(self.unsettled, wanted.max(self.unsettled));
        self.unsettled
    }

    /// Exchanges a reservation of `has` octets, and returns how many there are now.
    fn grow(&self, has: usize, wanted: usize) -> usize {
        let kept_free = self.budget.limits.octets / 2;
        let rest = self.budget.left().saturating_add(has).saturating_sub(kept_free);
        let grown = wanted.min(has.max(rest / 2));
        self.exchange(has, grown);
        grown
    }

    fn exchange(&self, before: usize, after: usize) {
        let left = self.budget.left().saturating_add(before);
        self.budget.set_left(left.saturating_sub(after));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let own = self.budget.limits.each + self.beyond(self.incomplete);
        self.exchange(own.saturating_add(self.window).saturating_add(self.unsettled), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_association_leaves_as_much_as_it_takes_and_its_own_is_always_there() {
        let budget = Budget::new(Limits { octets: 100, each: 10 });
        let mut shares: alloc::vec::Vec<_> = (0..4).map(|_| budget.share()).collect();
        assert!(shares[0].admits(10 + 30) && !shares[0].admits(10 + 31), "60 are left");
        shares[0].set_incomplete(40);
        assert!(shares[1].admits(10 + 15) && !shares[1].admits(10 + 16));
        shares[1].set_incomplete(25);
        assert!(shares[2].admits(10 + 7) && shares[3].admits(10) && !shares[3].admits(18));
        assert!(budget.admits(), "15 are left");
        shares[2].set_incomplete(17);
        assert!(!budget.admits());
        drop(shares);
        assert_eq!(budget.left(), 100);
    }

    #[test]
    fn windows_leave_half_of_all_to_messages_and_each_as_much_of_the_rest_as_it_takes() {
        let budget = Budget::new(Limits { octets: 1000, each: 10 });
        let mut shares: alloc::vec::Vec<_> = (0..10).map(|_| budget.share()).collect();
        assert_eq!(budget.reserved(), 100);
        assert_eq!(shares[0].reserve_window(150), 150);
        assert_eq!(shares[0].reserve_window(400), 200, "of 400");
        assert_eq!(shares[1].reserve_window(400), 100);
        assert_eq!(shares[2].reserve_window(20), 20);
        assert_eq!(budget.reserved(), 100 + 320);
        // It keeps what it has, even where others have more by now.
        assert_eq!(shares[0].reserve_window(201), 200);
        assert!(shares[3].admits(10 + 290) && !shares[3].admits(10 + 291), "580 are left");
        assert_eq!(shares[0].reserve_window(50), 50);
        // What is its own is for messages, however much the window has.
        shares[3].set_incomplete(10 + 290);
        shares[4].set_incomplete(10 + 220);
        assert!(shares[1].admits(10) && shares[1].admits(10 + 110) && !shares[1].admits(10 + 111));
        assert_eq!((shares[5].reserve_window(1), shares[1].reserve_window(101)), (0, 100));
        shares.truncate(1);
        assert_eq!(budget.reserved(), 10 + 50);
        // What is not settled is reserved beside, and stays.
        assert_eq!((shares[0].reserve_unsettled(1000), shares[0].reserve_unsettled(0)), (220, 220));
        assert_eq!((shares[0].reserve_window(400), budget.reserved()), (135, 10 + 135 + 220));
        drop(shares);
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn without_a_limit_everything_is_admitted() {
        let budget = Budget::new(Limits::NONE);
        let mut share = budget.share();
        assert!(budget.admits() && share.admits(usize::MAX / 4));
        share.set_incomplete(usize::MAX / 4);
        assert_eq!(share.reserve_window(1 << 40), 1 << 40);
        share.set_incomplete(0);
        drop(share);
        assert_eq!(budget.left(), usize::MAX);
    }
}
