//! What duplicate acknowledgements tell of a peer that has no SACK (RFC 5681 §3.2, RFC 6582).

use core::ops::Range;

use stackwright_transport::words::View;

/// From how many on they are no reordering (RFC 5681 §3.2).
const DUPLICATES_LEAST: u32 = 3;

/// Counts duplicate acknowledgements. Each says that a segment has left the network: as many are
/// reported as received, behind the one that is missing. Which ones these are is a guess, which a
/// later acknowledgement corrects: what is reported may be dropped again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duplicates {
    /// The last acknowledgement, and the window that came with it.
    last: (u64, u16),
    count: u32,
    /// What left before the last loss that they told of: until all of it has arrived, what is sent
    /// again calls forth more of them (RFC 6582 §3.2, step 1).
    recovers_upto: u64,
}

impl Duplicates {
    /// Records an acknowledgement with a `window`, which is `bare` where nothing else came with it.
    /// Returns what it says was received beyond the first segment, where segments carry `segment`
    /// octets.
    pub(super) fn on_heard(
        &mut self,
        view: &View,
        (ack, window): (u64, u16),
        bare: bool,
        segment: u64,
    ) -> Option<Range<u64>> {
        if ack < view.settled_upto {
            return None; // others have overtaken it
        }
        let is_same = (ack, window) == self.last && bare && ack < view.sent_upto;
        if ack != self.last.0 {
            self.count = 0;
        }
        self.last = (ack, window);
        if !is_same || ack < self.recovers_upto && self.count < DUPLICATES_LEAST {
            return None;
        }
        self.count = self.count.saturating_add(1);
        if self.count < DUPLICATES_LEAST {
            return None;
        }
        if self.count == DUPLICATES_LEAST {
            self.recovers_upto = view.sent_upto;
        }
        let start = ack + segment;
        let end = (start + u64::from(self.count) * segment).min(view.sent_upto);
        (start < end).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(sent_upto: u64) -> View {
        View { sent_upto, ..View::START }
    }

    #[test]
    fn the_third_duplicate_tells_that_one_is_missing_and_each_that_one_more_arrived() {
        let mut duplicates = Duplicates::default();
        let mut hear =
            |ack, window, bare| duplicates.on_heard(&view(10_000), (ack, window), bare, 1000);
        assert_eq!([(); 3].map(|()| hear(1000, 9, true)), [None, None, None], "two are");
        assert_eq!(hear(1000, 9, true), Some(2000..5000));
        assert_eq!(hear(1000, 9, false), None, "data is no duplicate");
        assert_eq!(hear(1000, 8, true), None, "nor is another window");
        assert_eq!(hear(1000, 8, true), Some(2000..6000));
        // What is sent again calls forth more, until all that had left has arrived.
        for ack in [5000, 10_000] {
            assert!((0..9).all(|_| hear(ack, 9, true).is_none()), "{ack}");
        }
    }

    /// RFC 5681 §2: a duplicate has the highest number that was acknowledged.
    #[test]
    fn acknowledgements_that_others_overtook_tell_nothing() {
        let mut duplicates = Duplicates::default();
        let view = View { settled_upto: 2000, ..view(10_000) };
        assert!((0..9).all(|_| duplicates.on_heard(&view, (1000, 9), true, 1000).is_none()));
    }

    #[test]
    fn nothing_is_missing_where_nothing_is_on_its_way() {
        let mut duplicates = Duplicates::default();
        let heard = |duplicates: &mut Duplicates, sent| {
            (0..9).any(|_| duplicates.on_heard(&view(sent), (1000, 9), true, 1000).is_some())
        };
        assert!(!heard(&mut duplicates, 1000), "no data");
        assert!(!heard(&mut duplicates, 2000), "nothing behind the first");
        assert!(heard(&mut Duplicates::default(), 2001));
    }
}
