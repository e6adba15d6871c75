//! Every transport opens, carries 30 kB and closes over paths of any rate and delay.

use stackwright::compose::Over;
use stackwright::contract::services::{Datagrams, Ended, Transfer};
use stackwright::contract::{Duration, Protocol};
use stackwright_simulator::{Conditions, Queue, World};

use super::M;
use super::transports::{CLIENT, Lowest, SERVER, Side, Visit, add, each, listen, open};

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
