//! Places for links: those that nobody uses keep nobody out.

use stackwright_ax25::header::{ControlField, Supervisory, Unnumbered};
use stackwright_ax25::{Config, LinkState};
use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Duration, Handle};

use crate::states::machine::{LISTENER, Machine, call, peer};

const PLACES: usize = 8;

/// A station that takes all who call.
fn station() -> Machine {
    let mut machine = Machine::of(Config { links_most: PLACES, ..Config::new(call("A")) });
    let local = stackwright_contract::Address::Station { call: call("A"), pid: 0xf0, route: 0 };
    machine.ask(StreamsRequest::Listen { listener: LISTENER, local: local.into() });
    for index in 10..110 {
        let (listener, association) = (LISTENER, Handle { index, generation: 0 });
        let credit = Credit::of_octets(100);
        machine.ask(StreamsRequest::Await { listener, association, credit });
    }
    machine.take();
    machine
}

fn sabm(machine: &mut Machine, caller: &str) -> Vec<String> {
    machine.take();
    machine.hear_from(caller, ControlField::unnumbered(Unnumbered::Sabm, true));
    machine.take()
}

/// The caller shows that it knows of its link.
fn speaks(machine: &mut Machine, caller: &str) {
    let kind = Supervisory::ReceiveReady;
    machine.hear_from(caller, ControlField::Supervisory { kind, received: 0, poll: true });
}

fn callers(machine: &Machine) -> Vec<String> {
    let mut callers: Vec<_> = machine.stack.links().map(|link| link.remote.to_string()).collect();
    callers.sort();
    callers
}

#[test]
fn links_whose_peers_say_nothing_give_way() {
    let mut machine = station();
    for nth in 0..40 {
        let caller = format!("N{nth}XX");
        let says = sabm(&mut machine, &caller);
        let (accepted, evicted) = (["Opened", "UA F=1"], ["Ended Expired", "DM F=0"]);
        match nth < PLACES {
            true => assert_eq!(says, accepted),
            false => assert!(
                accepted.iter().chain(&evicted).all(|word| says.iter().any(|does| does == word)),
                "{says:?}"
            ),
        }
        assert!(callers(&machine).contains(&caller));
        machine.pass(Duration::from_secs(1));
    }
    assert_eq!(machine.stack.links().count(), PLACES);
    // This station's own calls have a place, too.
    let (association, credit) = (Handle { index: 5, generation: 0 }, Credit::of_octets(100));
    machine.ask(StreamsRequest::Open { association, remote: peer(), local: None, credit });
    assert!(callers(&machine).contains(&"B".into()));
}

#[test]
fn links_that_live_stay_and_a_full_house_answers() {
    let mut machine = station();
    let names: Vec<_> = (0..PLACES).map(|nth| format!("N{nth}XX")).collect();
    for caller in &names {
        sabm(&mut machine, caller);
        speaks(&mut machine, caller);
    }
    assert_eq!(sabm(&mut machine, "N9YY"), ["DM F=1"]);
    assert_eq!(callers(&machine), names);
    // One that is being released, for nobody, gives way at once.
    let first = Handle { index: 10, generation: 0 };
    machine.ask(StreamsRequest::Abort { association: first, code: 0 });
    let releasing = |machine: &Machine| {
        machine.stack.links().any(|link| link.state == LinkState::AwaitingRelease)
    };
    assert!(releasing(&machine));
    assert!(sabm(&mut machine, "N9YY").contains(&"UA F=1".into()));
    assert!(!releasing(&machine) && machine.stack.links().count() == PLACES);
}
