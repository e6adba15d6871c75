//! What an association may be asked, over a stack, over a graph of the same parts, and over TCP.

use std::io::Write as _;
use std::time::Duration;

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_compose::filter::{Counter, Tap};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_contract::ask::{Counters, FrameTime, Longest, PathStatistics, Peer, RoundTrip};
use stackwright_contract::services::{Datagrams, MessageProperties};
use stackwright_drivers::Readiness;
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::udp::{LONGEST, Udp};
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Stack, System};
use stackwright_wire::BufferTree;

type M = BufferTree;

const MESSAGE: usize = 10_000;

fn layer(system: &System) -> artp::Layer<M> {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    artp::layer(config, system.seed())
}

fn stack(system: &System) -> Over<artp::Layer<M>, Udp<M>> {
    Over::new(layer(system), system.udp())
}

/// The same as a graph, with two modules on the way of every word.
fn graph(system: &System) -> Graph<M, Readiness, Datagrams<M>> {
    let builder = Builder::new().top("artp").protocol("artp", layer(system)).over("udp");
    let mut graph = builder.protocol("udp", system.udp()).build().expect("they fit");
    graph
        .push("artp", "udp", "counter", Inserted(Counter::default()))
        .expect("they are neighbours");
    graph.push("artp", "counter", "tap", Inserted(Tap::new(|_| {}))).expect("they are neighbours");
    graph
}

/// An endpoint that is connected with itself.
fn pair<S: Stack<Message = M>>(
    make: impl FnOnce(&System) -> S,
) -> (Endpoint<S>, [Association<S>; 2]) {
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    let endpoint = Endpoint::bind(any, Config::default(), make).unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let other = endpoint.accept().unwrap();
    (endpoint, [one, other])
}

/// Exchanges messages that are written where they leave from, and asks both sides.
fn answers<S: Stack<Message = M>>(make: impl FnOnce(&System) -> S) {
    let (endpoint, [one, other]) = pair(make);
    for number in 0..20 {
        let mut buffer = one.reserve(MESSAGE, 1);
        assert!(buffer.is_gapped(), "the layer that cuts it has laid it out");
        buffer.write_all(&[number; MESSAGE]).unwrap();
        one.commit(buffer, MessageProperties::default()).unwrap();
        assert_eq!(other.receive().unwrap().0, [number; MESSAGE]);
        other.send(b"well").unwrap();
        assert_eq!(one.receive().unwrap().0, b"well");
    }
    let longest = one.ask(Longest).expect("ARTP knows it");
    assert!(longest >= 1 << 20, "{longest}");
    assert!(one.send(&vec![1; 60_000]).is_ok());
    let round_trip = one.ask(RoundTrip).expect("it was measured");
    let path = one.ask(PathStatistics).expect("a transport knows its path");
    assert_eq!(path.round_trip, Some(round_trip));
    assert!(path.least.is_some_and(|least| least <= round_trip), "{path:?}");
    assert!(path.window.is_some_and(|window| window >= 1200), "{path:?}");
    assert!(path.timeout.is_some_and(|timeout| timeout > round_trip), "{path:?}");
    assert!(round_trip > Duration::ZERO && round_trip < Duration::from_secs(1), "{round_trip:?}");
    assert_eq!(one.ask(Peer).and_then(|peer| peer.internet()), endpoint.local());
    assert_eq!(other.ask(Peer).and_then(|peer| peer.internet()), one.local());
    let [here, there] =
        [&one, &other].map(|side| side.ask(Counters).expect("ARTP counts its packets"));
    // Twenty messages of several packets each, and what acknowledges them.
    assert!(here.sent > 20 * MESSAGE as u64 / 1500 && there.received > 20 * MESSAGE as u64 / 1500);
    assert!(there.received <= here.sent, "{here:?}, {there:?}");
    assert_eq!(one.ask(FrameTime), None, "UDP does not know the link");
}

#[test]
fn a_stack_answers() {
    answers(stack);
}

#[test]
fn a_graph_with_modules_answers_the_same() {
    answers(graph);
}

#[test]
fn udp_alone_knows_what_it_carries_and_no_more() {
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    let endpoint = Endpoint::bind(any, Config::default(), System::udp::<M>).unwrap();
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    one.send(b"hello").unwrap();
    assert_eq!(endpoint.accept().unwrap().receive().unwrap().0, b"hello");
    assert_eq!(one.ask(Longest), Some(LONGEST));
    assert_eq!(one.ask(Peer).and_then(|peer| peer.internet()), endpoint.local());
    assert_eq!((one.ask(RoundTrip), one.ask(Counters)), (None, None));
    assert!(!one.reserve(MESSAGE, 1).is_gapped());
}

#[test]
fn what_is_over_is_not_known() {
    let (_endpoint, [one, other]) = pair(stack);
    other.close().unwrap();
    assert!(one.receive().is_err(), "the peer has closed");
    assert_eq!((one.ask(Peer), one.ask(Longest)), (None, None));
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "current_thread")]
async fn a_task_asks_the_kernels_tcp() {
    use stackwright_contract::ask::Reserve;
    use std::io::Read as _;
    use tokio::io::AsyncWriteExt as _;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let reads = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets).unwrap();
        octets.len()
    });
    let client =
        stackwright_endpoint::Endpoint::<Tcp<M>>::new(Config::default(), System::tcp::<M>).unwrap();
    let mut stream = client.connect_stream(place).await.unwrap();
    stream.write_all(&[7; 100_000]).await.unwrap();
    assert_eq!(stream.ask(Peer).and_then(|peer| peer.internet()), Some(place));
    assert_eq!(stream.ask(Longest), Some(usize::MAX), "a stream has no messages");
    let round_trip = stream.ask(RoundTrip).expect("the handshake was measured");
    assert!(round_trip > Duration::ZERO && round_trip < Duration::from_secs(1), "{round_trip:?}");
    assert!(stream.ask(Reserve::<M>::new(10, 1)).is_none(), "any buffer will do");
    stream.shutdown().await.unwrap();
    assert_eq!(reads.join().unwrap(), 100_000);
}
