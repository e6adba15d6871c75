//! What waits for silence: each ADU that comes begins it anew, whether it is heard, heard by a
//! branch that does nothing, or held.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::{Context, Duration, Handle, Instant};
use stackwright_role::{RoleIndication, RoleLayer, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_wire::SingleBuffer;

use crate::talker::{CLIENT, ROOM, SERVER};
use stackwright_generated::contract::beats::{receiver, sender};

type M = SingleBuffer;
type Stack<P> = Over<RoleLayer<M, P, fn() -> P>, SimulatedDatagrams<M>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };

fn stack<P: stackwright_role::RolePart<M>>(address: IpAddr, make: fn() -> P) -> Stack<P> {
    Over::new(RoleLayer::new(make), SimulatedDatagrams::new(address, ROOM))
}

struct Beating;

impl Application<Stack<sender::Part<()>>> for Beating {
    fn hear(
        &mut self,
        _: &Context,
        _: RoleIndication<sender::Output>,
        _: &mut Asks<Stack<sender::Part<()>>>,
    ) {
    }
}

/// When it was told that nothing comes any more.
#[derive(Default)]
struct Listening(Option<Instant>);

impl Application<Stack<receiver::Part<()>>> for Listening {
    fn hear(
        &mut self,
        cx: &Context,
        told: RoleIndication<receiver::Output>,
        _: &mut Asks<Stack<receiver::Part<()>>>,
    ) {
        if let RoleIndication::Told { output: receiver::Output::Dead, .. } = told {
            self.0 = Some(cx.now());
        }
    }
}

#[test]
fn beats_that_are_held_or_do_nothing_are_no_silence() {
    let mut world = World::<M>::new(1);
    let delay = Duration::from_millis(20);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
    let listening = world.add(
        here,
        stack::<receiver::Part<()>>(here, || receiver::Part::new(())),
        Listening::default(),
    );
    let beating =
        world.add(there, stack::<sender::Part<()>>(there, || sender::Part::new(())), Beating);
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(listening, RoleRequest::Listen { listener: LISTENER, local });
    let awaits = RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM };
    world.ask(listening, awaits);
    world.ask(
        beating,
        RoleRequest::Open { association: ASSOCIATION, remote: local, local: None, credit: ROOM },
    );
    let begun = world.now();
    // Beats at 300, 600, 900 and 1200 ms are held: the role waits for its application.
    assert!(!world.run_until(|_| false, Duration::from_millis(1250)));
    assert_eq!(world.stack(listening).upper.held(), 4);
    world
        .ask(listening, RoleRequest::Tell { association: ASSOCIATION, input: receiver::Input::Go });
    assert!(!world.run_until(|_| false, Duration::from_millis(10)));
    assert_eq!(world.stack(listening).upper.held(), 0);
    // The rest is heard, and nothing is done with it.
    let is_silent = |world: &World<M>| world.application(listening).0.is_some();
    assert!(world.run_until(is_silent, Duration::from_secs(60)));
    let silent = world.application(listening).0.expect("it is told");
    let last = begun + Duration::from_millis(10 * 300) + delay;
    assert_eq!(silent.since(last), Duration::from_secs(1));
}
