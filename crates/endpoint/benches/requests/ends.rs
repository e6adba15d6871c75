//! Ends that call: the kernel's sockets, and endpoints.

use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use stackwright_contract::services::MessageProperties;
use stackwright_endpoint::{Config, Endpoint, Flavor, Stack, System, blocking, multi_thread, task};
use stackwright_wire::Message;

use crate::{EXCHANGES, LAST, SIZE, timed};

const ANY: &str = "127.0.0.1:0";

pub(crate) fn sockets_answer(say: Sender<SocketAddr>) {
    let socket = UdpSocket::bind(ANY).unwrap();
    say.send(socket.local_addr().unwrap()).unwrap();
    let mut octets = [0; SIZE];
    loop {
        let (length, from) = socket.recv_from(&mut octets).unwrap();
        if octets[0] == LAST {
            return;
        }
        socket.send_to(&octets[..length], from).unwrap();
    }
}

pub(crate) fn sockets_ask(to: SocketAddr, took: &mut Vec<Duration>) {
    let socket = UdpSocket::bind(ANY).unwrap();
    socket.connect(to).unwrap();
    let mut octets = [0; SIZE];
    timed(took, || {
        socket.send(&[0; SIZE]).unwrap();
        assert_eq!(socket.recv(&mut octets).unwrap(), SIZE);
    });
    socket.send(&[LAST; SIZE]).unwrap();
}

/// A message that is made without asking for memory twice.
fn message<M: Message>(first: u8) -> M {
    M::with_headroom(128, &[first; SIZE])
}

fn is_last<M: Message>(message: &mut M) -> bool {
    message.front(1).is_some_and(|octets| octets[0] == LAST)
}

pub(crate) fn answer<S: Stack>(make: fn(&System) -> S, say: Sender<SocketAddr>) {
    let endpoint = blocking::Endpoint::bind(
        ANY.parse::<std::net::SocketAddr>().unwrap(),
        Config::default(),
        make,
    )
    .unwrap();
    say.send(endpoint.local().unwrap()).unwrap();
    let association = endpoint.accept().unwrap();
    loop {
        let (mut message, _) = association.receive_message().unwrap();
        if is_last(&mut message) {
            return;
        }
        association
            .send_message(message, MessageProperties::default())
            .unwrap_or_else(|refused| panic!("{}", refused.why));
    }
}

pub(crate) fn ask<S: Stack>(make: fn(&System) -> S, to: SocketAddr, took: &mut Vec<Duration>) {
    let endpoint = blocking::Endpoint::new(Config::default(), make).unwrap();
    let association = endpoint.connect(to).unwrap();
    let send = |first| {
        let sent = association.send_message(message(first), MessageProperties::default());
        sent.unwrap_or_else(|refused| panic!("{}", refused.why));
    };
    timed(took, || {
        send(0);
        assert_eq!(association.receive_message().unwrap().0.len(), SIZE);
    });
    send(LAST);
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn tokio_answers(say: Sender<SocketAddr>) {
    block_on(async {
        let socket = tokio::net::UdpSocket::bind(ANY).await.unwrap();
        say.send(socket.local_addr().unwrap()).unwrap();
        let mut octets = [0; SIZE];
        loop {
            let (length, from) = socket.recv_from(&mut octets).await.unwrap();
            if octets[0] == LAST {
                return;
            }
            socket.send_to(&octets[..length], from).await.unwrap();
        }
    });
}

pub(crate) fn tokio_asks(to: SocketAddr, took: &mut Vec<Duration>) {
    block_on(async {
        let socket = tokio::net::UdpSocket::bind(ANY).await.unwrap();
        socket.connect(to).await.unwrap();
        let mut octets = [0; SIZE];
        timed_awaited(took, async || {
            socket.send(&[0; SIZE]).await.unwrap();
            assert_eq!(socket.recv(&mut octets).await.unwrap(), SIZE);
        })
        .await;
        socket.send(&[LAST; SIZE]).await.unwrap();
    });
}

/// As [`timed`](crate::timed).
async fn timed_awaited(took: &mut Vec<Duration>, mut exchange: impl AsyncFnMut()) {
    for number in 0..100 + EXCHANGES {
        let begin = Instant::now();
        exchange().await;
        if number >= 100 {
            took.push(begin.elapsed());
        }
    }
}

async fn answers<S: Stack, F: Flavor>(endpoint: task::Endpoint<S, F>, say: Sender<SocketAddr>) {
    say.send(endpoint.local().unwrap()).unwrap();
    let association = endpoint.accept().await.unwrap();
    loop {
        let (mut message, _) = association.receive_message().await.unwrap();
        if is_last(&mut message) {
            return;
        }
        let sent = association.send_message(message, MessageProperties::default()).await;
        sent.unwrap_or_else(|refused| panic!("{}", refused.why));
    }
}

/// Returns how long each exchange took.
async fn asks<S: Stack, F: Flavor>(
    endpoint: task::Endpoint<S, F>,
    to: SocketAddr,
    mut took: Vec<Duration>,
) -> Vec<Duration> {
    let association = endpoint.connect(to).await.unwrap();
    let send = async |first| {
        let sent = association.send_message(message(first), MessageProperties::default()).await;
        sent.unwrap_or_else(|refused| panic!("{}", refused.why));
    };
    for number in 0..100 + EXCHANGES {
        let begin = Instant::now();
        send(0).await;
        assert_eq!(association.receive_message().await.unwrap().0.len(), SIZE);
        if number >= 100 {
            took.push(begin.elapsed());
        }
    }
    send(LAST).await;
    took
}

fn any() -> SocketAddr {
    ANY.parse().unwrap()
}

pub(crate) fn answer_awaited<S: Stack>(make: fn(&System) -> S, say: Sender<SocketAddr>) {
    block_on(async {
        answers(Endpoint::bind(any(), Config::default(), make).await.unwrap(), say).await;
    });
}

pub(crate) fn ask_awaited<S: Stack>(
    make: fn(&System) -> S,
    to: SocketAddr,
    took: &mut Vec<Duration>,
) {
    block_on(async {
        let endpoint = Endpoint::new(Config::default(), make).unwrap();
        *took = asks(endpoint, to, mem::take(took)).await;
    });
}

/// Awaits `future` in a task of a runtime of two threads.
fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.unwrap();
    threads.block_on(async { tokio::spawn(future).await.unwrap() })
}

pub(crate) fn answer_spawned<S: Stack + Send + 'static>(
    make: fn(&System) -> S,
    say: Sender<SocketAddr>,
) {
    spawn(async move {
        let endpoint = multi_thread::Endpoint::bind(any(), Config::default(), make).await;
        answers(endpoint.unwrap(), say).await;
    });
}

pub(crate) fn ask_spawned<S: Stack + Send + 'static>(
    make: fn(&System) -> S,
    to: SocketAddr,
    took: &mut Vec<Duration>,
) {
    let before = mem::take(took);
    *took = spawn(async move {
        let endpoint = multi_thread::Endpoint::new(Config::default(), make).unwrap();
        asks(endpoint, to, before).await
    });
}
