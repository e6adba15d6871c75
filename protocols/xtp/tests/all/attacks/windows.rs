//! A peer that does not read, and what is kept for it.

use stackwright_transport::words::{Dropped, Ending, Phase};
use stackwright_xtp::Config;
use stackwright_xtp::header::{XtpKind, XtpOptions, XtpPacket};

use crate::attacks::packets::{data, header, report};
use crate::attacks::scene::{
    LISTENS, OPENS, acquainted, config, cut, flight, heard, is_data, later, send, to, watched,
};

/// Its application reads again after ten minutes.
#[test]
fn a_shut_window_opens_after_10_minutes_by_one_question() {
    let mut ends = acquainted(config());
    ends.ends[LISTENS].takes = false;
    for nth in 0..100_u8 {
        send(&mut ends, OPENS, &[nth; 1000]);
    }
    ends.pass(later(&ends, 10));
    let shut = flight(&ends, OPENS);
    assert!(shut.is_empty() && shut.end < 17_000 + 1000, "{shut:?}");
    let [asked, answered] = watched(&mut ends, 600);
    assert!(asked.iter().all(|packet| !is_data(packet)), "no data leave");
    // The longest wait is 64 timeouts, which is some seconds.
    assert!((100..300).contains(&asked.len()), "{} questions", asked.len());
    assert_eq!(asked.len(), answered.len());
    let room = answered.iter().map(|answer| report(answer).allocated - shut.end);
    assert!(room.max() < Some(600), "less than a packet");
    // What tells of the new window is lost.
    ends.ends[LISTENS].takes = true;
    cut(&mut ends, true);
    let mut all = heard(&mut ends, LISTENS);
    ends.pass(later(&ends, 1));
    cut(&mut ends, false);
    let [said, _] = watched(&mut ends, 8);
    assert!(header(&said[0]).options.has(XtpOptions::SREQ) && is_data(&said[1]));
    for _ in 0..100 {
        all.extend(heard(&mut ends, LISTENS));
        ends.pass(later(&ends, 1));
    }
    assert_eq!(all, Vec::from_iter((0..100).map(|nth| vec![nth; 1000])));
}

/// What is kept for it is free again in the end; as long as it takes a little, it is waited for.
#[test]
fn a_peer_that_never_reads_holds_what_is_closed_for_ten_minutes() {
    for reads in [false, true] {
        let mut ends = acquainted(config());
        ends.ends[LISTENS].takes = false;
        for _ in 0..100 {
            send(&mut ends, OPENS, &[7; 1000]);
        }
        ends.pass(later(&ends, 10));
        ends.ends[OPENS].association.close();
        ends.pass(later(&ends, 500));
        if reads {
            ends.ends[LISTENS].takes = true;
            assert_eq!(heard(&mut ends, LISTENS).len(), 16);
            ends.ends[LISTENS].takes = false;
        }
        ends.pass(later(&ends, 200));
        let phase = ends.ends[OPENS].phase(ends.now());
        assert_eq!(phase, if reads { Phase::Open } else { Phase::Ended(Ending::Silent) });
        ends.pass(later(&ends, 600));
        assert_eq!(ends.ends[OPENS].phase(ends.now()), Phase::Ended(Ending::Silent));
    }
}

/// A peer that sends more than it was allowed is not heeded, and what is held for it is bounded.
#[test]
fn data_beyond_the_window_are_dropped() {
    let config = Config { window: 4096, ..config() };
    let mut ends = acquainted(config);
    ends.ends[LISTENS].takes = false;
    for sequence in [1 + 4096, 1 << 20, 1 << 40, u64::MAX - 600] {
        let packet = data(XtpPacket { sequence, ..to(LISTENS, XtpKind::Data) }, &[9; 500]);
        ends.inject(LISTENS, &packet);
        assert_eq!(ends.dropped().last(), Some(&(LISTENS, Dropped::BeyondWindow)), "{sequence}");
    }
    let sequence = u64::MAX - 100;
    let packet = data(XtpPacket { sequence, ..to(LISTENS, XtpKind::Data) }, &[9; 500]);
    ends.inject(LISTENS, &packet);
    assert_eq!(ends.dropped().last(), Some(&(LISTENS, Dropped::Malformed)), "it would wrap");
    send(&mut ends, OPENS, b"honest");
    ends.ends[LISTENS].takes = true;
    ends.pass(later(&ends, 1));
    assert_eq!(heard(&mut ends, LISTENS), [b"honest"]);
}
