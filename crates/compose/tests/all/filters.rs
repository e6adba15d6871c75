//! Filters: the same one in a stack and in a graph, what it refunds, and where it is refused.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_compose::filter::{Filter, Filtered, Passage, Tap, WordDirection};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_contract::ask::{Counters, Longest, Peer};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Frames, FramesIndication,
    FramesRequest, MessageProperties,
};
use stackwright_contract::words::InLane;
use stackwright_contract::{
    Batches, Context, Duration, Facts, Guarantees, Handle, IndicationOf, IndicationTo, Instant,
    Outlet, Protocol, RequestOf, RequestTo,
};
use stackwright_simulator::{
    Application, Asks, Conditions, Lanes, Segments, SimulatedDatagrams, StationId, World,
};
use stackwright_toys::{Dropper, Tally, Xor};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type D = Datagrams<M>;

const SEEDS: u64 = 300;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const NAME: Handle = Handle { index: 1, generation: 0 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
/// What each side sends.
const MESSAGES: usize = 40;
const LONGEST: usize = 300;
/// Little, so that credit that is lost is missed soon.
const CREDIT: Credit = Credit { octets: 4 * LONGEST, messages: 4 };

/// One word at one boundary: the time, the boundary, the direction, the primitive, the name, the
/// octets.
type Crossing = (Instant, &'static str, WordDirection, &'static str, Option<Handle>, Vec<u8>);
type Log = Rc<RefCell<Vec<Crossing>>>;

fn octets_of(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

fn tap(boundary: &'static str, log: &Log) -> Tap<M, impl FnMut(&Passage<'_, M>) + use<>> {
    let log = Rc::clone(log);
    Tap::new(move |passage: &Passage<'_, M>| {
        let Passage { time, direction, primitive, association, message, .. } = *passage;
        let octets = message.map(octets_of).unwrap_or_default();
        log.borrow_mut().push((time, boundary, direction, primitive, association, octets));
    })
}

/// Sends its messages within the credit, and returns the credit of what is delivered at once.
#[derive(Default)]
struct Chatter {
    sent: usize,
    credit: Credit,
    heard: Vec<usize>,
}

/// The octets of a message follow from its number.
fn content(number: usize) -> Vec<u8> {
    let length = 2 + number * 37 % (LONGEST - 2);
    let octets =
        (0..length).map(|at| if at < 2 { (number >> (8 * at)) as u8 } else { (number + at) as u8 });
    octets.collect()
}

impl Chatter {
    fn send<P: Protocol<Provides = D>>(&mut self, cx: &Context, asks: &mut Asks<P>) {
        while self.sent < MESSAGES {
            // One message, or two of one length as one batch.
            let octets = content(self.sent);
            let twice = cx.random(4) == 0;
            let batch = if twice {
                Batch::new(M::with_headroom(0, &[&octets[..], &octets].concat()), octets.len())
            } else {
                M::with_headroom(0, &octets).into()
            };
            if !self.credit.covers(batch.cost()) {
                return;
            }
            self.credit -= batch.cost();
            self.sent += 1;
            let properties = MessageProperties::default();
            asks.push_back(DatagramsRequest::Send { association: NAME, batch, properties });
        }
    }
}

impl<P: Protocol<Provides = D>> Application<P> for Chatter {
    fn hear(&mut self, cx: &Context, word: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match word {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                assert_ne!(credit, Credit::NONE);
                self.credit += credit;
                self.send::<P>(cx, asks);
            }
            DatagramsIndication::Delivered { batch, .. } => {
                asks.push_back(DatagramsRequest::Credit {
                    association: NAME,
                    credit: batch.cost(),
                });
                let octets = octets_of(batch.as_octets());
                let number = usize::from(octets[0]) + (usize::from(octets[1]) << 8);
                assert_eq!(octets, content(number), "message {number} is whole");
                self.heard.push(number);
            }
            DatagramsIndication::Listening { .. } => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
}

type Id<P> = StationId<P, Chatter>;

/// Two stations that talk; returns the world when they are done, and how to find them in it.
fn talk<P>(
    seed: u64,
    mut stack: impl FnMut(SimulatedDatagrams<M>, &Log, u64) -> P,
) -> (World<M>, [Id<P>; 2], Log)
where
    P: Protocol<Provides = D, Uses: Lanes<M>> + 'static,
{
    let (dice, log) = (Context::new(seed), Log::default());
    let mut world = World::new(seed);
    world.keep_trace();
    world.network_mut().set_conditions(Conditions {
        delay: Duration::from_micros(dice.random(5_000)),
        jitter: Duration::from_micros(dice.random(5_000)),
        loss: [0.0, 0.1][dice.random(2) as usize].into(),
        ..Conditions::IDEAL
    });
    let percent = dice.random(60);
    let [here, there] = [HERE, THERE].map(|address| {
        let stack = stack(SimulatedDatagrams::new(address, CREDIT), &log, percent);
        world.add(address, stack, Chatter::default())
    });
    let local = SocketAddr::new(THERE, 7).into();
    world.ask(there, DatagramsRequest::Listen { listener: LISTENER, local });
    world.ask(
        there,
        DatagramsRequest::Await { listener: LISTENER, association: NAME, credit: CREDIT },
    );
    let open =
        DatagramsRequest::Open { association: NAME, remote: local, local: None, credit: CREDIT };
    world.ask(here, open);
    world.run_for(Duration::from_secs(10));
    (world, [here, there], log)
}

fn stacked(
    datagrams: SimulatedDatagrams<M>,
    log: &Log,
    percent: u64,
) -> impl Protocol<Provides = D, Uses = Segments<M>> + use<> {
    fn layer<F>(filter: F) -> Filtered<F, D> {
        Filtered::new(filter)
    }
    let lowest = Over::new(layer(Xor(0x55)), Over::new(layer(tap("below", log)), datagrams));
    let middle = Over::new(layer(tap("between", log)), lowest);
    let dropper = Over::new(layer(Dropper(percent)), middle);
    Over::new(layer(Tally::default()), Over::new(layer(tap("above", log)), dropper))
}

type Woven = Graph<M, Segments<M>, D>;

fn woven(datagrams: SimulatedDatagrams<M>, log: &Log, percent: u64) -> Woven {
    // A filter is a protocol of a graph, too.
    let top = Filtered::<_, D>::new(Tally::default());
    let builder = Builder::new().top("tally").protocol("tally", top).over("datagrams");
    let mut graph: Woven = builder.protocol("datagrams", datagrams).build().expect("they fit");
    graph.push("tally", "datagrams", "below", Inserted(tap("below", log))).unwrap();
    graph.push("tally", "below", "xor", Inserted(Xor(0x55))).unwrap();
    graph.push("tally", "xor", "between", Inserted(tap("between", log))).unwrap();
    graph.push("tally", "between", "dropper", Inserted(Dropper(percent))).unwrap();
    graph.push("tally", "dropper", "above", Inserted(tap("above", log))).unwrap();
    graph
}

/// What a run is compared by, and what it shows of the filters.
#[derive(PartialEq, Debug)]
struct Outcome {
    trace: u64,
    crossings: Vec<Crossing>,
    heard: [Vec<usize>; 2],
    dropped: usize,
    answers: Vec<String>,
}

fn outcome<P>(seed: u64, stack: impl FnMut(SimulatedDatagrams<M>, &Log, u64) -> P) -> Outcome
where
    P: Protocol<Provides = D, Uses: Lanes<M>> + 'static,
{
    let (world, stations, log) = talk(seed, stack);
    let lines = world.trace().lines().to_vec();
    let without_room = lines.iter().filter(|line| line.what.contains("for which there is no room"));
    assert_eq!(without_room.count(), 0, "seed {seed}: credit that was given upward is missing");
    let mut answers = Vec::new();
    for station in stations {
        // The listener's side opens with the first message that passes the loss.
        let Some(peer) = world.question(station, NAME, Peer) else { continue };
        let counts = world.question(station, NAME, Counters).expect("the tally answers");
        let longest = world.question(station, NAME, Longest).expect("the datagrams answer");
        answers.push(format!("{peer} {counts:?} {longest}"));
        let chatter = world.application(station);
        assert_eq!(
            chatter.sent, MESSAGES,
            "seed {seed}: credit that was given downward is missing"
        );
        assert_eq!(counts.received, chatter.heard.len() as u64);
    }
    let dropped =
        lines.iter().filter(|line| line.what.contains("dropper dropped: by chance")).count();
    let crossings = log.take();
    Outcome {
        trace: world.trace().hash(),
        crossings,
        heard: stations.map(|station| world.application(station).heard.clone()),
        dropped,
        answers,
    }
}

#[test]
fn a_stack_and_a_graph_of_the_same_filters_have_one_trace() {
    let (mut dropped, mut heard, mut answers) = (0, 0, 0);
    for seed in 0..SEEDS {
        let stack = outcome(seed, stacked);
        let graph = outcome(seed, woven);
        let both = stack.crossings.iter().zip(&graph.crossings).enumerate();
        if let Some((nth, (stack, graph))) =
            both.into_iter().find(|(_, (stack, graph))| stack != graph)
        {
            panic!("seed {seed}, crossing {nth}:\n{stack:?} in the stack\n{graph:?} in the graph");
        }
        assert!(stack == graph, "seed {seed}");
        dropped += stack.dropped;
        heard += stack.heard.iter().map(Vec::len).sum::<usize>();
        answers += stack.answers.len();
        // What passes the dropper is altered, and only below the xor.
        let at = |boundary| {
            let of = stack.crossings.iter().filter(move |crossing| crossing.1 == boundary);
            of.filter(|crossing| crossing.3 == "Send").map(|crossing| crossing.5.clone())
        };
        let altered =
            at("between").map(|octets| octets.iter().map(|octet| octet ^ 0x55).collect::<Vec<_>>());
        assert!(altered.eq(at("below")), "seed {seed}");
    }
    assert!(dropped > 5_000 && heard > 10_000 && answers > 500, "{dropped} {heard} {answers}");
}

/// Keeps what comes out at both ends.
struct Ends<P: Protocol> {
    told: Vec<IndicationOf<P>>,
    asked: Vec<RequestOf<P>>,
}

impl<P: Protocol> Default for Ends<P> {
    fn default() -> Self {
        Ends { told: Vec::new(), asked: Vec::new() }
    }
}

impl<P: Protocol> Outlet<P> for Ends<P> {
    fn indicate(&mut self, word: IndicationOf<P>) {
        self.told.push(word);
    }

    fn request(&mut self, word: RequestOf<P>) {
        self.asked.push(word);
    }
}

fn dropping<S>() -> Filtered<Dropper, S> {
    Filtered::new(Dropper(100))
}

/// A dropper of frames in each of two forms, which must say the same.
fn refunds_frames<P>(mut stack: P, delivered: impl FnOnce(FramesIndication<M>) -> IndicationTo<P>)
where
    P: Protocol<Provides = Frames<M>>,
    RequestOf<P>: std::fmt::Debug,
{
    let (cx, mut ends) = (Context::new(1), Ends::<P>::default());
    let batch = || Batch::from(M::with_headroom(0, &[7; 100]));
    stack.handle_request(
        &cx,
        FramesRequest::Send { port: 3, batch: batch(), mark: Some(9) },
        &mut ends,
    );
    let credit = Credit { octets: 100, messages: 1 };
    // The mark of a frame that is lost is answered, as it would be on the air.
    let told = &ends.told[..];
    assert!(
        matches!(told, [FramesIndication::Credit { port: 3, credit: told }, FramesIndication::Left { port: 3, mark: 9 }] if *told == credit),
        "{told:?}"
    );
    stack.handle_indication(
        &cx,
        delivered(FramesIndication::Delivered { port: 3, batch: batch() }),
        &mut ends,
    );
    assert_eq!(ends.asked.len(), 1);
    let asked = format!("{:?}", ends.asked[0]);
    assert!(asked.contains(&format!("Credit {{ credit: {credit:?} }}")), "{asked}");
    assert_eq!((ends.told.len(), cx.dropped_count()), (2, 2));
}

#[test]
fn frames_are_refunded_with_their_marks() {
    refunds_frames(dropping::<Frames<M>>(), |word| word);
    let passing = || Filtered::<_, Frames<M>>::new(Tally::default());
    let builder = Builder::new().top("a").protocol("a", passing()).over("b");
    let builder = builder.protocol("b", passing());
    let mut graph: Graph<M, Frames<M>, Frames<M>> = builder.build().expect("filters fit anywhere");
    graph.push("a", "b", "dropper", Inserted(Dropper(100))).unwrap();
    refunds_frames(graph, |word| InLane { lane: 0, word });
}

/// Needs something of what is below it.
struct Needs<const REGIONS: bool>;

impl<const REGIONS: bool> Protocol for Needs<REGIONS> {
    const FACTS: Facts = Facts {
        needs: if REGIONS { Guarantees::REGIONS } else { Guarantees::RELIABLE },
        ..Facts::named("needs")
    };
    type Provides = D;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        out.request(word);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(word);
    }
}

/// Gives everything.
struct Gives;

impl Protocol for Gives {
    const FACTS: Facts = Facts { gives: Guarantees::ALL, ..Facts::named("gives") };
    type Provides = D;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        out.request(word);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(word);
    }
}

fn facts<F: Filter<M>>(_: &F) -> Facts {
    Filtered::<F, D>::FACTS
}

#[test]
fn a_filter_has_no_header_and_passes_what_it_says() {
    let [tally, xor] = [facts(&Tally::default()), facts(&Xor(1))];
    let dropper = facts(&Dropper(1));
    for facts in [tally, xor, dropper] {
        assert_eq!(
            (facts.header_room, facts.needs, facts.gives),
            (0, Guarantees::ABSENT, Guarantees::ABSENT)
        );
    }
    assert_eq!((tally.passes, tally.reads_payload), (Guarantees::ALL, false));
    assert_eq!((xor.passes, xor.reads_payload), (Guarantees::ALL, true));
    let lost = Guarantees::RELIABLE | Guarantees::SENT;
    assert!(!dropper.passes.has(Guarantees::RELIABLE) && !dropper.passes.has(Guarantees::SENT));
    assert_eq!(dropper.passes.and(lost), Guarantees::ALL);
    assert_eq!(Filtered::<Tally, D>::BATCHES, Batches::ALL);
    assert_eq!(Filtered::<Dropper, D>::BATCHES, Batches::NONE);
    // What passes a filter, the layers above it get.
    type Filters = Over<Filtered<Tally, D>, Over<Filtered<Dropper, D>, Gives>>;
    assert_eq!(Filters::FACTS.gives, dropper.passes);
}

/// A graph in which the needs of the top pass a filter that is a node.
fn needy<const REGIONS: bool>() -> Graph<M, D, D> {
    let builder = Builder::new().top("needs").protocol("needs", Needs::<REGIONS>).over("tally");
    let builder = builder.protocol("tally", Filtered::<_, D>::new(Tally::default())).over("gives");
    builder.protocol("gives", Gives).build().expect("all that is needed is given")
}

#[test]
fn a_filter_is_refused_where_something_above_needs_what_it_does_not_pass() {
    let mut graph = needy::<false>();
    let explained = graph.explain();
    for (above, below, upper) in [("needs", "tally", "dropper"), ("tally", "gives", "tally")] {
        let refused = graph
            .push(above, below, "new", Inserted(Dropper(1)))
            .expect_err("needs more")
            .to_string();
        let says = format!(
            "`needs` does not fit on `{upper}`: `needs` needs reliable delivery, and nothing below it gives that"
        );
        assert_eq!(refused, says);
        assert!(!graph.has("new"));
    }
    assert_eq!(graph.explain(), explained, "all is as it was");
    graph.push("needs", "tally", "xor", Inserted(Xor(1))).expect("it drops nothing");
    assert!(graph.facts_of("xor").expect("it is there").reads_payload);
    assert!(graph.facts_of("needs").expect("it is there").reads_payload);
    graph.pop_now("xor").expect("it holds nothing");
    assert!(!graph.facts_of("needs").expect("it is there").reads_payload);

    let mut graph = needy::<true>();
    let refused =
        graph.push("tally", "gives", "xor", Inserted(Xor(1))).expect_err("it reads payload");
    let says = "`needs` does not fit on `tally`: `needs` needs regions of files to pass, and `tally` reads payload";
    assert_eq!(refused.to_string(), says);
    graph.push("tally", "gives", "dropper", Inserted(Dropper(1))).expect("it reads nothing");
}

/// A shared message is altered in a copy, and so is one of several pieces; the others see nothing.
#[test]
fn an_altered_batch_leaves_its_other_holders_alone() {
    let mut stack = Filtered::<_, D>::new(Xor(0xff));
    let cx = Context::new(1);
    let mut send = |batch: Batch<M>| {
        let mut ends = Ends::default();
        let properties = MessageProperties::default();
        stack.handle_request(
            &cx,
            DatagramsRequest::Send { association: NAME, batch, properties },
            &mut ends,
        );
        let Some(DatagramsRequest::Send { batch, .. }) = ends.asked.pop() else {
            panic!("it passes")
        };
        let messages: Vec<_> = batch.into_iter().map(|message| octets_of(&message)).collect();
        messages
    };
    let kept = Batch::new(M::with_headroom(8, &[1, 2, 3, 4, 5]), 2);
    assert_eq!(send(kept.share()), [vec![254, 253], vec![252, 251], vec![250]]);
    assert_eq!(octets_of(kept.as_octets()), [1, 2, 3, 4, 5]);
    let mut pieces = M::with_headroom(8, &[1, 2]);
    pieces.join(M::with_headroom(8, &[3]));
    assert_eq!(send(pieces.into()), [vec![254, 253, 252]]);
    assert_eq!(send(M::default().into()), [Vec::<u8>::new()]);
}

/// What is popped is the filter with what it has seen.
#[test]
fn a_filter_that_is_popped_keeps_its_state() {
    let mut graph = needy::<false>();
    graph.push("needs", "tally", "new", Inserted(Tally::default())).unwrap();
    let batch = Batch::from(M::with_headroom(0, b"abc"));
    let properties = MessageProperties::default();
    let send = DatagramsRequest::Send { association: NAME, batch, properties };
    graph.handle_request(&Context::new(1), send, &mut Ends::default());
    assert_eq!(graph.protocol::<Tally>("new").expect("it was pushed").0.sent, 1);
    let popped: Box<dyn std::any::Any> = graph.pop_now("new").expect("it holds nothing");
    assert_eq!(popped.downcast::<Inserted<Tally>>().expect("it was pushed").0.0.sent, 1);
}
