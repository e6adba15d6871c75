//! The peer itself: what it reports is not so, or is old.

use stackwright_contract::Duration;
use stackwright_transport::words::{Dropped, Ending, Phase};
use stackwright_xtp::Config;
use stackwright_xtp::header::{XtpKind, XtpOptions, XtpPacket};

use crate::attacks::packets::{Said, control, data, error_control, header, report};
use crate::attacks::scene::{
    Ends, KEYS, LISTENS, OPENS, acquainted, config, cut, flight, heard, is_data, later, leaves,
    nothing, send, to, watched,
};

/// Two ends, of which the one that opened has sent 5 000 octets that are all lost.
fn sending() -> Ends {
    let mut ends = acquainted(config());
    cut(&mut ends, true);
    send(&mut ends, OPENS, &[7; 5000]);
    leaves(&mut ends, OPENS);
    assert_eq!(flight(&ends, OPENS), 1..5001);
    ends
}

/// The number of the last question of the end that opened.
fn asked(ends: &mut Ends) -> u32 {
    let packets = watched(ends, 2);
    let last = packets[OPENS].last().expect("a question that is repeated");
    assert!(header(last).options.has(XtpOptions::SREQ));
    header(last).sync
}

#[test]
fn a_cntl_that_acknowledges_what_was_not_sent_is_dropped_whole() {
    let mut ends = sending();
    let echo = asked(&mut ends);
    for beyond in [1, 2, 1000, 1 << 32, u64::MAX - 5001] {
        let said = Said { received: 5001 + beyond, allocated: 1 << 30, echo };
        ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), said));
        assert_eq!(ends.dropped().last(), Some(&(OPENS, Dropped::AcknowledgesUnsent)), "{beyond}");
        // Nor by a span.
        let said = Said { received: 1, ..said };
        let spans = [(100, 200), (300, 5001 + beyond)];
        ends.inject(OPENS, &error_control(to(OPENS, XtpKind::ErrorControl), said, &spans));
        assert_eq!(ends.dropped().last(), Some(&(OPENS, Dropped::AcknowledgesUnsent)), "{beyond}");
    }
    assert_eq!(flight(&ends, OPENS), 1..5001, "nothing is settled");
    // Nor was its credit heeded, nor its answer.
    send(&mut ends, OPENS, &[7; 60_000]);
    assert_eq!(leaves(&mut ends, OPENS).iter().filter(|packet| is_data(packet)).count(), 0);
    let honest = Said { received: 5001, allocated: 1 << 20, echo };
    ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), honest));
    assert!(leaves(&mut ends, OPENS).iter().all(|packet| is_data(packet)));
    assert_eq!(flight(&ends, OPENS).start, 5001);
}

#[test]
fn spans_that_overlap_or_fall_or_leave_what_was_sent_drop_the_report() {
    let mut ends = sending();
    let echo = asked(&mut ends);
    let lies: [&[(u64, u64)]; 9] = [
        &[(1000, 2000), (1999, 3000)],
        &[(1000, 2000), (2000, 3000)],
        &[(2000, 3000), (1000, 1500)],
        &[(1000, 1000)],
        &[(2000, 1000)],
        &[(100, 600)],
        &[(50, 90)],
        &[(0, 0)],
        &[(1000, 2000), (0, u64::MAX)],
    ];
    for spans in lies {
        let said = Said { received: 100, allocated: 1 << 30, echo };
        ends.inject(OPENS, &error_control(to(OPENS, XtpKind::ErrorControl), said, spans));
        assert_eq!(ends.dropped().last(), Some(&(OPENS, Dropped::Malformed)), "{spans:?}");
    }
    let said = Said { received: 100, allocated: 1 << 30, echo };
    let beyond = error_control(to(OPENS, XtpKind::ErrorControl), said, &[(1000, 5002)]);
    ends.inject(OPENS, &beyond);
    assert_eq!(ends.dropped().last(), Some(&(OPENS, Dropped::AcknowledgesUnsent)));
    // Spans that are counted otherwise than they are.
    for counted in [0_u32, 1, 3, u32::MAX] {
        let spans = [(1000, 2000), (3000, 4000)];
        let mut packet = error_control(to(OPENS, XtpKind::ErrorControl), said, &spans);
        packet[52..56].copy_from_slice(&counted.to_be_bytes());
        crate::attacks::packets::seal(&mut packet);
        ends.inject(OPENS, &packet);
        assert_eq!(ends.dropped().last(), Some(&(OPENS, Dropped::Malformed)), "{counted}");
    }
    assert_eq!(flight(&ends, OPENS), 1..5001, "nothing is settled");
    assert_eq!(leaves(&mut ends, OPENS).len(), 0, "and nothing sent again");
    let honest =
        error_control(to(OPENS, XtpKind::ErrorControl), said, &[(1000, 2000), (3000, 5001)]);
    ends.inject(OPENS, &honest);
    let again: u64 = leaves(&mut ends, OPENS)
        .iter()
        .filter(|packet| is_data(packet))
        .map(|packet| u64::from(header(packet).length))
        .sum();
    assert!((1900..4000).contains(&again), "{again} octets for the gaps and no more");
}

#[test]
fn an_old_echo_ends_no_handshake() {
    let mut ends = sending();
    let echo = asked(&mut ends);
    assert!(echo >= 3, "it was asked {echo} times");
    send(&mut ends, OPENS, &[8; 3000]);
    assert_eq!(leaves(&mut ends, OPENS).len(), 0, "what was asked is waited for");
    let received = flight(&ends, OPENS).end;
    for old in [echo - 1, echo - 2, 0, echo + 1, echo + 1000, echo.wrapping_add(1 << 31)] {
        let stale = Said { received: 1, allocated: 1 << 20, echo: old };
        ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), stale));
        let data = leaves(&mut ends, OPENS).into_iter().filter(|packet| is_data(packet)).count();
        assert_eq!(data, 0, "the echo {old} of {echo}");
    }
    let answer = Said { received, allocated: 1 << 20, echo };
    ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), answer));
    assert!(leaves(&mut ends, OPENS).iter().any(|packet| is_data(packet)));
}

#[test]
fn an_alloc_that_moves_back_is_ignored() {
    let mut ends = acquainted(config());
    cut(&mut ends, true);
    let allocated = 1 + 10_000;
    for allocated in [allocated, 5000, 1, 0] {
        let said = Said { allocated, ..nothing(&ends, OPENS) };
        ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), said));
    }
    send(&mut ends, OPENS, &[7; 60_000]);
    leaves(&mut ends, OPENS);
    // The window at the beginning was more than that.
    let before = flight(&ends, OPENS).end;
    assert!(before >= allocated, "{before}");
    for allocated in [before + 600, 0, before - 1] {
        let said = Said { received: before, allocated, echo: 0 };
        ends.inject(OPENS, &control(to(OPENS, XtpKind::Control), said));
    }
    leaves(&mut ends, OPENS);
    let end = flight(&ends, OPENS).end;
    assert!(before < end && end <= before + 600, "{end} behind {before}");
}

#[test]
fn sreq_in_every_packet_makes_one_answer_a_batch() {
    let mut ends = acquainted(config());
    cut(&mut ends, true);
    for batch in 0..5_u32 {
        for nth in 0..20 {
            let sync = 1000 + batch * 20 + nth;
            let sequence = 1 + u64::from(batch * 20 + nth) * 10;
            let options = XtpOptions::SREQ.with(XtpOptions::EOM);
            let header = XtpPacket { options, sync, sequence, ..to(LISTENS, XtpKind::Data) };
            ends.inject(LISTENS, &data(header, &[9; 10]));
        }
        let answers = leaves(&mut ends, LISTENS);
        assert_eq!(answers.len(), 1, "batch {batch}");
        let answer = report(&answers[0]);
        assert_eq!(answer.received, 1 + u64::from(batch + 1) * 200);
        assert_eq!(answer.echo, 1000 + batch * 20 + 19, "the newest of them");
    }
    assert_eq!(heard(&mut ends, LISTENS).len(), 100);
}

/// The questions of a peer wrap; the newest is answered, also beside older ones.
#[test]
fn numbers_of_questions_wrap() {
    let mut ends = acquainted(config());
    cut(&mut ends, true);
    let mut sync = u32::MAX / 2;
    // In steps that each are newer than the one before, up to the end and beyond it.
    for step in [1, 1 << 30, (1 << 30) - 10, 7, 1, 1, 1, 5, 1 << 30] {
        sync = sync.wrapping_add(step);
        for sync in [sync, sync.wrapping_sub(1), sync.wrapping_sub(1 << 20)] {
            let header =
                XtpPacket { options: XtpOptions::SREQ, sync, ..to(LISTENS, XtpKind::Control) };
            let said = Said { received: 1, allocated: 1 << 20, echo: 0 };
            ends.inject(LISTENS, &control(header, said));
        }
        let answers = leaves(&mut ends, LISTENS);
        assert_eq!(answers.len(), 1);
        assert_eq!(report(&answers[0]).echo, sync);
    }
}

/// Those of a sender wrap as well, and each has its answer.
#[test]
fn each_question_is_answered_while_their_numbers_wrap() {
    let mut ends = acquainted(Config { sync: u32::MAX - 5, ..config() });
    let mut asked = Vec::new();
    for nth in 0..10 {
        send(&mut ends, OPENS, &[nth; 1000]);
        let [questions, answers] = watched(&mut ends, 1);
        let questions = questions.iter().map(|packet| header(packet));
        let questions = questions.filter(|header| header.options.has(XtpOptions::SREQ));
        let before = asked.len();
        asked.extend(questions.map(|header| header.sync));
        let echoes: Vec<_> = answers.iter().map(|answer| report(answer).echo).collect();
        assert_eq!(echoes, asked[before..], "message {nth}");
        assert_eq!(heard(&mut ends, LISTENS), [vec![nth; 1000]]);
    }
    assert!(asked.contains(&u32::MAX) && asked.contains(&0), "{asked:?}");
    assert!(asked.windows(2).all(|two| two[1] == two[0].wrapping_add(1)), "{asked:?}");
}

/// Each span of the longest packet costs no more than what is on its way, and changes nothing that
/// it does not say.
#[test]
fn a_packet_of_four_thousand_spans_comes_to_an_end() {
    let mut ends = sending();
    let echo = asked(&mut ends);
    let said = Said { received: 1, allocated: 1 << 20, echo };
    let spans: Vec<_> = (1..2400).map(|nth| (2 * nth, 2 * nth + 1)).collect();
    let packet = error_control(to(OPENS, XtpKind::ErrorControl), said, &spans);
    let begin = std::time::Instant::now();
    for _ in 0..100 {
        ends.inject(OPENS, &packet);
        leaves(&mut ends, OPENS);
    }
    // Not a measurement: what is quadratic takes minutes.
    assert!(begin.elapsed() < std::time::Duration::from_secs(30));
    assert_eq!(flight(&ends, OPENS), 1..5001);
    // The peer has taken back what it said: that is no harm.
    cut(&mut ends, false);
    ends.pass(later(&ends, 60));
    assert_eq!(heard(&mut ends, LISTENS), [vec![7; 5000]]);
}

/// Lengths of segments that are less than their own header, or more than the packet.
#[test]
fn lengths_that_cannot_be_are_dropped() {
    let mut ends = acquainted(config());
    let opening = crate::attacks::packets::opening(4);
    for at in [0, 16] {
        for length in [0_u16, 1, 3, 200, u16::MAX] {
            let mut segments = opening.clone();
            segments[at..at + 2].copy_from_slice(&length.to_be_bytes());
            let header = crate::attacks::packets::own(KEYS[OPENS], XtpKind::First);
            ends.inject(LISTENS, &crate::attacks::packets::packet(header, &[&segments]));
            let dropped = ends.dropped().last();
            assert_eq!(dropped, Some(&(LISTENS, Dropped::Malformed)), "{length} at {at}");
        }
    }
    for length in [0_u32, 31, 1 << 16, u32::MAX] {
        let mut packet = data(to(LISTENS, XtpKind::Data), &[9; 10]);
        packet[12..16].copy_from_slice(&length.to_be_bytes());
        crate::attacks::packets::seal(&mut packet);
        ends.inject(LISTENS, &packet);
        assert_eq!(ends.dropped().last(), Some(&(LISTENS, Dropped::Malformed)), "{length}");
    }
    assert_eq!(ends.ends[LISTENS].phase(ends.now()), Phase::Open);
}

/// Every field of every packet at its extremes, one at a time: overflow is a panic here.
#[test]
fn no_field_overflows_at_its_extremes() {
    let said = Said { received: 1, allocated: 1 << 20, echo: 1 };
    let honest = |side: usize| {
        let control_header = to(side, XtpKind::Control);
        [
            data(XtpPacket { sequence: 1, ..to(side, XtpKind::Data) }, &[9; 10]),
            control(control_header, said),
            error_control(control_header, said, &[(2, 3), (4, 5)]),
            crate::attacks::packets::traffic_control(control_header, said, KEYS[1 - side], 4),
            crate::attacks::packets::diagnostic(control_header, 2, 1),
            crate::attacks::packets::packet(
                crate::attacks::packets::own(KEYS[1 - side], XtpKind::First),
                &[&crate::attacks::packets::opening(4), &[9; 10]],
            ),
        ]
    };
    for side in [OPENS, LISTENS] {
        for (nth, packet) in honest(side).iter().enumerate() {
            let mut ends = acquainted(config());
            send(&mut ends, side, &[7; 3000]);
            for at in 0..packet.len() {
                for (long, octet) in
                    [1, 2, 4, 8].into_iter().flat_map(|long| [(long, 0), (long, 255), (long, 127)])
                {
                    let mut packet = packet.clone();
                    let end = (at + long).min(packet.len());
                    packet[at..end].fill(octet);
                    crate::attacks::packets::seal(&mut packet);
                    ends.inject(side, &packet);
                    leaves(&mut ends, side);
                    heard(&mut ends, side);
                }
                let soon = ends.now() + Duration::from_millis(5);
                ends.pass(soon);
            }
            assert!(ends.packets() > 0, "packet {nth}");
        }
    }
}

/// The clock of a run only goes on; a day ahead it may be, as after a sleep.
#[test]
fn a_clock_that_jumps_a_day_ahead_ends_nothing() {
    let mut ends = acquainted(config());
    for day in 0..3_u8 {
        for _ in 0..20 {
            send(&mut ends, OPENS, &[day; 500]);
        }
        leaves(&mut ends, OPENS); // it is on its way when the lid is shut
        let end = later(&ends, 86_400);
        ends.sleep(end);
        ends.pass(later(&ends, 10));
        assert_eq!(heard(&mut ends, LISTENS), vec![vec![day; 500]; 20], "day {day}");
        for side in [OPENS, LISTENS] {
            assert_eq!(ends.ends[side].phase(ends.now()), Phase::Open);
        }
    }
}

/// Nothing arrives any more: few packets leave, and then it is over.
#[test]
fn a_peer_that_vanishes_is_sent_few_packets_and_then_given_up() {
    let mut ends = sending();
    let packets = watched(&mut ends, 300);
    assert_eq!(ends.ends[OPENS].phase(ends.now()), Phase::Ended(Ending::Silent));
    assert!((5..40).contains(&packets[OPENS].len()), "{} packets", packets[OPENS].len());
}
