//! The send buffer: what an application that always has something may hand over, and that it never
//! waits for that.

use std::net::{IpAddr, SocketAddr};

use stackwright_artp::{Config, layer};
use stackwright_compose::Over;
use stackwright_contract::ask::{NothingBelow, PathStatistics, ask};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Protocol};
use stackwright_simulator::{Application, Asks, Conditions, Queue, SimulatedDatagrams, World};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 22, messages: 4096 };
const ROOM_BELOW: Credit = Credit { octets: 1 << 20, messages: 1024 };

/// Sends messages of one length as soon as it may, and counts what it hears.
#[derive(Default)]
struct Always {
    length: usize,
    /// The first credit, and what is left of all.
    first: Credit,
    credit: Credit,
    sent: usize,
    heard: usize,
}

impl Always {
    /// A message that is longer than all of the credit leaves alone.
    fn may_send(&self) -> bool {
        let message = Credit { octets: self.length, messages: 1 };
        self.credit.covers(message)
            || self.length > self.first.octets && self.credit.covers(self.first)
    }
}

impl<P: Protocol<Provides = Datagrams<M>>> Application<P> for Always {
    fn hear(&mut self, _: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match indication {
            DatagramsIndication::Opened { credit, .. } => {
                (self.first, self.credit) = (credit, credit);
            }
            DatagramsIndication::Credit { credit, .. } => self.credit += credit,
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                self.heard += credit.octets;
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            _ => {}
        }
        while self.length > 0 && self.credit != Credit::NONE && self.may_send() {
            self.credit.octets = self.credit.octets.saturating_sub(self.length);
            self.credit.messages -= 1;
            self.sent += self.length;
            asks.push_back(DatagramsRequest::Send {
                association: ASSOCIATION,
                batch: M::with_headroom(64, &vec![7; self.length]).into(),
                properties: MessageProperties::default(),
            });
        }
    }
}

/// What was handed over, what arrived of it, and the congestion window at the end.
struct Outcome {
    sent: usize,
    heard: usize,
    window: usize,
}

/// An application always sends messages of `length` octets, for `seconds`, over a link of `rate`
/// octets a second with a round trip of `trip` milliseconds and a queue of as much as that holds.
fn always(length: usize, rate: u64, trip: u64, seconds: u64) -> Outcome {
    let mut world = World::<M>::new(1);
    let queue = Queue::octets((rate * trip / 1000).max(15_000));
    let delay = Duration::from_micros(trip * 500);
    let conditions = Conditions { rate: Some(rate), delay, queue, ..Conditions::IDEAL };
    world.network_mut().set_conditions(conditions);
    let stack = |address: [u8; 4], secret| {
        let below = SimulatedDatagrams::new(IpAddr::from(address), ROOM_BELOW);
        Over::new(layer(Config::new([secret; 16]), 1), below)
    };
    let hears = world.add(SERVER.into(), stack(SERVER, 1), Always::default());
    let talks = Always { length, ..Always::default() };
    let talks = world.add(CLIENT.into(), stack(CLIENT, 2), talks);
    let server = SocketAddr::from((SERVER, 7)).into();
    world.ask(hears, DatagramsRequest::Listen { listener: LISTENER, local: server });
    world.ask(
        hears,
        DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM },
    );
    world.ask(
        talks,
        DatagramsRequest::Open {
            association: ASSOCIATION,
            remote: server,
            credit: ROOM,
            local: None,
        },
    );
    world.run_for(Duration::from_secs(seconds));
    let path = ask(&world.stack(talks).upper, ASSOCIATION, PathStatistics, &NothingBelow);
    let window = path.and_then(|path| path.window).expect("it is open") as usize;
    let (sent, heard) = (world.application(talks).sent, world.application(hears).heard);
    Outcome { sent, heard, window }
}

/// The congestion window, and a second of the rate, whatever the buffer has room for.
#[test]
fn little_is_handed_over_on_a_slow_path() {
    let Outcome { sent, heard, window } = always(1000, 1200, 100, 10);
    assert!(heard >= 9000, "{heard} octets arrived in ten seconds");
    assert!(sent - heard <= (64 << 10) + 2 * window + 1200, "{sent} octets were handed over");
}

/// As many octets arrive as where the application has ten megabytes of credit from the beginning.
#[test]
fn the_rate_of_no_path_is_bounded_by_what_may_be_handed_over() {
    for (length, rate, trip, seconds, least) in [
        (1000, 12_500_000, 100, 3, 26_900_000),
        (1000, 125_000, 600, 20, 2_120_000),
        // Messages that are longer than the first credit, or than two windows and a second.
        (100_000, 1_250_000, 100, 10, 11_100_000),
        (300_000, 125_000, 600, 20, 1_800_000),
        (1_000_000, 1_250_000, 300, 20, 21_000_000),
        (70_000, 1200, 1000, 300, 280_000),
    ] {
        let Outcome { heard, .. } = always(length, rate, trip, seconds);
        assert!(heard >= least, "{heard} octets of {length} each, at {rate} and {trip} ms");
    }
}
