//! Stations of a live channel, each of which a driver runs.
#![cfg(feature = "air")]

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::Outlet;
use stackwright_contract::ask::{FrameTime, Longest, NothingBelow, ask};
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_drivers::Driver;
use stackwright_drivers::air::{Air, LiveChannel};
use stackwright_simulator::ChannelDescription;
use stackwright_wire::{Message, Pool, SingleBuffer};

const TEXT: &str = "rate = '1200 b/s'\nspeed = 50\nkey-up = '100 ms'\npersistence = 1\n\
                    longest = 100\nqueue = 3\n[[station]]\nname = 'A'\n[[station]]\nname = 'B'\n";

#[derive(Default)]
struct Told {
    states: Vec<bool>,
    credit: Credit,
    frames: Vec<Vec<u8>>,
    left: Vec<u16>,
}

impl Outlet<Air<SingleBuffer>> for Told {
    fn indicate(&mut self, word: FramesIndication<SingleBuffer>) {
        match word {
            FramesIndication::State { up, .. } => self.states.push(up),
            FramesIndication::Credit { credit, .. } => self.credit += credit,
            FramesIndication::Delivered { batch, .. } => {
                let mut frame = Vec::new();
                batch.into_single().each(|octets| frame.extend_from_slice(octets));
                self.frames.push(frame);
            }
            FramesIndication::Left { mark, .. } => self.left.push(mark),
            FramesIndication::Changed { .. } => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

struct Station {
    driver: Driver,
    air: Air<SingleBuffer>,
    told: Told,
}

impl Station {
    fn new(live: &LiveChannel, index: usize) -> Self {
        let driver = Driver::new(1).expect("a driver");
        let air = live.station(index, &driver, Arc::new(Pool::new(256, 4))).expect("a waker");
        let mut station = Station { driver, air, told: Told::default() };
        station.turn();
        station
    }

    fn turn(&mut self) {
        let wait = Some(Duration::from_millis(5));
        self.driver.turn(&mut self.air, &mut self.told, wait).expect("a poll");
    }

    fn ask(&mut self, request: FramesRequest<SingleBuffer>) {
        self.driver.request(&mut self.air, request, &mut self.told);
    }

    fn send(&mut self, port: u8, octets: &[u8], mark: u16) {
        let batch = SingleBuffer::with_headroom(0, octets).into();
        self.told.credit -= Credit { octets: octets.len(), messages: 1 };
        self.ask(FramesRequest::Send { port, batch, mark: Some(mark) });
    }
}

/// Turns both until it is so.
fn until(stations: [&mut Station; 2], mut is_so: impl FnMut(&Told, &Told) -> bool) {
    let [one, other] = stations;
    let begin = Instant::now();
    while !is_so(&one.told, &other.told) {
        assert!(begin.elapsed() < Duration::from_secs(30), "it takes too long");
        one.turn();
        other.turn();
    }
}

#[test]
fn credit_and_marks_return_when_frames_have_left() {
    let live = LiveChannel::new(&ChannelDescription::read(TEXT).expect("a channel"));
    let [mut one, mut other] = [0, 1].map(|index| Station::new(&live, index));
    let room = Credit { octets: 300, messages: 3 };
    assert_eq!((&one.told.states[..], one.told.credit), (&[true][..], room));
    let credit = Credit { octets: 200, messages: 2 };
    other.ask(FramesRequest::Credit { credit });
    for mark in 1..=3 {
        one.send(0, &[mark as u8; 100], mark);
    }
    assert_eq!(one.told.credit, Credit::NONE);
    until([&mut one, &mut other], |one, other| one.left.len() == 3 && other.frames.len() == 2);
    assert_eq!((&one.told.left[..], one.told.credit), (&[1, 2, 3][..], room));
    // The third came when there was no credit for it: it was on the air, and is gone.
    assert_eq!(other.told.frames, [vec![1; 100], vec![2; 100]]);
    until([&mut one, &mut other], |_, _| live.counts().delivered == 3);
    assert_eq!(one.told.frames.len(), 0, "no station hears itself");
}

#[test]
fn what_no_tnc_sends_returns_at_once() {
    let live = LiveChannel::new(&ChannelDescription::read(TEXT).expect("a channel"));
    let mut one = Station::new(&live, 0);
    let room = one.told.credit;
    one.send(0, &[0; 101], 7);
    one.send(0, &[], 8);
    one.send(1, b"there is one port", 9);
    assert_eq!((&one.told.left[..], one.told.credit), (&[7, 8, 9][..], room));
    assert_eq!(one.driver.context().dropped_count(), 3);
    assert_eq!(live.counts().offered, 0);
}

#[test]
fn the_longest_frame_and_its_time_are_known() {
    let live = LiveChannel::new(&ChannelDescription::read(TEXT).expect("a channel"));
    let one = Station::new(&live, 0);
    assert_eq!(ask(&one.air, 0, Longest, &NothingBelow), Some(100));
    // 104 octets with check and flags, 50 times as fast as on the air.
    let time = Duration::from_nanos(104_000_000_000 / 7500);
    assert_eq!(ask(&one.air, 0, FrameTime, &NothingBelow), Some(time));
}
