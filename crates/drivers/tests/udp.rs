//! The UDP adapter against plain sockets of the standard library.

use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::time::{Duration, Instant};

use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended, Room};
use stackwright_contract::{Handle, Outlet, Participant, Protocol};
use stackwright_drivers::Driver;
use stackwright_drivers::udp::{LONGEST, SEND_ROOM, Udp};
use stackwright_wire::{BufferTree, Leaf, Message, Pool};

type Stack = Udp<BufferTree>;

const AMPLE: Room = Room { octets: 1 << 20, messages: 1000 };
const BOTH: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

/// One adapter, and everything it told.
struct Side {
    driver: Driver,
    udp: Stack,
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
        Side::with_blocks(64 << 10)
    }

    fn with_blocks(block: usize) -> Self {
        let driver = Driver::new(1).unwrap();
        let udp = Udp::new(driver.registry().unwrap(), 0, Rc::new(Pool::new(block, 8)));
        Side { driver, udp, heard: Heard::default() }
    }

    fn ask(&mut self, ask: Ask<BufferTree>) {
        self.driver.request(&mut self.udp, ask, &mut self.heard);
    }

    fn send(&mut self, association: Handle, octets: &[u8]) {
        self.ask(Ask::Send { association, message: message(octets) });
    }

    fn turn(&mut self, most: u64) {
        self.driver.turn(&mut self.udp, &mut self.heard, Some(Duration::from_millis(most))).unwrap();
    }

    /// Runs until `found` gives something of what was told. A test that waits ten seconds has failed.
    fn until<T>(&mut self, mut found: impl FnMut(&[Told<BufferTree>]) -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = found(&self.heard.0) {
                return found;
            }
            let told = &self.heard.0;
            assert!(since.elapsed() < Duration::from_secs(10), "it never came; told so far: {told:?}");
            self.turn(100);
        }
    }

    /// Runs for a while in which nothing particular is expected.
    fn idle(&mut self) {
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(50) {
            self.turn(10);
        }
    }

    fn listen(&mut self, local: &str) -> SocketAddr {
        self.ask(Ask::Listen { listener: name(0), local: address(local).into() });
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Listening { local, .. } => local.internet(),
                _ => None,
            })
        })
    }

    fn expect(&mut self, association: Handle, room: Room) {
        self.ask(Ask::Await { listener: name(0), association, room });
    }

    fn ended(&mut self, name: Handle) -> Ended {
        self.until(|told| end_of(told, name))
    }

    fn remote(&mut self, name: Handle) -> SocketAddr {
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Opened { association, remote, .. } if *association == name => remote.internet(),
                _ => None,
            })
        })
    }

    fn hears(&mut self, name: Handle, expected: &[&[u8]]) {
        self.until(|told| (delivered(told, name) == expected).then_some(()));
    }

    fn dropped(&self) -> u64 {
        self.driver.context().dropped_count()
    }
}

fn end_of(told: &[Told<BufferTree>], wanted: Handle) -> Option<Ended> {
    told.iter().find_map(|told| match told {
        Told::Ended { name, why } if *name == wanted => Some(*why),
        _ => None,
    })
}

fn delivered(told: &[Told<BufferTree>], name: Handle) -> Vec<Vec<u8>> {
    let of_name = told.iter().filter_map(|told| match told {
        Told::Delivered { association, message } if *association == name => Some(message),
        _ => None,
    });
    of_name.map(octets).collect()
}

fn octets(message: &BufferTree) -> Vec<u8> {
    let mut octets = Vec::new();
    for leaf in message.leaves() {
        let Leaf::Octets(piece) = leaf else { panic!("a socket delivers octets") };
        octets.extend_from_slice(piece);
    }
    octets
}

/// What was given back for `name`, word for word.
fn rooms(told: &[Told<BufferTree>], name: Handle) -> Vec<Room> {
    let of_name = told.iter().filter_map(|told| match told {
        Told::Room { association, room } if *association == name => Some(*room),
        _ => None,
    });
    of_name.collect()
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn message(octets: &[u8]) -> BufferTree {
    BufferTree::with_headroom(16, octets)
}

/// A socket of the standard library that gives up after ten seconds.
fn stranger(local: &str) -> UdpSocket {
    let stranger = UdpSocket::bind(local).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stranger
}

fn hear(stranger: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut space = vec![0; 1 << 16];
    let (length, from) = stranger.recv_from(&mut space).unwrap();
    space.truncate(length);
    (space, from)
}

/// A side with an association to a stranger, who came and said "hello".
fn arrival(local: &str, room: Room) -> (Side, Handle, UdpSocket, SocketAddr) {
    let mut side = Side::new();
    let at = side.listen(local);
    side.expect(name(1), room);
    let peer = stranger(local);
    peer.send_to(b"hello", at).unwrap();
    side.hears(name(1), &[b"hello"]);
    (side, name(1), peer, at)
}

/// A side that has opened an association to a stranger.
fn opened(local: &str) -> (Side, Handle, UdpSocket, SocketAddr) {
    let peer = stranger(local);
    let mut side = Side::new();
    let remote = peer.local_addr().unwrap();
    side.ask(Ask::Open { association: name(7), remote: remote.into(), room: AMPLE });
    assert_eq!(side.remote(name(7)), remote);
    side.send(name(7), b"hello");
    side.turn(0);
    let (octets, from) = hear(&peer);
    assert_eq!(octets, b"hello");
    (side, name(7), peer, from)
}

#[test]
fn datagrams_both_ways_over_both_families_active_and_passive() {
    for local in BOTH {
        for (mut side, association, peer, at) in [arrival(local, AMPLE), opened(local)] {
            side.send(association, b"question");
            side.send(association, b"another");
            side.turn(0);
            assert_eq!(hear(&peer), (b"question".to_vec(), at));
            assert_eq!(hear(&peer), (b"another".to_vec(), at));
            side.heard.0.clear();
            peer.send_to(b"answer", at).unwrap();
            peer.send_to(b"and one more", at).unwrap();
            side.hears(association, &[b"answer", b"and one more"]);
            assert_eq!(side.dropped(), 0);
        }
    }
}

#[test]
fn what_comes_is_said_of_both_addresses() {
    let (side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    let first = side.heard.0.iter().find(|told| matches!(told, Told::Opened { .. }));
    let Some(Told::Opened { association: opened, local, remote, room }) = first else { unreachable!() };
    assert_eq!((*opened, *local, *room), (association, at.into(), SEND_ROOM));
    assert_eq!(*remote, peer.local_addr().unwrap().into());
}

#[test]
fn an_empty_datagram_is_a_message() {
    for (mut side, association, peer, at) in [arrival("127.0.0.1:0", AMPLE), opened("127.0.0.1:0")] {
        side.heard.0.clear();
        side.send(association, b"");
        side.turn(0);
        assert_eq!(hear(&peer).0, b"");
        assert_eq!(rooms(&side.heard.0, association), [Room { octets: 0, messages: 1 }]);
        peer.send_to(b"", at).unwrap();
        side.hears(association, &[b""]);
    }
}

#[test]
fn many_peers_share_one_listener() {
    const COUNT: u32 = 200;
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    for index in 1..=COUNT {
        side.expect(name(index), AMPLE);
    }
    let peers: Vec<UdpSocket> = (0..COUNT).map(|_| stranger("127.0.0.1:0")).collect();
    for round in 0..3_u32 {
        for peer in &peers {
            let port = u32::from(peer.local_addr().unwrap().port());
            peer.send_to(&(port << 2 | round).to_be_bytes(), at).unwrap();
            side.turn(0);
        }
    }
    side.until(|told| {
        let came = told.iter().filter(|told| matches!(told, Told::Delivered { .. })).count();
        (came == 3 * COUNT as usize).then_some(())
    });
    for index in 1..=COUNT {
        let port = u32::from(side.remote(name(index)).port());
        let rounds = [0, 1, 2].map(|round| (port << 2 | round).to_be_bytes().to_vec());
        assert_eq!(delivered(&side.heard.0, name(index)), rounds);
        side.send(name(index), &port.to_be_bytes());
    }
    side.idle();
    for peer in &peers {
        let port = u32::from(peer.local_addr().unwrap().port());
        assert_eq!(hear(peer), (port.to_be_bytes().to_vec(), at));
    }
    assert_eq!(side.dropped(), 0);
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", Room { octets: 15, messages: 3 });
    side.heard.0.clear();
    for length in [4, 7, 6, 0] {
        peer.send_to(&vec![9; length], at).unwrap();
    }
    side.idle();
    // Ten octets and two messages were left: seven octets came too many, and the empty one found no message left.
    assert_eq!(delivered(&side.heard.0, association), [vec![9; 4], vec![9; 6]]);
    assert_eq!(side.dropped(), 2);
    side.ask(Ask::Receive { association, room: Room { octets: 3, messages: 0 } });
    peer.send_to(b"no", at).unwrap();
    side.idle();
    assert_eq!(side.dropped(), 3);
    side.ask(Ask::Receive { association, room: Room { octets: 0, messages: 1 } });
    peer.send_to(b"yes", at).unwrap();
    side.until(|told| (delivered(told, association).len() == 3).then_some(()));
    assert_eq!(side.dropped(), 3);
}

#[test]
fn room_comes_back_in_one_word_a_turn_and_adds_up() {
    let (mut side, association, _peer, _) = opened("127.0.0.1:0");
    side.heard.0.clear();
    for _ in 0..SEND_ROOM.messages {
        side.send(association, &[5; 100]);
    }
    assert!(rooms(&side.heard.0, association).is_empty(), "nothing leaves before the batch is done");
    let cx = side.driver.context();
    side.udp.handle_timeout(cx, &mut side.heard);
    assert!(
        matches!(&rooms(&side.heard.0, association)[..], [Room { messages: 1..1000, .. }]),
        "a fair share"
    );
    while side.udp.next_deadline().is_some() {
        side.udp.handle_timeout(cx, &mut side.heard);
    }
    let rooms = rooms(&side.heard.0, association);
    let all = (rooms.iter().map(|room| room.octets).sum(), rooms.iter().map(|room| room.messages).sum());
    assert_eq!(all, (SEND_ROOM.messages * 100, SEND_ROOM.messages));
}

#[test]
fn a_busy_socket_does_not_keep_the_others_waiting() {
    let (mut side, busy, _peer, _) = opened("127.0.0.1:0");
    let modest = stranger("127.0.0.1:0");
    let remote = modest.local_addr().unwrap().into();
    side.ask(Ask::Open { association: name(8), remote, room: AMPLE });
    for _ in 0..1000 {
        side.send(busy, b"much");
    }
    side.send(name(8), b"little");
    side.heard.0.clear();
    side.udp.handle_timeout(side.driver.context(), &mut side.heard);
    assert_eq!(rooms(&side.heard.0, name(8)), [Room { octets: 6, messages: 1 }]);
    assert!(rooms(&side.heard.0, busy)[0].messages < 1000);
    assert_eq!(hear(&modest).0, b"little");
}

#[test]
#[should_panic = "a Send keeps within the room"]
fn a_send_beyond_the_room_is_a_bug() {
    let (mut side, association, _peer, _) = opened("127.0.0.1:0");
    for _ in 0..=SEND_ROOM.messages {
        side.send(association, b"");
    }
}

#[test]
fn the_longest_datagram_travels_both_ways_and_ropes_are_gathered() {
    for local in BOTH {
        let (mut side, association, peer, at) = arrival(local, AMPLE);
        let long: Vec<u8> = (0..LONGEST).map(|n| (n % 251) as u8).collect();
        side.heard.0.clear();
        peer.send_to(&long, at).unwrap();
        side.hears(association, &[&long]);
        for pieces in [2, 16, 17, 100] {
            let mut rope = BufferTree::default();
            for piece in long.chunks(LONGEST.div_ceil(pieces)) {
                rope.join(message(piece));
            }
            side.ask(Ask::Send { association, message: rope });
            side.turn(0);
            assert!(hear(&peer).0 == long, "{pieces} pieces");
        }
    }
}

#[test]
fn what_is_longer_than_a_block_is_dropped_not_cut() {
    let mut side = Side::with_blocks(2048);
    let at = side.listen("127.0.0.1:0");
    side.expect(name(1), AMPLE);
    let peer = stranger("127.0.0.1:0");
    peer.send_to(&[1; 2049], at).unwrap();
    side.idle();
    assert_eq!((side.dropped(), side.heard.0.len()), (1, 1), "nobody arrives with what nobody can hear");
    peer.send_to(&[2; 2048], at).unwrap();
    peer.send_to(&[3; 9000], at).unwrap();
    peer.send_to(&[4; 10], at).unwrap();
    side.hears(name(1), &[&[2; 2048], &[4; 10]]);
    assert_eq!(side.dropped(), 2);
}

#[test]
fn an_ipv4_peer_of_a_socket_for_both_families_is_an_ipv4_peer() {
    let mut side = Side::new();
    let port = side.listen("[::]:0").port();
    side.expect(name(1), AMPLE);
    side.expect(name(2), AMPLE);
    let peer = stranger("127.0.0.1:0");
    peer.send_to(b"one", ("127.0.0.1", port)).unwrap();
    peer.send_to(b"two", ("127.0.0.1", port)).unwrap();
    side.hears(name(1), &[b"one", b"two"]);
    assert_eq!(side.remote(name(1)), peer.local_addr().unwrap());
    side.send(name(1), b"back");
    side.turn(0);
    assert_eq!(hear(&peer), (b"back".to_vec(), SocketAddr::new(address("127.0.0.1:0").ip(), port)));
    let other = stranger("[::1]:0");
    other.send_to(b"six", ("::1", port)).unwrap();
    side.hears(name(2), &[b"six"]);

    // The mapped form of an address that we are told means the same peer.
    let mapped = SocketAddr::new(address("[::ffff:127.0.0.1]:0").ip(), peer.local_addr().unwrap().port());
    side.ask(Ask::Open { association: name(3), remote: mapped.into(), room: AMPLE });
    assert_eq!(side.remote(name(3)), peer.local_addr().unwrap());
}

#[test]
fn a_refused_datagram_ends_what_we_opened_after_what_came_before() {
    for local in BOTH {
        let (mut side, association, peer, at) = opened(local);
        side.heard.0.clear();
        peer.send_to(b"last words", at).unwrap();
        drop(peer);
        side.send(association, b"are you there?");
        assert_eq!(side.ended(association), Ended::Unreachable);
        assert_eq!(delivered(&side.heard.0, association), [b"last words"]);
        // What crosses the last word is dropped and counted.
        side.send(association, b"hello?");
        side.ask(Ask::Receive { association, room: AMPLE });
        side.ask(Ask::Close { association });
        assert_eq!(side.dropped(), 3);
        let ends = side.heard.0.iter().filter(|told| matches!(told, Told::Ended { .. })).count();
        assert_eq!(ends, 1);
    }
}

#[test]
fn a_refused_datagram_ends_nobody_at_a_listener() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    side.expect(name(2), AMPLE);
    drop(peer);
    for _ in 0..3 {
        side.send(association, b"are you there?");
        side.idle();
    }
    stranger("127.0.0.1:0").send_to(b"I am", at).unwrap();
    side.hears(name(2), &[b"I am"]);
    assert_eq!(end_of(&side.heard.0, association), None);
}

#[test]
fn who_cannot_be_reached_and_where_nobody_may_listen() {
    let mut side = Side::new();
    let nobody = [Participant::OtherEnd, address("127.0.0.1:0").into(), address("255.255.255.255:9").into()];
    for (index, remote) in (1..).zip(nobody) {
        side.ask(Ask::Open { association: name(index), remote, room: AMPLE });
        assert_eq!(side.ended(name(index)), Ended::Unreachable, "{remote}");
    }
    let somebody = stranger("127.0.0.1:0");
    let taken = somebody.local_addr().unwrap().into();
    for (index, local) in (11..).zip([taken, address("192.0.2.1:0").into(), Participant::OtherEnd]) {
        side.ask(Ask::Listen { listener: name(index), local });
        assert_eq!(side.ended(name(index)), Ended::Unavailable);
    }
}

#[test]
fn nobody_arrives_without_a_name_and_unlisten_ends_all_that_wait() {
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    let peer = stranger("127.0.0.1:0");
    peer.send_to(b"lost", at).unwrap();
    side.idle();
    assert_eq!((side.dropped(), side.heard.0.len()), (1, 1));
    for waiting in [1, 2, 3] {
        side.expect(name(waiting), AMPLE);
    }
    side.ask(Ask::Close { association: name(1) });
    assert_eq!(side.ended(name(1)), Ended::Finished);
    peer.send_to(b"found", at).unwrap();
    side.hears(name(2), &[b"found"]);

    side.ask(Ask::Close { association: name(0) });
    assert_eq!(side.dropped(), 2, "a listener ends by Unlisten");
    side.ask(Ask::Unlisten { listener: name(0) });
    assert_eq!(side.ended(name(3)), Ended::Unlistened);
    assert_eq!(side.ended(name(0)), Ended::Unlistened);
    side.expect(name(4), AMPLE);
    assert_eq!(side.ended(name(4)), Ended::Unlistened);
    side.ask(Ask::Unlisten { listener: name(0) });
    assert_eq!(side.dropped(), 3);
}

#[test]
fn who_has_arrived_goes_on_when_nobody_listens_any_more() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    side.ask(Ask::Unlisten { listener: name(0) });
    stranger("127.0.0.1:0").send_to(b"too late", at).unwrap();
    peer.send_to(b"still here", at).unwrap();
    side.hears(association, &[b"hello", b"still here"]);
    assert_eq!(side.dropped(), 1);
    side.send(association, b"so am I");
    side.turn(0);
    assert_eq!(hear(&peer).0, b"so am I");

    // Who listens there again shares the socket with those who arrived before.
    let again = Handle { index: 0, generation: 1 };
    side.ask(Ask::Listen { listener: again, local: at.into() });
    side.ask(Ask::Await { listener: again, association: name(2), room: AMPLE });
    side.ask(Ask::Close { association });
    let other = stranger("127.0.0.1:0");
    other.send_to(b"in time", at).unwrap();
    side.hears(name(2), &[b"in time"]);
    side.ask(Ask::Unlisten { listener: again });
    UdpSocket::bind(at).expect_err("somebody still speaks through it");
    side.ask(Ask::Close { association: name(2) });
    UdpSocket::bind(at).expect("the last one has closed it");
}

#[test]
fn close_lets_leave_what_was_sent_before_and_frees_the_peer() {
    for (mut side, association, peer, at) in [arrival("127.0.0.1:0", AMPLE), opened("127.0.0.1:0")] {
        side.heard.0.clear();
        side.send(association, b"one more");
        side.ask(Ask::Close { association });
        side.send(association, b"too late");
        assert_eq!(side.dropped(), 1);
        assert_eq!(side.ended(association), Ended::Finished);
        assert_eq!(side.heard.0.len(), 1, "no word about room comes to who is leaving");
        assert_eq!(hear(&peer).0, b"one more");
        side.ask(Ask::Close { association });
        assert_eq!(side.dropped(), 2);
        if association == name(1) {
            // The same peer is a stranger again, under the next name, which may have the same place.
            let next = Handle { index: 1, generation: 1 };
            side.expect(next, AMPLE);
            peer.send_to(b"again", at).unwrap();
            side.hears(next, &[b"again"]);
            assert_eq!(side.remote(next), peer.local_addr().unwrap());
        }
    }
}

#[test]
fn two_adapters_talk_to_each_other() {
    const COUNT: usize = 300;
    let (mut here, mut there) = (Side::new(), Side::new());
    let at = there.listen("[::1]:0");
    there.expect(name(1), AMPLE);
    here.ask(Ask::Open { association: name(5), remote: at.into(), room: AMPLE });
    for number in 0..COUNT {
        here.send(name(5), &number.to_be_bytes());
        here.turn(0);
        there.turn(0);
        let echoed = there.until(|told| delivered(told, name(1)).get(number).cloned());
        there.send(name(1), &echoed);
        there.turn(0);
        here.until(|told| (delivered(told, name(5)).len() == number + 1).then_some(()));
    }
    let numbers: Vec<_> = (0..COUNT).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(delivered(&here.heard.0, name(5)), numbers);
    assert_eq!(here.dropped() + there.dropped(), 0);
}
