//! What a program is told of the station, and which call signs are its own.

use stackwright_agw::PROGRAMS_MOST;

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

#[test]
fn as_many_programs_as_may_be() {
    let mut rig = Rig::new();
    let programs: Vec<_> = (0..PROGRAMS_MOST).map(|_| rig.connect(0)).collect();
    assert!(!rig.awaits(0), "no more are accepted");
    rig.kill(programs[3]);
    assert!(rig.awaits(0));
    let late = rig.connect(0);
    rig.ask(late, b'R', "", "", b"");
    assert_eq!(rig.told(late).len(), 1);
    assert_eq!(rig.stations[0].agw.programs(), PROGRAMS_MOST);
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
