//! The memory that the associations of a layer share.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How much memory all associations of a layer reserve together for incomplete messages: a peer
/// begins as many as it likes, on as many associations as there are, and need never end one.
///
/// Each association has `each` octets to itself. Beyond these, it takes at most as much of the rest
/// as it leaves to the others, so that a few cannot take it all. What does not fit is refused
/// before it is acknowledged, and is sent again.
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
    pub(crate) fn admits(&self) -> bool {
        self.left() >= self.limits.each
    }

    /// Returns the share of a new association.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        self.set_left(self.left().saturating_sub(self.limits.each));
        Share { budget: Arc::clone(self), held: 0 }
    }
}

/// The memory that an association has reserved. It is freed with the association.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    held: usize,
}

impl Share {
    /// Returns what the association takes beyond its own share when it has reserved `held` octets.
    fn beyond(&self, held: usize) -> usize {
        held.saturating_sub(self.budget.limits.each)
    }

    /// Returns whether `held` octets may be reserved.
    pub(crate) fn admits(&self, held: usize) -> bool {
        let (before, after) = (self.beyond(self.held), self.beyond(held));
        let left = self.budget.left().saturating_add(before);
        after <= before || left.checked_sub(after).is_some_and(|others| others >= after)
    }

    /// Sets the reservation to `held` octets.
    #[inline]
    pub(crate) fn set(&mut self, held: usize) {
        if held != self.held {
            let left = self.budget.left().saturating_add(self.beyond(self.held));
            self.budget.set_left(left.saturating_sub(self.beyond(held)));
            self.held = held;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let own = self.budget.limits.each + self.beyond(self.held);
        self.budget.set_left(self.budget.left().saturating_add(own));
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
        shares[0].set(40);
        assert!(shares[1].admits(10 + 15) && !shares[1].admits(10 + 16));
        shares[1].set(25);
        assert!(shares[2].admits(10 + 7) && shares[3].admits(10) && !shares[3].admits(18));
        assert!(budget.admits(), "15 are left");
        shares[2].set(17);
        assert!(!budget.admits());
        drop(shares);
        assert_eq!(budget.left(), 100);
    }

    #[test]
    fn without_a_limit_everything_is_admitted() {
        let budget = Budget::new(Limits::NONE);
        let mut share = budget.share();
        assert!(budget.admits() && share.admits(usize::MAX / 4));
        share.set(usize::MAX / 4);
        share.set(0);
        drop(share);
        assert_eq!(budget.left(), usize::MAX);
    }
}
