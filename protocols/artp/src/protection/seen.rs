//! Which datagrams came before.

use stackwright_transport::Receipts;

/// Every counter that came, so that a datagram that was recorded and is sent again under another packet's number is noticed.
///
/// Nothing is too old to be new: a datagram of little priority may be overtaken by any number of others. Only where more than
/// 4096 are missing at once, the oldest of these are not waited for any more.
#[derive(Debug)]
pub(super) struct Seen(Receipts);

impl Seen {
    pub(super) const fn new() -> Self {
        Seen(Receipts::new(0))
    }

    /// Whether a datagram whose seal or signature holds comes for the first time.
    pub(super) fn is_new(&mut self, counter: u64) -> bool {
        let Some(end) = counter.checked_add(1) else { return false };
        let span = counter..end;
        if !self.0.has_room(&span)
            && let Some(next) = self.0.beyond().first().map(|span| span.start)
        {
            self.0.forgive(next);
        }
        let mut new = false;
        self.0.insert(span, |_| new = true);
        new
    }
}
