//! Ping-pong: a role whose application speaks its own words.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::Ended;
use stackwright_contract::{Context, Duration, Handle};
use stackwright_role::{RoleIndication, RoleLayer, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_wire::SingleBuffer;

use crate::talker::{CLIENT, ROOM, SERVER};
use stackwright_generated::contract::ping_pong::peer::{Input, Output, Part};

type M = SingleBuffer;
type Peers = RoleLayer<M, Part<()>, fn() -> Part<()>>;
type Stack = Over<Peers, SimulatedDatagrams<M>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };

/// Triggers a request for each number.
#[derive(Default)]
struct Asking {
    numbers: u16,
    /// How many reports it closes behind.
    closes_behind: usize,
    reported: Vec<u16>,
    ended: Option<Ended>,
}

impl Application<Stack> for Asking {
    fn hear(&mut self, _: &Context, told: RoleIndication<Output>, asks: &mut Asks<Stack>) {
        match told {
            RoleIndication::Opened { .. } if self.numbers > 0 => {
                // All at once: what the role does not hear yet is held.
                for number in 0..self.numbers {
                    let input = Input::Trigger { number };
                    asks.push_back(RoleRequest::Tell { association: ASSOCIATION, input });
                }
            }
            RoleIndication::Told { output: Output::Report { number }, .. } => {
                self.reported.push(number);
                if self.reported.len() == self.closes_behind {
                    asks.push_back(RoleRequest::Close { name: ASSOCIATION });
                }
            }
            RoleIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

#[test]
fn each_trigger_is_reported_in_order_while_both_ask() {
    let mut world = World::<M>::new(1);
    let delay = Duration::from_millis(20);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let stack = |address| {
        let make: fn() -> Part<()> = || Part::new(());
        Over::new(RoleLayer::new(make), SimulatedDatagrams::new(address, ROOM))
    };
    let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
    let asking = |numbers, closes_behind| Asking { numbers, closes_behind, ..Asking::default() };
    let server = world.add(here, stack(here), asking(5, usize::MAX));
    let client = world.add(there, stack(there), asking(9, 9));
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, RoleRequest::Listen { listener: LISTENER, local });
    let awaits = RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM };
    world.ask(server, awaits);
    world.ask(
        client,
        RoleRequest::Open { association: ASSOCIATION, remote: local, local: None, credit: ROOM },
    );
    let done =
        world.run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(60));
    assert!(done);
    assert_eq!(world.application(client).reported, Vec::from_iter(0..9));
    assert_eq!(world.application(server).reported, Vec::from_iter(0..5));
    // A request a round trip: the next leaves when the response came.
    assert_eq!(world.network().counts(there, here).offered, 9 + 5);
    assert_eq!(world.stack(client).upper.associations(), 0);
}
