//! What a program is told of the station, and which call signs are its own.

use stackwright_agw::{PROGRAMS_MOST, PortAccess};
use stackwright_contract::Duration;

use crate::rig::{Rig, frame};

#[test]
fn a_program_learns_what_there_is() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    for kind in [b'R', b'G', b'g', b'P', b'H'] {
        rig.ask(program, kind, "", "", b"");
    }
    let none = String::new;
    assert_eq!(
        rig.told(program),
        [
            ('R', none(), none(), [0xd5, 7, 0, 0, 127, 0, 0, 0].to_vec()),
            ('G', none(), none(), b"1;Port1 radio;\0".to_vec()),
            ('g', none(), none(), [0, 1, 25, 4, 200, 4, 7, 0, 1, 0, 0, 0].to_vec()),
            ('H', none(), none(), b"\0".to_vec()),
        ]
    );
}

#[test]
fn a_call_sign_is_one_programs_at_a_time() {
    let mut rig = Rig::new();
    let [one, other] = [rig.registered(0, "N0AAA"), rig.connect(0)];
    let told = |answer| vec![('X', "N0AAA".into(), String::new(), vec![answer])];
    rig.ask(other, b'X', "N0AAA", "", b"");
    assert_eq!(rig.told(other), told(0));
    rig.ask(one, b'X', "N0AAA", "", b"");
    assert_eq!(rig.told(one), told(1), "it has it already");
    rig.ask(other, b'x', "N0AAA", "", b"");
    rig.ask(other, b'X', "N0AAA", "", b"");
    assert_eq!(rig.told(other), told(0), "nobody else makes it free");
    rig.ask(one, b'x', "N0AAA", "", b"");
    rig.ask(other, b'X', "N0AAA", "", b"");
    assert_eq!(rig.told(other), told(1));
    rig.kill(other);
    rig.ask(one, b'X', "N0AAA", "", b"");
    assert_eq!(rig.told(one), told(1), "free with the end of its program");
}

/// What is on the air has a call sign of the station.
#[test]
fn a_call_sign_of_nobody_here_is_not_registered() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    for own in ["N0CCC", "N0AAA-1", "", "not one"] {
        rig.ask(program, b'X', own, "", b"");
        assert_eq!(rig.told(program), [('X', own.into(), String::new(), vec![0])]);
    }
    rig.ask(program, b'C', "N0CCC", "N0BBB", b"");
    let text = b"*** DISCONNECTED From Station N0BBB\r\0".to_vec();
    assert_eq!(rig.told(program), [('d', "N0BBB".into(), "N0CCC".into(), text)]);
    rig.ask(program, b'M', "N0CCC", "N0BBB", b"not mine");
    assert_eq!(rig.stations[0].frames, 0);
}

/// As many as may be are served; who comes beyond is told so, and closed.
#[test]
fn a_full_house_answers() {
    let mut rig = Rig::new();
    let programs: Vec<_> = (0..PROGRAMS_MOST).map(|_| rig.connect(0)).collect();
    for _ in 0..100 {
        let late = rig.connect(0);
        let text = format!("*** DISCONNECTED: the station serves {PROGRAMS_MOST} programs\r\0");
        assert_eq!(rig.told(late), [('d', String::new(), String::new(), text.into_bytes())]);
        assert!(rig.is_ended(late));
        assert_eq!(rig.stations[0].agw.programs(), PROGRAMS_MOST);
    }
    rig.kill(programs[3]);
    let late = rig.connect(0);
    for program in [late, programs[0]] {
        rig.ask(program, b'R', "", "", b"");
        assert_eq!(rig.told(program).len(), 1);
    }
    assert_eq!(rig.stations[0].agw.programs(), PROGRAMS_MOST);
}

/// What AGWPE says of a port that is known: 9600 bit/s, the access of KISS, and what was received.
#[test]
fn a_port_is_told_as_it_is() {
    let access = PortAccess { tx_delay: 30, tx_tail: 5, persistence: 63, slot_time: 10, window: 4 };
    let mut rig = Rig::with(|config| {
        (config.rates, config.access) = (vec![9600], vec![access]);
    });
    let program = rig.connect(0);
    let other = rig.registered(1, "N0BBB");
    rig.ask(other, b'M', "N0BBB", "CQ", &[7; 200]);
    rig.ask(program, b'g', "", "", b"");
    let received = 16 + 200;
    let expected = vec![3, 255, 30, 5, 63, 10, 4, 0, received, 0, 0, 0];
    assert_eq!(rig.told(program), [('g', String::new(), String::new(), expected)]);
}

/// The newest first, each once, by port; the station's own frames were not heard.
#[test]
fn stations_that_were_heard_are_told() {
    let mut rig = Rig::with(|config| config.day = Duration::from_secs(951_782_400));
    let [program, other] = [rig.connect(0), rig.connect(1)];
    for (call, pause) in [("N0BBB", 10), ("N0BBB-7", 20), ("N0BBB", 30)] {
        rig.ask(other, b'M', call, "CQ", b"hello");
        rig.pass(Duration::from_secs(pause));
    }
    rig.ask(program, b'M', "N0AAA", "CQ", b"hello");
    rig.ask(program, b'H', "", "", b"");
    let told: Vec<_> = rig.told(program).into_iter().map(|(kind, .., data)| (kind, data)).collect();
    let line = |call, first, last, behind| {
        let day = "Tue,29Feb2000";
        ('H', format!("{call}  {day} {first}  {day} {last}\0{behind}\0").into_bytes())
    };
    let expected =
        [line("N0BBB", "00:00:00", "00:00:30", "2"), line("N0BBB-7", "00:00:10", "00:00:10", "1")];
    assert_eq!(told, expected);
}

/// A frame may come in any pieces.
#[test]
fn frames_come_in_pieces() {
    let mut rig = Rig::new();
    let program = rig.connect(0);
    let asked = [frame(b'R', "", "", b""), frame(b'X', "N0AAA", "", b"")].concat();
    for octet in &asked {
        assert_eq!(rig.say(program, &[*octet]), 1);
    }
    let kinds: Vec<char> = rig.told(program).iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, ['R', 'X']);
}
