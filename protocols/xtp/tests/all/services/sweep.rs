//! Every packet of a talk in turn meets with every deed, and nothing is lost, doubled or late.

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::{Deed, Event};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, Transaction, UnacknowledgedDatagram,
};

use crate::services::scene::{
    ANSWERS, ASKS, CLIENT, LISTENS, Manner, SAYS_ONE, SERVER, Scene, Service, name,
};

/// How many packets of each direction are tried.
const PACKETS: u64 = 64;

static LONG: [u8; 70_000] = [6; 70_000];

fn deeds() -> [Deed; 6] {
    let by = Duration::from_millis(1500);
    [
        Deed::Lose,
        Deed::Duplicate { by },
        Deed::Alter { bit: 77 },
        Deed::Alter { bit: 300 },
        Deed::Delay { by },
        Deed::HoldBack { by },
    ]
}

/// Whatever happens to one packet, each message is heard once, and both ends finish.
fn withstands<S: Service>(manners: [Manner; 2]) {
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        for nth in 0..PACKETS {
            for deed in deeds() {
                let events = vec![Event { nth, deed }];
                let mut scene = Scene::<S>::scripted(manners, (from, to), events);
                scene.run(200);
                let what = format!("service {}: {deed:?} of {nth} from {from}", S::NUMBER);
                let (client, server) = (scene.side(scene.client), scene.side(scene.server));
                assert_eq!(server.heard, [manners[0].opening], "{what}");
                let answers = usize::from(!manners[1].answer.is_empty());
                assert_eq!(client.heard, vec![manners[1].answer; answers], "{what}");
                for side in [client, server] {
                    assert_eq!(side.ended, [(name(0), Ended::Finished)], "{what}");
                }
            }
        }
    }
}

#[test]
fn a_connection_withstands_what_befalls_any_packet() {
    let asks = Manner { opening: &LONG, ..ASKS };
    let answers = Manner { answer: &LONG, ..ANSWERS };
    withstands::<Connection>([asks, answers]);
}

#[test]
fn a_transaction_withstands_what_befalls_any_packet() {
    let asks = Manner { opening: &LONG, ..ASKS };
    let answers = Manner { answer: &LONG, ..ANSWERS };
    withstands::<Transaction>([asks, answers]);
}

#[test]
fn an_acknowledged_datagram_withstands_what_befalls_any_packet() {
    withstands::<AcknowledgedDatagram>([SAYS_ONE, LISTENS]);
}

/// Nothing brings back what is lost, and nothing is heard twice; both ends finish.
#[test]
fn an_unacknowledged_datagram_is_heard_at_most_once_whatever_befalls_any_packet() {
    let says = Manner { opening: &LONG, ..SAYS_ONE };
    for nth in 0..PACKETS {
        for deed in deeds() {
            let (manners, events) = ([says, LISTENS], vec![Event { nth, deed }]);
            let mut scene =
                Scene::<UnacknowledgedDatagram>::scripted(manners, (CLIENT, SERVER), events);
            scene.run(200);
            let what = format!("{deed:?} of {nth}");
            let (client, server) = (scene.side(scene.client), scene.side(scene.server));
            let arrives = scene.packets().0 <= nth || matches!(deed, Deed::Duplicate { .. });
            let heard = server.heard.len();
            assert!(heard == 1 || heard == 0 && !arrives, "{what}: {heard}");
            assert!(server.heard.iter().all(|heard| *heard == LONG), "{what}");
            assert_eq!(client.ended, [(name(0), Ended::Finished)], "{what}");
            assert_eq!(server.ended.len(), server.opened as usize, "{what}");
            assert_eq!(scene.packets().1, 0, "{what}: nothing is answered");
        }
    }
}
