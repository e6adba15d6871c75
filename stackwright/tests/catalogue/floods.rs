//! Forged openings lock nobody out, whichever protocol takes associations from the network.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use stackwright::compose::Over;
use stackwright::contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, Transfer,
};
use stackwright::contract::{Context, Duration, Handle, Protocol};
use stackwright::wire::Message;
use stackwright_simulator::{Asks, Conditions, World};

use super::M;
use super::transports::{
    CLIENT, Lowest, SERVER, Side, Visit, add, each, listen, lowest, open, place,
};

const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));

/// What a genuine peer says, and what is in the packet that the attacker has recorded.
const GENUINE: u8 = 7;
const RECORDED: u8 = 13;

fn world(seed: u64) -> World<M> {
    let mut world = World::new(seed);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    world
}

/// A flood of `count` copies of the first packet of a transport, `every` so often, each from
/// another port, at a server with so many `places`.
struct Flood {
    places: u32,
    count: u32,
    every: Duration,
    /// Transports that cannot tell a forged opening, where openings go on and on.
    without: &'static [&'static str],
}

impl Flood {
    /// Records the first packet of a transport.
    fn record<T, P>(layer: impl Fn(u8) -> P) -> Vec<u8>
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>,
    {
        let mut world = world(1);
        let recorded = Rc::new(RefCell::new(Vec::new()));
        let records = Rc::clone(&recorded);
        let record = move |_: &Context, told: DatagramsIndication<M>, _: &mut Asks<Lowest>| {
            if let DatagramsIndication::Delivered { batch, .. } = told {
                let mut octets = batch.into_octets();
                let octets = octets.front(octets.len()).expect("one packet").to_vec();
                records.borrow_mut().push(octets);
            }
        };
        let nobody = world.add(SERVER, lowest(SERVER), record);
        let listener = Handle { index: 0, generation: 0 };
        world.ask(nobody, DatagramsRequest::Listen { listener, local: place() });
        let association = Handle { index: 1, generation: 0 };
        let credit = Credit { octets: 1 << 20, messages: 1024 };
        world.ask(nobody, DatagramsRequest::Await { listener, association, credit });
        let client = add(&mut world, CLIENT, layer(1), Side::sends(100, 100, RECORDED));
        open(&mut world, client);
        let opens = world.run_until(|_| !recorded.borrow().is_empty(), Duration::from_secs(5));
        assert!(opens, "it says nothing");
        recorded.take().remove(0)
    }
}

impl Visit for Flood {
    fn visit<T, P>(&mut self, name: &str, layer: impl Fn(u8) -> P, reliable: bool)
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>,
    {
        if self.without.contains(&name) {
            return;
        }
        let packet = Self::record(&layer);
        let mut world = world(2);
        let server = add(&mut world, SERVER, layer(2), Side::default());
        listen(&mut world, server, self.places);
        let attacker =
            world.add(ATTACKER, lowest(ATTACKER), |_: &_, _: DatagramsIndication<M>, _: &mut _| {});
        let client = add(&mut world, CLIENT, layer(3), Side::sends(300, 100, GENUINE));
        for index in 0..self.count {
            if index == self.count / 2 {
                open(&mut world, client);
            }
            let association = Handle { index, generation: 0 };
            let (remote, local, credit) = (place(), None, Default::default());
            world.ask(attacker, DatagramsRequest::Open { association, remote, local, credit });
            let (batch, properties) =
                (Batch::from(M::with_headroom(0, &packet)), Default::default());
            world.ask(attacker, DatagramsRequest::Send { association, batch, properties });
            world.run_for(self.every);
        }
        world.run_for(Duration::from_secs(30));
        let (client, server) = (world.application(client), world.application(server));
        // What nobody sends again may have been dropped while there was no place.
        let heard = server.heard.iter().filter(|octet| **octet == GENUINE).count();
        let ended = &client.ended;
        assert!(heard == 300 || !reliable, "{name}: {heard} octets came, and {ended:?}");
        assert!(ended.iter().all(|why| *why == Ended::Finished), "{name}: {ended:?}");
    }
}

#[test]
fn a_burst_of_forged_openings_locks_nobody_out() {
    let every = Duration::from_micros(100);
    each(&mut Flood { places: 4096, count: 3000, every, without: &[] });
}

/// Of a transport without a proof before an association, an opening is as good as another: a peer
/// has a place until as many others have come as there are places.
#[test]
fn forged_openings_without_end_lock_nobody_out() {
    let (every, without) = (Duration::from_millis(2), &["stop-and-wait"]);
    each(&mut Flood { places: 4096, count: 2500, every, without });
}

/// As it is where each opening can be asked for a proof.
#[test]
fn few_places_are_not_held_by_forged_openings_without_end() {
    let without = &[
        "tailored latest only",
        "tailored best effort",
        "xtp connection",
        "xtp stream",
        "xtp transaction",
        "xtp acknowledged",
        "xtp bulk",
        "xtp isochronous",
        "xtp unacknowledged",
        "stop-and-wait",
    ];
    each(&mut Flood { places: 16, count: 3000, every: Duration::from_millis(10), without });
}

#[test]
fn few_places_are_not_held_by_forged_openings() {
    let every = Duration::from_micros(100);
    each(&mut Flood { places: 16, count: 1100, every, without: &[] });
}
