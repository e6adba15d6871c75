//! When a list leaves, and what it names.

use stackwright_transport::words::{Estimate, Label, SECOND};

use super::*;

const NOW: View = View {
    now: Instant::START,
    rtt: Estimate { smoothed: MILLISECOND, variation: 0, least: 0, timeout: 0 },
    ..View::START
};

fn unit(span: Range<u64>, piece: usize) -> UnitHeader {
    let (count, label) = ((span.end - span.start) as u32, Label::default());
    UnitHeader { span, count, piece, label, since: NOW.now, lifetime: None }
}

/// Returns after how many packets of `octets` octets a list leaves at once.
fn packets(view: &View, octets: usize) -> u64 {
    let mut list = PeriodicList::new(MILLISECOND, 32).full(2);
    let (mut report, mut came) = (Report::default(), 0);
    while !list.report(view, &Receipts::default(), 100, &mut report) {
        list.on_received(view, &unit(came..came + 1, octets), octets, None);
        came += 1;
    }
    list.on_reported(view, &report);
    assert_eq!(report.held.first(), Some(&(0..came)));
    assert!(!list.report(view, &Receipts::default(), 100, &mut report), "it was said");
    came
}

#[test]
fn few_full_packets_are_acknowledged_at_once_and_many_short_ones() {
    assert_eq!(
        [1000, 760, 740, 100, 64, 0].map(|octets| packets(&NOW, octets)),
        [2, 3, 3, 16, 24, 32]
    );
}

#[test]
fn before_a_round_trip_was_measured_the_second_packet_is_acknowledged() {
    let rtt = Estimate { smoothed: 0, ..NOW.rtt };
    assert_eq!([1000, 64, 0].map(|octets| packets(&View { rtt, ..NOW }, octets)), [2, 2, 2]);
}

#[test]
fn eight_reports_leave_in_a_round_trip_at_most_unless_something_is_missing() {
    let rtt = Estimate { smoothed: 40 * MILLISECOND, ..NOW.rtt };
    let at = |time: u64| View { now: NOW.now.later(time * MILLISECOND), rtt, ..NOW };
    let (mut list, mut receipts) = (PeriodicList::new(SECOND, 32).full(2), Receipts::new(0));
    let (mut report, mut reports) = (Report::default(), 0);
    // Ten packets a millisecond, for four round trips behind those that are reported at once.
    for number in 0..2048 + 1600 {
        let (view, span) = (at(1000 + number / 10), number..number + 1);
        list.on_received(&view, &unit(span.clone(), 1200), 1200, None);
        receipts.enter(&span);
        if list.report(&view, &receipts, 100, &mut report) {
            list.on_reported(&view, &report);
            reports += u64::from(number >= 2048);
        }
    }
    assert!((31..=33).contains(&reports), "{reports}");
    list.on_received(&at(1364), &unit(4001..4002, 1200), 1200, Some(4000..4001));
    assert!(list.report(&at(1364), &receipts, 100, &mut report), "something is missing");
}

#[test]
fn the_first_number_alone_is_acknowledged_at_once() {
    let mut list = PeriodicList::new(MILLISECOND, 32).full(2).first_at_once();
    let (receipts, mut report) = (Receipts::default(), Report::default());
    list.on_received(&NOW, &unit(0..1, 64), 64, None);
    assert!(list.report(&NOW, &receipts, 100, &mut report));
    list.on_reported(&NOW, &report);
    list.on_received(&NOW, &unit(1..2, 64), 64, None);
    assert!(!list.report(&NOW, &receipts, 100, &mut report), "the next ones are gathered");
}

/// Reports that are lost in a row: where the sender waits twice as long each time, as many as
/// are lost would take for ever.
#[test]
fn what_comes_again_and_again_is_reported_more_and_more_often() {
    let mut list = PeriodicList::new(SECOND, 32).ranges(true);
    let mut receipts = Receipts::new(0);
    receipts.enter(&(0..1));
    let mut view = View { received_upto: 1, ..NOW };
    let (mut report, mut reports) = (Report::default(), Vec::new());
    for _ in 0..7 {
        view.now = view.now.later(60 * SECOND);
        list.on_received(&view, &unit(0..1, 100), 100, None);
        list.on_again(&view, &(0..1));
        let mut times = 0;
        while list.deadline() != Instant::END {
            view.now = view.now.max(list.deadline());
            assert!(list.report(&view, &receipts, 100, &mut report));
            list.on_reported(&view, &report);
            times += 1;
        }
        reports.push(times);
    }
    assert_eq!(reports, [1, 2, 3, 5, 9, 17, 17]);
    view.received_upto = 2;
    list.on_received(&view, &unit(0..1, 100), 100, None);
    list.on_again(&view, &(0..1));
    list.on_reported(&view, &report);
    assert_eq!(list.deadline(), Instant::END, "something new has arrived since");
}

#[test]
fn several_are_as_each_of_them() {
    for (count, piece, last) in [(1, 1000, 10), (2, 1000, 1000), (7, 1400, 1300), (40, 100, 1)] {
        let octets = (count as usize - 1) * piece + last;
        let fresh = || PeriodicList::new(MILLISECOND, 32).full(2);
        let (mut each, mut several) = (fresh(), fresh());
        each.on_received(&NOW, &unit(0..1, 50), 50, None);
        several.on_received(&NOW, &unit(0..1, 50), 50, None);
        for number in 1..=count {
            let octets = if number == count { last } else { piece };
            each.on_received(&NOW, &unit(number..number + 1, octets), octets, None);
        }
        several.on_received(&NOW, &unit(1..count + 1, piece), octets, None);
        assert_eq!(alloc::format!("{each:?}"), alloc::format!("{several:?}"), "{count} of {piece}");
    }
}

fn one(span: Range<u64>) -> Vec<Range<u64>> {
    Vec::from_iter([span])
}

/// Has packets arrive, each number once or more, and returns what is reported then.
fn reported(list: &mut PeriodicList, receipts: &mut Receipts, numbers: &[u64]) -> Report {
    for number in numbers {
        let (span, mut report) = (*number..number + 1, Report::default());
        let view = View { received_upto: receipts.upto(), ..NOW };
        list.on_received(&view, &unit(span.clone(), 100), 100, None);
        if !receipts.enter(&span) {
            list.on_again(&view, &span);
        }
        let is_due = list.report(&view, receipts, 20, &mut report);
        assert_eq!(is_due, !list.again.is_empty(), "{number}");
    }
    let mut report = Report::default();
    list.hurry(&NOW);
    assert!(list.report(&NOW, receipts, 20, &mut report));
    list.on_reported(&NOW, &report);
    assert_eq!(list.deadline(), Instant::END);
    report
}

#[test]
fn each_report_tells_all_that_arrived_so_that_any_one_suffices() {
    let (mut list, mut receipts) = (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
    assert_eq!(reported(&mut list, &mut receipts, &[0, 1, 3]).held, one(3..4));
    let report = reported(&mut list, &mut receipts, &[5, 8]);
    assert_eq!((report.upto, &report.held[..]), (2, &[3..4, 5..6, 8..9][..]));
    let report = reported(&mut list, &mut receipts, &[2]);
    assert_eq!((report.upto, &report.held[..]), (4, &[5..6, 8..9][..]));
    assert_eq!(report.again, []);
}

#[test]
fn of_many_ranges_those_that_grew_and_the_highest_are_reported() {
    let (mut list, mut receipts) = (PeriodicList::new(SECOND, 999).ranges(true), Receipts::new(0));
    let odd = Vec::from_iter((1..200).step_by(2));
    let highest = Vec::from_iter(odd[92..].iter().map(|number| *number..number + 1));
    assert_eq!(reported(&mut list, &mut receipts, &odd).held.len(), 20, "there is no more room");
    let report = reported(&mut list, &mut receipts, &[10, 4, 12]);
    assert_eq!(report.held, [&[3..6, 9..14][..], &highest].concat());
}

#[test]
fn what_arrives_again_is_reported_as_that_once() {
    let (mut list, mut receipts) = (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
    let report = reported(&mut list, &mut receipts, &[0, 1, 0, 1, 5, 5]);
    assert_eq!((report.upto, &report.held), (2, &one(5..6)));
    assert_eq!(report.again, [0..2, 5..6]);
    assert_eq!(reported(&mut list, &mut receipts, &[6]).again, []);
}

#[test]
fn where_the_format_names_no_ranges_numbers_are_listed_twice() {
    let (mut list, mut receipts) = (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
    list.on_begun(false);
    assert_eq!(reported(&mut list, &mut receipts, &[0, 1]).held, one(0..2));
    assert_eq!(reported(&mut list, &mut receipts, &[2]).held, [2..3, 0..2]);
    let report = reported(&mut list, &mut receipts, &[3]);
    assert_eq!((report.upto, &report.held[..]), (0, &[3..4, 2..3][..]));
}
