//! The parts, each for any base that has what it needs.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

use stackwright_base::session::Removed;
use stackwright_base::{Base, Configuration, Features, Layer, Subject, features};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Instant};
use stackwright_simulator::{Application, Asks, SimulatedDatagrams, StationId, World};
use stackwright_wire::{Leaf, Message};

use crate::conformance::ports::Ports;

type MessageIn<C> = <C as Configuration>::Message;
type Stack<C> = Over<Layer<Ports<C>>, SimulatedDatagrams<MessageIn<C>>>;
/// The base that can do everything: who stands at the other end.
type Whole<C> = Features<MessageIn<C>>;
type Station<C> = StationId<Stack<C>, Talker>;

const HERE: [u8; 4] = [10, 0, 0, 1];
const THERE: [u8; 4] = [10, 0, 0, 2];
const ROOM: Credit = Credit { octets: 1 << 16, messages: 16 };
const WHILE: Duration = Duration::from_secs(60);

pub(crate) fn run<C: Configuration + 'static>(part: &str) {
    match part {
        "open" => open::<C>(),
        "listen" => listen::<C>(),
        "exchange" => exchange::<C>(),
        "demultiplex" => demultiplex::<C>(),
        "timers" => timers::<C>(),
        "close" => close::<C>(),
        "misuse" => misuse::<C>(),
        _ => panic!("the table has a part `{part}` and the script has not"),
    }
}

/// Keeps what it hears, by name; says it back where it is an echo.
#[derive(Default)]
struct Talker {
    echo: bool,
    opened: Vec<Handle>,
    heard: BTreeMap<u32, Vec<Vec<u8>>>,
    ended: Vec<(Handle, Ended)>,
    listening: usize,
}

impl<C: Configuration + 'static> Application<Stack<C>> for Talker {
    fn hear(
        &mut self,
        _cx: &Context,
        indication: DatagramsIndication<MessageIn<C>>,
        asks: &mut Asks<Stack<C>>,
    ) {
        match indication {
            DatagramsIndication::Listening { .. } => self.listening += 1,
            DatagramsIndication::Opened { association, .. } => self.opened.push(association),
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                let octets: Vec<u8> = messages
                    .into_single()
                    .leaves()
                    .flat_map(|leaf| match leaf {
                        Leaf::Octets(octets) => octets.to_vec(),
                        Leaf::Region(_) => unreachable!("nobody sends files"),
                    })
                    .collect();
                let credit = Credit { octets: octets.len(), messages: 1 };
                asks.push_back(DatagramsRequest::Credit { association, credit });
                if self.echo {
                    asks.push_back(say::<C>(association, &octets));
                }
                self.heard.entry(association.index).or_default().push(octets);
            }
            DatagramsIndication::Credit { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name, why } => self.ended.push((name, why)),
        }
    }
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn say<C: Configuration>(association: Handle, octets: &[u8]) -> DatagramsRequest<MessageIn<C>> {
    DatagramsRequest::Send {
        association,
        batch: MessageIn::<C>::with_headroom(64, octets).into(),
        properties: MessageProperties::default(),
    }
}

fn station<C: Configuration + 'static>(
    world: &mut World<MessageIn<C>>,
    address: [u8; 4],
    echo: bool,
) -> Station<C> {
    let address = IpAddr::from(address);
    let adapter = SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 4096 });
    let stack = Over::new(Layer::new(Ports::default(), 1), adapter);
    world.add(address, stack, Talker { echo, ..Talker::default() })
}

fn place(address: [u8; 4], port: u16) -> stackwright_contract::Participant {
    SocketAddr::from((address, port)).into()
}

/// Listens at a port, for `arrivals` arrivals, under the names from `first` on; the listener is
/// `first` itself.
fn serve<C: Configuration + 'static>(
    world: &mut World<MessageIn<C>>,
    station: Station<C>,
    at: stackwright_contract::Participant,
    first: u32,
    arrivals: u32,
) {
    let listener = name(first);
    world.ask(station, DatagramsRequest::Listen { listener, local: at });
    for index in first + 1..=first + arrivals {
        world.ask(
            station,
            DatagramsRequest::Await { listener, association: name(index), credit: ROOM },
        );
    }
}

fn settle<M: Message>(world: &mut World<M>) {
    world.run_for(WHILE);
}

fn open<C: Configuration + 'static>() {
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, false);
    world.ask(
        here,
        DatagramsRequest::Open {
            association: name(0),
            remote: place(THERE, 9),
            credit: ROOM,
            local: None,
        },
    );
    settle(&mut world);
    assert_eq!(world.application(here).opened, [name(0)]);
}

/// Somebody arrives at the base that is tried; two listeners of one place count as two.
fn listen<C: Configuration + 'static>() {
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, true);
    let there = station::<Whole<C>>(&mut world, THERE, false);
    serve(&mut world, here, place(HERE, 9), 0, 1);
    world.ask(here, DatagramsRequest::Listen { listener: name(2), local: place(HERE, 9) });
    assert_eq!(world.application(here).listening, 2, "both hear where they listen");
    world.ask(here, DatagramsRequest::Close { name: name(2) });
    assert_eq!(world.application(here).ended, [(name(2), Ended::Unlistened)], "one is left");
    world.ask(
        there,
        DatagramsRequest::Open {
            association: name(0),
            remote: place(HERE, 9),
            credit: ROOM,
            local: None,
        },
    );
    world.ask(there, say::<C>(name(0), b"who is there?"));
    settle(&mut world);
    assert_eq!(world.application(here).opened, [name(1)]);
    assert_eq!(world.application(there).heard[&0], [b"who is there?"]);
    world.ask(here, DatagramsRequest::Close { name: name(0) });
    world.ask(here, DatagramsRequest::Close { name: name(1) });
    settle(&mut world);
    assert_eq!(
        world.stack(here).upper.names(),
        0,
        "the last listener takes the enable object away"
    );
}

fn exchange<C: Configuration + 'static>() {
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, false);
    let there = station::<Whole<C>>(&mut world, THERE, true);
    serve(&mut world, there, place(THERE, 9), 0, 1);
    world.ask(
        here,
        DatagramsRequest::Open {
            association: name(0),
            remote: place(THERE, 9),
            credit: ROOM,
            local: None,
        },
    );
    let said: Vec<Vec<u8>> =
        (0..10_u8).map(|length| vec![b'x'; usize::from(length) * 100]).collect();
    for octets in &said {
        world.ask(here, say::<C>(name(0), octets));
        settle(&mut world);
    }
    assert_eq!(world.application(here).heard[&0], said);
}

/// 1 000 associations with one peer share one association below, and each hears its own echo.
fn demultiplex<C: Configuration + 'static>() {
    const MANY: u32 = 1_000;
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, false);
    let there = station::<Whole<C>>(&mut world, THERE, true);
    serve(&mut world, there, place(THERE, 9), 0, MANY);
    for index in 0..MANY {
        world.ask(
            here,
            DatagramsRequest::Open {
                association: name(index),
                remote: place(THERE, 9),
                credit: ROOM,
                local: None,
            },
        );
        world.ask(here, say::<C>(name(index), &index.to_be_bytes()));
    }
    settle(&mut world);
    assert_eq!(world.stack(here).upper.names(), 1, "one association below");
    assert_eq!(world.stack(here).upper.associations(), MANY as usize);
    for index in 0..MANY {
        assert_eq!(
            world.application(here).heard[&index],
            [index.to_be_bytes()],
            "association {index}"
        );
    }
}

/// Associations with timers of two kinds.
struct Alarms<C>(PhantomData<C>);

impl<C> Subject for Alarms<C> {
    type Key = u32;
    type PassiveKey = ();
    type Association = u32;
    type Enabled = ();
    type Timer = bool;
}

fn timers<C: Configuration + 'static>() {
    let at = |seconds: u64| Instant::from_nanoseconds(seconds * 1_000_000_000);
    let mut base = Base::<C, Alarms<C>>::new(1);
    for index in 0..100 {
        base.install(name(index), index, index).expect("each key once");
        base.schedule(name(index), false, at(u64::from(100 - index)));
        base.schedule(name(index), true, at(1_000));
    }
    base.cancel(name(50), false);
    base.schedule(name(49), false, at(200)); // moved, not doubled
    assert!(matches!(base.close(name(7)), Removed::Last(_) | Removed::Shared));
    assert_eq!(base.expire(at(0)), None, "none is due yet");
    let mut fired = Vec::new();
    while let Some(deadline) = base.next_deadline().filter(|deadline| *deadline < at(1_000)) {
        assert_eq!(base.expire(Instant::from_nanoseconds(deadline.nanoseconds() - 1)), None);
        let (name, kind) = base.expire(deadline).expect("it is due");
        assert!(!kind);
        fired.push(name.index);
    }
    let told_apart = C::SELECTION.session != features::Session::Absent;
    let (expected, left): (Vec<u32>, _) = if told_apart {
        ((0..100).rev().filter(|index| ![7, 49, 50].contains(index)).chain([49]).collect(), 99)
    } else {
        (vec![49], 1) // one endpoint has one timer of a kind: the last one that was set
    };
    assert_eq!(fired, expected);
    let rest = std::iter::from_fn(|| base.expire(at(1_000_000))).count();
    assert_eq!(rest, left, "the other kind, but of whom has left");
    assert_eq!(base.next_deadline(), None);
}

fn close<C: Configuration + 'static>() {
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, false);
    for index in 0..3 {
        world.ask(
            here,
            DatagramsRequest::Open {
                association: name(index),
                remote: place(THERE, 9),
                credit: ROOM,
                local: None,
            },
        );
    }
    for index in 0..3 {
        assert_eq!(
            world.stack(here).upper.names(),
            1,
            "what is shared stays as long as somebody uses it"
        );
        world.ask(here, DatagramsRequest::Close { name: name(index) });
    }
    settle(&mut world);
    assert_eq!(world.stack(here).upper.names(), 0, "with the last it is closed");
    let ended = (0..3).map(|index| (name(index), Ended::Finished)).collect::<Vec<_>>();
    assert_eq!(world.application(here).ended, ended);
}

fn misuse<C: Configuration + 'static>() {
    let mut world = World::new(1);
    let here = station::<C>(&mut world, HERE, false);
    let dropped = |world: &World<MessageIn<C>>| world.context(here).dropped_count();
    let never = name(40);
    world.ask(here, say::<C>(never, b"hello?"));
    world.ask(here, DatagramsRequest::Close { name: never });
    world.ask(here, DatagramsRequest::Close { name: never });
    world.ask(here, DatagramsRequest::Credit { association: never, credit: ROOM });
    assert!(dropped(&world) >= 3, "words for names that never were are dropped and counted");
    assert_eq!(world.application(here).ended, []);
    world
        .ask(here, DatagramsRequest::Await { listener: never, association: name(1), credit: ROOM });
    assert_eq!(world.application(here).ended, [(name(1), Ended::Unlistened)]);
    // What the selection lacks is refused with a last word, never silently.
    let local = place(HERE, 9);
    world.ask(here, DatagramsRequest::Listen { listener: name(2), local });
    world.ask(
        here,
        DatagramsRequest::Open {
            association: name(3),
            remote: place(THERE, 9),
            credit: ROOM,
            local: None,
        },
    );
    let refused =
        |index| world.application(here).ended.contains(&(name(index), Ended::Unavailable));
    assert_eq!(refused(2), C::SELECTION.opening != features::Opening::ActivePassive);
    assert_eq!(refused(3), C::SELECTION.opening == features::Opening::Absent);
    if C::SELECTION.opening != features::Opening::Absent {
        world.ask(here, DatagramsRequest::Close { name: name(3) });
        let before = dropped(&world);
        world.ask(here, say::<C>(name(3), b"too late"));
        assert_eq!(dropped(&world), before + 1, "a word that crosses an end");
    }
}
