//! How long a message may be is told before it is sent; and a receiver that takes less says so.

use stackwright::compose::Over;
use stackwright::contract::services::{Credit, Datagrams, Ended};
use stackwright::contract::{Duration, Protocol};
use stackwright::policies::profile::{Bounds, PolicyValues};
use stackwright::tailored::configurations::{AnyOrder, InOrder, Selective, WholeWindow};
use stackwright::tailored::{self, Named};
use stackwright::xtp;
use stackwright::xtp::services::{AcknowledgedDatagram, Connection, Transaction};
use stackwright_simulator::{Conditions, Lanes, World};

use super::M;
use super::transports::{CLIENT, Lowest, SERVER, Side, add, listen, open};

const MEGABYTE: usize = 1 << 20;

/// Sends one message from an end that sends, and takes, messages of at most `here` octets to one of
/// `there`. Returns the ends of both, how many octets came, and how many left.
fn sends<P>(
    layer: impl Fn(u8, usize) -> P,
    octets: usize,
    (here, there): (usize, usize),
) -> (Vec<Ended>, Vec<Ended>, usize, u64)
where
    P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static,
    Over<P, Lowest>: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>>,
{
    let mut world = World::new(1);
    let (delay, rate) = (Duration::from_millis(5), Some(100_000_000));
    world.network_mut().set_conditions(Conditions { delay, rate, ..Conditions::IDEAL });
    let server = add(&mut world, SERVER, layer(1, there), Side::default());
    let client = add(&mut world, CLIENT, layer(2, here), Side::sends(octets, octets, 7));
    listen(&mut world, server, 1);
    open(&mut world, client);
    world.run_for(Duration::from_secs(120));
    let sent = world.network().counts(CLIENT, SERVER).octets_offered;
    let [client, server] = [client, server].map(|side| world.application(side));
    assert_eq!(client.longest as usize, here);
    (client.ended.clone(), server.ended.clone(), server.heard.len(), sent)
}

fn bounds<P>(name: &str, layer: impl Fn(u8, usize) -> P + Copy)
where
    P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static,
    Over<P, Lowest>: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>>,
{
    let most = 2 * MEGABYTE;
    let (client, server, heard, _) = sends(layer, most, (most, most));
    assert_eq!(
        (client, server, heard),
        (vec![Ended::Finished], vec![Ended::Finished], most),
        "{name}"
    );
    // What this end does not send is not begun.
    let (client, _, heard, sent) = sends(layer, most + 1, (most, 2 * most));
    let too_long = vec![Ended::TooLong { longest: most as u32 }];
    assert_eq!((client, heard), (too_long.clone(), 0), "{name}");
    assert!(sent < 1000, "{name}: {sent} octets left");
    // What the other one does not take, it refuses, as soon as it is a packet too long.
    let (client, server, heard, _) = sends(layer, most + 2000, (2 * most, most));
    assert_eq!((client, heard), (too_long, 0), "{name}");
    assert!(matches!(server[..], [Ended::TooLong { .. }]), "{name}: {server:?}");
}

fn of_xtp<S: xtp::XtpService>(nth: u8, longest: usize) -> xtp::Layer<M, S> {
    let send = Credit { octets: 4 * MEGABYTE, messages: 16 };
    xtp::layer(xtp::Config { longest, send, ..xtp::Config::new([nth; 16]) }, nth.into())
}

fn of_tailored<C>(nth: u8, longest: usize) -> tailored::Layer<Named<C>>
where
    Named<C>: tailored::Tailoring,
    C: stackwright::transport::Configuration<Integrity: stackwright::policies::profile::FromValues>,
{
    let send = Credit { octets: 4 * MEGABYTE, messages: 16 };
    let bounds = Bounds { longest, ..Bounds::DEFAULT };
    let values = PolicyValues { bounds, ..PolicyValues::RELIABLE };
    let config = tailored::Config { send, ..tailored::Config::new([nth; 16]) };
    tailored::layer(Named::<C>::new(values), config, nth.into())
}

#[test]
fn the_longest_message_is_told_before_it_is_sent() {
    bounds("connection", of_xtp::<Connection>);
    bounds("transaction", of_xtp::<Transaction>);
    bounds("acknowledged", of_xtp::<AcknowledgedDatagram>);
    bounds("any order", of_tailored::<AnyOrder<M>>);
    bounds("in order", of_tailored::<InOrder<M>>);
    bounds("selective", of_tailored::<Selective<M>>);
    bounds("whole window", of_tailored::<WholeWindow<M>>);
}
