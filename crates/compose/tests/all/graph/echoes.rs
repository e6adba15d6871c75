//! An echo over simulated streams, as a static stack and as a graph; and modules that come and go
//! while it answers.

#[allow(dead_code, reason = "the simulator's own tests look closer")]
#[path = "../../../../simulator/tests/all/echo/client.rs"]
pub(crate) mod client;
#[allow(dead_code, reason = "the simulator's own tests look closer")]
#[path = "../../../../simulator/tests/all/echo/protocol.rs"]
pub(crate) mod protocol;

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use client::{Client, NAME};
use protocol::{Echo, EchoIndication, EchoRequest, Echoing};
use stackwright_compose::Over;
use stackwright_compose::filter::{Counter, Passage, Tap, WordDirection};
use stackwright_compose::graph::modules::Delay;
use stackwright_compose::graph::{Builder, Graph, Inserted, Popped};
use stackwright_contract::services::{Credit, Ended, StreamsRequest};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Context, Duration, Protocol, Service};
use stackwright_simulator::{
    Chunks, Conditions, Fault, Habits, Heard, Lanes, Segments, SimulatedStreams, StationId, Which,
    World,
};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

impl<M: Message, B: Service> Speaks<M, B> for Echoing {}

const ECHO: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CALLER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1));

pub(crate) type Woven<M> = Graph<M, Segments<M>, Echoing>;
type Server<P> = StationId<P, Heard<EchoIndication>>;
type Caller<M> = StationId<SimulatedStreams<M>, Client>;

pub(crate) fn habits(dice: &Context) -> Habits {
    let chunks = match dice.random(3) {
        0 => Chunks::Large,
        1 => Chunks::Uniform { most: 1 + dice.random(2000) as usize },
        _ => Chunks::Mixed,
    };
    Habits {
        credit: 1 + dice.random(3000) as usize,
        buffer: 1 + dice.random(3000) as usize,
        chunks,
        ..Habits::default()
    }
}

/// A world with an echo of either kind, and one who calls it.
fn scene<M, P>(
    seed: u64,
    stack: impl FnOnce(Echo<M>, SimulatedStreams<M>) -> P,
) -> (World<M>, Server<P>, Caller<M>)
where
    M: Message,
    P: Protocol<Provides = Echoing, Uses: Lanes<M>> + 'static,
{
    let dice = Context::new(seed);
    let mut world = World::new(seed);
    world.keep_trace();
    world.network_mut().set_conditions(Conditions {
        delay: Duration::from_micros(dice.random(50_000)),
        jitter: Duration::from_micros(dice.random(20_000)),
        loss: [0.0, 0.01, 0.3][dice.random(3) as usize].into(),
        ..Conditions::IDEAL
    });
    if dice.random(4) == 0 {
        world.network_mut().fail(Which::Any, Fault::Cut { after: dice.random(4000) });
    }
    let streams = SimulatedStreams::with_habits(ECHO, habits(&dice));
    let stack = stack(Echo::new(1 + dice.random(4000) as usize), streams);
    let server = world.add(ECHO, stack, Heard::default());
    let local = SocketAddr::new(ECHO, 7).into();
    world.ask(server, EchoRequest::Begin { local });
    let payload = (0..dice.random(5000)).map(|_| dice.random(256) as u8).collect();
    let credit = 1 + dice.random(4000) as usize;
    let streams = SimulatedStreams::with_habits(CALLER, habits(&dice));
    let caller = world.add(CALLER, streams, Client::new(payload, credit));
    world.ask(
        caller,
        StreamsRequest::Open {
            association: NAME,
            remote: local,
            local: None,
            credit: Credit::of_octets(credit),
        },
    );
    (world, server, caller)
}

fn woven<M: Message>(echo: Echo<M>, streams: SimulatedStreams<M>) -> Woven<M> {
    let builder =
        Builder::new().protocol("streams", streams).protocol("echo", echo).over("streams");
    builder.top("echo").build().expect("an echo fits on streams")
}

fn finish<M: Message, P>(world: &mut World<M>, server: Server<P>)
where
    P: Protocol<Provides = Echoing, Uses: Lanes<M>> + 'static,
{
    world.run_for(Duration::from_secs(100_000));
    world.ask(server, EchoRequest::Stop);
    world.run_for(Duration::from_secs(10));
}

#[test]
fn have_identical_traces() {
    fn hashes<M: Message>(seed: u64) -> [u64; 2] {
        let (mut world, server, _) = scene::<M, _>(seed, Over::new);
        finish(&mut world, server);
        let expected = world.trace().hash();
        let (mut world, server, _) = scene::<M, _>(seed, woven);
        finish(&mut world, server);
        [expected, world.trace().hash()]
    }
    for seed in 0..1000 {
        let [expected, woven] =
            if seed % 2 == 0 { hashes::<SingleBuffer>(seed) } else { hashes::<BufferTree>(seed) };
        assert_eq!(expected, woven, "seed {seed}");
    }
}

/// Runs to the end, and calls `change` at every tenth event.
pub(crate) fn run_with(
    seed: u64,
    change: impl FnMut(&mut Woven<SingleBuffer>, u64),
) -> (Vec<Ended>, usize, u64) {
    run_from(seed, |_| (), change)
}

/// The same, with a change before the first event, too.
pub(crate) fn run_from(
    seed: u64,
    first: impl FnOnce(&mut Woven<SingleBuffer>),
    mut change: impl FnMut(&mut Woven<SingleBuffer>, u64),
) -> (Vec<Ended>, usize, u64) {
    let (mut world, server, caller) = scene::<SingleBuffer, _>(seed, |echo, streams| {
        let mut graph = woven(echo, streams);
        first(&mut graph);
        graph
    });
    for event in 1_u64.. {
        if event % 10 == 0 {
            change(world.stack_mut(server), event / 10);
        }
        if !world.step() {
            break;
        }
    }
    finish(&mut world, server);
    let client = world.application(caller);
    let hash = world.trace().hash();
    (client.ended.clone(), client.heard, hash)
}

#[test]
fn are_the_same_while_counters_and_taps_come_and_go() {
    let mut all = 0;
    for seed in 0..300 {
        let expected = run_with(seed, |_, _| ());
        let heard = Rc::new(Cell::new(0_u64));
        let counted = Cell::new(0);
        let changed = run_with(seed, |graph, turn| {
            if turn % 2 == 1 {
                let heard = heard.clone();
                let tap = Tap::new(move |passage: &Passage<'_, SingleBuffer>| {
                    assert_eq!(passage.service, "Streams");
                    heard.set(heard.get() + 1);
                });
                graph.push("echo", "streams", "tap", Inserted(tap)).expect("it fits there");
                graph
                    .push("tap", "streams", "counter", Inserted(Counter::default()))
                    .expect("it fits there");
            } else {
                let counter = graph.protocol::<Counter>("counter").expect("it is there").to_owned();
                counted.set(counted.get() + counter.down.words + counter.up.words);
                assert!(matches!(graph.pop("tap"), Ok(Popped::Left(_))));
                graph.pop_now("counter").expect("it holds nothing");
                assert_eq!(heard.get(), counted.get(), "both heard everything");
            }
        });
        assert_eq!(expected, changed, "seed {seed}");
        all += counted.get();
    }
    assert!(all > 1000, "{all} words were counted");
}

#[test]
fn lose_nothing_while_delays_come_and_go() {
    let (mut left, mut drained) = (0, 0);
    for seed in 0..300 {
        let (expected, octets, _) = run_with(seed, |_, _| ());
        let (ended, heard, _) = run_with(seed, |graph, turn| {
            if turn % 2 == 1 && !graph.has("delay") {
                let delay = Delay::new(Duration::from_millis(turn % 40));
                graph.push("echo", "streams", "delay", delay).expect("it fits there");
            } else if graph.has("delay") {
                match graph.pop("delay").expect("it is a module") {
                    Popped::Left(_) => left += 1,
                    Popped::Draining { held } => {
                        drained += 1;
                        assert!(held > 0);
                        let refused =
                            graph.pop_now("delay").map(|_| ()).expect_err("it holds something");
                        let messages = if held == 1 { "message" } else { "messages" };
                        assert_eq!(
                            refused.to_string(),
                            format!("`delay` cannot leave: it holds {held} {messages}")
                        );
                    }
                }
            }
        });
        // A cut comes after so many octets, whenever that is; what reaches the caller before it may
        // differ.
        if expected == [Ended::Finished] {
            assert_eq!((ended, heard), (expected, octets), "seed {seed}");
        }
    }
    assert!(left > 100 && drained > 100, "{left} left at once, {drained} were drained");
}

#[test]
fn tell_a_tap_whom_a_word_is_about() {
    let noted = Rc::new(std::cell::RefCell::new(Vec::new()));
    let notes = noted.clone();
    let (mut world, server, _) = scene::<SingleBuffer, _>(1, |echo, streams| {
        let mut graph = woven(echo, streams);
        let tap = Tap::new(move |passage: &Passage<'_, SingleBuffer>| {
            let remote = passage.remote.map(|remote| remote.internet().expect("an address").ip());
            notes.borrow_mut().push((
                passage.direction,
                passage.primitive,
                remote,
                passage.message.map(Message::len),
            ));
        });
        graph.push("echo", "streams", "tap", Inserted(tap)).expect("it fits there");
        graph
    });
    finish(&mut world, server);
    let noted = noted.borrow();
    assert_eq!(noted[0], (WordDirection::Down, "Listen", None, None));
    assert_eq!(noted[1], (WordDirection::Up, "Listening", None, None));
    let deliveries: Vec<_> =
        noted.iter().filter(|(_, primitive, ..)| *primitive == "Delivered").collect();
    assert!(!deliveries.is_empty());
    assert!(deliveries.iter().all(|(direction, _, remote, length)| {
        *direction == WordDirection::Up
            && *remote == Some(CALLER)
            && length.is_some_and(|length| length > 0)
    }));
}

#[test]
fn hold_a_delayed_message_for_its_time_and_its_end_behind_it() {
    type Noted = Rc<std::cell::RefCell<Vec<(WordDirection, &'static str, usize, u64)>>>;
    const TIME: Duration = Duration::from_millis(20);
    let tap = |noted: &Noted| {
        let noted = noted.clone();
        Tap::new(move |passage: &Passage<'_, SingleBuffer>| {
            let length = passage.message.map_or(0, Message::len);
            noted.borrow_mut().push((
                passage.direction,
                passage.primitive,
                length,
                passage.time.nanoseconds(),
            ));
        })
    };
    for seed in 0..50 {
        let (above, below) = (Noted::default(), Noted::default());
        let (mut world, server, _) = scene::<SingleBuffer, _>(seed, |echo, streams| {
            let mut graph = woven(echo, streams);
            graph.push("echo", "streams", "above", Inserted(tap(&above))).expect("it fits there");
            graph.push("above", "streams", "delay", Delay::new(TIME)).expect("it fits there");
            graph.push("delay", "streams", "below", Inserted(tap(&below))).expect("it fits there");
            graph
        });
        finish(&mut world, server);
        // Of each direction, what is about the one association: messages and its end.
        let passed = |noted: &Noted, way: WordDirection| -> Vec<_> {
            let ordered = ["Send", "Finish", "Delivered", "Finished", "Ended"];
            let noted = noted.borrow();
            noted
                .iter()
                .filter(|word| word.0 == way && ordered.contains(&word.1))
                .copied()
                .collect()
        };
        for (before, after, way) in
            [(&above, &below, WordDirection::Down), (&below, &above, WordDirection::Up)]
        {
            let (before, after) = (passed(before, way), passed(after, way));
            assert_eq!(before.len(), after.len(), "seed {seed}");
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(
                    (before.1, before.2),
                    (after.1, after.2),
                    "seed {seed}: the order is kept"
                );
                let held = Duration::from_nanos(after.3 - before.3);
                assert!(
                    if before.2 > 0 { held == TIME } else { held <= TIME },
                    "seed {seed}: {held:?}"
                );
            }
        }
    }
}

#[test]
fn refuse_what_cannot_be_pushed_or_popped() {
    let mut graph = woven(Echo::<SingleBuffer>::new(1), SimulatedStreams::new(ECHO));
    let mut push = |above: &str, below: &str, name: &str| {
        let refused = graph.push(above, below, name, Inserted(Counter::default()));
        refused.map_or_else(|refused| refused.to_string(), |()| String::new())
    };
    assert_eq!(push("echo", "streams", "counter"), "");
    assert_eq!(push("echo", "streams", "counter"), "`counter` is the name of another node already");
    assert_eq!(
        push("streams", "echo", "x"),
        "`streams` does not stand on `echo`, so nothing fits between them"
    );
    assert_eq!(
        push("ecko", "streams", "x"),
        "nothing in this graph is called `ecko`; is `echo` meant?"
    );
    let refused = graph.pop("echo").expect_err("it is a protocol");
    assert_eq!(refused.to_string(), "`echo` is not a module: only what was pushed can be popped");
    let refused = graph.pop("nobody").expect_err("nobody is");
    assert_eq!(refused.to_string(), "nothing in this graph is called `nobody`");
    graph.pop("counter").expect("it is a module");
    assert!(!graph.has("counter"));
}
