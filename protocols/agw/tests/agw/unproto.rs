//! UI frames of programs.

use stackwright_contract::Duration;

use crate::rig::{Rig, frame, text};

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
    let unknown = [&[1][..], &text("N0DDD"), b"via"].concat();
    rig.ask(other, b'V', "N0AAA-7", "CQ", &unknown);
    rig.ask(other, b'M', "N0AAA-7", "CQ", &[0; 2000]);
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.stations[0].frames, 2, "nothing else was sent");
    assert_eq!(rig.stations[0].agw.held(), 0);
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
