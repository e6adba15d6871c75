//! A group whose members answer, are late, lie, leave.

use super::*;

fn at(milliseconds: u64) -> View {
    let now = Instant::from_nanoseconds(milliseconds * 1_000_000);
    View { now, sent_upto: 1000, drained: false, ..View::START }
}

/// Returns what the group says after a member has said this, in answer to the newest question.
fn says(
    group: &mut Buckets,
    view: &View,
    (member, upto, credit): (u64, u64, u64),
) -> Option<(u64, Option<u32>, Option<u64>)> {
    let mut report = Report { upto, member, answers: Some(group.asked), ..Report::default() };
    let mut credit = Some(credit);
    let counts = group.merge(view, Signals::NONE, &mut report, &mut credit);
    counts.then_some((report.upto, report.answers, credit))
}

#[test]
fn a_question_is_answered_when_all_have_answered_it() {
    let (mut group, view) = (Buckets::new(3), at(0));
    group.on_asked(&view, 1);
    assert_eq!(says(&mut group, &view, (10, 700, 5000)), None);
    assert_eq!(says(&mut group, &view, (10, 700, 5000)), None, "it is one member");
    assert_eq!(says(&mut group, &view, (20, 500, 6000)), None);
    let all = Some((500, Some(1), Some(5000)));
    assert_eq!(says(&mut group, &view, (30, 900, 7000)), all, "the least of each");
    group.on_asked(&view, 2);
    assert_eq!(says(&mut group, &view, (10, 1000, 5000)), None);
    let more = Some((900, None, Some(5000)));
    assert_eq!(says(&mut group, &view, (20, 1000, 6000)), more, "more, and no answer");
    assert_eq!(says(&mut group, &view, (30, 1000, 7000)), Some((1000, Some(2), Some(5000))));
    assert_eq!(says(&mut group, &view, (30, 1000, 7000)), None, "it is not new");
}

#[test]
fn a_question_that_a_newer_answer_completes_measures_nothing() {
    let (mut group, view) = (Buckets::new(2), at(0));
    group.on_asked(&view, 1);
    assert_eq!(says(&mut group, &view, (1, 100, 2000)), None);
    assert_eq!(says(&mut group, &view, (2, 100, 2000)), Some((100, Some(1), Some(2000))));
    group.on_asked(&view, 2);
    assert_eq!(says(&mut group, &view, (1, 200, 2000)), None);
    // The answer of 2 is lost.
    group.on_asked(&view, 3);
    assert_eq!(says(&mut group, &view, (2, 300, 2000)), Some((200, Some(2), Some(2000))));
    assert!(!group.measures());
    assert_eq!(says(&mut group, &view, (1, 300, 2000)), Some((300, Some(3), Some(2000))));
    assert!(group.measures());
}

#[test]
fn who_answers_nothing_is_dropped_and_stays_out() {
    let (mut group, view) = (Buckets::new(2).questions(3), at(0));
    group.on_asked(&view, u32::MAX);
    says(&mut group, &view, (1, 100, 2000));
    says(&mut group, &view, (2, 50, 2000));
    for number in 0..3 {
        group.on_asked(&view, number);
        assert_eq!(says(&mut group, &view, (1, 1000, 3000)), None, "question {number}");
        assert_eq!(group.take_dropped(), None);
    }
    group.on_asked(&view, 3);
    let why = MemberFault::Silent;
    assert_eq!(group.take_dropped(), Some(DroppedMember { member: 2, why }));
    assert_eq!(group.take_dropped(), None, "once");
    let alone = Some((1000, Some(3), Some(3000)));
    assert_eq!(says(&mut group, &view, (1, 1000, 3000)), alone);
    assert_eq!(says(&mut group, &view, (2, 1000, 3000)), None);
    let counts = GroupCounts { members: 1, left: 0, dropped: 1 };
    assert_eq!(group.counts(), Some(counts));
}

#[test]
fn who_holds_up_the_others_is_dropped() {
    let mut group = Buckets::new(2).patient(10 * SECOND, 100);
    for second in 0..=20 {
        let view = at(second * 1000);
        group.on_asked(&view, second as u32 + 1);
        says(&mut group, &view, (1, 1000, 9000));
        // It takes 99 in 10 s, and then nothing.
        says(&mut group, &view, (2, 900 + second.min(9) * 11, 1050));
        let is_out = group.take_dropped().is_some();
        assert_eq!(is_out, second == 10, "{second} s");
    }
}

#[test]
fn who_has_all_is_not_blamed_for_the_others() {
    let mut group = Buckets::new(2).patient(SECOND, 1);
    for second in 0..100 {
        let view = at(second * 1000);
        group.on_asked(&view, second as u32 + 1);
        says(&mut group, &view, (1, 1000, 9000));
        says(&mut group, &view, (2, second, 500));
    }
    assert_eq!(group.take_dropped(), None);
}

#[test]
fn who_leaves_is_not_waited_for() {
    let (mut group, view) = (Buckets::new(2), at(0));
    group.on_asked(&view, 1);
    says(&mut group, &view, (1, 100, 2000));
    says(&mut group, &view, (2, 50, 2000));
    let mut report = Report { member: 2, ..Report::default() };
    assert!(group.merge(&view, Signals::END, &mut report, &mut None));
    assert_eq!(report.upto, 100);
    assert_eq!(group.counts(), Some(GroupCounts { members: 1, left: 1, dropped: 0 }));
}

#[test]
fn what_the_last_one_has_counts_though_it_leaves() {
    let (mut group, view) = (Buckets::new(2), at(0));
    group.on_asked(&view, 1);
    let leaves = |group: &mut Buckets, member| {
        let (upto, answers) = (1000, Some(1));
        let mut report = Report { member, upto, answers, ..Report::default() };
        let counts = group.merge(&view, Signals::END, &mut report, &mut Some(2000));
        counts.then_some((report.upto, report.answers))
    };
    // One leaves with its first word: it was a member all the same.
    assert_eq!(leaves(&mut group, 1), None);
    assert_eq!(says(&mut group, &view, (2, 400, 2000)), Some((400, Some(1), Some(2000))));
    // A copy of what one said that has left makes it no member.
    assert_eq!((leaves(&mut group, 1), says(&mut group, &view, (1, 0, 9))), (None, None));
    assert_eq!(leaves(&mut group, 2), Some((1000, None)));
    assert_eq!(leaves(&mut group, 2), None);
    assert_eq!(group.counts(), Some(GroupCounts { members: 0, left: 2, dropped: 0 }));
}

/// Steps are counted, for hostile members may have as many spans as a packet has room for.
#[test]
fn spans_are_compared_once_each() {
    let steps = core::cell::Cell::new(0);
    let spans = |shift: u64| {
        (0..1000).map(move |nth| 10 * nth + shift..10 * nth + shift + 6).inspect(|_| {
            steps.set(steps.get() + 1);
        })
    };
    let mut shared = Vec::new();
    intersect(spans(0), spans(3), &mut shared);
    assert!(steps.get() <= 2000, "{} steps", steps.get());
    let expected: Vec<_> = (0..1000).map(|nth| 10 * nth + 3..10 * nth + 6).collect();
    assert_eq!(shared, expected);
}

#[test]
fn spans_of_two_have_what_is_in_both() {
    let mut state = 1_u64;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % most
    };
    for _ in 0..2000 {
        let mut spans = || {
            let (mut at, mut spans) = (0, Vec::new());
            for _ in 0..draw(6) {
                let start = at + draw(5);
                at = start + 1 + draw(5);
                spans.push(start..at);
            }
            spans
        };
        let (one, other) = (spans(), spans());
        let mut shared = Vec::new();
        intersect(one.iter().cloned(), other.iter().cloned(), &mut shared);
        let has = |spans: &[Range<u64>], nth| spans.iter().any(|span| span.contains(&nth));
        for nth in 0..70 {
            assert_eq!(has(&shared, nth), has(&one, nth) && has(&other, nth), "{one:?} {other:?}");
        }
    }
}

#[test]
fn a_gap_counts_at_once_and_acknowledges_nothing() {
    let (mut group, view) = (Buckets::new(2), at(0));
    group.on_asked(&view, 1);
    assert_eq!(says(&mut group, &view, (7, 100, 900)), None);
    let mut report = Report { member: 7, upto: 100, answers: Some(1), ..Report::default() };
    report.missing.push(100..200);
    report.held.push(200..300);
    let mut credit = Some(900);
    assert!(group.merge(&view, Signals::NONE, &mut report, &mut credit));
    assert_eq!((report.highest(), report.answers, credit), (0, None, None));
    assert!(report.missing.iter().eq([&(100..200)]));
}

#[test]
fn what_all_have_is_acknowledged_beyond_the_first_hole() {
    let (mut group, view) = (Buckets::new(3), at(0));
    group.on_asked(&view, 1);
    let mut last = None;
    for (member, upto, held) in [
        (1, 300, [400..500, 600..900]),
        (2, 450, [500..700, 800..900]),
        (3, 200, [220..430, 650..850]),
    ] {
        let mut report = Report { member, upto, answers: Some(1), ..Report::default() };
        report.held.extend(held);
        if group.merge(&view, Signals::NONE, &mut report, &mut Some(5000)) {
            last = Some((report.upto, report.held));
        }
    }
    let all = [220..300, 400..430, 650..700, 800..850];
    assert_eq!(last, Some((200, all.to_vec())));
}

#[test]
fn strangers_make_a_group_no_larger_than_a_bound() {
    let (mut group, view) = (Buckets::new(1), at(0));
    for member in 1..10_000 {
        says(&mut group, &view, (member, 0, 0));
    }
    assert_eq!(group.members.len(), MEMBERS_MOST);
    for number in 0..100 {
        group.on_asked(&view, number);
    }
    assert_eq!((group.members.len(), group.out.len()), (0, DROPPED_MOST));
}

#[test]
fn without_an_expected_number_members_are_gathered() {
    let mut group = Buckets::new(0).gathering(SECOND);
    group.on_asked(&at(0), 1);
    assert_eq!(says(&mut group, &at(0), (1, 100, 2000)), None);
    assert_eq!(says(&mut group, &at(999), (2, 50, 2000)), None);
    group.on_asked(&at(1000), 2);
    assert_eq!(says(&mut group, &at(1000), (1, 100, 2000)), Some((50, Some(1), Some(2000))));
}
