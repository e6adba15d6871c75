//! What is learned of the time that answers take.

use stackwright_ax25::LinkState;
use stackwright_ax25::header::{Role, Supervisory};
use stackwright_contract::Duration;
use stackwright_contract::Either;
use stackwright_contract::ask::{NothingBelow, RoundTrip, ask};

use crate::states::machine::{Machine, STREAM};

fn round_trip(machine: &Machine) -> f64 {
    let time = ask(&machine.stack, Either::Left(STREAM), RoundTrip, &NothingBelow);
    time.expect("there is a link").as_secs_f64()
}

/// The peer acknowledges each window after so long, as an answer to P=1, before it, or by an I
/// frame of its own. Returns what was learned of it.
fn bulk(machine: &mut Machine, windows: std::ops::Range<u8>, after: Duration) -> f64 {
    for window in windows {
        let acknowledged = (window + 1) % 8;
        machine.pass(after);
        match window % 3 {
            0 => machine.hear_s(Role::Response, Supervisory::ReceiveReady, acknowledged, true),
            1 => machine.hear_s(Role::Response, Supervisory::ReceiveReady, acknowledged, false),
            _ => machine.hear_i(window / 3 % 8, acknowledged, false, b""),
        }
        assert_eq!(machine.link().map(|link| link.state), Some(LinkState::Connected));
        machine.send(b"abc");
        machine.left();
    }
    round_trip(machine)
}

/// AX.25 v2.2, Check_I_Frame_Ackd: T1V is selected when all is acknowledged.
#[test]
fn bulk_teaches_how_long_answers_take() {
    // The window of the state was sent when the machine came into it.
    let mut machine = Machine::at(LinkState::Connected);
    let mut windows = 0;
    for (seconds, least, most) in [(2.5, 2.1, 2.5), (4.0, 3.5, 4.0), (0.2, 1.0, 1.1)] {
        let learned = bulk(&mut machine, windows..windows + 30, Duration::from_secs_f64(seconds));
        // One second is the least, and the time of the answer on the air does not count.
        assert!((least..most).contains(&learned), "{learned} s with {seconds} s");
        windows += 30;
    }
}

/// An answer to one of two questions is no sample: which of them, nothing tells.
#[test]
fn an_answer_that_may_be_to_another_question_teaches_nothing() {
    let mut machine = Machine::at(LinkState::TimerRecovery);
    machine.wait(); // it is asked once more
    let before = round_trip(&machine);
    machine.pass(Duration::from_millis(100));
    machine.hear_s(Role::Response, Supervisory::ReceiveReady, 1, true);
    assert_eq!(machine.link().map(|link| link.state), Some(LinkState::Connected));
    assert_eq!(round_trip(&machine), before);
}
