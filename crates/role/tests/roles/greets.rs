//! Octets that a text spells are sent and told as they stand there.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::{Context, Duration, Handle};
use stackwright_generated::contract::greeting::{HelloHead, caller, listener};
use stackwright_role::{RoleIndication, RoleLayer, RolePart, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_wire::{Message, SingleBuffer};

use crate::talker::{CLIENT, ROOM, SERVER};

type M = SingleBuffer;
type Stack<P> = Over<RoleLayer<M, P, fn() -> P>, SimulatedDatagrams<M>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };

struct Greets;

impl listener::Functions<M> for Greets {
    fn octets(&self) -> bool {
        true
    }

    fn hello(&mut self, hello: HelloHead, name: &M) {
        assert_eq!((hello.magic, name.len()), (*b"gr\0\"", 0));
    }
}

/// What it was told.
#[derive(Default)]
struct Told(Vec<u8>);

impl Told {
    fn keep(&mut self, mut text: M) {
        let length = text.len();
        self.0.extend_from_slice(text.front(length).expect("all of it"));
    }
}

impl Application<Stack<caller::Part<()>>> for Told {
    fn hear(
        &mut self,
        _: &Context,
        told: RoleIndication<caller::Output<M>>,
        _: &mut Asks<Stack<caller::Part<()>>>,
    ) {
        match told {
            RoleIndication::Told { output: caller::Output::Said { text }, .. } => self.keep(text),
            RoleIndication::Told { output: caller::Output::Answered, .. } => self.0.push(b'.'),
            _ => {}
        }
    }
}

impl Application<Stack<listener::Part<Greets>>> for Told {
    fn hear(
        &mut self,
        _: &Context,
        told: RoleIndication<listener::Output<M>>,
        _: &mut Asks<Stack<listener::Part<Greets>>>,
    ) {
        if let RoleIndication::Told { output: listener::Output::Greeted { text }, .. } = told {
            self.keep(text);
        }
    }
}

fn stack<P: RolePart<M>>(address: IpAddr, make: fn() -> P) -> Stack<P> {
    Over::new(RoleLayer::new(make), SimulatedDatagrams::new(address, ROOM))
}

#[test]
fn octets_of_the_text_are_sent_and_told() {
    let mut world = World::<M>::new(1);
    let delay = Duration::from_millis(20);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
    let server = stack(here, || listener::Part::new(Greets));
    let server = world.add(here, server, Told::default());
    let client = world.add(there, stack(there, || caller::Part::new(())), Told::default());
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, RoleRequest::Listen { listener: LISTENER, local });
    let (association, credit) = (ASSOCIATION, ROOM);
    world.ask(server, RoleRequest::Await { listener: LISTENER, association, credit });
    world.ask(client, RoleRequest::Open { association, remote: local, local: None, credit });
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.application(server).0, b"\\ called\r\n");
    // Two outputs of one instant are told in their order.
    assert_eq!(world.application(client).0, b"hello // \"you\".");
}
