//! Which datagrams arrived before: replay protection.

use stackwright_transport::Receipts;

/// Every counter that arrived, so that a datagram is recognized that was recorded and is replayed
/// under another packet's sequence number.
///
/// There is no lower limit: a datagram of low priority may be overtaken by any number of others.
/// Only if more than 4096 are missing at once, the oldest of these are no longer accepted.
#[derive(Debug)]
pub(super) struct Seen(Receipts);

impl Seen {
    pub(super) const fn new() -> Self {
        Seen(Receipts::new(0))
    }

    /// Whether a datagram whose seal or signature is valid arrives for the first time.
    pub(super) fn is_new(&mut self, counter: u64) -> bool {
        let Some(end) = counter.checked_add(1) else { return false };
        let span = counter..end;
        if !self.0.has_room(&span)
            && let Some(next) = self.0.beyond().first().map(|span| span.start)
        {
            self.0.skip_to(next);
        }
        self.0.enter(&span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_new_once() {
        let mut seen = Seen::new();
        for counter in [0, 2, 1, 700, 3, 1 << 48, u64::MAX - 1] {
            assert!(seen.is_new(counter), "{counter}");
            assert!(!seen.is_new(counter), "{counter} again");
        }
        assert!(!seen.is_new(u64::MAX), "there is none after it");
    }

    /// Memory: 16 octets for each span, and never more than 4096 of them.
    #[test]
    fn who_leaves_holes_fills_no_memory() {
        let mut seen = Seen::new();
        for counter in 0..10_000 {
            assert!(seen.is_new(2 * counter + 1));
        }
        assert!(seen.0.beyond().len() <= 4096);
        assert!(seen.is_new(19_000), "a recent one is still waited for");
        assert!(!seen.is_new(2), "an old one is not");
    }
}
