//! Programs that lie, stop reading, or send anything.

use stackwright_agw::{AgwHeader, DATA_MOST, HELD_MOST, LINK_ROOM};
use stackwright_contract::Duration;
use stackwright_wire::Header;

use crate::rig::{Rig, frame, text};

const SECOND: Duration = Duration::from_secs(1);

/// What a server holds for one program at most, where it reads.
const WINDOW: usize = AgwHeader::LENGTH + DATA_MOST;

fn claims(length: u32) -> Vec<u8> {
    let header =
        AgwHeader { from: text("N0AAA"), to: text("N0BBB"), length, ..AgwHeader::of(b'D') };
    let mut octets = vec![0; AgwHeader::LENGTH];
    header.encode(&mut octets);
    octets
}

/// One that claims more than a frame has is gone; one that never sends what it claims waits alone.
#[test]
fn a_program_that_lies_about_lengths() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    for length in [DATA_MOST as u32 + 1, u32::MAX, 1 << 31] {
        let liar = rig.connect(0);
        rig.say(liar, &claims(length));
        assert!(rig.is_ended(liar), "{length}");
    }
    let liar = rig.connect(0);
    let mut said = rig.say(liar, &claims(DATA_MOST as u32));
    while let length @ 1.. = rig.say(liar, &[7; 1000][..1000.min(WINDOW - 1 - said)]) {
        said += length;
    }
    assert_eq!(rig.stations[0].agw.held(), WINDOW - 1, "all of it, and not more");
    assert!(!rig.is_ended(liar));
    rig.ask(one, b'D', "N0AAA", "N0BBB", b"hello");
    rig.pass(SECOND);
    assert_eq!(rig.heard(other).1, b"hello");
    rig.kill(liar);
    assert_eq!(rig.stations[0].agw.held(), 0);
}

/// Its peer is slowed down, nobody else is, and nothing is lost.
#[test]
fn a_program_that_stops_reading() {
    let mut rig = Rig::new();
    let [one, stuck] = rig.linked();
    let [far, near] = [rig.registered(0, "N0AAA-7"), rig.registered(1, "N0BBB-7")];
    rig.ask(far, b'C', "N0AAA-7", "N0BBB-7", b"");
    rig.pass(SECOND);
    assert_eq!((rig.heard(far).0, rig.heard(near).0), ("C".into(), "C".into()));
    rig.set_reads(stuck, false);
    let content: Vec<u8> = (0..200_000_usize).map(|place| (place * 7 % 253) as u8).collect();
    let framed = content.chunks(1000).map(|data| frame(b'D', "N0AAA", "N0BBB", data));
    let framed = framed.collect::<Vec<_>>().concat();
    let mut said = 0;
    for nth in 0..200 {
        said += rig.say(one, &framed[said..]);
        rig.ask(far, b'D', "N0AAA-7", "N0BBB-7", &[nth; 100]);
        rig.pass(SECOND);
        assert_eq!(rig.heard(near).1, [nth; 100], "the other link goes on");
    }
    // Here: what a link holds, and a window of the program. There: what may wait for one that does
    // not read, and what its links may still deliver.
    let held = [0, 1].map(|station| rig.stations[station].agw.held());
    assert!(held[0] <= LINK_ROOM + 2 * WINDOW && held[1] <= 3 * LINK_ROOM, "{held:?}");
    assert!(said < content.len(), "its peer waits");
    rig.set_reads(stuck, true);
    let mut heard = Vec::new();
    for _ in 0..400 {
        said += rig.say(one, &framed[said..]);
        rig.pass(SECOND);
        heard.extend(rig.heard(stuck).1);
    }
    assert!(heard == content, "{} of {} octets", heard.len(), content.len());
}

/// It asks, and reads no answer: it is read no further.
#[test]
fn a_program_that_only_asks() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    rig.set_reads(program, false);
    let asks = frame(b'G', "", "", b"").repeat(50_000);
    let mut said = 0;
    while let length @ 1.. = rig.say(program, &asks[said..]) {
        said += length;
        assert!(rig.stations[0].agw.held() <= HELD_MOST);
    }
    assert!(said < asks.len(), "it is not read");
    let mut answers = 0;
    rig.set_reads(program, true);
    while said < asks.len() {
        said += rig.say(program, &asks[said..]);
        answers += rig.told(program).len();
    }
    assert_eq!(answers + rig.told(program).len(), 50_000, "every answer, later");
}

/// It does not read that it is called, again and again: in the end it is gone, and its call sign is
/// free.
#[test]
fn a_program_that_never_reads_that_it_is_called() {
    let mut rig = Rig::new();
    let [caller, stuck] = [rig.registered(0, "N0AAA"), rig.registered(1, "N0BBB")];
    rig.set_reads(stuck, false);
    let mut calls = 0;
    while !rig.is_ended(stuck) {
        rig.ask(caller, b'C', "N0AAA", "N0BBB", b"");
        rig.ask(caller, b'd', "N0AAA", "N0BBB", b"");
        rig.pass(SECOND);
        rig.told(caller);
        assert!(rig.stations[1].agw.held() <= HELD_MOST);
        calls += 1;
        assert!(calls < 10_000, "it is not held for ever");
    }
    rig.pass(20 * SECOND);
    assert_eq!((rig.stations[1].agw.links(), rig.stations[1].agw.held()), (0, 0));
    rig.registered(1, "N0BBB");
}

/// Whatever comes: no panic, and what is held is bounded.
#[test]
fn anything() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let mut rig = Rig::new();
        let ends = [rig.connect(0), rig.connect(1)];
        for _ in 0..60 {
            let end = random.usize(0..2);
            let calls = ["N0AAA", "N0BBB", "N0AAA-7", "N0BBB-7", "CQ", "", "?"];
            let [from, to] = [(); 2].map(|()| calls[random.usize(..calls.len())]);
            let kinds = b"RGgXxCcvDdkKmMVyYHPDDDDXXCC\0z";
            let kind = kinds[random.usize(..kinds.len())];
            let data: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
            let mut octets = frame(kind, from, to, &data);
            if random.u8(..) < 20 {
                let place = random.usize(..octets.len());
                octets[place] = random.u8(..);
            }
            rig.say(ends[end], &octets);
            rig.pass(Duration::from_millis(random.u64(..2000)));
            for station in &rig.stations {
                assert!(station.agw.held() <= 2 * WINDOW, "{}", station.agw.held());
            }
        }
        ends.into_iter().for_each(|end| rig.kill(end));
        rig.pass(60 * SECOND);
        for station in &rig.stations {
            assert_eq!((station.agw.programs(), station.agw.links()), (0, 0));
            assert_eq!(station.agw.held(), 0);
        }
    }
}
