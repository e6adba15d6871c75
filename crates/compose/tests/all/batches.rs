//! Batches: each layer is handed several messages at once, or one at a time, as its `BATCHES` says,
//! in whatever stack or graph it stands.

use stackwright_compose::filter::{Counter, Tap};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_compose::{Beside, JoinedLowers, Opaque, Over, fork};
use stackwright_contract::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{
    Batches, Both, Context, Either, Facts, Handle, IndicationOf, IndicationTo, Outlet, Protocol,
    RequestOf, RequestTo, Service,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type D = Datagrams<M>;

const NAME: Handle = Handle { index: 0, generation: 0 };

/// Notes the size of each batch that it is handed, and passes it on. `SEVERAL`: it takes them.
#[derive(Default)]
struct Notes<const SEVERAL: bool> {
    down: Vec<usize>,
    up: Vec<usize>,
}

impl<const SEVERAL: bool> Protocol for Notes<SEVERAL> {
    const FACTS: Facts = Facts::named("notes");
    const BATCHES: Batches = if SEVERAL { Batches::ALL } else { Batches::NONE };
    type Provides = D;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if let DatagramsRequest::Send { batch: messages, .. } = &word {
            self.down.push(messages.count());
        }
        out.request(word);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsIndication::Delivered { batch: messages, .. } = &word {
            self.up.push(messages.count());
        }
        out.indicate(word);
    }
}

type One = Notes<false>;
type Several = Notes<true>;

fn one() -> One {
    One::default()
}

fn several() -> Several {
    Several::default()
}

/// What comes out at an end: how many messages in each word, and each message with its number.
#[derive(Default, PartialEq, Debug)]
struct End {
    counts: Vec<usize>,
    messages: Vec<(Vec<u8>, u32)>,
}

impl End {
    fn hear(&mut self, batch: Batch<M>, mut properties: MessageProperties) {
        self.counts.push(batch.count());
        for message in batch {
            let mut octets = vec![0; message.len()];
            message.copy_to(&mut octets);
            self.messages.push((octets, properties.number.expect("it was sent with one")));
            properties = properties.of_next();
        }
    }
}

/// Words of one service, among those of whatever a stack speaks.
trait Holds: Service {
    fn request(word: Self::Request) -> DatagramsRequest<M>;
    fn indication(word: Self::Indication) -> DatagramsIndication<M>;
}

impl Holds for D {
    fn request(word: DatagramsRequest<M>) -> DatagramsRequest<M> {
        word
    }
    fn indication(word: DatagramsIndication<M>) -> DatagramsIndication<M> {
        word
    }
}

impl Holds for Both<D, D> {
    fn request(word: Self::Request) -> DatagramsRequest<M> {
        let (Either::Left(word) | Either::Right(word)) = word;
        word
    }
    fn indication(word: Self::Indication) -> DatagramsIndication<M> {
        let (Either::Left(word) | Either::Right(word)) = word;
        word
    }
}

impl Holds for Outside<D> {
    fn request(word: Self::Request) -> DatagramsRequest<M> {
        word.word
    }
    fn indication(word: Self::Indication) -> DatagramsIndication<M> {
        word.word
    }
}

#[derive(Default)]
struct Ends {
    above: End,
    below: End,
}

impl<P: Protocol<Provides: Holds, Uses: Holds>> Outlet<P> for Ends {
    fn indicate(&mut self, word: IndicationOf<P>) {
        if let DatagramsIndication::Delivered { batch: messages, properties, .. } =
            P::Provides::indication(word)
        {
            self.above.hear(messages, properties);
        }
    }

    fn request(&mut self, word: RequestOf<P>) {
        if let DatagramsRequest::Send { batch: messages, properties, .. } = P::Uses::request(word) {
            self.below.hear(messages, properties);
        }
    }
}

/// Three messages, of which the numbers wrap.
fn batch() -> (Batch<M>, MessageProperties) {
    let properties = MessageProperties { number: Some(u32::MAX), ..MessageProperties::default() };
    (Batch::new(M::with_headroom(0, b"abcdefgh"), 3), properties)
}

fn send() -> DatagramsRequest<M> {
    let (messages, properties) = batch();
    DatagramsRequest::Send { association: NAME, batch: messages, properties }
}

fn delivered() -> DatagramsIndication<M> {
    let (messages, properties) = batch();
    DatagramsIndication::Delivered { association: NAME, batch: messages, properties }
}

/// Hands three messages over at both ends, as an edge of the stack does; returns how many each word
/// has that comes out below, and above.
fn crosses<P>(stack: &mut P, down: RequestTo<P>, up: IndicationTo<P>) -> (Vec<usize>, Vec<usize>)
where
    P: Protocol<Provides: Holds, Uses: Holds>,
{
    let (cx, mut ends) = (Context::new(1), Ends::default());
    stackwright_contract::hand_down(stack, true, &cx, down, &mut ends);
    stackwright_contract::hand_up(stack, true, &cx, up, &mut ends);
    let messages = [(&b"abc"[..], u32::MAX), (b"def", 0), (b"gh", 1)]
        .map(|(octets, number)| (octets.to_vec(), number));
    assert_eq!(ends.below.messages, messages, "whole, in order and with their numbers");
    assert_eq!(ends.above.messages, messages, "whole, in order and with their numbers");
    (ends.below.counts, ends.above.counts)
}

const WHOLE: [usize; 1] = [3];
const EACH: [usize; 3] = [1, 1, 1];

#[test]
fn a_stack_takes_batches_apart_at_the_first_layer_that_takes_one_message() {
    let mut stack = Over::new(several(), Over::new(one(), several()));
    assert_eq!(crosses(&mut stack, send(), delivered()), (EACH.to_vec(), EACH.to_vec()));
    assert_eq!((&stack.upper.down[..], &stack.upper.up[..]), (&WHOLE[..], &EACH[..]));
    assert_eq!((&stack.lower.upper.down[..], &stack.lower.upper.up[..]), (&EACH[..], &EACH[..]));
    assert_eq!((&stack.lower.lower.down[..], &stack.lower.lower.up[..]), (&EACH[..], &WHOLE[..]));

    let mut stack = Over::new(several(), several());
    assert_eq!(crosses(&mut stack, send(), delivered()), (WHOLE.to_vec(), WHOLE.to_vec()));

    // At the edges of a stack, too.
    assert_eq!(crosses(&mut one(), send(), delivered()), (EACH.to_vec(), EACH.to_vec()));
}

#[test]
fn neighbours_side_by_side_are_handed_what_each_takes() {
    type Sides = Beside<One, Several>;
    let sides = || Sides::new(one(), several());
    let left = crosses(&mut sides(), Either::Left(send()), Either::Left(delivered()));
    assert_eq!(left, (EACH.to_vec(), EACH.to_vec()));
    let right = crosses(&mut sides(), Either::Right(send()), Either::Right(delivered()));
    assert_eq!(right, (WHOLE.to_vec(), WHOLE.to_vec()));

    // No name lives here, so what is sent goes nowhere; what is told comes through.
    let mut joined = JoinedLowers::new(one(), several());
    let (cx, mut ends) = (Context::new(1), Ends::default());
    joined.handle_indication(&cx, Either::Left(delivered()), &mut ends);
    joined.handle_indication(&cx, Either::Right(delivered()), &mut ends);
    assert_eq!(ends.above.counts, [1, 1, 1, 3]);

    // Through a fork, names are given first.
    let mut forked = fork(several(), one(), several());
    let (remote, credit) = (stackwright_contract::Participant::OTHER_END, Default::default());
    let (cx, mut ends) = (Context::new(1), Ends::default());
    for upper in [Either::Left, Either::Right] {
        let open = DatagramsRequest::Open { association: NAME, remote, credit, local: None };
        forked.handle_request(&cx, upper(open), &mut ends);
        stackwright_contract::hand_down(&mut forked, true, &cx, upper(send()), &mut ends);
    }
    assert_eq!(ends.below.counts, [3, 1, 1, 1]);
}

#[test]
fn nodes_and_modules_of_a_graph_are_handed_what_each_takes() {
    let graph = |modules: bool| -> Graph<M, D, D> {
        let builder = Builder::new().top("a").protocol("a", several()).over("b");
        let mut graph =
            builder.protocol("b", several()).build().expect("two layers of one kind fit");
        graph
            .push("a", "b", "counter", Inserted(Counter::default()))
            .expect("a module fits anywhere");
        if modules {
            graph
                .push("counter", "b", "tap", Inserted(Tap::new(|_| {})))
                .expect("a module fits anywhere");
        }
        graph
    };
    let up = || InLane { lane: 0, word: delivered() };
    // A counter takes several, and counts each.
    let mut counted = graph(false);
    assert_eq!(crosses(&mut counted, send(), up()), (WHOLE.to_vec(), WHOLE.to_vec()));
    let counter = *counted.protocol::<Counter>("counter").expect("it was pushed");
    assert_eq!((counter.down.words, counter.down.messages, counter.down.octets), (1, 3, 8));
    assert_eq!((counter.up.words, counter.up.messages, counter.up.octets), (1, 3, 8));
    // A tap tells of each message.
    assert_eq!(crosses(&mut graph(true), send(), up()), (EACH.to_vec(), EACH.to_vec()));

    let builder = Builder::new().top("a").protocol("a", several()).over("b");
    let mut graph: Graph<M, D, D> = builder.protocol("b", one()).build().expect("they fit");
    assert_eq!(crosses(&mut graph, send(), up()), (EACH.to_vec(), EACH.to_vec()));
    assert_eq!(graph.protocol::<Several>("a").expect("it is there").down, WHOLE);
    assert_eq!(graph.protocol::<One>("b").expect("it is there").down, EACH);
}

/// What is behind a pointer takes what it would take in sight, and says what it is.
#[test]
fn an_opaque_stack_takes_what_it_would_take_in_sight() {
    let (mut hides_one, mut hides_several) =
        (Opaque::<D, D>::new(one()), Opaque::<D, D>::new(several()));
    assert_eq!(crosses(&mut hides_one, send(), delivered()), (EACH.into(), EACH.into()));
    assert_eq!(crosses(&mut hides_several, send(), delivered()), (WHOLE.into(), WHOLE.into()));
    let stack = Opaque::<D, D>::new(Over::new(several(), one()));
    assert_eq!(stack.facts(), <Over<Several, One> as Protocol>::FACTS);
    assert_ne!(stack.facts(), <Opaque<D, D> as Protocol>::FACTS);
}
