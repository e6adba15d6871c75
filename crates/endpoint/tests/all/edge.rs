//! The edge of a stack: several messages that an application hands over at once come one by one to
//! a layer that takes one at a time, and in one word to a layer that takes batches.

use std::cell::RefCell;
use std::io::Write as _;
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Batches, Context, Facts, IndicationTo, Outlet, Protocol, RequestTo};
use stackwright_drivers::Readiness;
use stackwright_endpoint::blocking::Endpoint;
use stackwright_endpoint::{Config, Stack, System};
use stackwright_wire::BufferTree;

type M = BufferTree;

const MESSAGES: u8 = 20;
const LEN: usize = 500;

/// How many messages each word had, downward and upward.
type Counts = Rc<RefCell<[Vec<usize>; 2]>>;

/// Passes all on; whether it takes batches is its parameter.
struct Passes<const BATCHES: bool>(Counts);

impl<const BATCHES: bool> Protocol for Passes<BATCHES> {
    const FACTS: Facts = Facts::named("passes");
    const BATCHES: Batches = if BATCHES { Batches::ALL } else { Batches::NONE };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if let DatagramsRequest::Send { batch, .. } = &word {
            self.0.borrow_mut()[0].push(batch.count());
        }
        out.request(word);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsIndication::Delivered { batch, .. } = &word {
            self.0.borrow_mut()[1].push(batch.count());
        }
        out.indicate(word);
    }
}

/// Sends messages as one batch, and returns what the stack saw of it.
fn crosses<S: Stack<Message = M>>(make: impl FnOnce(&System, Counts) -> S) -> [Vec<usize>; 2] {
    let counts = Counts::default();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    let endpoint =
        Endpoint::bind(any, Config::default(), |system: &System| make(system, Rc::clone(&counts)))
            .unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let mut buffer = one.reserve(LEN, MESSAGES.into());
    (0..MESSAGES).for_each(|number| buffer.write_all(&[number; LEN]).unwrap());
    one.commit(buffer, MessageProperties::default()).unwrap();
    let other = endpoint.accept().unwrap();
    for number in 0..MESSAGES {
        assert_eq!(other.receive().unwrap().0, [number; LEN], "whole, and in order");
    }
    counts.take()
}

fn graph<const BATCHES: bool>(
    system: &System,
    counts: Counts,
) -> Graph<M, Readiness, Datagrams<M>> {
    let builder =
        Builder::new().top("passes").protocol("passes", Passes::<BATCHES>(counts)).over("udp");
    builder.protocol("udp", system.udp()).build().expect("they fit")
}

#[test]
fn a_layer_without_batches_is_handed_one_message_at_a_time() {
    let each = vec![1; MESSAGES.into()];
    let stack = crosses(|system, counts| Over::new(Passes::<false>(counts), system.udp::<M>()));
    assert_eq!(stack, [each.clone(), each.clone()]);
    assert_eq!(crosses(graph::<false>), [each.clone(), each]);
}

/// So the test above has something to split. What arrives together is up to the kernel.
#[test]
fn a_layer_with_batches_is_handed_them_whole() {
    let stack = crosses(|system, counts| Over::new(Passes::<true>(counts), system.udp::<M>()));
    for [down, up] in [stack, crosses(graph::<true>)] {
        assert_eq!(down.iter().sum::<usize>(), MESSAGES.into());
        assert!(down.len() < MESSAGES.into(), "{down:?}");
        assert_eq!(up.iter().sum::<usize>(), MESSAGES.into());
    }
}
