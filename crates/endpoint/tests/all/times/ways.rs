//! Somebody in the middle.

use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use stackwright_artp as artp;
use stackwright_endpoint::{Config, Endpoint};
use tokio::task::spawn_local;

use crate::common::{ANY, listening, plain, run, with};
use crate::times::{MILLISECOND, exchange};

/// Somebody in the middle whose sockets hold two packets, and who is slow.
fn narrow(server: SocketAddr) -> SocketAddr {
    let front = UdpSocket::bind(ANY).unwrap();
    let back = UdpSocket::bind(ANY).unwrap();
    back.connect(server).unwrap();
    for socket in [&front, &back] {
        rustix::net::sockopt::set_socket_recv_buffer_size(socket, 4 << 10).unwrap();
    }
    let place = front.local_addr().unwrap();
    let (front_too, back_too) = (front.try_clone().unwrap(), back.try_clone().unwrap());
    thread::spawn(move || {
        let mut packet = [0; 2048];
        let mut answering = false;
        while let Ok((octets, client)) = front.recv_from(&mut packet) {
            if !mem::replace(&mut answering, true) {
                let (front, back) = (front_too.try_clone().unwrap(), back_too.try_clone().unwrap());
                thread::spawn(move || {
                    let mut packet = [0; 2048];
                    while let Ok(octets) = back.recv(&mut packet) {
                        let _ = front.send_to(&packet[..octets], client);
                    }
                });
            }
            let _ = back.send(&packet[..octets]);
        }
    });
    place
}

#[test]
fn where_a_sockets_buffer_is_tiny_everything_comes() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let client = Endpoint::new(Config::default(), plain).unwrap();
        let place = narrow(server.local().unwrap());
        let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
        exchange(one, other, 2000).await;
    });
}

/// Somebody in the middle who drops datagrams that are longer than `most`, and says nothing; and
/// the longest that he let pass.
fn short(server: SocketAddr, most: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let longest = Arc::<AtomicUsize>::default();
    let let_pass = Arc::clone(&longest);
    let place = relay(server, move |octets| {
        octets <= most && let_pass.fetch_max(octets, Ordering::Relaxed) <= most
    });
    (place, longest)
}

/// Somebody in the middle who lets datagrams of so many octets pass, or not, and says nothing.
fn relay(
    server: SocketAddr,
    passes: impl Fn(usize) -> bool + Clone + Send + 'static,
) -> SocketAddr {
    let front = UdpSocket::bind(ANY).unwrap();
    let back = UdpSocket::bind(ANY).unwrap();
    back.connect(server).unwrap();
    let place = front.local_addr().unwrap();
    let (front_too, back_too, passes_too) =
        (front.try_clone().unwrap(), back.try_clone().unwrap(), passes.clone());
    let (says, client) = mpsc::channel();
    thread::spawn(move || {
        let mut packet = [0; 2048];
        while let Ok((octets, client)) = front.recv_from(&mut packet) {
            let _ = says.send(client);
            if passes(octets) {
                let _ = back.send(&packet[..octets]);
            }
        }
    });
    thread::spawn(move || {
        let Ok(client) = client.recv() else { return };
        let mut packet = [0; 2048];
        while let Ok(octets) = back_too.recv(&mut packet) {
            if passes_too(octets) {
                let _ = front_too.send_to(&packet[..octets], client);
            }
        }
    });
    place
}

#[test]
fn a_way_that_silently_drops_long_packets_is_found_out_and_everything_comes() {
    for (most, expected) in [(1200, 1200), (1400, 1200), (1472, 1472)] {
        run(async {
            let long = |config: &mut artp::Config| {
                config.packet = 1472;
                // Soon short, where nobody answers; and it ends, were everything to be lost.
                (config.timeout_first, config.silence) = (200 * MILLISECOND, 5000 * MILLISECOND);
                config.keepalive = Some(1000 * MILLISECOND);
            };
            let server = listening(Config::default(), with(long)).await;
            let client = Endpoint::new(Config::default(), with(long)).unwrap();
            let (place, longest) = short(server.local().unwrap(), most);
            let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
            // Who has sent and awaits nothing hears what comes all the same.
            let _running = [client.run(), server.run()].map(spawn_local);
            for (from, to) in [(&one, &other), (&other, &one)] {
                from.send(&[1; 60_000]).await.unwrap();
                assert_eq!(to.receive().await.unwrap().0, [1; 60_000]);
            }
            exchange(one, other, 200).await;
            // Pieces are equally long: a few octets shorter than they might be.
            let longest = longest.load(Ordering::Relaxed);
            assert!((expected - 40..=expected).contains(&longest), "{longest} of {expected}");
        });
    }
}

#[test]
fn a_way_that_begins_to_drop_long_packets_silently_is_found_out_and_everything_comes() {
    run(async {
        let long = |config: &mut artp::Config| {
            config.packet = 1472;
            // Timeouts are at most a twelfth of it.
            config.silence = 10_000 * MILLISECOND;
            config.keepalive = Some(1000 * MILLISECOND);
        };
        let server = listening(Config::default(), with(long)).await;
        let client = Endpoint::new(Config::default(), with(long)).unwrap();
        let [passed, longest] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
        let (passed_too, longest_too) = (Arc::clone(&passed), Arc::clone(&longest));
        let place = relay(server.local().unwrap(), move |octets| {
            let narrow = passed_too.fetch_add(1, Ordering::Relaxed) >= 500;
            let passes = !narrow || octets <= 1250;
            if passes {
                longest_too.fetch_max(octets, Ordering::Relaxed);
            }
            passes
        });
        let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
        let _running = [client.run(), server.run()].map(spawn_local);
        // Of a datagram like this, most is on its way at a time.
        let datagram =
            |number: u8| -> Vec<u8> { (0..60_000_u32).map(|at| (at / 7) as u8 ^ number).collect() };
        for number in 0..20 {
            for (from, to) in [(&one, &other), (&other, &one)] {
                from.send(&datagram(number)).await.unwrap();
                assert!(
                    to.receive().await.unwrap().0 == datagram(number),
                    "{number} comes as it was sent"
                );
            }
            if number == 0 {
                assert!(longest.load(Ordering::Relaxed) > 1400, "long ones pass first");
            }
        }
        assert!(passed.load(Ordering::Relaxed) > 500, "it becomes narrow");
        exchange(one, other, 200).await;
    });
}
