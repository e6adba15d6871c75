//! UI frames of programs.

use stackwright_contract::Duration;

use crate::rig::{Rig, call, frame, text};

#[test]
fn a_ui_frame_is_sent_as_the_program_says() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    rig.ask(one, b'M', "N0AAA", "CQ", b"to all");
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.stations[0].frames, 1);
    // Without a registration, too, if the call sign is nobody else's here.
    let other = rig.connect(0);
    rig.ask(other, b'M', "N0AAA-7", "CQ", b"to all");
    rig.ask(other, b'M', "N0AAA", "CQ", b"of another program");
    assert_eq!(rig.stations[0].frames, 2, "nothing of another program");
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.stations[0].agw.held(), 0);
}

/// The octets of a frame as they are on the air.
fn on_air(calls: &[(&str, u8)], behind: &[u8]) -> Vec<u8> {
    let address = |(text, mark): &(&str, u8)| {
        let mut octets = call(text).octets();
        octets[6] |= mark | 0x60;
        octets
    };
    let mut octets: Vec<u8> = calls.iter().flat_map(address).collect();
    *octets.last_mut().expect("addresses") |= 1;
    [&octets, behind].concat()
}

/// Of its first position, Xastir does not know the port.
#[test]
fn a_port_that_a_program_does_not_say_is_the_first() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    for (port, frames) in [(u8::MAX, 1), (1, 1)] {
        let mut said = frame(b'M', "N0AAA", "CQ", b"to all");
        said[0] = port;
        rig.say(one, &said);
        assert_eq!(rig.stations[0].frames, frames, "port {port}");
    }
}

/// AGWPE asks for no registration of a call sign that sends UI frames: Xastir logs in, and then
/// sends `V` through digipeaters that no configuration names.
#[test]
fn a_program_that_registers_nothing_sends_through_digipeaters() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    rig.ask(program, b'P', "", "", &[0; 510]);
    let position = b"!0000.00N/00000.00E-";
    for path in [&["WIDE1-1"][..], &["WIDE1-1", "WIDE2-2"], &["RELAY"], &["A"; 8], &[]] {
        let mut data = vec![path.len() as u8];
        path.iter().for_each(|call| data.extend(text(call)));
        data.extend(position);
        rig.ask(program, b'V', "N0AAA", "APX218", &data);
        rig.pass(Duration::from_secs(1));
        let ends = [("APX218", 0x80), ("N0AAA", 0)];
        let calls: Vec<_> = ends.into_iter().chain(path.iter().map(|call| (*call, 0))).collect();
        let expected = on_air(&calls, &[b"\x03\xf0", &position[..]].concat());
        assert_eq!(rig.stations[0].sent.pop(), Some(expected), "{path:?}");
    }
    assert_eq!((rig.told(program), rig.stations[0].agw.held()), (vec![], 0));
}

/// Programs that know nothing of protocol identifiers leave 0 there; NET/ROM has one.
#[test]
fn the_identifier_0_is_that_of_text() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    for (kind, pid, sent) in [
        (b'M', 0, 0xf0),
        (b'V', 0, 0xf0),
        (b'M', 0xcf, 0xcf),
        (b'V', 0xcf, 0xcf),
        (b'M', 0xf0, 0xf0),
    ] {
        let data = if kind == b'V' { &b"\0\xff\0text\0"[..] } else { b"\xff\0text\0" };
        let mut frame = frame(kind, "N0AAA", "NODES", data);
        frame[6] = pid;
        rig.say(program, &frame);
        rig.pass(Duration::from_secs(1));
        let behind = [&[0x03, sent][..], b"\xff\0text\0"].concat();
        let expected = on_air(&[("NODES", 0x80), ("N0AAA", 0)], &behind);
        assert_eq!(rig.stations[0].sent.pop(), Some(expected));
    }
}

/// The operator is told which frames are not transmitted, whose they are, and why.
#[test]
fn what_is_not_transmitted_is_told() {
    let mut rig = Rig::new();
    let notes = rig.notes(0);
    let _holder = rig.registered(0, "N0AAA-7");
    let program = rig.connect(0);
    notes.take();
    let via = |text: &[u8]| [&[1][..], &self::text("RELAY"), text].concat();
    for (kind, from, data, says) in [
        (b'M', "N0CCC", b"hello".to_vec(), &["N0CCC", "no call sign of this station"][..]),
        (b'V', "N0CCC", via(b"hello"), &["N0CCC", "no call sign of this station"]),
        (b'M', "N0AAA-7", b"hello".to_vec(), &["N0AAA-7", "another program"]),
        (b'M', "N0AAA", vec![7; 257], &["N0AAA", "257 octets, where a frame takes 256"]),
        (b'V', "N0AAA", via(&[7; 300]), &["N0AAA", "300 octets, where a frame takes 256"]),
        (b'V', "N0AAA", b"\x09".to_vec(), &["N0AAA", "digipeaters are malformed"]),
        (b'K', "", b"\0short".to_vec(), &["malformed addresses"]),
        (
            b'K',
            "",
            [&[0][..], &on_air(&[("CQ", 0x80), ("N0AAA-7", 0)], b"\x03\xf0")].concat(),
            &["N0AAA-7", "another program"],
        ),
        (
            b'K',
            "",
            [&[0][..], &on_air(&[("CQ", 0x80), ("N0AAA", 0)], &[7; 400])].concat(),
            &["N0AAA", "414 octets, where a frame takes 329"],
        ),
    ] {
        rig.ask(program, kind, from, "CQ", &data);
        rig.pass(Duration::from_secs(1));
        let told = notes.take();
        let [line] = &told[..] else { panic!("{told:?}") };
        assert!(line.starts_with("not transmitted"), "{line}");
        assert!(says.iter().all(|word| line.contains(word)), "{line}");
    }
    assert_eq!((rig.stations[0].frames, rig.stations[0].agw.held()), (0, 0));
    rig.ask(program, b'M', "N0AAA", "CQ", &[7; 256]);
    rig.ask(program, b'V', "N0AAA", "CQ", &via(&[7; 256]));
    rig.pass(Duration::from_secs(1));
    assert_eq!((rig.stations[0].frames, notes.take()), (2, vec![]));
}

/// One that sends without end is read no faster than its frames leave.
#[test]
fn a_flood_of_ui_frames_waits_for_the_tnc() {
    let mut rig = Rig::new();
    let one = rig.connect(0);
    let flood = frame(b'M', "N0AAA", "CQ", &[7; 200]).repeat(2000);
    let mut said = 0;
    for _ in 0..4000 {
        said += rig.say(one, &flood[said..]);
        assert!(rig.stations[0].agw.held() <= 70_000, "{}", rig.stations[0].agw.held());
        rig.pass(Duration::from_millis(10));
    }
    assert_eq!((said, rig.stations[0].frames), (flood.len(), 2000));
}
