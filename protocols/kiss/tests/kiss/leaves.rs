//! When frames have left.

use std::num::NonZeroU32;

use stackwright_contract::{Duration, Instant, Protocol};
use stackwright_kiss::{ChannelAccess, Config};

use crate::alone::{Alone, Up};

/// 100 octets take 86.7 ms on the air, after 220 ms.
fn fast() -> Config {
    Config {
        rate: NonZeroU32::new(9600).expect("it is not 0"),
        access: ChannelAccess {
            tx_delay: Some(Duration::from_millis(200)),
            persistence: Some(127),
            slot_time: Some(Duration::from_millis(10)),
            ..ChannelAccess::default()
        },
        ..Config::default()
    }
}

const FRAME: [u8; 100] = [7; 100];

fn milliseconds(instant: Instant) -> u128 {
    instant.since(Instant::START).as_millis()
}

/// Lets time pass until a frame leaves; returns the marks that do then, and when.
fn next(alone: &mut Alone) -> (u128, Vec<u16>) {
    loop {
        let deadline = alone.kiss.next_deadline().expect("something is on its way");
        alone.pass(deadline.since(alone.cx.now()));
        let mut marks = marks(alone);
        if !marks.is_empty() {
            marks.sort_unstable();
            return (milliseconds(alone.cx.now()), marks);
        }
    }
}

fn marks(alone: &mut Alone) -> Vec<u16> {
    let mark = |up| if let Up::Left(_, mark) = up { Some(mark) } else { None };
    alone.ups().into_iter().filter_map(mark).collect()
}

#[test]
fn by_air_time_frames_leave_behind_each_other() {
    let mut alone = Alone::up(fast());
    (0..3).for_each(|mark| alone.send(0, &FRAME, Some(mark)));
    // One key-up carries all three.
    assert_eq!(next(&mut alone), (220 + 88, vec![0]));
    assert_eq!(next(&mut alone), (220 + 176, vec![1]));
    // This one is handed over while the transmitter is on.
    alone.send(0, &FRAME, Some(3));
    assert_eq!(next(&mut alone), (220 + 264, vec![2]));
    assert_eq!(next(&mut alone), (220 + 352, vec![3]));
    assert_eq!(alone.kiss.next_deadline(), None);
    // And this one after.
    alone.pass(Duration::from_secs(1));
    alone.send(0, &FRAME, Some(4));
    assert_eq!(next(&mut alone).0, 1572 + 1 + 220 + 88 - 1);
}

#[test]
fn credit_returns_when_frames_leave_also_without_marks() {
    let mut alone = Alone::up(Config { ports: 2, ..fast() });
    alone.send(0, &FRAME, None);
    alone.send(1, &FRAME, None);
    alone.send(0, &FRAME, Some(9));
    assert_eq!(alone.ups(), []);
    alone.pass(Duration::from_millis(310));
    assert_eq!(alone.ups(), [Up::Credit(0, 100, 1), Up::Credit(1, 100, 1)]);
    alone.pass(Duration::from_millis(100));
    assert_eq!(alone.ups(), [Up::Credit(0, 100, 1), Up::Left(0, 9)]);
}

#[test]
fn in_ackmode_the_tnc_says_so() {
    let mut alone = Alone::up(Config { acknowledged: true, ..fast() });
    alone.send(0, b"plain", None);
    alone.send(0, b"marked", Some(0xC0DB));
    alone.send(0, b"again", Some(7));
    assert_eq!(
        alone.line,
        b"\xC0\x00plain\xC0\xC0\x0C\xDB\xDC\xDB\xDDmarked\xC0\xC0\x0C\x00\x07again\xC0"
    );
    alone.pass(Duration::from_secs(30));
    assert_eq!(alone.ups(), [Up::Credit(0, 5, 1)], "the channel is busy");
    alone.hear(b"\xC0\x0C\xDB\xDC\xDB\xDD\xC0");
    assert_eq!(alone.ups(), [Up::Credit(0, 6, 1), Up::Left(0, 0xC0DB)]);
    // One that answers for a later frame has sent the one before.
    alone.send(0, b"later", Some(8));
    alone.hear(b"\xC0\x0C\x00\x08\xC0");
    assert_eq!(marks(&mut alone), [7, 8]);
    // One that never answers is believed in the end.
    alone.send(0, b"silence", Some(9));
    alone.pass(Duration::from_secs(59));
    assert_eq!(marks(&mut alone), []);
    alone.pass(Duration::from_secs(2));
    assert_eq!(marks(&mut alone), [9]);
}

/// What is asked of a TNC, and what Direwolf answers.
const QUESTION: &[u8] = b"\xC0\x06TXBUF:\xC0";

/// Lets a second pass, in which the TNC is asked, and answers that it has so many frames queued.
fn answered(alone: &mut Alone, queued: usize) -> Vec<u16> {
    alone.line.clear();
    alone.pass(Duration::from_secs(1));
    assert_eq!(alone.line, QUESTION);
    let answer = format!("TXBUF:{}", queued * FRAME.len());
    alone.hear(&[b"\xC0\x06", answer.as_bytes(), b"\xC0"].concat());
    marks(alone)
}

#[test]
fn a_tnc_that_is_asked_says_what_has_not_left() {
    let mut alone = Alone::up(Config { asks_queue: true, ..fast() });
    alone.send(0, &FRAME, Some(0));
    alone.pass(Duration::from_secs(5));
    assert_eq!(marks(&mut alone), [0]);
    assert!(!alone.line.ends_with(QUESTION), "one frame alone is no reason to ask");
    (1..=20).for_each(|mark| alone.send(0, &FRAME, Some(mark)));
    // By air time, eight have left. The channel is busy: all others are still there.
    assert_eq!(answered(&mut alone, 12), [1, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..10 {
        assert_eq!(answered(&mut alone, 12), []);
    }
    // Now three have begun, at the latest a moment ago.
    assert_eq!(answered(&mut alone, 9), []);
    let begun = milliseconds(alone.cx.now());
    for (nth, mark) in (1..).zip(9..=12) {
        assert_eq!(next(&mut alone), (begun + 88 * nth, vec![mark]), "the others follow");
    }
    // All have, as if a sound card had them: that makes none leave sooner.
    alone.hear(b"\xC0\x06TXBUF:0\xC0");
    assert_eq!(next(&mut alone), (begun + 88 * 5, vec![13]));
    // What is nonsense does no harm.
    alone.hear(b"\xC0\x06TXBUF:99999999999999999999999\xC0\xC0\x06TXBUF:-1\xC0");
    alone.hear(b"\xC0\x06TXBUF:18446744073709551615\xC0");
    alone.pass(Duration::from_secs(10));
    assert_eq!(marks(&mut alone), [14, 15, 16, 17, 18, 19, 20]);
}

#[test]
fn a_tnc_that_does_not_answer_is_not_asked_for_ever() {
    let mut alone = Alone::up(Config { asks_queue: true, ..Config::default() });
    for mark in 0..1000 {
        alone.send(0, b"a frame", Some(mark));
        alone.pass(Duration::from_millis(100));
    }
    let asked = alone.line.windows(QUESTION.len()).filter(|octets| *octets == QUESTION).count();
    assert_eq!(asked, 5);
    alone.pass(Duration::from_secs(1000));
    assert_eq!(marks(&mut alone), (0..1000).collect::<Vec<u16>>());
}
