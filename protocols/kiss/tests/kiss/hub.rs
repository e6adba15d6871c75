//! A hub between programs, a layer above and a TNC, all of which are the test.

mod rig;

use std::sync::Arc;

use rig::{Program, Rig, local, octets};
use stackwright_contract::services::{
    Credit, Ended, FramesIndication, FramesRequest, StreamsIndication,
};
use stackwright_contract::{Duration, Handle, PathLimits, Protocol};
use stackwright_kiss::{CLIENT_ROOM, CLIENTS_MOST, ChannelAccess, Hub, HubConfig};
use stackwright_wire::{BufferTree, Message, Pool};

type M = BufferTree;

const LARGE: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };

fn config() -> HubConfig {
    HubConfig::at(local())
}

#[test]
fn frames_of_the_tnc_reach_all_and_those_of_one_only_the_tnc() {
    let mut rig = Rig::up(config(), LARGE);
    rig.above_says(FramesRequest::Credit { credit: LARGE });
    let [one, other] = [rig.connect(), rig.connect()];
    rig.heard(b"hello\xC0");
    for program in [one, other] {
        assert_eq!(rig.came(program), b"\xC0\x00hello\xDB\xDC\xC0");
    }
    let [FramesIndication::Delivered { port: 0, batch }] = &rig.said.up[..] else {
        panic!("{:?}", rig.said.up)
    };
    assert_eq!(octets(batch.as_octets()), b"hello\xC0");
    rig.said.up.clear();
    rig.say(one, b"\xC0\x00to all\xC0");
    let batch = M::with_headroom(0, b"from above").into();
    rig.above_says(FramesRequest::Send { port: 0, batch, mark: None });
    let frame = |octets: &[u8]| (0, octets.to_vec(), None);
    assert_eq!(rig.sent, [frame(b"to all"), frame(b"from above")]);
    assert!(rig.came(other).is_empty() && rig.came(one).is_empty());
    assert!(matches!(rig.said.up[..], [FramesIndication::Credit { .. }]));
}

#[test]
fn with_echo_all_hear_each_other() {
    let mut rig = Rig::up(HubConfig { echo: true, ..config() }, LARGE);
    rig.above_says(FramesRequest::Credit { credit: LARGE });
    let [one, other] = [rig.connect(), rig.connect()];
    rig.say(one, b"\xC0\x00to all\xC0");
    assert_eq!((rig.came(one), rig.came(other)), (vec![], b"\xC0\x00to all\xC0".to_vec()));
    assert!(matches!(rig.said.up[..], [FramesIndication::Delivered { .. }]));
    rig.said.up.clear();
    let batch = M::with_headroom(0, b"from above").into();
    rig.above_says(FramesRequest::Send { port: 0, batch, mark: None });
    for program in [one, other] {
        assert_eq!(rig.came(program), b"\xC0\x00from above\xC0");
    }
    assert!(matches!(rig.said.up[..], [FramesIndication::Credit { .. }]), "not its own");
    assert_eq!(rig.sent.len(), 2);
}

/// It loses its own frames, and nobody else waits for it.
#[test]
fn a_program_that_stops_reading_costs_only_its_own_frames() {
    let mut rig = Rig::up(config(), LARGE);
    rig.above_says(FramesRequest::Credit { credit: LARGE });
    let [one, stuck] = [rig.connect(), rig.connect()];
    rig.program(stuck).reads = false;
    let frame = [7; 1000];
    for nth in 1..=1000 {
        rig.heard(&frame);
        assert_eq!(rig.came(one).len(), 1003, "frame {nth}");
        assert_eq!(rig.said.up.len(), nth);
        let credit = Credit { octets: 1000, messages: 1 };
        rig.above_says(FramesRequest::Credit { credit });
    }
    let held = rig.program(stuck).unread;
    assert_eq!(held, CLIENT_ROOM / 1003 * 1003);
    assert_eq!(rig.cx.dropped_count(), 1000 - held as u64 / 1003);
    let given = Credit { octets: 64 * 1024 + 1_000_000, messages: 64 + 1000 };
    assert_eq!(rig.credit, given, "the TNC has all of its credit again");
    // It may still send, and reads on later.
    rig.say(stuck, b"\xC0\x00alive\xC0");
    assert_eq!(rig.sent.len(), 1);
    rig.program(stuck).reads = true;
    let credit = Credit::of_octets(held);
    rig.programs_say(StreamsIndication::Credit { association: stuck, credit });
    rig.heard(b"again");
    assert_eq!(rig.came(stuck), b"\xC0\x00again\xC0");
}

/// A stream that takes little at a time: frames go in pieces, within the same room.
#[test]
fn a_narrow_stream_gets_its_frames_in_pieces() {
    let mut rig = Rig::up(config(), LARGE);
    let (association, _) = rig.awaited.take().expect("one is awaited");
    rig.programs.push((association, Program { reads: true, ..Program::default() }));
    rig.programs_say(StreamsIndication::Opened {
        association,
        local: local().into(),
        remote: local().into(),
        credit: Credit::of_octets(7),
        path: PathLimits::UNBOUNDED,
    });
    (0..100).for_each(|_| rig.heard(b"twenty octets a time"));
    assert_eq!(rig.came(association), b"\xC0\x00twenty octets a time\xC0".repeat(100));
    assert_eq!(rig.hub.held(), 0);
}

/// One that sends without end is read only as fast as the TNC takes frames; the others have their
/// turn.
#[test]
fn a_program_that_floods_waits_for_the_tnc() {
    let little = Credit { octets: 3000, messages: 3 };
    let mut rig = Rig::up(config(), little);
    let [flood, modest] = [rig.connect(), rig.connect()];
    let line = b"\xC0\x00flood\xC0".repeat(10_000);
    let mut said = 0;
    let mut go_on = |rig: &mut Rig| {
        while said < line.len() {
            match rig.say(flood, &line[said..]) {
                0 => break,
                length => said += length,
            }
        }
        assert!(rig.hub.held() <= 4096 + 2 * 1030, "{}", rig.hub.held());
    };
    go_on(&mut rig);
    assert_eq!(rig.sent.len(), 3);
    rig.say(modest, b"\xC0\x00modest\xC0");
    for nth in 4..=10_001 {
        let credit = Credit { octets: 6, messages: 1 };
        rig.tnc_says(FramesIndication::Credit { port: 0, credit });
        assert_eq!(rig.sent.len(), nth, "it is sent at once");
        go_on(&mut rig);
    }
    let modest = rig.sent.iter().position(|(_, frame, _)| frame == b"modest");
    assert!(modest.is_some_and(|place| place <= 5), "{modest:?}");
    assert_eq!(rig.hub.held(), 0);
}

#[test]
fn who_numbers_a_frame_is_told_when_it_has_left() {
    let mut rig = Rig::up(HubConfig { ports: 2, ..config() }, LARGE);
    let [one, other] = [rig.connect(), rig.connect()];
    // Both use the same number.
    rig.say(one, b"\xC0\x1C\xDB\xDC\x07first\xC0");
    rig.say(other, b"\xC0\x0C\xDB\xDC\x07second\xC0");
    let batch = M::with_headroom(0, b"third").into();
    rig.above_says(FramesRequest::Send { port: 1, batch, mark: Some(0xC007) });
    let frames: Vec<_> = rig.sent.iter().map(|(port, frame, _)| (*port, &frame[..])).collect();
    assert_eq!(frames, [(1, &b"first"[..]), (0, b"second"), (1, b"third")]);
    rig.said.up.clear();
    let marks: Vec<u16> = rig.sent.iter().map(|(.., mark)| mark.expect("a mark")).collect();
    rig.tnc_says(FramesIndication::Left { port: 0, mark: marks[1] });
    assert_eq!((rig.came(one), rig.came(other)), (vec![], b"\xC0\x0C\xDB\xDC\x07\xC0".to_vec()));
    rig.tnc_says(FramesIndication::Left { port: 1, mark: marks[2] });
    assert!(matches!(rig.said.up[..], [FramesIndication::Left { port: 1, mark: 0xC007 }]));
    rig.tnc_says(FramesIndication::Left { port: 1, mark: marks[0] });
    assert_eq!(rig.came(one), b"\xC0\x1C\xDB\xDC\x07\xC0");
    // A second time it means nothing.
    rig.tnc_says(FramesIndication::Left { port: 1, mark: marks[0] });
    assert_eq!(rig.came(one), b"");
}

#[test]
fn what_is_queued_is_told_to_who_asks() {
    let mut rig = Rig::up(config(), Credit { octets: 2000, messages: 100 });
    let [one, other] = [rig.connect(), rig.connect()];
    let ask = |rig: &mut Rig| {
        rig.say(other, b"\xC0\x06TXBUF:\xC0");
        String::from_utf8_lossy(&rig.came(other)[2..]).trim_end_matches('\u{fffd}').to_owned()
    };
    assert_eq!(ask(&mut rig), "TXBUF:0");
    rig.say(one, &[b"\xC0\x00", &[1; 900][..], b"\xC0"].concat().repeat(3));
    assert_eq!(ask(&mut rig), "TXBUF:2700");
    let credit = Credit { octets: 900, messages: 1 };
    rig.tnc_says(FramesIndication::Credit { port: 0, credit });
    assert_eq!(ask(&mut rig), "TXBUF:1800");
    // Parameters, and the end of KISS, are not for a program to set.
    rig.say(other, b"\xC0\x01\x32\xC0\xC0\xFF\xC0\xC0\x06SPEED\xC0");
    assert_eq!((rig.sent.len(), rig.came(other)), (3, vec![]));
}

/// Linux' `mkiss` tries SMACK and FlexNet with its first frames: the hub hears both.
#[test]
fn the_first_frames_of_linux_are_understood() {
    let mut rig = Rig::up(config(), LARGE);
    let one = rig.connect();
    // CRC-16/ARC of 80 48 69, the least significant octet first.
    let mut frame = vec![0x80, b'H', b'i'];
    let crc = frame.iter().fold(0u16, |crc, octet| {
        (0..8).fold(crc ^ u16::from(*octet), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xA001 } else { 0 }
        })
    });
    frame.extend_from_slice(&crc.to_le_bytes());
    rig.say(one, &[&[0xC0][..], &frame, &[0xC0]].concat());
    assert_eq!(rig.sent, [(0, b"Hi".to_vec(), None)]);
}

/// Those that come beyond are closed, and those that are there are served.
#[test]
fn there_are_sixteen_programs_and_each_may_go() {
    let mut rig = Rig::up(config(), LARGE);
    let names: Vec<Handle> = (0..CLIENTS_MOST).map(|_| rig.connect()).collect();
    for _ in 0..100 {
        let late = rig.connect();
        assert!(rig.program(late).closed, "there is no place for another");
        assert_eq!(rig.hub.clients(), CLIENTS_MOST);
        rig.programs_say(StreamsIndication::Ended { name: late, why: Ended::Finished });
        rig.programs.retain(|(there, _)| *there != late);
    }
    // One finishes, one is cut off.
    rig.programs_say(StreamsIndication::Finished { association: names[0] });
    assert!(rig.program(names[0]).closed);
    rig.heard(b"to whom it concerns");
    assert!(rig.came(names[0]).is_empty());
    for (name, why) in [(names[0], Ended::Finished), (names[7], Ended::Reset(0))] {
        rig.programs_say(StreamsIndication::Ended { name, why });
        rig.programs.retain(|(there, _)| *there != name);
        assert!(rig.awaited.is_some());
    }
    assert_eq!(rig.hub.clients(), CLIENTS_MOST - 2);
    for _ in 0..2 {
        let name = rig.connect();
        assert!(!rig.program(name).closed);
    }
    assert_eq!(rig.hub.clients(), CLIENTS_MOST);
    // Those that are closed and do not go are bounded, too, and keep nobody waiting.
    for _ in 0..1000 {
        let late = rig.connect();
        assert!(rig.program(late).closed);
        rig.programs.retain(|(_, program)| !program.aborted);
        assert!(rig.programs.len() <= CLIENTS_MOST + 300);
    }
    rig.heard(b"to all");
    assert_eq!(rig.came(names[1]), b"\xC0\x00to whom it concerns\xC0\xC0\x00to all\xC0");
}

/// A layer above that shows what is on the air is shown what programs send, and they are not.
#[test]
fn the_layer_above_is_shown_what_programs_send() {
    let mut rig = Rig::up(config(), LARGE);
    rig.hub = Hub::new(config(), Arc::new(Pool::new(4096, 4))).showing_programs();
    rig.hub.flush(&rig.cx, &mut rig.said);
    rig.awaited = None;
    rig.settle();
    rig.tnc_says(FramesIndication::State { port: 0, up: true });
    rig.tnc_says(FramesIndication::Credit { port: 0, credit: LARGE });
    rig.above_says(FramesRequest::Credit { credit: LARGE });
    let [one, other] = [rig.connect(), rig.connect()];
    rig.said.up.clear();
    rig.say(one, b"\xC0\x00hello\xC0");
    assert_eq!(rig.sent, [(0, b"hello".to_vec(), None)]);
    let [FramesIndication::Delivered { port: 0, batch }] = &rig.said.up[..] else {
        panic!("{:?}", rig.said.up)
    };
    assert_eq!(octets(batch.as_octets()), b"hello");
    assert!(rig.came(one).is_empty() && rig.came(other).is_empty());
}

/// Programs stay; what they send while there is no TNC is lost, not sent much later.
#[test]
fn a_tnc_comes_and_goes() {
    let mut rig = Rig::new(config());
    let one = rig.connect();
    rig.say(one, b"\xC0\x00too early\xC0");
    for _ in 0..3 {
        rig.tnc_says(FramesIndication::State { port: 0, up: true });
        let credit = Credit { octets: 10, messages: 10 };
        rig.tnc_says(FramesIndication::Credit { port: 0, credit });
        rig.say(one, b"\xC0\x00waits, because there is little credit\xC0\xC0\x00behind\xC0");
        assert!(rig.sent.is_empty());
        assert!(rig.hub.held() > 0);
        let batch = M::with_headroom(0, b"waits, too").into();
        rig.above_says(FramesRequest::Send { port: 0, batch, mark: Some(1) });
        let state = |rig: &mut Rig| std::mem::take(&mut rig.said.up);
        assert!(matches!(
            state(&mut rig)[..],
            [
                FramesIndication::State { port: 0, up: true },
                FramesIndication::Credit { port: 0, .. },
            ]
        ));
        rig.tnc_says(FramesIndication::State { port: 0, up: false });
        assert_eq!(rig.hub.held(), 0);
        // It crossed the word.
        let batch = M::with_headroom(0, b"crosses").into();
        rig.above_says(FramesRequest::Send { port: 0, batch, mark: Some(1) });
        assert!(matches!(state(&mut rig)[..], [FramesIndication::State { port: 0, up: false }]));
    }
    assert!(rig.sent.is_empty());
    rig.tnc_says(FramesIndication::State { port: 0, up: true });
    rig.tnc_says(FramesIndication::Credit { port: 0, credit: LARGE });
    rig.say(one, b"\xC0\x00now\xC0");
    assert_eq!(rig.sent, [(0, b"now".to_vec(), None)]);
}

/// Random octets from programs: nothing breaks, and what is held stays bounded.
#[test]
fn random_programs_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(9);
    for seed in 0..300 {
        let config = HubConfig {
            longest: random.usize(1..50),
            ports: random.u8(1..=16),
            echo: random.bool(),
            room: Credit { octets: 100, messages: 3 },
            ..config()
        };
        let credit = Credit { octets: random.usize(50..200), messages: random.usize(1..5) };
        let mut rig = Rig::up(config, credit);
        let mut names = vec![rig.connect(), rig.connect(), rig.connect()];
        rig.program(names[0]).reads = false;
        for _ in 0..100 {
            let which = random.usize(0..names.len());
            match random.u8(0..10) {
                0 => rig.heard(&[random.u8(..)]),
                1 => {
                    let (port, frame) = (random.u8(0..config.ports), M::with_headroom(0, b"x"));
                    let credits = rig.said.up.iter().filter_map(|word| match word {
                        FramesIndication::Credit { port: there, credit } if *there == port => {
                            Some(credit.messages)
                        }
                        _ => None,
                    });
                    // The first credit was not kept, so one is sent where one came back.
                    if credits.sum::<usize>() > 0 {
                        rig.said.up.clear();
                        let batch = frame.into();
                        rig.above_says(FramesRequest::Send { port, batch, mark: Some(3) });
                    }
                }
                2 => {
                    for (port, frame, mark) in std::mem::take(&mut rig.sent) {
                        assert!(frame.len() <= config.longest && port < config.ports);
                        let credit = Credit { octets: frame.len(), messages: 1 };
                        rig.tnc_says(FramesIndication::Credit { port, credit });
                        if let Some(mark) = mark {
                            rig.tnc_says(FramesIndication::Left { port, mark });
                        }
                    }
                }
                3 if names.len() > 1 => {
                    let name = names.swap_remove(which);
                    rig.programs.retain(|(there, _)| *there != name);
                    rig.programs_say(StreamsIndication::Ended { name, why: Ended::Reset(1) });
                }
                4 if names.len() < CLIENTS_MOST => names.push(rig.connect()),
                _ => {
                    let octets: Vec<u8> = (0..random.usize(1..300))
                        .map(|_| {
                            let usual = [0xC0, 0xDB, 0xDC, 0x00, 0x0C, 0x06];
                            if random.bool() { usual[random.usize(0..6)] } else { random.u8(..) }
                        })
                        .collect();
                    rig.say(names[which], &octets);
                }
            }
            assert!(rig.hub.held() <= rig.hub.clients() * (CLIENT_ROOM + 5000) + 2000, "{seed}");
        }
    }
}

/// Parameters are not passed on, but the owner of the TNC may read them, those of each port.
#[test]
fn parameters_of_programs_can_be_read() {
    let mut rig = Rig::up(HubConfig { ports: 2, ..config() }, LARGE);
    assert_eq!(rig.hub.access(0), ChannelAccess::default());
    let [one, other] = [rig.connect(), rig.connect()];
    rig.say(one, b"\xC0\x01\x1E\xC0\xC0\x02\x3F\xC0\xC0\x15\x01\xC0\xC0\x21\x01\xC0");
    rig.say(other, b"\xC0\x03\x05\xC0\xC0\x04\x00\xC0\xC0\x01\x32\xC0\xC0\x05\xC0");
    let time = |milliseconds| Some(Duration::from_millis(milliseconds));
    let access = ChannelAccess {
        tx_delay: time(500),
        persistence: Some(63),
        slot_time: time(50),
        tx_tail: time(0),
        full_duplex: None,
    };
    assert_eq!(rig.hub.access(0), access);
    let duplex = ChannelAccess { full_duplex: Some(true), ..ChannelAccess::default() };
    assert_eq!(rig.hub.access(1), duplex);
    assert_eq!(rig.hub.access(2), ChannelAccess::default(), "there is no such port");
    assert!(rig.sent.is_empty() && rig.cx.dropped_count() == 1);
}
