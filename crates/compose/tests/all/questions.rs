//! Questions pass everything that stands between: static stacks and graphs answer alike.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

use stackwright_compose::filter::{Counter, Filter, Filtered, Passage, Tap};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_compose::{Beside, Over, fork, join};
use stackwright_contract::ask::{
    Ask, Counters, FrameTime, Longest, PacketCounts, Peer, Query, Question, Reserve, RoundTrip, ask,
};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{
    Both, Context, Duration, Either, Facts, Handle, IndicationOf, IndicationTo, NameAbove, Outlet,
    Participant, Protocol, RequestOf, RequestTo, Service, outermost,
};
use stackwright_toys::{Dropper, Layer, Xor};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;
type D = Datagrams<M>;
type Woven<T> = Graph<M, Air, T>;

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn at(port: u16) -> Participant {
    SocketAddr::from(([192, 0, 2, 1], port)).into()
}

/// What is outside: a link for each wire, called by its number.
struct Air;

impl Service for Air {
    const NAME: &'static str = "Air";
    type Request = Infallible;
    type Indication = Infallible;
    type Name = u16;
}

outermost!(T => Air);

/// What is below all: each link has another frame time.
struct Links;

impl Ask<Air> for Links {
    fn ask(&self, link: u16, question: &mut Question<'_>) {
        question.answer::<FrameTime>(|_| Some(Duration::from_millis(link.into())));
    }
}

impl Ask<Outside<Air>> for Links {
    fn ask(&self, InLane { word: link, .. }: InLane<u16>, question: &mut Question<'_>) {
        Ask::<Air>::ask(self, link, question);
    }
}

impl<A: Service, B: Service> Ask<Both<A, B>> for Links
where
    Links: Ask<A> + Ask<B>,
{
    fn ask(&self, link: Either<A::Name, B::Name>, question: &mut Question<'_>) {
        match link {
            Either::Left(link) => Ask::<A>::ask(self, link, question),
            Either::Right(link) => Ask::<B>::ask(self, link, question),
        }
    }
}

/// Where the octets of each message begin that reached the bottom.
type Sent = Rc<RefCell<Vec<*const u8>>>;

/// The bottom: it knows the answers, and each name has another one.
struct Wire {
    sent: Sent,
    /// The peer's port, less the index of the name.
    port: u16,
}

impl Protocol for Wire {
    const FACTS: Facts = Facts::named("wire");
    type Provides = D;
    type Uses = Air;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, _: &mut impl Outlet<Self>) {
        if let DatagramsRequest::Send { batch: messages, .. } = word {
            let mut message = messages.into_single();
            self.sent.borrow_mut().push(message.front(1).expect("it has a header").as_ptr());
        }
    }

    fn handle_indication(&mut self, _: &Context, word: Infallible, _: &mut impl Outlet<Self>) {
        match word {}
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Air>) {
        question
            .answer::<Longest>(|_| Some(1472 - about.index as usize))
            .answer::<Peer>(|_| Some(at(self.port + about.index as u16)))
            .answer::<RoundTrip>(|_| Some(Duration::from_millis(30)))
            .answer::<Reserve<M>>(|reserve| {
                let octets = M::with_headroom(reserve.headroom, &vec![0; reserve.len]);
                Some(octets.into())
            });
        below.ask(self.port, question);
    }
}

struct Quiet;

impl<P: Protocol> Outlet<P> for Quiet {
    fn indicate(&mut self, _: IndicationOf<P>) {}
    fn request(&mut self, _: RequestOf<P>) {}
}

fn get<P: Protocol, Q: Query>(stack: &P, about: NameAbove<P>, query: Q) -> Option<Q::Answer>
where
    Links: Ask<P::Uses>,
{
    ask(stack, about, query, &Links)
}

/// The longest message, the peer, and the number of the link.
type Answers = (Option<usize>, Option<Participant>, Option<u16>);

/// All that is asked of a name; and that what is reserved there arrives at the bottom where it
/// lies, `headers` octets behind its beginning.
fn answers<P: Protocol>(
    stack: &mut P,
    sent: &Sent,
    about: NameAbove<P>,
    headers: usize,
    send: impl FnOnce(Batch<M>) -> RequestTo<P>,
) -> Answers
where
    Links: Ask<P::Uses>,
{
    assert_eq!(get(stack, about, Counters), None, "nobody counts");
    let reserved = get(stack, about, Reserve::<M>::new(100, 1)).expect("the wire lays it out");
    let mut message = reserved.into_single();
    assert_eq!(message.len(), 100);
    let written = message.front(1).expect("as reserved").as_ptr();
    stack.handle_request(&Context::new(1), send(message.into()), &mut Quiet);
    let left = sent.borrow_mut().pop().expect("it left");
    assert_eq!(left, written.wrapping_sub(headers), "in the same place, behind the headers");
    assert_eq!(get(stack, about, RoundTrip), Some(Duration::from_millis(30)));
    let link = get(stack, about, FrameTime).map(|time| time.as_millis() as u16);
    (get(stack, about, Longest), get(stack, about, Peer), link)
}

fn sending(association: Handle) -> impl FnOnce(Batch<M>) -> DatagramsRequest<M> {
    move |messages| DatagramsRequest::Send {
        association,
        batch: messages,
        properties: MessageProperties::default(),
    }
}

fn opening(association: Handle, remote: Participant) -> DatagramsRequest<M> {
    DatagramsRequest::Open {
        association,
        remote,
        local: None,
        credit: Credit { octets: 1000, messages: 10 },
    }
}

#[test]
fn four_layers_and_a_graph_of_them_with_modules_answer_alike() {
    let sent = Sent::default();
    let wire = || Wire { sent: Rc::clone(&sent), port: 7 };
    let lower = Over::new(Layer::<20, 1>::default(), Over::new(Layer::<17, 2>::default(), wire()));
    let mut stack =
        Over::new(Layer::<5, 1>::default(), Over::new(Layer::<16, 2>::default(), lower));
    let expected = (Some(1472 - 3 - 58), Some(at(10)), Some(7));
    assert_eq!(answers(&mut stack, &sent, name(3), 58, sending(name(3))), expected);

    let builder = Builder::new().top("a").protocol("a", Layer::<5, 1>::default()).over("b");
    let builder = builder.protocol("b", Layer::<16, 2>::default()).over("c");
    let builder = builder.protocol("c", Layer::<20, 1>::default()).over("d");
    let builder = builder.protocol("d", Layer::<17, 2>::default()).over("wire");
    let mut graph: Woven<D> = builder.protocol("wire", wire()).build().expect("all fit");
    assert_eq!(answers(&mut graph, &sent, name(3), 58, sending(name(3))), expected);
    let passed = Rc::new(RefCell::new(0));
    let tap = {
        let passed = Rc::clone(&passed);
        Tap::new(move |_| *passed.borrow_mut() += 1)
    };
    graph.push("b", "c", "tap", Inserted(tap)).unwrap();
    graph.push("d", "wire", "counter", Inserted(Counter::default())).unwrap();
    assert_eq!(answers(&mut graph, &sent, name(3), 58, sending(name(3))), expected);
    assert_eq!(*passed.borrow(), 1, "a question is no word");
}

/// Answers for what is below it.
struct Knows;

impl Filter<M> for Knows {
    const NAME: &'static str = "knows";

    fn ask(&self, question: &mut Question<'_>) {
        let counts = PacketCounts { sent: 1, received: 2, retransmitted: Some(3) };
        question.answer::<Counters>(|_| Some(counts)).answer::<Peer>(|_| None);
    }
}

#[test]
fn a_module_answers_or_closes_a_question_before_what_is_below_it() {
    let wire = Wire { sent: Sent::default(), port: 7 };
    let builder = Builder::new().top("a").protocol("a", Layer::<5, 1>::default()).over("wire");
    let mut graph: Woven<D> = builder.protocol("wire", wire).build().expect("both fit");
    graph.push("a", "wire", "knows", Inserted(Knows)).unwrap();
    assert_eq!(get(&graph, name(0), Counters).map(|counts| counts.retransmitted), Some(Some(3)));
    assert_eq!(get(&graph, name(0), Peer), None, "closed");
    assert_eq!(get(&graph, name(0), Longest), Some(1472 - 5));
}

/// Two uppers give the same name; below they are two, and a question follows each.
#[test]
fn questions_pass_a_fork_under_the_name_below() {
    let (sent, remote, cx) = (Sent::default(), at(7), Context::new(1));
    let wire = || Wire { sent: Rc::clone(&sent), port: 7 };
    let [left, right]: [fn(DatagramsRequest<M>) -> Either<_, _>; 2] = [Either::Left, Either::Right];
    let mut stack = fork(Layer::<5, 1>::default(), Layer::<20, 1>::default(), wire());
    let builder = Builder::new().top("one").top("other").protocol("wire", wire());
    let builder = builder.protocol("one", Layer::<5, 1>::default()).over("wire");
    let builder = builder.protocol("other", Layer::<20, 1>::default()).over("wire");
    let mut graph: Woven<Both<D, D>> = builder.build().expect("both fit");
    graph.push("one", "wire (fork)", "tap", Inserted(Tap::new(|_| {}))).unwrap();
    assert_eq!(get(&stack, Either::Left(name(0)), Longest), None, "not asked for yet");
    for side in [left, right] {
        stack.handle_request(&cx, side(opening(name(0), remote)), &mut Quiet);
        graph.handle_request(&cx, side(opening(name(0), remote)), &mut Quiet);
    }
    let (one, other) = (Either::Left(name(0)), Either::Right(name(0)));
    let expected =
        [(Some(1472 - 5), Some(at(7)), Some(7)), (Some(1472 - 1 - 20), Some(at(8)), Some(7))];
    let send =
        |side: fn(DatagramsRequest<M>) -> Either<_, _>| move |batch| side(sending(name(0))(batch));
    let stacked = [
        answers(&mut stack, &sent, one, 5, send(left)),
        answers(&mut stack, &sent, other, 20, send(right)),
    ];
    let woven = [
        answers(&mut graph, &sent, one, 5, send(left)),
        answers(&mut graph, &sent, other, 20, send(right)),
    ];
    assert_eq!((stacked, woven), (expected, expected));
    assert_eq!(get(&stack, Either::Left(name(1)), Longest), None, "no such name");
    assert_eq!(get(&graph, Either::Right(name(1)), Longest), None, "no such name");
}

/// Filters above a fork and below it, of each kind: questions pass them all, under the names of the
/// fork, and what was reserved leaves where it was written, altered in its place.
#[test]
fn questions_pass_filters_above_a_fork_and_below_it() {
    fn layer<F>(filter: F) -> Filtered<F, D> {
        Filtered::new(filter)
    }
    let (sent, remote, cx) = (Sent::default(), at(7), Context::new(1));
    let wire = || Wire { sent: Rc::clone(&sent), port: 7 };
    let passed = Rc::new(RefCell::new(0));
    let tap = || {
        let passed = Rc::clone(&passed);
        Tap::new(move |_: &Passage<'_, M>| *passed.borrow_mut() += 1)
    };
    let [left, right]: [fn(DatagramsRequest<M>) -> Either<_, _>; 2] = [Either::Left, Either::Right];

    let one = Over::new(Layer::<5, 1>::default(), Over::new(layer(tap()), layer(Xor(0x55))));
    let other = Over::new(Layer::<20, 1>::default(), layer(Dropper(0)));
    let mut stack =
        fork(one, other, Over::new(layer(tap()), Over::new(layer(Counter::default()), wire())));

    let builder = Builder::new().top("one").top("other").protocol("wire", wire());
    let builder = builder.protocol("one", Layer::<5, 1>::default()).over("wire");
    let builder = builder.protocol("other", Layer::<20, 1>::default()).over("wire");
    let mut graph: Woven<Both<D, D>> = builder.build().expect("both fit");
    graph.push("one", "wire (fork)", "xor", Inserted(Xor(0x55))).unwrap();
    graph.push("one", "xor", "tap", Inserted(tap())).unwrap();
    graph.push("other", "wire (fork)", "dropper", Inserted(Dropper(0))).unwrap();
    graph.push("wire (fork)", "wire", "counter", Inserted(Counter::default())).unwrap();
    graph.push("wire (fork)", "counter", "below", Inserted(tap())).unwrap();

    for side in [left, right] {
        stack.handle_request(&cx, side(opening(name(0), remote)), &mut Quiet);
        graph.handle_request(&cx, side(opening(name(0), remote)), &mut Quiet);
    }
    assert_eq!(
        passed.take(),
        6,
        "each opening crosses one tap or two, in the stack and in the graph"
    );
    let (one, other) = (Either::Left(name(0)), Either::Right(name(0)));
    let expected =
        [(Some(1472 - 5), Some(at(7)), Some(7)), (Some(1472 - 1 - 20), Some(at(8)), Some(7))];
    let send =
        |side: fn(DatagramsRequest<M>) -> Either<_, _>| move |batch| side(sending(name(0))(batch));
    let stacked = [
        answers(&mut stack, &sent, one, 5, send(left)),
        answers(&mut stack, &sent, other, 20, send(right)),
    ];
    assert_eq!(passed.take(), 3, "a question is no word");
    let woven = [
        answers(&mut graph, &sent, one, 5, send(left)),
        answers(&mut graph, &sent, other, 20, send(right)),
    ];
    assert_eq!(passed.take(), 3, "a question is no word");
    assert_eq!((stacked, woven), (expected, expected));
    let counted = graph.protocol::<Counter>("counter").expect("it was pushed").down;
    assert_eq!((counted.words, counted.messages, counted.octets), (4, 2, 225));
    assert_eq!(counted, stack.lower.lower.lower.upper.filter.down);
}

/// A question goes to the lower that was asked, and the peer is told through it.
#[test]
fn questions_pass_a_join_to_the_lower_of_the_name() {
    let (sent, cx) = (Sent::default(), Context::new(1));
    let wire = |port| Wire { sent: Rc::clone(&sent), port };
    let mut stack =
        join(Layer::<5, 1>::default(), wire(100), Over::new(Layer::<16, 1>::default(), wire(200)));
    let builder =
        Builder::new().top("a").protocol("a", Layer::<5, 1>::default()).over_joined(&["left", "b"]);
    let builder = builder.protocol("b", Layer::<16, 1>::default()).over("right");
    let builder = builder.protocol("left", wire(100)).protocol("right", wire(200));
    let mut graph: Woven<D> = builder.build().expect("all fit");
    for (index, interface) in [(0, 0), (1, 1)] {
        let remote = at(7).through(interface);
        stack.handle_request(&cx, opening(name(index), remote), &mut Quiet);
        graph.handle_request(&cx, opening(name(index), remote), &mut Quiet);
    }
    let expected = [
        (Some(1472 - 5), Some(at(100).through(0)), Some(100)),
        (Some(1472 - 1 - 5 - 16), Some(at(201).through(1)), Some(200)),
    ];
    for (index, headers) in [(0, 5), (1, 5 + 16)] {
        let (about, expected) = (name(index), expected[index as usize]);
        assert_eq!(answers(&mut stack, &sent, about, headers, sending(about)), expected);
        assert_eq!(answers(&mut graph, &sent, about, headers, sending(about)), expected);
    }
    assert_eq!(get(&stack, name(2), Longest), None, "no such name");
}

/// Two that do not know each other.
#[test]
fn questions_pass_beside_to_their_own_side() {
    let sent = Sent::default();
    let wire = |port| Wire { sent: Rc::clone(&sent), port };
    let uppers = Beside::new(Layer::<5, 1>::default(), Layer::<20, 2>::default());
    let mut stack = Over::new(uppers, Beside::new(wire(100), wire(200)));
    let one = answers(&mut stack, &sent, Either::Left(name(1)), 5, |batch| {
        Either::Left(sending(name(1))(batch))
    });
    let other = answers(&mut stack, &sent, Either::Right(name(1)), 20, |batch| {
        Either::Right(sending(name(1))(batch))
    });
    assert_eq!(one, (Some(1471 - 5), Some(at(101)), Some(100)));
    assert_eq!(other, (Some(1471 - 20), Some(at(201)), Some(200)));
}

/// A layer that says nothing of questions ends them: nothing wrong is answered.
#[test]
fn a_layer_that_passes_nothing_on_is_a_layer_without_answers() {
    struct Silent;
    impl Protocol for Silent {
        const FACTS: Facts = Facts::named("silent");
        type Provides = D;
        type Uses = D;

        fn handle_request(
            &mut self,
            _: &Context,
            word: RequestTo<Self>,
            out: &mut impl Outlet<Self>,
        ) {
            out.request(word);
        }

        fn handle_indication(
            &mut self,
            _: &Context,
            word: IndicationTo<Self>,
            out: &mut impl Outlet<Self>,
        ) {
            let word: DatagramsIndication<M> = word;
            out.indicate(word);
        }
    }
    let stack = Over::new(Silent, Wire { sent: Sent::default(), port: 7 });
    assert_eq!(get(&stack, name(0), Longest), None);
    assert!(get(&stack, name(0), Reserve::<M>::new(100, 1)).is_none());
}
