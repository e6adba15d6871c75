//! Many tasks on one endpoint, in one thread: whoever awaits runs the stack.

use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread::{self, JoinHandle};

use crate::common::{ANY, listening, pair, plain, run, with};
use stackwright_contract::services::{Credit, Ended, MessageProperties};
use stackwright_endpoint::{Association, Config, Endpoint, Error, System, blocking};
use stackwright_wire::{BufferTree, Message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{LocalSet, spawn_local, unconstrained};

use crate::placement::{Artp, IN_SERVER};

/// Gives back whatever comes, until the peer has closed.
async fn echo(association: Association<Artp>) {
    while let Ok((octets, properties)) = association.receive().await {
        association.send_with(&octets, properties).await.unwrap();
    }
}

/// Polls it once, however long this task has run.
async fn once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    unconstrained(poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx)))).await
}

/// A client in a thread of its own, which sends what it is told to, and closes when told nothing
/// more.
fn elsewhere(place: SocketAddr) -> (mpsc::Sender<Vec<u8>>, JoinHandle<()>) {
    let (tell, told) = mpsc::channel::<Vec<u8>>();
    let client = thread::spawn(move || {
        let client = blocking::Endpoint::new(Config::default(), plain).unwrap();
        let association = client.connect(place).unwrap();
        for octets in told {
            association.send(&octets).unwrap();
        }
        association.close().unwrap();
    });
    (tell, client)
}

async fn questions_and_answers() {
    let config = Config { arrivals_most: 50, ..Config::default() };
    let server = listening(config, plain).await;
    let client = Rc::new(Endpoint::new(config, plain).unwrap());
    let place = server.local().unwrap();
    let serves = spawn_local(async move {
        loop {
            spawn_local(echo(server.accept().await.unwrap()));
        }
    });
    let asks = (0..50_u32).map(|number| {
        let client = Rc::clone(&client);
        spawn_local(async move {
            let association = client.connect(place).await.unwrap();
            for count in 0..20_u32 {
                let question = [number, count].map(u32::to_be_bytes).concat();
                association.send(&question).await.unwrap();
                assert_eq!(
                    association.receive().await.unwrap().0,
                    question,
                    "nobody else's answer"
                );
            }
            association.close().await.unwrap();
        })
    });
    for ask in asks.collect::<Vec<_>>() {
        ask.await.unwrap();
    }
    serves.abort();
}

#[test]
fn each_task_is_woken_when_something_comes_for_it() {
    run(questions_and_answers());
}

#[test]
fn the_runtime_may_have_several_threads() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build().unwrap();
    runtime.block_on(LocalSet::new().run_until(questions_and_answers()));
}

/// Two clients elsewhere, and their associations here.
async fn two_guests(
    server: &Endpoint<Artp>,
) -> [(Association<Artp>, mpsc::Sender<Vec<u8>>, JoinHandle<()>); 2] {
    let mut guests = Vec::new();
    for _ in 0..2 {
        let (tell, client) = elsewhere(server.local().unwrap());
        guests.push((server.accept().await.unwrap(), tell, client));
    }
    guests.try_into().ok().unwrap()
}

#[test]
fn when_the_task_that_waited_is_gone_another_runs_the_stack() {
    run(async {
        let server = listening(Config::default(), plain).await;
        for gone in 0..2 {
            let mut waiting = Vec::new();
            let [one, other] = two_guests(&server).await;
            for (association, tell, client) in [one, other] {
                let waits = spawn_local(async move { association.receive().await.unwrap().0 });
                tokio::task::yield_now().await; // now it waits
                waiting.push((waits, tell, client));
            }
            let (first, _, _) = waiting.remove(gone);
            first.abort();
            assert!(first.await.unwrap_err().is_cancelled());
            let (other, tell, _) = waiting.remove(0);
            tell.send(b"for the other".to_vec()).unwrap();
            assert_eq!(other.await.unwrap(), b"for the other");
        }
    });
}

#[test]
fn a_future_that_is_held_and_not_polled_keeps_nobody_waiting() {
    run(async {
        let server = listening(Config::default(), plain).await;
        // A client goes whom nobody can tell anything any more.
        let [(one, _told, _), (other, tell, _)] = two_guests(&server).await;
        let mut held = pin!(one.receive());
        let waits = spawn_local(async move { other.receive().await.unwrap().0 });
        tokio::task::yield_now().await;
        assert!(once(held.as_mut()).await.is_pending(), "it waits, last of all");
        tell.send(b"for the other".to_vec()).unwrap();
        assert_eq!(waits.await.unwrap(), b"for the other");
    });
}

#[test]
fn who_does_something_else_lets_the_stack_run() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let stack = spawn_local(server.run());
        let (tell, client) = elsewhere(server.local().unwrap());
        tell.send(b"one word".to_vec()).unwrap();
        drop(tell);
        let guest = server.accept().await.unwrap();
        // Closing takes answers of ours, though nobody awaits anything of the endpoint.
        tokio::task::spawn_blocking(|| client.join()).await.unwrap().unwrap();
        assert_eq!(guest.receive().await.unwrap().0, b"one word");
        assert!(guest.receive().await.is_err_and(|error| error.is_finished()));
        drop((guest, server));
        stack.await.unwrap().unwrap();
    });
}

#[test]
fn sending_and_receiving_may_be_awaited_at_once() {
    run(async {
        let credit = Credit { octets: 16 << 10, messages: 16 };
        let (endpoints, [one, other]) = pair(Config { credit, ..Config::default() }, plain).await;
        // Who is done first awaits nothing, and the other still waits for what was lost.
        endpoints.iter().for_each(|endpoint| drop(spawn_local(endpoint.run())));
        let all = async |association: &Association<Artp>| {
            let sends = async {
                for number in 0..500_u32 {
                    association.send(&[number.to_be_bytes(); 250].concat()).await.unwrap();
                }
            };
            let receives = async {
                let mut numbers = Vec::new();
                for _ in 0..500 {
                    let (octets, _) = association.receive().await.unwrap();
                    numbers.push(u32::from_be_bytes(*octets.first_chunk().unwrap()));
                }
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..500));
            };
            tokio::join!(sends, receives);
        };
        tokio::join!(all(&one), all(&other));
        assert!(one.statistics().opened.is_some());
        assert_eq!(one.statistics().sent, Credit { octets: 500_000, messages: 500 });
        assert_eq!(other.statistics().received, one.statistics().sent);
    });
}

#[test]
fn who_does_not_receive_stops_who_sends_and_nothing_is_lost() {
    run(async {
        let credit = Credit { octets: 64 << 10, messages: 64 };
        let ([client, _server], [one, other]) =
            pair(Config { credit, ..Config::default() }, plain).await;
        let mut sent = 0_u32;
        let kept = loop {
            let message = BufferTree::with_headroom(128, &[sent.to_be_bytes(); 1000].concat());
            let mut sending = one.send_message(message, MessageProperties::default());
            // Nobody receives: where it is not over after all this, there is no room.
            let Poll::Ready(taken) = once(pin!(&mut sending)).await else {
                break sending.into_message().unwrap();
            };
            taken.unwrap();
            sent += 1;
        };
        assert_eq!(kept.len(), 4000, "it is given back as it was");
        assert!(
            other.statistics().received.messages <= 64,
            "no more is held than there is room for"
        );
        // When the last one is handed over, nobody waits for anything of the client any more.
        spawn_local(client.run());
        let (numbers, last) = tokio::join!(
            async {
                let mut numbers = Vec::new();
                for _ in 0..=sent {
                    let (octets, _) = other.receive().await.unwrap();
                    numbers.push(u32::from_be_bytes(*octets.first_chunk().unwrap()));
                }
                numbers.sort_unstable();
                numbers
            },
            one.send_message(kept, MessageProperties::default())
        );
        last.unwrap();
        assert!(numbers.into_iter().eq(0..=sent));
    });
}

#[test]
fn what_is_not_there_is_said() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let taken = Endpoint::bind(server.local().unwrap(), Config::default(), plain).await;
        assert!(matches!(taken, Err(Error::Ended(Ended::Unavailable))));
        let client = Endpoint::new(Config::default(), plain).unwrap();
        assert!(matches!(client.accept().await, Err(Error::Ended(Ended::Unlistened))));
        let nobody: std::net::SocketAddr = "127.0.0.1:9".parse().unwrap();
        assert!(matches!(client.connect(nobody).await, Err(Error::Ended(Ended::Unreachable))));
    });
    assert!(
        matches!(Endpoint::new(Config::default(), plain), Err(Error::System(_))),
        "there is no runtime"
    );
}

#[test]
fn where_a_listener_was_dropped_nobody_arrives_any_more() {
    run(async {
        let impatient = with(|config| (config.tries, config.timeout_first) = (2, 10_000_000));
        let ([client, server], _associations) = pair(Config::default(), &impatient).await;
        let place = server.local().unwrap();
        drop(server);
        let mut moments = if IN_SERVER { 100 } else { 1 };
        while client.connect(place).await.is_ok() {
            moments -= 1;
            assert!(moments > 0, "somebody still arrives");
        }
        assert!(IN_SERVER || client.totals().associations == 1, "those who are there stay");
    });
}

#[test]
fn streams_speak_with_the_kernels() {
    run(async {
        let server = Endpoint::bind(
            ANY.parse::<std::net::SocketAddr>().unwrap(),
            Config::default(),
            System::tcp::<BufferTree>,
        )
        .await
        .unwrap();
        let place = server.local().unwrap();
        let sent: Vec<_> = (0..500_000_u32).flat_map(u32::to_be_bytes).collect();
        let expected = sent.clone();
        let client = thread::spawn(move || {
            let mut stream = TcpStream::connect(place).unwrap();
            let mut reader = stream.try_clone().unwrap();
            let reads = thread::spawn(move || {
                let mut came = Vec::new();
                reader.read_to_end(&mut came).map(|_| came)
            });
            stream.write_all(&sent).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            reads.join().unwrap().unwrap()
        });
        let stream = server.accept_stream().await.unwrap();
        let (mut reads, mut writes) = tokio::io::split(stream);
        tokio::io::copy(&mut reads, &mut writes).await.unwrap();
        writes.shutdown().await.unwrap();
        reads.unsplit(writes).close().await.unwrap();
        assert!(client.join().unwrap() == expected, "what was sent came back");
    });
}

#[test]
fn a_stream_that_is_dropped_is_reset_and_never_looks_finished() {
    run(async {
        let listener = TcpListener::bind(ANY).unwrap();
        let client = Endpoint::new(Config::default(), System::tcp::<BufferTree>).unwrap();
        let mut stream = client.connect_stream(listener.local_addr().unwrap()).await.unwrap();
        stream.write_all(b"half of it").await.unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        drop(stream);
        let mut came = Vec::new();
        assert_eq!(peer.read_to_end(&mut came).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(client.totals().associations, 0);
    });
}

#[test]
fn a_peer_who_resets_is_an_error_and_no_end() {
    run(async {
        let server = Endpoint::bind(
            ANY.parse::<std::net::SocketAddr>().unwrap(),
            Config::default(),
            System::tcp::<BufferTree>,
        )
        .await
        .unwrap();
        let peer = TcpStream::connect(server.local().unwrap()).unwrap();
        let mut stream = server.accept_stream().await.unwrap();
        rustix::net::sockopt::set_socket_linger(&peer, Some(std::time::Duration::ZERO)).unwrap();
        drop(peer);
        let read = stream.read(&mut [0; 10]).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}
