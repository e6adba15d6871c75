//! Each station has an access of its own, and what it does is told.

use stackwright_simulator::{
    AccessParameters, Activity, Channel, ChannelConditions, Hearing, OnAir,
};

use crate::channel::{at, millis, plain, probe, rest, told, until};

#[test]
fn a_station_keys_up_and_down_as_it_was_told() {
    let mut channel = Channel::new(plain(), 3, 0);
    let access = channel.access(1);
    assert_eq!(access, plain().access());
    let slow = AccessParameters { key_up: millis(200), tail: millis(50), ..access };
    channel.set_access(1, slow);
    channel.send(at(0), 0, None, probe(0, 100));
    assert_eq!(told(&rest(&mut channel)), [(100, 1, 0), (100, 2, 0)]);
    channel.send(at(1000), 1, None, probe(1, 100));
    assert_eq!(told(&rest(&mut channel)), [(1300, 0, 1), (1300, 2, 1)]);
    assert_eq!(channel.counts().on_air, millis(100 + 200 + 100 + 50));
}

#[test]
fn persistence_and_slot_are_those_of_the_station() {
    let mut channel = Channel::new(plain(), 2, 3);
    let rare = AccessParameters { persistence: 0.1, slot: millis(7), ..channel.access(0) };
    channel.set_access(0, rare);
    let mut slots = 0;
    for nth in 0..2000 {
        let begin = at(nth * 10_000);
        channel.send(begin, 0, None, probe(nth, 100));
        let heard = rest(&mut channel);
        let waited = heard[0].time.since(begin) - millis(100);
        assert_eq!(waited.as_millis() % 7, 0);
        slots += waited.as_millis() / 7;
    }
    // A geometric distribution with a mean of nine failures; its deviation is 212.
    assert!((17_000..19_000).contains(&slots), "{slots}");
}

#[test]
fn full_duplex_does_not_wait_for_others() {
    for full_duplex in [false, true] {
        let mut channel = Channel::new(plain(), 3, 0);
        channel.set_access(1, AccessParameters { full_duplex, ..channel.access(1) });
        channel.send(at(0), 0, None, probe(0, 100));
        let mut heard = until(&mut channel, at(50));
        channel.send(at(50), 1, None, probe(1, 100));
        heard.extend(rest(&mut channel));
        let expected = if full_duplex { 0 } else { 4 };
        assert_eq!((heard.len(), channel.counts().collided), (expected, 4 - expected as u64));
    }
}

#[test]
#[should_panic(expected = "never waits")]
fn a_slot_of_nothing_is_a_bug() {
    let mut channel = Channel::<crate::channel::Probe>::new(plain(), 2, 0);
    channel.set_access(0, AccessParameters { slot: millis(0), ..channel.access(0) });
}

#[test]
fn what_stations_do_is_told_in_order() {
    let conditions = ChannelConditions {
        key_up: millis(20),
        tail: millis(10),
        hearing: Hearing::hiding(&[(0, 2)]),
        ..plain()
    };
    let mut channel = Channel::new(conditions, 3, 0);
    channel.send(at(0), 0, None, probe(0, 100));
    assert_eq!(channel.activities().count(), 0, "nothing is kept that nobody asked for");
    rest(&mut channel);
    channel.keep_activities();
    channel.send(at(1000), 0, None, probe(1, 100));
    channel.send(at(1000), 0, None, probe(2, 100));
    assert_eq!(channel.waiting(0), 2);
    until(&mut channel, at(1110));
    assert_eq!(channel.waiting(0), 1);
    channel.send(at(1110), 1, None, probe(3, 100));
    until(&mut channel, at(1150));
    channel.send(at(1150), 2, None, probe(4, 100));
    rest(&mut channel);
    let said = |activity: Activity<crate::channel::Probe>| {
        let time = activity.time.nanoseconds() / 1_000_000;
        let what = match activity.what {
            OnAir::Defers => "defers".into(),
            OnAir::KeysUp => "keys up".into(),
            OnAir::Begins(probe) => format!("begins {}", probe.number),
            OnAir::Leaves => "leaves".into(),
            OnAir::KeysDown => "keys down".into(),
            OnAir::Receives { from, altered } => format!("receives {from} {altered}"),
            OnAir::Loses { from } => format!("loses {from}"),
        };
        format!("{time} {} {what}", activity.station)
    };
    let activities: Vec<String> = channel.activities().map(said).collect();
    assert_eq!(
        activities,
        [
            "1000 0 keys up",
            "1020 0 begins 1",
            "1110 1 defers",
            "1120 1 receives 0 false",
            "1120 0 leaves",
            "1120 0 begins 2",
            "1150 2 keys up",
            "1170 2 begins 4",
            "1220 1 loses 0",
            "1220 0 leaves",
            "1230 0 keys down",
            "1270 1 loses 2",
            "1270 2 leaves",
            "1280 2 keys down",
            "1280 1 keys up",
            "1300 1 begins 3",
            "1400 0 receives 1 false",
            "1400 2 receives 1 false",
            "1400 1 leaves",
            "1410 1 keys down",
        ]
    );
    assert_eq!(channel.activities().count(), 0);
}
