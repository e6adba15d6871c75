//! A window whose right edge never moves back.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{CreditUpdate, Flow};
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// How many times the window is what arrives within a round trip.
const AHEAD: u64 = 4;

/// After how many round trips a window shrinks whose application does not keep up.
const STALLED: u64 = 4;

/// Advertises up to which sequence number the peer may send: a right edge that never moves back
/// (XTP's `alloc`, XSTP's N(MR)). Where the peer advertises none, `window` bounds what is in
/// flight, and so how many numbers the peer has to remember.
///
/// Numbers that were received and that the application has not read count against the window, so a
/// receiver that does not read stops the sender. A sender tries a shut window again after a
/// retransmission timeout, because the advertisement that opens it may be lost; where the inquiry
/// slot asks as long as something waits, it need not ([`asked_about`](CreditWindow::asked_about)).
///
/// The window [may grow](CreditWindow::growing_to): where the application keeps up, it is four
/// times what arrives within a round trip (as Linux's dynamic right-sizing,
/// `tcp_rcv_space_adjust`). One hole keeps the left edge for a round trip, and a sender in slow
/// start doubles.
///
/// # What the application makes an association hold
/// Complete messages wait for an application that does not read; how many, only the window bounds,
/// which counts their numbers: of the octets for which an application gives credit, none wait. So a
/// window of `n` numbers holds at most `n` times what a number stands for, in octets. (Pieces of
/// incomplete messages count only while a message waits: they are reserved by
/// [framing](stackwright_transport::slots::Framing::admits), so that they complete. What had begun
/// before the first message waited may therefore come on top.)
///
/// The first window is the association's own. What the window has grown by is
/// [reserved](Flow::reserves) before credit is given for it, in the memory that all associations
/// [share](stackwright_transport::Limits); as far as that is not admitted, the window stays what it
/// is. An application that was behind for four round trips, with more than a quarter of the window
/// unread, gets its first window again. Credit is never taken back, so the rest of the reservation
/// is freed as the peer uses up its credit and the application reads.
///
/// ```
/// use stackwright_policies::flow::CreditWindow;
/// let flow = CreditWindow::new(4096);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CreditWindow {
    first: u64,
    /// By which credit is given.
    window: u64,
    /// For how many numbers there is memory: more than the window while that shrinks.
    reserved: u64,
    most: u64,
    /// The octets that a number stands for, at most.
    octets: u64,
    /// When the current round trip is over, and what had been received when it began. A window
    /// that may not grow has no round trips.
    round: (Instant, u64),
    /// When the application last kept up.
    kept_up: Instant,
    /// The right edge that the peer advertised.
    theirs: Option<u64>,
    /// The right edge that was last advertised to the peer.
    said: u64,
    /// How many numbers the application has to have taken until half of the window is free again;
    /// none where a look is needed at each.
    enough: u64,
    asked_about: AskedAbout,
}

/// Which windows inquiries find out about: those that are shut, or also those that are open for
/// less than what leaves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AskedAbout {
    None,
    Shut,
    All,
}

impl CreditWindow {
    /// Creates a window of `window` numbers: octets or packets, as the format counts.
    pub const fn new(window: u64) -> Self {
        CreditWindow {
            first: window,
            window,
            reserved: window,
            most: window,
            octets: 1,
            round: (Instant::END, 0),
            kept_up: Instant::START,
            theirs: None,
            said: 0,
            enough: 0,
            asked_about: AskedAbout::None,
        }
    }

    /// Lets the window grow to `most` numbers, as far as the path holds them and there is memory:
    /// each stands for at most `octets` octets.
    #[must_use]
    pub const fn growing_to(self, most: u64, octets: u64) -> Self {
        if most > self.window {
            return CreditWindow { most, octets, round: (Instant::START, 0), ..self };
        }
        self
    }

    /// Leaves a shut window to inquiries, which find out when it opens (XTP §5). The inquiry policy
    /// has to go on asking as long as something waits.
    #[must_use]
    pub const fn asked_about(self) -> Self {
        CreditWindow { asked_about: AskedAbout::All, ..self }
    }

    /// Leaves a window to inquiries that is shut altogether; one that is open for less than a unit
    /// is tried with that (RFC 9293 §3.8.6.1, §3.8.6.2.1).
    #[must_use]
    pub const fn asked_when_shut(self) -> Self {
        CreditWindow { asked_about: AskedAbout::Shut, ..self }
    }

    /// Returns whether the application leaves so much unread that the window is of no use.
    fn is_behind(&self, view: &View) -> bool {
        4 * view.pending > self.window
    }

    /// Returns how many numbers wait for the application, or may come within the credit that was
    /// given.
    #[inline]
    fn owed(&self, view: &View) -> u64 {
        view.pending + self.said.saturating_sub(view.received_upto)
    }

    /// Returns the window that suits what arrived since the last look, and for how many numbers
    /// memory is needed.
    fn tuned(&self, view: &View) -> (u64, u64) {
        let (until, from) = self.round;
        let came = view.received_upto.saturating_sub(from);
        let stalled = view.rtt.smoothed.saturating_mul(STALLED);
        let window = match self.is_behind(view) {
            true if view.now > self.kept_up.later(stalled) => self.first,
            false if until != Instant::START => self.window.max((AHEAD * came).min(self.most)),
            _ => self.window,
        };
        (window, window.max(self.reserved.min(self.owed(view))))
    }

    /// Returns what is to be done now that the application has taken something.
    #[inline(never)]
    fn update(&self, view: &View) -> CreditUpdate {
        // Once a round trip; and where nothing of a window that was larger is owed any more.
        let is_over = view.now >= self.round.0 && view.rtt.smoothed > 0;
        if is_over || self.reserved > self.window && self.owed(view) <= self.window {
            return CreditUpdate::Reserve;
        }
        // A peer that was told no edge has a limit of its own, and is told with the first report.
        if self.said == 0 {
            return CreditUpdate::None;
        }
        // Half of the window is free again, or the peer is at the edge and some of it is free.
        let edge = view.received_upto + self.window.saturating_sub(view.pending);
        let known = if self.said > view.received_upto { self.window / 2 } else { 0 };
        if edge > self.said + known { CreditUpdate::Tell } else { CreditUpdate::None }
    }

    /// Works out when half of the window is free again.
    fn look_ahead(&mut self) {
        let free = (self.said + self.window / 2 + 1).saturating_sub(self.window);
        self.enough = if self.reserved > self.window { 0 } else { free };
    }

    #[inline]
    fn edge(&self, view: &View) -> u64 {
        self.said.max(view.received_upto + self.window.saturating_sub(view.pending))
    }
}

impl Flow for CreditWindow {
    #[inline]
    fn limit(&self, view: &View) -> u64 {
        match self.theirs {
            Some(theirs) => theirs.min(view.settled_upto + self.most),
            None => view.settled_upto + self.window,
        }
    }

    fn on_credit(&mut self, credit: u64) {
        self.theirs = self.theirs.max(Some(credit));
    }

    #[inline]
    fn admit(&self, view: &View, span: &Range<u64>) -> Result<(), Dropped> {
        // Within the credit that was given, there is memory for it.
        if span.end <= self.said {
            return Ok(());
        }
        if span.end > view.received_upto + self.reserved {
            return Err(Dropped::BeyondWindow);
        }
        if view.pending >= self.window {
            return Err(Dropped::NoRoom);
        }
        Ok(())
    }

    #[inline]
    fn credit(&self, view: &View) -> Option<u64> {
        Some(self.edge(view))
    }

    fn on_credit_said(&mut self, credit: u64) {
        self.said = credit;
        self.look_ahead();
    }

    #[inline(always)] // for each message
    fn on_taken(&mut self, view: &View) -> CreditUpdate {
        // The usual case: nearly every message.
        let taken = view.received_upto.saturating_sub(view.pending);
        if taken < self.enough && view.received_upto < self.said && view.now < self.round.0 {
            return CreditUpdate::None;
        }
        self.update(view)
    }

    #[cold]
    fn reserves(&self, view: &View) -> usize {
        let (_, reserved) = self.tuned(view);
        let octets = (reserved - self.first).saturating_mul(self.octets);
        usize::try_from(octets).unwrap_or(usize::MAX)
    }

    #[cold]
    fn on_reserved(&mut self, view: &View, octets: usize) {
        let (window, reserved) = self.tuned(view);
        let admitted = self.first.saturating_add(octets as u64 / self.octets);
        if !self.is_behind(view) {
            self.kept_up = view.now;
        }
        (self.window, self.reserved) = (window.min(admitted), reserved.min(admitted));
        self.round = (view.now.later(view.rtt.smoothed), view.received_upto);
        self.look_ahead();
    }

    fn tries_after(&self, view: &View) -> Option<Nanoseconds> {
        let tries = match self.asked_about {
            AskedAbout::None => true,
            AskedAbout::Shut => self.limit(view) > view.sent_upto,
            AskedAbout::All => false,
        };
        tries.then_some(view.rtt.timeout)
    }
}

component! {
    CreditWindow: "flow by credit", "lets the peer send what there is room for",
    needs: Property::CREDIT.and(Property::REPORTS),
    // A gap that nothing fills and no policy forgives would shut the window.
    needs_one_of: Property::REPEATS.and(Property::FORGIVES).and(Property::SETTLES),
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, MILLISECOND, SECOND};

    use super::*;

    /// Looks at the window where it asks for that, with as much memory as `grants` admits.
    fn taken(flow: &mut CreditWindow, view: &View, grants: usize) {
        if flow.on_taken(view) == CreditUpdate::Reserve {
            flow.on_reserved(view, flow.reserves(view).min(grants));
            assert_ne!(flow.on_taken(view), CreditUpdate::Reserve, "once");
        }
    }

    /// Returns a window after `trips` round trips, in each of which `share` of it arrives, in
    /// hundredths, and `pending` of it stays unread.
    fn after(trips: u64, share: u64, pending: u64, grants: usize) -> CreditWindow {
        let mut flow = CreditWindow::new(1000).growing_to(10_000, 100);
        let rtt = Estimate { smoothed: 100 * MILLISECOND, ..Estimate::default() };
        let mut view = View { rtt, now: Instant::START.later(MILLISECOND), ..View::START };
        for _ in 0..=trips {
            for _ in 0..10 {
                let window = flow.window;
                view.received_upto += window * share / 1000;
                view.pending = window * pending / 100;
                view.now = view.now.later(10 * MILLISECOND);
                taken(&mut flow, &view, grants);
            }
        }
        flow
    }

    const ALL: usize = usize::MAX;

    #[test]
    fn the_window_grows_with_what_arrives_in_a_round_trip_while_the_application_keeps_up() {
        assert_eq!(after(1, 100, 0, ALL).window, 4000);
        assert!((1400..2500).contains(&after(2, 30, 20, ALL).window));
        assert_eq!(after(20, 100, 0, ALL).window, 10_000, "the most");
        assert_eq!(after(20, 25, 0, ALL).window, 1000, "the sender does not use it");
        assert_eq!(after(20, 100, 50, ALL).window, 1000, "the application does not keep up");
    }

    #[test]
    fn the_window_grows_as_far_as_there_is_memory() {
        assert_eq!(after(20, 100, 0, 0).window, 1000);
        assert_eq!(after(20, 100, 0, 250_000).window, 3500);
        assert_eq!(after(20, 100, 0, 900_000).window, 10_000);
    }

    #[test]
    fn the_window_of_an_application_that_stalled_shrinks_as_its_credit_is_used_up_and_it_reads() {
        let mut flow = after(20, 100, 0, ALL);
        let rtt = Estimate { smoothed: 100 * MILLISECOND, ..Estimate::default() };
        let (now, received_upto) = (Instant::START.later(60 * SECOND), 1_000_000);
        flow.on_credit_said(received_upto + 10_000);
        // All that it may has come, and was unread for long.
        let mut view = View { rtt, now, received_upto, pending: 10_000, ..View::START };
        view.received_upto += 10_000;
        view.pending -= 1;
        taken(&mut flow, &view, ALL);
        assert_eq!((flow.window, flow.reserved), (1000, 9_999));
        assert_eq!(flow.credit(&view), Some(view.received_upto), "not more than before");
        view.now = view.now.later(100 * MILLISECOND);
        view.pending = 1500;
        taken(&mut flow, &view, ALL);
        assert_eq!((flow.reserves(&view), flow.reserved), (50_000, 1500));
        view.pending = 1000;
        taken(&mut flow, &view, ALL);
        assert_eq!((flow.window, flow.reserves(&view), flow.reserved), (1000, 0, 1000));
        view.pending = 400;
        assert_eq!(flow.on_taken(&view), CreditUpdate::Tell);
        assert_eq!(flow.credit(&view), Some(view.received_upto + 600));
    }

    /// Credit that the peer has not used may be used at any time.
    #[test]
    fn memory_for_credit_that_was_given_stays_reserved() {
        let mut flow = after(20, 100, 0, ALL);
        let rtt = Estimate { smoothed: 100 * MILLISECOND, ..Estimate::default() };
        let (now, received_upto) = (Instant::START.later(60 * SECOND), 1_000_000);
        flow.on_credit_said(received_upto + 7000);
        let view = View { rtt, now, received_upto, pending: 3000, ..View::START };
        taken(&mut flow, &view, ALL);
        assert_eq!((flow.window, flow.reserved), (1000, 10_000));
        assert!(flow.admit(&view, &(received_upto + 6999..received_upto + 7000)).is_ok());
        assert!(flow.admit(&view, &(received_upto + 7000..received_upto + 7001)).is_err());
    }

    #[test]
    fn it_does_not_grow_unless_it_may() {
        let flow = CreditWindow::new(1000);
        assert_eq!((flow.window, flow.most), (1000, 1000));
        assert_eq!(flow.growing_to(10, 1).most, 1000);
    }
}
