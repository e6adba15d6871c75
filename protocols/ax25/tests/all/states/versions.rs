//! Which version a peer is called with: what it spoke before is remembered.

use stackwright_ax25::header::{Modulus, Role, Unnumbered};
use stackwright_ax25::{Config, LinkVersion};
use stackwright_contract::Duration;

use crate::states::machine::{Machine, STREAM, call};

/// Calls, and returns the first frame.
fn calls(machine: &mut Machine) -> String {
    machine.take();
    machine.open(STREAM);
    let does = machine.take();
    machine.left();
    assert_eq!(does.len(), 1, "{does:?}");
    does.into_iter().next().expect("a frame")
}

/// The link is open, and the peer releases it.
fn released(machine: &mut Machine) {
    machine.hear_u(Role::Command, Unnumbered::Disc, true);
    assert_eq!(machine.link(), None);
}

/// FRMR, DM and silence are answers of stations that speak 2.0 only; the next call asks at once for
/// that, also behind one that nobody answered.
#[test]
fn a_peer_of_2_0_is_asked_for_2_2_once() {
    for answer in [Some(Unnumbered::Frmr), Some(Unnumbered::Dm), None] {
        for listed in [false, true] {
            // A peer that is listed for its way, as any.
            let peers = Vec::from_iter(listed.then(|| (call("B"), LinkVersion::Auto)));
            let mut machine = Machine::of(Config { peers, ..Config::new(call("A")) });
            assert_eq!(calls(&mut machine), "SABME P=1");
            match answer {
                Some(kind) => machine.hear_u(Role::Response, kind, true),
                None => {
                    while !machine.take().contains(&"SABM P=1".into()) {
                        machine.wait();
                    }
                }
            }
            machine.left();
            machine.hear_u(Role::Response, Unnumbered::Ua, true);
            machine.left();
            if answer.is_none() {
                // UA may have been to SABME: the peer was asked how it counts.
                machine.hear_s(
                    Role::Response,
                    stackwright_ax25::header::Supervisory::ReceiveReady,
                    0,
                    true,
                );
            }
            released(&mut machine);
            assert_eq!(calls(&mut machine), "SABM P=1", "{answer:?}");
            while machine.link().is_some() {
                machine.wait(); // nobody answers
            }
            assert_eq!(calls(&mut machine), "SABM P=1", "{answer:?}, after a call in vain");
        }
    }
}

#[test]
fn a_peer_that_calls_with_2_2_is_called_with_it() {
    let mut machine = Machine::at(stackwright_ax25::LinkState::Disconnected);
    machine.hear_u(Role::Command, Unnumbered::Sabme, true);
    machine.pass(Duration::from_secs(1));
    assert_eq!(machine.link().map(|link| link.modulus), Some(Modulus::Extended));
    released(&mut machine);
    assert_eq!(calls(&mut machine), "SABME P=1");
}
