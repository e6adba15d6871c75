//! One endpoint whose handles are used by tasks on several threads.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{ANY, Artp, plain};
use stackwright_compose::Over;
use stackwright_contract::services::Credit;
use stackwright_drivers::{tcp::Tcp, udp::Udp};
use stackwright_endpoint::multi_thread::{Association, Endpoint, SendFuture, Stream};
use stackwright_endpoint::{Config, Error, System};
use stackwright_ordered::Ordered;
use stackwright_wire::{BufferTree, SingleBuffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;
use tokio::time::timeout;

type Ordering = Over<Ordered<BufferTree>, Artp>;

const fn is_shared<T: Send + Sync>() {}
const _: () = {
    is_shared::<Endpoint<Artp>>();
    is_shared::<Association<Artp>>();
    is_shared::<Stream<Ordering>>();
    is_shared::<SendFuture<'static, Artp>>();
    is_shared::<Endpoint<Udp<SingleBuffer>>>();
    is_shared::<Stream<Tcp<BufferTree>>>();
};

/// Runs a test on a runtime of four threads, and fails if it takes too long: a task that is never
/// woken would wait without an end.
fn run(test: impl Future<Output = ()> + Send + 'static) {
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let test = tokio::spawn(test);
        timeout(Duration::from_secs(60), test).await.expect("a task was not woken").unwrap();
    });
}

async fn listening(config: Config) -> (Endpoint<Artp>, SocketAddr) {
    let any: SocketAddr = ANY.parse().unwrap();
    let endpoint = Endpoint::bind(any, config, plain).await.unwrap();
    let place = endpoint.local().unwrap();
    (endpoint, place)
}

/// Gives back whatever comes, until the peer has closed.
async fn echo(association: Association<Artp>) {
    while let Ok((octets, properties)) = association.receive().await {
        association.send_with(&octets, properties).await.unwrap();
    }
}

/// Serves every client in a task of its own.
fn serve(server: Endpoint<Artp>) {
    tokio::spawn(async move {
        loop {
            tokio::spawn(echo(server.accept().await.unwrap()));
        }
    });
}

/// Two associations that are connected, and their endpoints.
async fn pair(config: Config) -> ([Endpoint<Artp>; 2], [Association<Artp>; 2]) {
    let (server, place) = listening(config).await;
    let client = Endpoint::new(config, plain).unwrap();
    let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
    ([client, server], [one, other])
}

#[test]
fn a_hundred_tasks_ask_and_each_has_its_own_answers() {
    run(async {
        let config = Config { arrivals_most: 100, ..Config::default() };
        let (server, place) = listening(config).await;
        serve(server);
        let client = Arc::new(Endpoint::new(config, plain).unwrap());
        let asks = (0..100_u32).map(|number| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let association = client.connect(place).await.unwrap();
                for count in 0..50_u32 {
                    let question = [number, count].map(u32::to_be_bytes).concat();
                    association.send(&question).await.unwrap();
                    assert_eq!(association.receive().await.unwrap().0, question);
                }
                association.close().await.unwrap();
            })
        });
        for ask in asks.collect::<Vec<_>>() {
            ask.await.unwrap();
        }
        assert_eq!(client.totals().associations, 0);
    });
}

#[test]
fn tasks_send_and_receive_on_one_association_at_once() {
    run(async {
        // So little that senders wait for it, and take it from each other.
        let credit = Credit { octets: 16 << 10, messages: 16 };
        let (_endpoints, [one, other]) = pair(Config { credit, ..Config::default() }).await;
        let (one, other) = (Arc::new(one), Arc::new(other));
        let sends = (0..4_u32).map(|sender| {
            let one = Arc::clone(&one);
            tokio::spawn(async move {
                for number in 0..500 {
                    one.send(&[(sender * 500 + number).to_be_bytes(); 200].concat()).await.unwrap();
                }
            })
        });
        let receives = (0..2).map(|_| {
            let other = Arc::clone(&other);
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                for _ in 0..1000 {
                    let (octets, _) = other.receive().await.unwrap();
                    numbers.push(u32::from_be_bytes(*octets.first_chunk().unwrap()));
                }
                numbers
            })
        });
        let (sends, receives): (Vec<_>, Vec<_>) = (sends.collect(), receives.collect());
        for send in sends {
            send.await.unwrap();
        }
        let mut numbers = Vec::new();
        for receive in receives {
            numbers.extend(receive.await.unwrap());
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..2000), "each arrived once");
    });
}

#[test]
fn what_is_dropped_on_another_thread_is_closed() {
    run(async {
        let ([client, server], [one, other]) = pair(Config::default()).await;
        let waits = tokio::spawn(async move { other.receive().await });
        thread::spawn(move || drop(one)).join().unwrap();
        assert!(waits.await.unwrap().is_err_and(|error| error.is_finished()));
        // The last handle of an endpoint, while its stack is run by another thread.
        let place = server.local().unwrap();
        thread::spawn(move || drop((client, server))).join().unwrap();
        let any_again = Endpoint::bind(place, Config::default(), plain);
        timeout(Duration::from_secs(5), any_again).await.unwrap().expect("the address is free");
    });
}

#[test]
fn a_task_that_is_aborted_loses_nothing_and_holds_up_no_other() {
    run(async {
        let (_endpoints, [one, other]) = pair(Config::default()).await;
        let other = Arc::new(other);
        let mut numbers = Vec::new();
        for number in 0..200_u32 {
            let waits = {
                let other = Arc::clone(&other);
                tokio::spawn(async move { other.receive().await.unwrap().0 })
            };
            if number % 3 == 0 {
                tokio::task::yield_now().await;
            }
            let sends = async { one.send(&number.to_be_bytes()).await.unwrap() };
            let ((), ()) = tokio::join!(sends, async { waits.abort() });
            // Either the task has received it, or it is there for the next one.
            let octets = match waits.await {
                Ok(octets) => octets,
                Err(_aborted) => other.receive().await.unwrap().0,
            };
            numbers.push(u32::from_be_bytes(*octets.first_chunk().unwrap()));
        }
        assert!(numbers.into_iter().eq(0..200));
    });
}

#[test]
fn a_future_that_is_held_and_not_polled_keeps_nobody_waiting() {
    run(async {
        let (_endpoints, [one, other]) = pair(Config::default()).await;
        let (_endpoints, [idle, _peer]) = pair(Config::default()).await;
        {
            let mut held = pin!(idle.receive());
            assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            one.send(b"hello").await.unwrap();
            assert_eq!(other.receive().await.unwrap().0, b"hello");
        }
    });
}

#[test]
fn the_endpoint_answers_peers_while_no_task_awaits_anything_of_it() {
    run(async {
        let (_server, place) = listening(Config::default()).await;
        let client = Endpoint::new(Config::default(), plain).unwrap();
        // The server accepts nothing, and the client sends and closes.
        let association = client.connect(place).await.unwrap();
        association.send(b"hello").await.unwrap();
        association.close().await.unwrap();
    });
}

#[test]
fn streams_are_read_and_written_by_two_tasks() {
    run(async {
        let stack = |system: &System| Over::new(Ordered::default(), plain(system));
        let any: SocketAddr = ANY.parse().unwrap();
        let server = Endpoint::bind(any, Config::default(), stack).await.unwrap();
        let client = Endpoint::new(Config::default(), stack).unwrap();
        let place = server.local().unwrap();
        let serves = tokio::spawn(async move {
            let (mut reads, mut writes) = tokio::io::split(server.accept_stream().await.unwrap());
            tokio::io::copy(&mut reads, &mut writes).await.unwrap();
            writes.shutdown().await.unwrap();
            server // until the client has all of it
        });
        let sent: Vec<u8> = (0..500_000_u32).flat_map(u32::to_be_bytes).collect();
        let expected = sent.clone();
        let stream = client.connect_stream(place).await.unwrap();
        let (mut reads, mut writes) = tokio::io::split(stream);
        let writes = tokio::spawn(async move {
            writes.write_all(&sent).await.unwrap();
            writes.shutdown().await.unwrap();
        });
        let mut came = Vec::new();
        reads.read_to_end(&mut came).await.unwrap();
        assert!(came == expected, "what was sent came back");
        writes.await.unwrap();
        serves.await.unwrap();
    });
}

#[test]
fn without_a_runtime_it_says_so() {
    assert!(matches!(Endpoint::new(Config::default(), plain), Err(Error::System(_))));
}
