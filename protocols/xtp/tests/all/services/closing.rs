//! Halves that close: with their data, before them, both at once.

use stackwright_contract::services::Ended;
use stackwright_contract::{Duration, Participant};
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_transport::Slots;
use stackwright_transport::words::{Ending, Phase};
use stackwright_trial::Trial;
use stackwright_wire::Header as _;
use stackwright_wire::check::Internet;
use stackwright_xtp::header::{XtpKind, XtpOptions, XtpPacket};
use stackwright_xtp::services::{Connection, Messages, context};
use stackwright_xtp::{Config, ContextKey};

use crate::services::scene::{ANSWERS, LISTENS, M, Manner, REQUEST, Scene, name};

type Ends = Trial<Messages<M>>;

/// One end of a Connection; the first opens.
fn end(side: usize) -> Slots<Messages<M>> {
    let own = |number| ContextKey { ours: true, number };
    let peer = (side == 1).then_some(100);
    let config = Config { packet: 600, ..Config::new([side as u8; 16]) };
    let remote = Participant::from(([10, 0, 0, 9], 7));
    context::<M, Connection>(&config, Some(own(100 + side as u64)), peer, remote)
}

/// Lets `seconds` pass. Returns the headers of what each end sent.
fn watched(ends: &mut Ends, seconds: u64) -> [Vec<XtpPacket>; 2] {
    let at = ends.now() + Duration::from_secs(seconds);
    let mut headers = [Vec::new(), Vec::new()];
    loop {
        ends.speak(|_, side, octets| {
            headers[side].push(XtpPacket::decode(octets).expect("a header"));
        });
        if !ends.until(at) {
            return headers;
        }
    }
}

/// Sends more than fits into a window.
fn says_much(ends: &mut Ends) {
    (0..3).for_each(|_| says(ends, 0, &[7; 600_000]));
    watched(ends, 0);
}

fn says(ends: &mut Ends, side: usize, octets: &[u8]) {
    let now = ends.now();
    ends.ends[side].send(now, octets, Default::default());
}

/// How many messages wait for an end.
fn heard(ends: &mut Ends, side: usize) -> usize {
    let now = ends.now();
    std::iter::from_fn(|| ends.ends[side].take(now)).count()
}

/// Two ends that have heard each other; the fates are of the packets behind that.
fn acquainted(events: &[Event]) -> Ends {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    let mut ends = Trial::scripted(end, &conditions, [events.to_vec(), Vec::new()]);
    let now = ends.now();
    ends.ends[0].open(now);
    says(&mut ends, 0, b"hello");
    let [there, _] = watched(&mut ends, 2);
    assert_eq!(there.len() as u64, BEFORE);
    assert_eq!(heard(&mut ends, 1), 1);
    ends
}

/// The packets of the end that opens before a test goes on.
const BEFORE: u64 = 3;

const fn is_data(header: &XtpPacket) -> bool {
    matches!(header.format, XtpKind::Data | XtpKind::First)
}

const fn closes(header: &XtpPacket) -> bool {
    header.options.has(XtpOptions::WCLOSE)
}

#[test]
fn wclose_is_lost_with_its_unit_and_comes_again_with_it() {
    let mut lost = false;
    for nth in BEFORE..BEFORE + 8 {
        let mut ends = acquainted(&[Event { nth, deed: Deed::Lose }]);
        says(&mut ends, 0, &[7; 1800]);
        ends.ends[0].association.finish();
        let [there, _] = watched(&mut ends, 10);
        let closing: Vec<_> = there.iter().filter(|header| closes(header)).collect();
        // The first is that of the last unit; where that was lost, another like it comes.
        assert!(is_data(closing[0]) && closing[0].options.has(XtpOptions::EOM), "{nth}");
        let same = |header: &XtpPacket| is_data(header) && header.sequence == closing[0].sequence;
        let units: Vec<_> = there.iter().filter(|header| same(header)).collect();
        assert!(units.len() <= 2 && units.iter().all(|unit| closes(unit)), "{nth}: {units:?}");
        lost |= units.len() == 2;
        assert_eq!(heard(&mut ends, 1), 1, "{nth}");
        let now = ends.now();
        assert!(ends.ends[1].association.heard_all(now), "{nth}");
    }
    assert!(lost, "none of those that were lost closed");
}

#[test]
fn a_lone_wclose_costs_no_packet() {
    let packets = |finishes: bool| {
        let mut ends = acquainted(&[]);
        says(&mut ends, 0, &[7; 1800]);
        if finishes {
            ends.ends[0].association.finish();
        }
        let [there, back] = watched(&mut ends, 10);
        assert_eq!(heard(&mut ends, 1), 1);
        let now = ends.now();
        assert_eq!(ends.ends[1].association.heard_all(now), finishes);
        (there.len(), back.len())
    };
    assert_eq!(packets(true), packets(false));
}

/// The side that opened leaves the last word to the other one, whose station can say it again.
#[test]
fn neither_end_stays_to_say_again_that_it_is_over() {
    for first in [0, 1] {
        let mut ends = acquainted(&[]);
        let begin = ends.now();
        ends.ends[first].association.close();
        while (0..2).any(|side| !matches!(ends.ends[side].phase(ends.now()), Phase::Ended(_))) {
            ends.speak(|_, _, _| {});
            assert!(ends.step(), "something is said, or is due");
        }
        let took = ends.now().since(begin);
        assert!(took <= Duration::from_millis(40), "{first} closes first: {took:?}");
        for side in [0, 1] {
            assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::Finished));
        }
    }
}

#[test]
fn both_sides_close_at_once() {
    for delay in [0, 1, 50] {
        let conditions = Conditions { delay: Duration::from_millis(delay), ..Conditions::IDEAL };
        let says = Manner { closes_when_said: true, opening: REQUEST, times: 1, ..LISTENS };
        let mut scene = Scene::<Connection>::new(1, conditions, 1, [says, says]);
        scene.run(200);
        for station in [scene.client, scene.server] {
            assert_eq!(scene.side(station).ended.len(), 1, "{delay} ms");
        }
    }
    // Both have all, and both say at the same time that they send no more and take no more.
    let mut ends = acquainted(&[]);
    for side in [0, 1] {
        says(&mut ends, side, REQUEST);
    }
    watched(&mut ends, 1);
    assert_eq!([heard(&mut ends, 0), heard(&mut ends, 1)], [1, 1]);
    for side in [0, 1] {
        ends.ends[side].association.close();
    }
    let packets = watched(&mut ends, 300);
    for side in [0, 1] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::Finished));
        assert!(packets[side].len() <= 3, "{} packets", packets[side].len());
    }
}

#[test]
fn the_half_that_is_closed_still_receives_1_mb() {
    static MUCH: [u8; 1 << 20] = [9; 1 << 20];
    let asks = Manner { opening: REQUEST, times: 1, finishes_when_said: true, ..LISTENS };
    let answers = Manner { answer: &MUCH, closes_when_heard: true, ..ANSWERS };
    for loss in [0.0, 0.1] {
        let conditions = Conditions { loss: loss.into(), ..Conditions::IDEAL };
        let mut scene = Scene::<Connection>::new(3, conditions, 1, [asks, answers]);
        scene.run(200);
        assert_eq!(scene.side(scene.server).heard, [REQUEST]);
        assert!(scene.side(scene.client).heard == [&MUCH[..]], "not all, or something else");
        assert_eq!(scene.side(scene.server).ended, [(name(0), Ended::Finished)]);
    }
}

/// One side takes no more, though not all has arrived: the other is told.
#[test]
fn end_before_all_arrived_is_a_reset_above_and_a_reset_below() {
    static LONG: [u8; 3000] = [6; 3000];
    let says = Manner { opening: &LONG, times: 20, ..LISTENS };
    let leaves = Manner { closes_when_heard: true, ..LISTENS };
    // The second message is on its way for long when the first is heard.
    let conditions = Conditions { rate: Some(3000), ..Conditions::IDEAL };
    let mut scene = Scene::<Connection>::new(1, conditions, 1, [says, leaves]);
    scene.run(200);
    assert_eq!(scene.side(scene.server).heard, [LONG]);
    assert_eq!(scene.side(scene.client).ended, [(name(0), Ended::Reset(0))]);
    assert_eq!(scene.side(scene.server).ended, [(name(0), Ended::Finished)], "as it wished");
    // A side whose peer says END and has not got all is told the same, at the engine: whatever else
    // that packet says.
    for options in [XtpOptions::END, XtpOptions::END.with(XtpOptions::WCLOSE)] {
        let mut ends = acquainted(&[]);
        says_much(&mut ends);
        let header = XtpPacket {
            returned: true,
            key: 100,
            options,
            version: (),
            format: XtpKind::Data,
            length: 0,
            check: 0,
            sort: 0,
            sync: 0,
            sequence: 0,
        };
        let mut packet = vec![0; XtpPacket::LENGTH];
        header.encode(&mut packet);
        let check = Internet::of(&packet);
        packet[16..18].copy_from_slice(&check.to_be_bytes());
        ends.inject(0, &packet);
        assert_eq!(ends.ends[0].phase(ends.now()), Phase::Ended(Ending::Reset(0)));
    }
}
