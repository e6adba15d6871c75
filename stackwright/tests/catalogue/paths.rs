//! Every transport opens, carries 30 kB and closes over paths of any rate and delay.

use std::collections::BTreeMap;

use stackwright::compose::Over;
use stackwright::contract::services::{Datagrams, Ended, Transfer};
use stackwright::contract::{Duration, Instant, Protocol};
use stackwright_simulator::{Conditions, Queue, World};

use super::M;
use super::transports::{CLIENT, Lowest, OverUdp, SERVER, Side, Visit, add, each, listen, open};

/// What the client sends, in messages of 1000 octets.
const OCTETS: usize = 30_000;
const MARK: u8 = 7;

/// A path: bits per second, the delay one way in milliseconds, and the share that is lost.
#[derive(Clone, Copy, Debug)]
struct Path(u64, u64, f64);

impl Visit for Path {
    fn visit<T, P>(&mut self, name: &str, layer: impl Fn(u8) -> P, reliable: bool)
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>,
    {
        let Path(rate, delay, loss) = *self;
        // One waits for 200 ms, whatever the path is like; of others, what is lost stays lost.
        if name == "stop-and-wait" || loss > 0.0 && !reliable {
            return;
        }
        let mut world = World::new(rate ^ delay);
        world.network_mut().set_conditions(Conditions {
            rate: Some(rate / 8),
            delay: Duration::from_millis(delay),
            queue: Queue { octets: Some(60_000), ..Queue::UNLIMITED },
            loss: loss.into(),
            ..Conditions::IDEAL
        });
        let server = add(&mut world, SERVER, layer(1), Side::default());
        listen(&mut world, server, 4);
        let client = add(&mut world, CLIENT, layer(2), Side::sends(OCTETS, 1000, MARK));
        open(&mut world, client);
        let is_over = world.run_until(
            |world| {
                let [client, server] = [client, server].map(|side| world.application(side));
                !client.ended.is_empty() && !server.ended.is_empty()
            },
            Duration::from_secs(3600),
        );
        let sent = world.network().counts(CLIENT, SERVER).octets_offered;
        let [client, server] = [client, server].map(|side| world.application(side));
        let heard = server.heard.iter().filter(|octet| **octet == MARK).count();
        let ended = (&client.ended, &server.ended);
        let what = format!("{name}, {self:?}: {heard} octets came, {sent} left, {ended:?}");
        assert!(is_over && heard == OCTETS, "{what}");
        assert_eq!(client.ended, [Ended::Finished], "{what}");
        // Nothing answers one of them, and an end may be lost.
        assert!(!reliable || loss > 0.0 || server.ended == [Ended::Finished], "{what}");
        // A queue that holds an answer back is not filled with copies.
        assert!(sent < if loss > 0.0 { 5 } else { 3 } * OCTETS as u64, "{what}");
    }
}

#[test]
fn every_transport_opens_carries_and_closes_over_paths_of_any_rate_and_delay() {
    for loss in [0.0, 0.1] {
        for rate in [1200, 3000, 64_000, 2_000_000, 7_000_000, 10_000_000_000] {
            for delay in [0, 330, 900, 2500] {
                each(&mut Path(rate, delay, loss));
            }
        }
    }
}

#[test]
fn every_transport_does_so_on_udp_of_our_own() {
    for loss in [0.0, 0.1] {
        each(&mut OverUdp(&mut Path(2_000_000, 20, loss)));
    }
}

/// A file of 5 MB over a path with a short queue: how long it takes, and how many octets leave for
/// it.
struct Bulk {
    path: Path,
    jitter: Duration,
    queue: u64,
    took: BTreeMap<String, (Duration, u64)>,
}

impl Visit for Bulk {
    fn visit<T, P>(&mut self, name: &str, layer: impl Fn(u8) -> P, _: bool)
    where
        T: Transfer<Message = M>,
        P: Protocol<Provides = T, Uses = Datagrams<M>> + 'static,
        Over<P, Lowest>: Protocol<Provides = T, Uses = <Lowest as Protocol>::Uses>,
    {
        if !["ordered over artp", "xtp stream"].contains(&name) {
            return;
        }
        const FILE: usize = 5_000_000;
        let Path(rate, delay, loss) = self.path;
        let mut world = World::new(1);
        world.network_mut().set_conditions(Conditions {
            rate: Some(rate / 8),
            delay: Duration::from_millis(delay),
            jitter: self.jitter,
            queue: Queue { octets: Some(self.queue), ..Queue::UNLIMITED },
            loss: loss.into(),
            ..Conditions::IDEAL
        });
        let server = add(&mut world, SERVER, layer(1), Side::default());
        listen(&mut world, server, 1);
        let client = add(&mut world, CLIENT, layer(2), Side::sends(FILE, 10_000, MARK));
        open(&mut world, client);
        let hour = Duration::from_secs(3600);
        let is_whole = world.run_until(|world| world.application(server).heard.len() == FILE, hour);
        assert!(is_whole, "{name}, {:?}", self.path);
        let sent = world.network().counts(CLIENT, SERVER).octets_offered;
        self.took.insert(name.into(), (world.now().since(Instant::START), sent));
    }
}

/// Files over XTP share a path as those over ARTP do: they do not overrun its queue, and what
/// losses cost is no more.
#[test]
fn a_stream_of_xtp_heeds_the_network() {
    for (path, jitter, queue) in [
        (Path(7_000_000, 330, 0.0), 0, 45_000),
        (Path(2_000_000, 300, 0.02), 0, 60_000),
        (Path(20_000_000, 30, 0.01), 0, 150_000),
        (Path(100_000_000, 5, 0.0), 0, 100_000),
        // Packets overtake each other.
        (Path(20_000_000, 10, 0.0), 80, 500_000),
    ] {
        let jitter = Duration::from_millis(jitter);
        let mut bulk = Bulk { path, jitter, queue, took: BTreeMap::new() };
        each(&mut bulk);
        let [(artp, _), (xtp, sent)] =
            ["ordered over artp", "xtp stream"].map(|name| bulk.took[name]);
        assert!(4 * xtp < 5 * artp, "{path:?}: {xtp:?}, and ARTP {artp:?}");
        assert!(sent < 6_000_000, "{path:?}: {sent} octets left");
    }
}
