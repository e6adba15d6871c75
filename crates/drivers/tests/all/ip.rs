//! A protocol of IP through the kernel, between addresses of loopback. Needs a right.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended, MessageProperties,
};
use stackwright_contract::{Address, Handle, Outlet, Participant};
use stackwright_drivers::Driver;
use stackwright_drivers::ip::{Ip, is_permitted};
use stackwright_wire::{BufferTree, Message, Pool};

type Stack = Ip<BufferTree>;

/// For experiments (RFC 3692 §2.1).
const PROTOCOL: u8 = 253;
const AMPLE: Credit = Credit { octets: 1 << 20, messages: 1000 };

/// An address of loopback that no other test uses.
fn host(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 9, 8, last).into()
}

fn place(last: u8) -> Participant {
    Address::InternetProtocol { host: host(last), protocol: PROTOCOL }.into()
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// Returns the address from which datagrams to a group leave.
fn source(group: Ipv4Addr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect((group, 7))?;
    Ok(socket.local_addr()?.ip())
}

/// Returns whether raw sockets may be opened here; if not, says why.
fn can() -> bool {
    is_permitted(PROTOCOL).inspect_err(|why| eprintln!("skipped: {why}")).is_ok()
}

struct Side {
    driver: Driver,
    ip: Stack,
    heard: Heard,
}

#[derive(Default)]
struct Heard(Vec<Told<BufferTree>>);

impl Outlet<Stack> for Heard {
    fn indicate(&mut self, told: Told<BufferTree>) {
        self.0.push(told);
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

impl Side {
    fn new() -> Self {
        let driver = Driver::new(1).expect("descriptors");
        let ip = Ip::new(PROTOCOL, driver.registry(), 0, Arc::new(Pool::new(64 << 10, 8)));
        Side { driver, ip, heard: Heard::default() }
    }

    fn ask(&mut self, ask: Ask<BufferTree>) {
        self.driver.request(&mut self.ip, ask, &mut self.heard);
        self.turn(0);
    }

    fn listen(&mut self, local: Participant) {
        self.ask(Ask::Listen { listener: name(0), local });
        self.ask(Ask::Await { listener: name(0), association: name(1), credit: AMPLE });
    }

    fn open(&mut self, association: Handle, remote: Participant, local: u8) {
        let local = Some(place(local));
        self.ask(Ask::Open { association, remote, local, credit: AMPLE });
    }

    fn send(&mut self, association: Handle, octets: &[u8]) {
        let batch = BufferTree::with_headroom(64, octets).into();
        self.ask(Ask::Send { association, batch, properties: MessageProperties::default() });
    }

    fn turn(&mut self, most: u64) {
        let most = Some(Duration::from_millis(most));
        self.driver.turn(&mut self.ip, &mut self.heard, most).expect("it waits");
    }

    /// Runs until `found` gives something of what was told.
    fn until<T>(&mut self, found: impl Fn(&Told<BufferTree>) -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = self.heard.0.iter().find_map(&found) {
                return found;
            }
            assert!(since.elapsed() < Duration::from_secs(10), "it never came");
            self.turn(100);
        }
    }

    /// The octets that were delivered, once there are as many messages.
    fn delivered(&mut self, messages: usize) -> Vec<Vec<u8>> {
        let since = Instant::now();
        loop {
            let all = self.heard.0.iter().filter_map(|told| match told {
                Told::Delivered { batch, .. } => Some(batch.pieces()),
                _ => None,
            });
            let all: Vec<Vec<u8>> =
                all.flatten().map(|pieces| pieces.flatten().copied().collect()).collect();
            if all.len() >= messages {
                return all;
            }
            assert!(since.elapsed() < Duration::from_secs(10), "{} came", all.len());
            self.turn(100);
        }
    }
}

fn ends(told: &Told<BufferTree>) -> Option<Ended> {
    if let Told::Ended { why, .. } = told { Some(*why) } else { None }
}

fn opens(told: &Told<BufferTree>) -> Option<(Participant, Participant)> {
    if let Told::Opened { local, remote, .. } = told { Some((*local, *remote)) } else { None }
}

#[test]
fn what_is_sent_arrives_without_the_header_of_ip() {
    if !can() {
        return;
    }
    let (mut here, mut there) = (Side::new(), Side::new());
    there.listen(place(2));
    here.open(name(7), place(2), 1);
    assert_eq!(here.until(opens), (place(1), place(2)));
    let long = vec![5; 40_000];
    here.send(name(7), b"short");
    here.send(name(7), &long);
    assert_eq!(there.delivered(2), [b"short".to_vec(), long.clone()]);
    assert_eq!(there.until(opens), (place(2), place(1)));
    there.send(name(1), b"");
    there.send(name(1), &long);
    assert_eq!(here.delivered(1), [long], "the kernel sends no empty one");
}

/// An Internet address with a port is taken as well, and its port plays no role.
#[test]
fn ports_play_no_role() {
    if !can() {
        return;
    }
    let (mut here, mut there) = (Side::new(), Side::new());
    there.listen((host(4), 80).into());
    here.open(name(7), (host(4), 90).into(), 3);
    here.send(name(7), b"hello");
    assert_eq!(there.delivered(1), [b"hello"]);
    assert_eq!(there.until(opens), (place(4), place(3)));
}

/// Both sockets of a side that listens and opens receive all that comes from that host.
#[test]
fn a_host_has_one_association_and_nothing_comes_twice() {
    if !can() {
        return;
    }
    let (mut here, mut there) = (Side::new(), Side::new());
    here.listen(place(5));
    here.open(name(7), place(6), 5);
    there.open(name(8), place(5), 6);
    there.send(name(8), b"once");
    there.send(name(8), b"twice?");
    assert_eq!(here.delivered(2).len(), 2);
    for _ in 0..5 {
        here.turn(10);
    }
    assert_eq!(here.delivered(2), [&b"once"[..], b"twice?"]);
    let arrived =
        here.heard.0.iter().any(
            |told| matches!(told, Told::Delivered { association, .. } if *association == name(1)),
        );
    assert!(!arrived, "it belongs to the association that was opened");
    here.open(name(9), place(6), 5);
    assert_eq!(here.until(ends), Ended::Unavailable);
    // When it is over, the listener has what comes.
    here.ask(Ask::Close { name: name(7) });
    there.send(name(8), b"later");
    assert_eq!(here.delivered(3)[2], b"later");
    here.open(name(10), place(6), 5);
    let again = |told: &Told<_>| match told {
        Told::Ended { name: ended, why } if *ended == name(10) => Some(*why),
        _ => None,
    };
    assert_eq!(here.until(again), Ended::Unavailable, "an arrival counts");
}

/// A host that is asked at one of its addresses answers from there.
#[test]
fn each_address_of_a_host_answers_for_itself() {
    crate::namespace::alone(|| {
        let any =
            Address::InternetProtocol { host: Ipv4Addr::UNSPECIFIED.into(), protocol: PROTOCOL };
        let (mut here, mut there) = (Side::new(), Side::new());
        there.listen(any.into());
        there.ask(Ask::Await { listener: name(0), association: name(2), credit: AMPLE });
        for (index, last) in [(1, 41), (2, 42)] {
            here.open(name(index), place(last), 40);
            here.send(name(index), b"where?");
        }
        assert_eq!(there.delivered(2), [b"where?"; 2]);
        let locals: Vec<_> = there.heard.0.iter().filter_map(opens).collect();
        assert_eq!(locals, [(place(41), place(40)), (place(42), place(40))]);
        there.send(name(1), b"one");
        there.send(name(2), b"other");
        // Each association here takes what comes from its own host alone.
        here.delivered(2);
        let heard = here.heard.0.iter().filter_map(|told| match told {
            Told::Delivered { association, batch, .. } => {
                Some((*association, batch.pieces().flatten().flatten().copied().collect()))
            }
            _ => None,
        });
        let mut heard: Vec<(Handle, Vec<u8>)> = heard.collect();
        heard.sort_by_key(|(association, _)| association.index);
        assert_eq!(heard, [(name(1), b"one".to_vec()), (name(2), b"other".to_vec())]);
    });
}

/// Two programs at one address would both answer: the second is refused, and may have it when the
/// first has gone.
#[test]
fn an_address_is_one_programs() {
    if !can() {
        return;
    }
    let v6 = Address::InternetProtocol { host: Ipv6Addr::LOCALHOST.into(), protocol: PROTOCOL };
    for place_at in [place(20), v6.into()] {
        let (mut first, mut second) = (Side::new(), Side::new());
        first.listen(place_at);
        let listens = |told: &Told<_>| matches!(told, Told::Listening { .. }).then_some(());
        first.until(listens);
        second.ask(Ask::Listen { listener: name(3), local: place_at });
        assert_eq!(second.until(ends), Ended::Unavailable);
        first.ask(Ask::Close { name: name(0) });
        drop(first);
        second.ask(Ask::Listen { listener: name(4), local: place_at });
        second.until(listens);
    }
}

/// Whichever member sends; and what a host sends to the group is not what it sends to this one.
#[test]
fn a_group_is_one_peer() {
    if !can() {
        return;
    }
    let host = Ipv4Addr::new(239, 77, 1, 2);
    let Ok(own) = source(host) else {
        return eprintln!("skipped: this system has no route for multicast");
    };
    let group: Participant =
        Address::InternetProtocol { host: host.into(), protocol: PROTOCOL }.into();
    let mut sides = [(); 3].map(|()| Side::new());
    for side in &mut sides[1..] {
        side.listen(group);
    }
    let open = Ask::Open { association: name(1), remote: group, local: None, credit: AMPLE };
    sides[0].ask(open);
    assert_eq!(sides[0].until(opens), (group, group));
    sides[0].send(name(1), b"one");
    for side in &mut sides {
        assert_eq!(side.delivered(1), [b"one"], "the sender, too");
        assert_eq!(side.until(opens), (group, group));
    }
    sides[2].send(name(1), b"another");
    for side in &mut sides {
        assert_eq!(side.delivered(2), [&b"one"[..], b"another"]);
    }
    // There is one association with it.
    let open = Ask::Open { association: name(2), remote: group, local: None, credit: AMPLE };
    sides[0].ask(open);
    assert_eq!(sides[0].until(ends), Ended::Unavailable);
    let host = Address::InternetProtocol { host: own, protocol: PROTOCOL }.into();
    sides[1].ask(Ask::Open { association: name(7), remote: host, local: None, credit: AMPLE });
    sides[0].send(name(1), b"still");
    assert_eq!(sides[1].delivered(3)[2], b"still");
}

#[test]
fn a_host_without_the_protocol_cannot_be_reached() {
    if !can() {
        return;
    }
    let mut here = Side::new();
    // Nobody has a socket for that protocol: the kernel says so by ICMP.
    here.ip = Ip::new(254, here.driver.registry(), 0, Arc::new(Pool::new(64 << 10, 8)));
    let remote = Address::InternetProtocol { host: host(8), protocol: 254 }.into();
    let local = Some(Address::InternetProtocol { host: host(7), protocol: 254 }.into());
    here.ask(Ask::Open { association: name(7), remote, local, credit: AMPLE });
    // The kernel hears only of datagrams of eight octets at least.
    here.send(name(7), b"hello, you");
    assert_eq!(here.until(ends), Ended::Unreachable);
}

#[test]
fn participants_of_another_kind_are_refused() {
    if !can() {
        return;
    }
    let mut here = Side::new();
    here.ask(Ask::Listen { listener: name(0), local: Participant::OTHER_END });
    assert_eq!(here.until(ends), Ended::Unavailable);
    here.heard.0.clear();
    let remote = Address::InternetProtocol { host: host(2), protocol: 6 }.into();
    here.open(name(1), remote, 1);
    assert_eq!(here.until(ends), Ended::Unreachable, "that is TCP's");
}
