//! Pieces without end: what is held for a peer is what has arrived of him, and no more than the
//! configuration says.

use fastrand::Rng;
use stackwright_artp::{Artp, Config, Secrets, policies};
use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_transport::words::{Ending, Phase};
use stackwright_transport::{Association, Limits, Memory};
use stackwright_wire::{BufferTree, Message as _};

use crate::allocator::held;
use crate::attacks::packets::{SESSION, fragment, part};
use crate::attacks::scene::{ASKS, Ends, GRANTS, acquainted, config, heard, later, said};

/// What a packet that arrived may hold at most: a block of a pool, and what tells where it is.
const BLOCK: isize = 2048 + 512;

/// What 20 000 packets of a peer make an end hold, per packet that it has taken.
fn hold(config: &Config, mut packet: impl FnMut(u32) -> Vec<u8>) -> isize {
    let mut ends: Ends = acquainted(config, 1);
    let mut next = ends.ends[GRANTS].association.receipts().upto() as u32;
    let before = held();
    let mut most = 0;
    for _ in 0..20_000 {
        let upto = ends.ends[GRANTS].association.receipts().upto();
        ends.inject(GRANTS, &packet(next));
        if ends.ends[GRANTS].association.receipts().upto() > upto {
            next = next.wrapping_add(1);
        }
        said(&mut ends, GRANTS);
        heard(&mut ends, GRANTS);
        most = most.max(held() - before);
    }
    most
}

#[test]
fn a_count_of_four_billion_pieces_is_not_believed() {
    let mut ends = acquainted(&config(), 1);
    let next = ends.ends[GRANTS].association.receipts().upto() as u32;
    let before = held();
    ends.inject(GRANTS, &fragment(next, 1, 0, u32::MAX, &[7; 100]));
    ends.inject(GRANTS, &fragment(next.wrapping_add(1), 1, u32::MAX - 2, u32::MAX, &[7; 100]));
    ends.inject(GRANTS, &fragment(next.wrapping_add(2), 2, 1 << 20, u32::MAX, &[7; 1000]));
    let held = held() - before;
    assert!(held < 10 * BLOCK, "{held} octets for three packets");
}

#[test]
fn datagrams_that_are_begun_and_never_made_whole_hold_four_times_the_longest_and_a_window() {
    let longest = 1 << 20;
    let config = Config { longest, ..config() };
    let mut datagram = 0;
    let most = hold(&config, |next| {
        datagram += 1;
        fragment(next, datagram, 0, 1000, &[7; 1000])
    });
    let window = config.window as usize * usize::from(config.packet);
    // And a quarter for what tells where the pieces are.
    let bound = ((4 * longest + window) * 5 / 4) as isize;
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn pieces_that_contradict_each_other_hold_four_times_the_longest_and_a_window() {
    let longest = 1 << 20;
    let config = Config { longest, ..config() };
    let mut random = Rng::with_seed(1);
    let most = hold(&config, |next| {
        let bits = random.u32(2..31);
        let count = random.u32(2..1 << bits);
        let body = vec![7; random.usize(..1100)];
        fragment(next, random.u32(..20), random.u32(..count), count, &body)
    });
    let window = config.window as usize * usize::from(config.packet);
    // And a quarter for what tells where the pieces are.
    let bound = ((4 * longest + window) * 5 / 4) as isize;
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn packets_that_are_begun_and_never_made_whole_hold_sixty_four_of_the_longest() {
    let config = Config { packet: 9000, ..config() };
    let mut random = Rng::with_seed(1);
    // One octet each, anywhere: what holds most beside its octets.
    let most = hold(&config, |next| {
        let number = next.wrapping_add(random.u32(..config.window));
        part(number, number, random.u16(..4500) * 2, 9000, &[7])
    });
    let bound = 64 * (9000 + 64 * 16 * 2 + 512);
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn a_packet_in_the_smallest_parts_holds_what_one_does() {
    let config = Config { packet: 9000, ..config() };
    let mut random = Rng::with_seed(2);
    let most = hold(&config, |next| part(next, 1, random.u16(..4500) * 2, 9000, &[7]));
    let bound = 9000 + 64 * 16 * 2 + 512 + 10 * BLOCK;
    assert!(most < bound, "{most} octets of {bound}");
}

/// The constant of the protocol, what is on its way, and one datagram more: then it is over, and
/// both sides are told why.
#[test]
fn a_peer_that_begins_more_than_it_may_is_told_that_it_is_over() {
    let config = Config { longest: 1 << 20, window: 64, ..config() };
    let mut ends = acquainted(&config, 1);
    let next = ends.ends[GRANTS].association.receipts().upto() as u32;
    let mut begun = 0;
    while ends.ends[GRANTS].phase(ends.now()) == Phase::Open && begun < 100 {
        ends.inject(GRANTS, &fragment(next.wrapping_add(begun), begun, 0, 1000, &[7; 1000]));
        said(&mut ends, GRANTS);
        if ends.ends[GRANTS].association.receipts().upto() as u32 == next.wrapping_add(begun) {
            break;
        }
        begun += 1;
    }
    assert!((4..=6).contains(&begun), "{begun} datagrams of a megabyte were admitted");
    ends.pass(later(&ends, 20));
    for side in [ASKS, GRANTS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::Overrun));
    }
}

/// A datagram that is longer than this end has said that it takes.
#[test]
fn a_datagram_that_is_too_long_ends_the_session_and_is_not_acknowledged() {
    let mut ends = acquainted(&Config { longest: 0, ..config() }, 1);
    let next = ends.ends[GRANTS].association.receipts().upto();
    ends.inject(GRANTS, &fragment(next as u32, 1, 0, 70, &[7; 1000]));
    assert_eq!(ends.ends[GRANTS].association.receipts().upto(), next);
    ends.pass(later(&ends, 20));
    for side in [ASKS, GRANTS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::TooLong(0)));
    }
}

const ALL: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One packet.
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };

/// One of many sessions of a layer, and its peer, which has memory of its own.
struct Session {
    own: Association<Artp<BufferTree>>,
    peer: Association<Artp<BufferTree>>,
}

/// A layer's memory, and the peers', and the time.
struct Layer {
    memory: Memory<BufferTree>,
    peers: Memory<BufferTree>,
    now: Instant,
}

impl Layer {
    fn session(&mut self, config: &Config) -> Session {
        let make = |nonce| {
            policies(
                SESSION,
                config,
                Secrets { first: 7, nonce, salt: [nonce as u8; 16], reset: [0; 16] },
            )
        };
        let own = Association::sharing(make(1), &self.memory);
        let mut session = Session { own, peer: Association::new(make(2)) };
        session.peer.open(self.now);
        assert_eq!(self.goes_on(&mut session, 1), 0);
        assert_eq!(session.peer.phase(self.now), Phase::Open);
        session
    }

    /// For so many seconds; gives how many datagrams arrived.
    fn goes_on(&mut self, session: &mut Session, seconds: u64) -> usize {
        let mut arrived = 0;
        for _ in 0..seconds * 20 {
            self.now = self.now.later(50_000_000);
            session.own.handle_timeout(self.now);
            session.peer.handle_timeout(self.now);
            for _ in 0..4 {
                while let Some(packet) = session.peer.transmit(self.now, &mut self.peers, ONE) {
                    let mut packet = packet.into_octets();
                    let received = session.own.receive(
                        self.now,
                        None,
                        &mut packet,
                        None,
                        &mut self.memory,
                        ALL,
                    );
                    arrived += usize::from(matches!(received, Ok(Some(_))));
                }
                while let Some(packet) = session.own.transmit(self.now, &mut self.memory, ONE) {
                    let mut packet = packet.into_octets();
                    let _ = session.peer.receive(
                        self.now,
                        None,
                        &mut packet,
                        None,
                        &mut self.peers,
                        ALL,
                    );
                }
            }
            arrived += std::iter::from_fn(|| session.own.take(self.now, ALL)).count();
        }
        arrived
    }

    fn send(&self, session: &mut Session, octets: usize) {
        let message = BufferTree::with_headroom(64, &vec![7; octets]);
        session
            .peer
            .send(self.now, message, MessageProperties::default(), &self.peers)
            .expect("not too long");
    }
}

#[test]
fn a_hundred_sessions_of_half_datagrams_hold_no_more_than_the_layer_may() {
    let limits = Limits { octets: 4 << 20, each: 16 << 10 };
    let config = Config { longest: 1 << 20, ..config() };
    let memory = Memory::new(2048, 64, 64).limited(limits);
    let now = Instant::from_nanoseconds(1_000_000_000);
    let mut layer = Layer { memory, peers: Memory::new(2048, 64, 64), now };
    let mut sessions: Vec<_> = (0..100).map(|_| layer.session(&config)).collect();
    let before = held();
    for session in &mut sessions {
        let mut datagram = 0;
        for _ in 0..2000 {
            // All of it but the last piece.
            let (next, index) = (session.own.receipts().upto(), datagram % 99);
            let octets = fragment(next as u32, 1000 + datagram / 99, index, 100, &[7; 1000]);
            let mut packet = BufferTree::with_headroom(0, &octets);
            let _ = session.own.receive(layer.now, None, &mut packet, None, &mut layer.memory, ALL);
            datagram += u32::from(session.own.receipts().upto() > next);
        }
    }
    let most = held() - before;
    // Beside it, each remembers what it is to report.
    let bound = (limits.octets * 5 / 4 + 100 * 4096) as isize;
    assert!(most < bound, "{most} octets of {bound}");
    // Whoever comes now has what is his own, and goes on with it.
    let mut honest = layer.session(&config);
    for _ in 0..20 {
        layer.send(&mut honest, 12_000);
        assert_eq!(layer.goes_on(&mut honest, 1), 1);
    }
    // What never fits is not acknowledged: it ends, and both are told.
    layer.send(&mut honest, 900_000);
    assert_eq!(layer.goes_on(&mut honest, 120), 0);
    for side in [&honest.own, &honest.peer] {
        assert_eq!(side.phase(layer.now), Phase::Ended(Ending::Overrun));
    }
    // With those who held it, it is free again.
    sessions.clear();
    let mut honest = layer.session(&config);
    layer.send(&mut honest, 900_000);
    assert_eq!(layer.goes_on(&mut honest, 20), 1);
}
