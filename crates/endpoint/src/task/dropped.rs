//! Every future is dropped at every point where it waits: nothing is lost, doubled or left behind.
//!
//! Each test polls a future n times and drops it, for n = 0, 1, 2 … until it is over within n
//! polls.

mod messages;
mod octets;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::Credit;
use stackwright_drivers::udp::Udp;
use stackwright_ordered::Ordered;
use stackwright_wire::BufferTree;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use crate::Endpoint;
use crate::flavor::Lock as _;
use crate::shared::StackAny;
use crate::{Config, Error, System};

type M = BufferTree;
type Artp = Over<artp::Layer<M>, Udp<M>>;
type Stacked = Over<Ordered<M>, Artp>;

/// So little room that it is soon full.
const ROOM: Credit = Credit { octets: 16 << 10, messages: 16 };
const CONFIG: Config =
    Config { credit: ROOM, arrivals_most: 4, spin: Duration::ZERO, shared_port: false };

fn artp(system: &System) -> Artp {
    let config = artp::Config {
        epoch: system.epoch(),
        send: ROOM,
        window: 64,
        gather: 1_000_000,
        // After so long a server forgets whom it never heard again.
        silence: 2_000_000_000,
        timeout_first: 200_000_000,
        tries: 4,
        ..artp::Config::new(system.secret())
    };
    Over::new(artp::layer(config, system.seed()), system.udp())
}

fn stacked(system: &System) -> Stacked {
    Over::new(Ordered::default(), artp(system))
}

/// Runs a test in a task, and every future of its endpoints with it.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(test));
}

/// What comes of `future` within so many polls.
async fn polled<F: Future>(future: F, mut polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        match future.as_mut().poll(cx) {
            Poll::Pending if polls == 0 => Poll::Ready(None),
            poll => poll.map(Some),
        }
    })
    .await
}

/// Tries n = 0, 1, 2 … until `scenario` says that the future was over. It waited `waits` times at
/// least.
async fn each(waits: usize, mut scenario: impl AsyncFnMut(usize) -> bool) {
    let mut polls = 0;
    while !scenario(polls).await {
        polls += 1;
    }
    assert!(polls > waits, "{polls} polls, and nothing was waited for");
}

/// A server that runs by itself, and a client.
struct Scene<S: StackAny> {
    server: Rc<Endpoint<S>>,
    client: Rc<Endpoint<S>>,
    place: SocketAddr,
    runs: [JoinHandle<Result<(), Error>>; 2],
}

impl<S: StackAny + 'static> Scene<S> {
    async fn new(make: impl Fn(&System) -> S) -> Self {
        let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        let server = Rc::new(Endpoint::bind(any, CONFIG, &make).await.unwrap());
        let client = Rc::new(Endpoint::new(CONFIG, &make).unwrap());
        let place = server.local().unwrap();
        let runs = [spawn_local(server.run()), spawn_local(client.run())];
        Scene { server, client, place, runs }
    }

    /// All is given back: names, places in the alarm (but that of the run), and what is asked.
    async fn ends(self) {
        let listener_and_awaited = 1 + CONFIG.arrivals_most;
        for (endpoint, names) in [(&self.server, listener_and_awaited), (&self.client, 0)] {
            until(|| endpoint.host.shared.lock().mailbox.names.len() == names).await;
            until(|| endpoint.watch.alarm.len() == 1).await;
            assert_eq!(endpoint.totals().associations, 0);
        }
        drop((self.server, self.client));
        for run in self.runs {
            run.await.unwrap().unwrap();
        }
    }
}

/// Waits for something that is sure to come while the stacks run.
async fn until(mut comes: impl FnMut() -> bool) {
    while !comes() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn bind() {
    run(each(0, async |polls| {
        let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        let place = Endpoint::bind(any, CONFIG, artp).await.unwrap().local().unwrap();
        let bound = polled(Endpoint::bind(place, CONFIG, artp), polls).await;
        let over = bound.map(Result::unwrap).is_some();
        // Whether it was over or not: the address is free again.
        Endpoint::bind(place, CONFIG, artp).await.unwrap();
        over
    }));
}

#[test]
fn run_is_taken_over() {
    run(async {
        // It is never over: dropped at any point, another runs the stack.
        for polls in 0..5 {
            let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
            let server = Endpoint::bind(any, CONFIG, artp).await.unwrap();
            let client = Endpoint::new(CONFIG, artp).unwrap();
            let runs =
                async { (polled(server.run(), polls).await, polled(client.run(), polls).await) };
            let connects = client.connect(server.local().unwrap());
            let ((of_server, of_client), one, other) =
                tokio::join!(runs, connects, server.accept());
            assert!(of_server.is_none() && of_client.is_none());
            one.unwrap().send(b"hello").await.unwrap();
            assert_eq!(other.unwrap().receive().await.unwrap().0, b"hello");
            assert_eq!((server.watch.alarm.len(), client.watch.alarm.len()), (0, 0));
        }
    });
}
