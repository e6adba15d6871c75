//! Gaps, after a random wait, unless another receiver reports them.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::rules::{Component, Facts, Property};
use stackwright_transport::slots::{self, Acknowledgement};
use stackwright_transport::words::{Nanoseconds, Report, UnitHeader, View};
use stackwright_transport::{Receipts, wraps};

/// Reports a new gap once, after a random wait (XTP's *slotting*), unless it was filled meanwhile
/// or another receiver has reported it (*damping*): of many receivers that miss the same, few ask
/// for it. Another policy reports everything else.
///
/// The wait is uniform within the slot. If all receivers miss a packet, about one and
/// `n` · `delay` / `slot` of them report it, where `delay` is the time between two of them.
///
/// Choose it for the receivers of a group, around a policy that reports when it is asked.
///
/// ```
/// use stackwright_policies::acknowledgement::{OnRequest, Slotted};
/// let seed = 7; // another one for each receiver
/// let acknowledgement = Slotted::new(OnRequest::<false>::new(), 50_000_000, seed);
/// # let _ = acknowledgement;
/// ```
#[derive(Clone, Debug)]
pub struct Slotted<A> {
    other: A,
    slot: Nanoseconds,
    random: u64,
    /// The numbers among which some were missing, and when that is reported.
    gap: Option<(Range<u64>, Instant)>,
}

impl<A> Slotted<A> {
    /// Creates the policy around `other`, with waits of up to `slot` nanoseconds, which follow from
    /// `seed`.
    pub const fn new(other: A, slot: Nanoseconds, seed: u64) -> Self {
        Slotted { other, slot, random: seed | 1, gap: None }
    }

    /// Returns a random wait (xorshift64*).
    fn wait(&mut self) -> Nanoseconds {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let random = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d);
        ((u128::from(random) * u128::from(self.slot)) >> 64) as u64
    }

    /// Forgets a gap that was filled.
    fn on_progress(&mut self, view: &View) {
        if self.gap.as_ref().is_some_and(|(gap, _)| gap.end <= view.received_upto) {
            self.gap = None;
        }
    }

    fn is_due(&self, view: &View) -> bool {
        self.gap.as_ref().is_some_and(|(_, at)| *at <= view.now)
    }
}

/// Returns whether each hole within `gap` is in one of the `reported`, which rise.
fn is_covered(receipts: &Receipts, gap: &Range<u64>, reported: &[Range<u64>]) -> bool {
    let mut reported = reported.iter();
    let mut last = reported.next();
    receipts.missing().filter(|hole| hole.end > gap.start && hole.start < gap.end).all(|hole| {
        while last.is_some_and(|span| span.end < hole.end) {
            last = reported.next();
        }
        last.is_some_and(|span| span.start <= hole.start)
    })
}

wraps! { Slotted<A>: other }

impl<A: Acknowledgement> slots::WrapsAcknowledgement for Slotted<A> {
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        octets: usize,
        gap: Option<Range<u64>>,
    ) {
        self.on_progress(view);
        if let Some(new) = &gap {
            match &mut self.gap {
                Some((gap, _)) => gap.end = new.end,
                None => self.gap = Some((new.clone(), view.now.later(self.wait()))),
            }
        }
        self.other.on_received(view, unit, octets, gap);
    }

    fn on_taken(&mut self, view: &View) {
        self.on_progress(view);
        self.other.on_taken(view);
    }

    fn on_overheard(&mut self, view: &View, receipts: &Receipts, report: &Report) {
        if self.gap.as_ref().is_some_and(|(gap, _)| is_covered(receipts, gap, &report.missing)) {
            self.gap = None;
        }
        self.other.on_overheard(view, receipts, report);
    }

    fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if self.other.report(view, receipts, room, into) {
            return true;
        }
        if !self.is_due(view) {
            return false;
        }
        // A gap that was filled before anything was taken is reported as filled.
        into.clear();
        into.upto = receipts.upto();
        into.held.extend(receipts.beyond().iter().take(room).cloned());
        into.missing.extend(receipts.missing().take(room));
        true
    }

    fn on_reported(&mut self, view: &View, report: &Report) {
        if report.answers.is_none() && self.is_due(view) {
            self.gap = None;
        } else {
            self.other.on_reported(view, report);
        }
    }

    fn deadline(&self) -> Instant {
        let at = self.gap.as_ref().map_or(Instant::END, |(_, at)| *at);
        at.min(self.other.deadline())
    }
}

impl<A: Component> Component for Slotted<A> {
    const FACTS: Facts = Facts {
        name: "acknowledgement of gaps, slotted and damped",
        does: "reports a gap after a random wait, unless another receiver does",
        needs: A::FACTS.needs.and(Property::SPANS).and(Property::GROUP),
        ..A::FACTS
    };
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use stackwright_transport::words::Label;

    use super::*;
    use crate::acknowledgement::OnRequest;

    const SLOT: Nanoseconds = 1000;

    fn at(now: u64, received_upto: u64) -> View {
        View { now: Instant::from_nanoseconds(now), received_upto, ..View::START }
    }

    /// Returns the policy and the receipts after 10..20 arrived, at time 0, and nothing before.
    fn misses(seed: u64) -> (Slotted<OnRequest<false>>, Receipts) {
        let mut policy = Slotted::new(OnRequest::new(), SLOT, seed);
        let mut receipts = Receipts::new(0);
        arrives(&mut policy, &mut receipts, 10..20, Some(0..10));
        (policy, receipts)
    }

    fn arrives(
        policy: &mut Slotted<OnRequest<false>>,
        receipts: &mut Receipts,
        span: Range<u64>,
        gap: Option<Range<u64>>,
    ) {
        let view = at(0, receipts.upto());
        let (count, piece, label) = (1, 10, Label::default());
        let unit =
            UnitHeader { span: span.clone(), count, piece, label, since: view.now, lifetime: None };
        policy.on_received(&view, &unit, 10, gap);
        receipts.enter(&span);
    }

    /// Returns what is reported as missing at the end of the slot; `None`: nothing is reported.
    fn reported(
        policy: &mut Slotted<OnRequest<false>>,
        receipts: &Receipts,
    ) -> Option<Vec<Range<u64>>> {
        let (view, mut report) = (at(SLOT, receipts.upto()), Report::default());
        let reports = policy.report(&view, receipts, 8, &mut report);
        if reports {
            policy.on_reported(&view, &report);
        }
        reports.then_some(report.missing)
    }

    #[test]
    fn a_gap_is_reported_once_within_the_slot_at_another_time_for_each_seed() {
        let mut waits = Vec::new();
        for seed in 0..100 {
            let (mut policy, receipts) = misses(seed * 2);
            waits.push(policy.deadline().nanoseconds());
            assert!(policy.deadline() < Instant::from_nanoseconds(SLOT), "seed {seed}");
            let reported = [(); 2].map(|()| reported(&mut policy, &receipts));
            assert_eq!(reported, [Some(core::iter::once(0..10).collect()), None]);
            assert_eq!(policy.deadline(), Instant::END);
        }
        let mean = waits.iter().sum::<u64>() / 100;
        assert!((SLOT * 4 / 10..SLOT * 6 / 10).contains(&mean), "{mean}");
        waits.sort_unstable();
        waits.dedup();
        assert!(waits.len() > 60, "{} of 100 differ", waits.len());
    }

    #[test]
    fn a_gap_that_was_filled_is_not_reported() {
        let (mut policy, mut receipts) = misses(1);
        arrives(&mut policy, &mut receipts, 0..10, None);
        policy.on_taken(&at(1, receipts.upto()));
        assert_eq!((receipts.upto(), policy.deadline()), (20, Instant::END));
    }

    #[test]
    fn a_gap_that_another_has_reported_is_not_reported() {
        for (missing, is_damped) in
            [(0..10, true), (0..30, true), (0..9, false), (1..10, false), (20..30, false)]
        {
            let (mut policy, receipts) = misses(1);
            let mut report = Report::default();
            report.missing.push(missing.clone());
            policy.on_overheard(&at(1, 0), &receipts, &report);
            assert_eq!(reported(&mut policy, &receipts).is_none(), is_damped, "{missing:?}");
        }
    }

    #[test]
    fn a_question_is_answered_at_once() {
        let (mut policy, receipts) = misses(1);
        policy.on_inquiry(&at(0, 0), 3.into());
        assert_eq!(policy.deadline(), Instant::START);
        let mut report = Report::default();
        assert!(policy.report(&at(0, 0), &receipts, 8, &mut report));
        assert_eq!((report.answers, report.missing.len()), (Some(3), 0));
        policy.on_reported(&at(0, 0), &report);
        assert_eq!(
            reported(&mut policy, &receipts),
            Some(core::iter::once(0..10).collect()),
            "the gap waits"
        );
    }
}
