//! Services over the kernel's UDP, on loopback: what each end is told when it is over.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use stackwright_compose::Over;
use stackwright_contract::services::{Datagrams, Ended};
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Error, System};
use stackwright_wire::BufferTree;
use stackwright_xtp::header::DiagnosticSegment;
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, Transaction, UnacknowledgedDatagram, XtpService,
};
use stackwright_xtp::{Layer, layer};

type M = BufferTree;
type Xtp<S> = Over<Layer<M, S>, Udp<M>>;

/// Services of messages.
trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

/// Less than any silence here ends, and more than the kernel or a peer needs to say something.
const SOON: Duration = Duration::from_secs(10);

fn stack<S: Service>(system: &System) -> Xtp<S> {
    let config = stackwright_xtp::Config::new(system.secret());
    Over::new(layer(config, system.seed()), system.udp())
}

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A client, associated with the server there.
fn connected<S: Service>(server: SocketAddr) -> (Endpoint<Xtp<S>>, Association<Xtp<S>>) {
    let mut endpoint = Endpoint::new(Config::default(), stack::<S>).expect("an endpoint");
    endpoint.set_timeout(Some(SOON));
    let mut association = endpoint.connect(server).expect("a context");
    association.set_timeout(Some(SOON));
    (endpoint, association)
}

/// A server that does this with the first context. Returns where it is, and its thread.
fn server<S: Service, T: Send + 'static>(
    does: impl FnOnce(Association<Xtp<S>>) -> T + Send + 'static,
) -> (SocketAddr, thread::JoinHandle<T>) {
    let (tell, told) = std::sync::mpsc::channel();
    let serves = thread::spawn(move || {
        let endpoint = Endpoint::bind(any(), Config::default(), stack::<S>).expect("an endpoint");
        tell.send(endpoint.local().expect("an address")).expect("a test");
        let done = does(endpoint.accept().expect("a context"));
        // What was said last may have to be said again.
        thread::sleep(Duration::from_millis(200));
        done
    });
    (told.recv().expect("a server"), serves)
}

/// Why a context ended.
fn end<S: Service>(association: &Association<Xtp<S>>) -> Ended {
    match association.receive() {
        Err(Error::Ended(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The kernel says that nobody is at the port (ICMP), and it is over in one round trip.
fn where_nobody_is<S: Service>() {
    let socket = UdpSocket::bind(any()).expect("a socket");
    let free = socket.local_addr().expect("an address");
    drop(socket);
    let (_endpoint, association) = connected::<S>(free);
    association.send(b"is anybody there?").expect("room");
    assert_eq!(end(&association), Ended::Unreachable, "service {}", S::NUMBER);
}

#[test]
fn a_port_where_nobody_is_cannot_be_reached() {
    where_nobody_is::<Connection>();
    where_nobody_is::<Transaction>();
    where_nobody_is::<AcknowledgedDatagram>();
    where_nobody_is::<UnacknowledgedDatagram>();
}

/// A station that has another service says so (DIAG), and it is over in one round trip.
fn is_refused<S: Service, T: Service>() {
    let server = Endpoint::bind(any(), Config::default(), stack::<T>).expect("an endpoint");
    let at = server.local().expect("an address");
    let client = thread::spawn(move || {
        let (_endpoint, association) = connected::<S>(at);
        association.send(b"is this the place?").expect("room");
        end(&association)
    });
    while !client.is_finished() {
        server.wait(Some(Duration::from_millis(10))).expect("it runs");
    }
    let refused = Ended::Refused(DiagnosticSegment::NO_PROVIDER);
    assert_eq!(client.join().expect("it ends"), refused, "service {}", S::NUMBER);
    assert_eq!(server.arrived(), 0);
}

#[test]
fn a_station_that_has_another_service_refuses() {
    is_refused::<Connection, Transaction>();
    is_refused::<Transaction, AcknowledgedDatagram>();
    is_refused::<AcknowledgedDatagram, Connection>();
    is_refused::<UnacknowledgedDatagram, Connection>();
}

#[test]
fn an_abort_is_told_with_its_code() {
    let (at, serves) = server::<Connection, _>(|association| {
        association.receive().expect("a request");
        association.abort(77);
    });
    let (_endpoint, association) = connected::<Connection>(at);
    association.send(b"request").expect("room");
    assert_eq!(end(&association), Ended::Reset(77));
    serves.join().expect("it ends");
}

/// A request and its answer, and both ends finish. Neither stays until its last word was heard.
fn answers<S: Service>() {
    let (at, serves) = server::<S, _>(|mut association| {
        association.set_timeout(Some(SOON));
        let (request, _) = association.receive().expect("a request");
        association.send(&request).expect("room");
        association.close().is_ok()
    });
    let (_endpoint, association) = connected::<S>(at);
    let request = vec![5; 30_000];
    association.send(&request).expect("room");
    assert_eq!(association.receive().expect("an answer").0, request);
    association.close().expect("a good end");
    assert!(serves.join().expect("it ends"));
}

#[test]
fn a_request_is_answered() {
    answers::<Connection>();
    answers::<Transaction>();
}

/// An empty message has no octet to be acknowledged by: it is refused, and the context goes on.
#[test]
fn an_empty_message_is_refused_alone() {
    let (at, serves) = server::<Connection, _>(|association| association.receive().map(|it| it.0));
    let (_endpoint, association) = connected::<Connection>(at);
    assert!(matches!(association.send(b""), Err(Error::Empty)));
    association.send(b"request").expect("room");
    assert_eq!(serves.join().expect("it ends").expect("a request"), b"request");
}

/// A datagram arrives, and the side that sent it is done.
fn says<S: Service>() {
    let (at, serves) = server::<S, _>(|association| association.receive().expect("a datagram").0);
    let (_endpoint, association) = connected::<S>(at);
    association.send(b"datagram").expect("room");
    association.close().expect("a good end");
    assert_eq!(serves.join().expect("it ends"), b"datagram");
}

#[test]
fn a_datagram_arrives() {
    says::<AcknowledgedDatagram>();
    says::<UnacknowledgedDatagram>();
}

/// Passes datagrams between a client and the server at `to`, which may become another one.
fn between(to: Arc<Mutex<SocketAddr>>, stop: Arc<AtomicBool>) -> SocketAddr {
    let socket = UdpSocket::bind(any()).expect("a socket");
    let at = socket.local_addr().expect("an address");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    thread::spawn(move || {
        let (mut octets, mut client) = ([0; 65536], None);
        while !stop.load(Ordering::Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut octets) else { continue };
            let server = *to.lock().expect("an address");
            let is_server = client.is_some_and(|client| client != from);
            let target = if is_server { client.expect("it is known") } else { server };
            client.get_or_insert(from);
            socket.send_to(&octets[..length], target).expect("it leaves");
        }
    });
    at
}

/// A server that begins anew says so when it hears of a context of its predecessor: the client need
/// not wait for its timeouts.
#[test]
fn a_server_that_begins_anew_is_noticed_at_once() {
    let (heard, hears) = std::sync::mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    let (before, first) = server::<Connection, _>(move |association| {
        heard.send(association.receive().expect("a message").0).expect("a test");
        while !stops.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
    });
    // It accepts nothing, and goes with the test.
    let (anew, _) = server::<Connection, _>(drop);
    let to = Arc::new(Mutex::new(before));
    let (_endpoint, association) = connected::<Connection>(between(to.clone(), stop.clone()));
    association.send(b"to the one").expect("room");
    assert_eq!(hears.recv().expect("it came"), b"to the one");
    *to.lock().expect("an address") = anew;
    association.send(b"to the other").expect("room");
    assert_eq!(end(&association), Ended::Reset(0));
    stop.store(true, Ordering::Relaxed);
    first.join().expect("it ends");
}
