//! The table of states and inputs.

use stackwright_ax25::LinkState;
use stackwright_ax25::header::{ControlField, Modulus, Role, Supervisory, Unnumbered};
use stackwright_contract::Duration;
use stackwright_contract::services::{Credit, StreamsRequest};

use crate::states::machine::{Machine, SECOND, STREAM};
use crate::states::table::{Cell, Input, STATES, Source, rows};

fn apply(machine: &mut Machine, input: Input) {
    use Role::{Command, Response};
    use Supervisory::{ReceiveNotReady, ReceiveReady, Reject, SelectiveReject};
    use Unnumbered::{Disc, Dm, Frmr, Sabm, Sabme, Test, Ua, Ui, Xid};
    let association = STREAM;
    match input {
        Input::Sabm => machine.hear_u(Command, Sabm, true),
        Input::Sabme => {
            machine.extended(); // its link counts so from then on
            machine.hear_u(Command, Sabme, true);
        }
        Input::SabmAnew => {
            machine.hear_s(Response, ReceiveReady, 1, true);
            machine.take();
            machine.hear_u(Command, Sabm, true);
        }
        Input::Disc => machine.hear_u(Command, Disc, true),
        Input::Ua => machine.hear_u(Response, Ua, true),
        Input::UaUnasked => machine.hear_u(Response, Ua, false),
        Input::Dm => machine.hear_u(Response, Dm, true),
        Input::DmUnasked => machine.hear_u(Response, Dm, false),
        Input::Frmr => machine.hear_u(Response, Frmr, false),
        Input::INext => machine.hear_i(0, 0, false, b"xy"),
        Input::INextAcknowledges => machine.hear_i(0, 1, false, b"xy"),
        Input::INextAsks => machine.hear_i(0, 0, true, b"xy"),
        Input::IAhead => machine.hear_i(1, 0, false, b"xy"),
        Input::IAheadAgain => {
            machine.hear_i(1, 0, false, b"xy");
            machine.take();
            machine.hear_i(2, 0, false, b"xy");
        }
        Input::IAheadAsks => machine.hear_i(1, 0, true, b"xy"),
        Input::IRepeated => machine.hear_i(7, 0, false, b"xy"),
        Input::IRepeatedAsks => machine.hear_i(7, 0, true, b"xy"),
        Input::IInvalid => machine.hear_i(0, 5, false, b"xy"),
        Input::IResponse => {
            let control = stackwright_ax25::header::ControlField::Information {
                sent: 0,
                received: 0,
                poll: false,
            };
            machine.hear(Response, control, b"xy");
        }
        Input::ILong => machine.hear_i(0, 0, true, &[7; 300]),
        Input::IOfAnother => machine.hear_of(Modulus::Eight, 0, 0xcf, b"xy"),
        Input::RrAsks => machine.hear_s(Command, ReceiveReady, 0, true),
        Input::RrAcknowledges => machine.hear_s(Response, ReceiveReady, 1, false),
        Input::RrAnswersAll => machine.hear_s(Response, ReceiveReady, 1, true),
        Input::RrAnswersNone => machine.hear_s(Response, ReceiveReady, 0, true),
        Input::RrInvalid => machine.hear_s(Response, ReceiveReady, 5, false),
        Input::RrAnswersInvalid => machine.hear_s(Response, ReceiveReady, 5, true),
        Input::RnrAsks => machine.hear_s(Command, ReceiveNotReady, 0, true),
        Input::Rnr => machine.hear_s(Response, ReceiveNotReady, 1, false),
        Input::RnrAnswers => machine.hear_s(Response, ReceiveNotReady, 0, true),
        Input::Rej => machine.hear_s(Response, Reject, 0, false),
        Input::RejAnswers => machine.hear_s(Response, Reject, 0, true),
        Input::RejAsks => machine.hear_s(Command, Reject, 0, true),
        Input::Srej => machine.hear_s(Response, SelectiveReject, 0, false),
        Input::SrejAnswers => machine.hear_s(Response, SelectiveReject, 0, true),
        Input::SrejInvalid => machine.hear_s(Response, SelectiveReject, 5, false),
        Input::XidAsks => machine.hear_u(Command, Xid, true),
        Input::XidAnswers => machine.hear_u(Response, Xid, true),
        Input::Test => machine.hear_u(Command, Test, true),
        Input::Ui => {
            let control = stackwright_ax25::header::ControlField::unnumbered(Ui, true);
            machine.hear(Command, control, b"xy");
        }
        Input::Unknown => {
            // UP of HDLC.
            machine.hear_octets(&[
                0x82, 0x40, 0x40, 0x40, 0x40, 0x40, 0xe0, 0x84, 0x40, 0x40, 0x40, 0x40, 0x40, 0x61,
                0x33,
            ]);
        }
        Input::T1 => machine.wait(),
        Input::T1Third => {
            machine.wait();
            machine.wait();
            machine.take();
            machine.wait();
        }
        Input::T2 => {
            machine.hear_i(0, 1, false, b"xy");
            machine.take();
            machine.pass(Duration::from_millis(2500)); // less than T1
        }
        Input::T3 => {
            machine.hear_s(Role::Response, ReceiveReady, 1, true);
            machine.take();
            if machine.link().is_some_and(|link| link.timers == " T3") {
                machine.wait();
            }
        }
        Input::Open => machine.open(SECOND),
        Input::Send => machine.send(b"de"),
        Input::Finish => machine.ask(StreamsRequest::Finish { association }),
        Input::FinishDrained => {
            machine.hear_s(Role::Response, ReceiveReady, 1, true);
            machine.take();
            machine.ask(StreamsRequest::Finish { association });
        }
        Input::Abort => machine.ask(StreamsRequest::Abort { association, code: 0 }),
        Input::Close => machine.ask(StreamsRequest::Close { name: association }),
        Input::RoomUsedUp => machine.hear_i(0, 0, false, &[7; 12]),
        Input::RoomBack => {
            machine.hear_i(0, 1, true, &[7; 12]);
            machine.take();
            let credit = Credit::of_octets(8);
            machine.ask(StreamsRequest::Credit { association, credit });
        }
        Input::LineDown => machine.line(false),
        Input::LineUp => {
            machine.line(false);
            machine.take();
            machine.line(true);
        }
    }
}

/// Returns what a station does in a state, and where it is then.
fn does(state: LinkState, input: Input) -> (String, String) {
    let mut machine = Machine::at(state);
    apply(&mut machine, input);
    let does = machine.take().join(", ");
    let next = machine.link().map_or("0".into(), |link| {
        let number = STATES.iter().position(|state| *state == link.state).expect("all are there");
        format!("{number}{}", link.timers)
    });
    (does, next)
}

/// Returns what is wrong with the rows of some inputs.
fn wrong(is_chosen: impl Fn(Input) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows().filter(|row| is_chosen(row.input)) {
        for (cell, state) in row.cells.iter().zip(STATES) {
            let Cell { does: expected, next, source } = *cell;
            let (done, there) = does(state, row.input);
            if (done.as_str(), there.as_str()) != (expected, next) {
                wrong.push(format!(
                    "{:?} in {state:?}: {done:?}, {there:?}; expected {expected:?}, {next:?}",
                    row.input
                ));
            }
            let says = match source {
                Source::Known(text)
                | Source::Erratum(text)
                | Source::Silent(text)
                | Source::Differs(text) => text,
            };
            assert!(!says.is_empty(), "{:?} in {state:?} does not say why", row.input);
        }
    }
    wrong
}

#[test]
fn every_cell() {
    let wrong = wrong(|_| true);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let inputs: std::collections::BTreeSet<_> = rows().map(|row| row.input).collect();
    assert_eq!((inputs.len(), rows().count()), (Input::ALL.len(), Input::ALL.len()));
}

#[test]
fn sabm_and_sabme_in_every_state() {
    let wrong = wrong(|input| matches!(input, Input::Sabm | Input::Sabme | Input::SabmAnew));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// With information of any length: what it says is of no use.
#[test]
fn frmr_in_every_state() {
    let wrong = wrong(|input| input == Input::Frmr);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for state in STATES {
        let expected = does(state, Input::Frmr);
        for length in [0, 1, 2, 3, 5, 300] {
            let mut machine = Machine::at(state);
            let control = ControlField::unnumbered(Unnumbered::Frmr, false);
            machine.hear(Role::Response, control, &[0xff; 300][..length]);
            assert_eq!(machine.take().join(", "), expected.0, "{length} octets in {state:?}");
        }
    }
}

/// Prints the rows as the machine has them: what to begin with after a change.
#[test]
#[ignore = "prints"]
fn print() {
    for input in Input::ALL {
        println!("{input:?}");
        for state in STATES {
            let (does, next) = does(state, input);
            println!("    cell({does:?}, {next:?}, )");
        }
    }
}
