//! Windows that have grown, and applications that read no more: what all sessions hold together is
//! bounded, and each has its first window.

use stackwright_artp::{Artp, Config, Congestion, Judge, Secrets, policies};
use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_transport::words::Phase;
use stackwright_transport::{Association, Limits, Memory, slots};
use stackwright_wire::{BufferTree, Message as _};

use crate::allocator::held;
use crate::attacks::packets::SESSION;
use crate::attacks::scene::config;

/// The packets of a window at first, and of one that has grown as far as it may.
const FIRST: usize = 4096;
const MOST: usize = 16_384;

/// The octets of a message, each of which is a packet.
const MESSAGE: usize = 1000;

/// The time from one end to the other.
const DELAY: u64 = 50_000_000;

const ALL: Credit = Credit { octets: usize::MAX, messages: usize::MAX };
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };

/// A sender that only the receiver's window bounds.
struct Unbounded;

impl slots::Congestion for Unbounded {
    fn window(&self) -> u64 {
        1 << 40
    }
}

fn sender_bound_by_its_peer() -> Config {
    let judge = Judge { name: "unbounded", make: |_| Box::new(Unbounded) };
    let window = MOST as u32;
    Config { window, congestion: Congestion::Own(judge), ..config() }
}

/// A session of the layer, its peer, and what is on its way to either.
struct Session {
    own: Association<Artp<BufferTree>>,
    peer: Association<Artp<BufferTree>>,
    up: Vec<BufferTree>,
    down: Vec<BufferTree>,
}

/// The sessions of a layer, and the memory of their peers.
struct Layer {
    memory: Memory<BufferTree>,
    peers: Memory<BufferTree>,
    sessions: Vec<Session>,
    now: Instant,
}

impl Layer {
    fn new(sessions: usize, limits: Limits) -> Self {
        let config = sender_bound_by_its_peer();
        let make = |nonce| {
            let secrets = Secrets { first: 7, nonce, salt: [nonce as u8; 16], reset: [0; 16] };
            policies(SESSION, &config, secrets)
        };
        let memory = Memory::new(2048, 64, 64).limited(limits);
        let (peers, now) = (Memory::new(2048, 64, 64), Instant::from_nanoseconds(1_000_000_000));
        let mut layer = Layer { memory, peers, sessions: Vec::new(), now };
        for _ in 0..sessions {
            let own = Association::sharing(make(1), &layer.memory);
            let peer = Association::new(make(2));
            layer.sessions.push(Session { own, peer, up: Vec::new(), down: Vec::new() });
        }
        layer.sessions.iter_mut().for_each(|session| session.peer.open(now));
        layer.passes(4, 0);
        for session in &layer.sessions {
            assert_eq!(session.peer.phase(layer.now), Phase::Open);
        }
        layer
    }

    /// Lets `steps` one-way times pass, in each of which a peer sends all that it may, and an
    /// application reads at most `reads` messages; `usize::MAX`: each as it comes. Returns how many
    /// were read.
    fn passes(&mut self, steps: usize, reads: usize) -> usize {
        let mut read = 0;
        let room = if reads == usize::MAX { ALL } else { Credit::NONE };
        let Layer { memory, peers, sessions, now } = self;
        for _ in 0..steps {
            *now = now.later(DELAY);
            for Session { own, peer, up, down } in &mut *sessions {
                for packet in up.drain(..) {
                    let received = own.receive(*now, None, &mut { packet }, None, memory, room);
                    read += usize::from(matches!(received, Ok(Some(_))));
                }
                for packet in down.drain(..) {
                    let _ = peer.receive(*now, None, &mut { packet }, None, peers, Credit::NONE);
                }
                read += (0..reads).map_while(|_| own.take(*now, ALL)).count();
                own.handle_timeout(*now);
                peer.handle_timeout(*now);
                let open = peer.phase(*now) == Phase::Open;
                loop {
                    if open && peer.sending().waiting() == 0 {
                        let message = BufferTree::with_headroom(64, &[7; MESSAGE]);
                        let sent = peer.send(*now, message, MessageProperties::default(), peers);
                        sent.expect("not too long");
                    }
                    let Some(packet) = peer.transmit(*now, peers, ONE) else { break };
                    up.push(packet.into_octets());
                }
                while let Some(packet) = own.transmit(*now, memory, ONE) {
                    down.push(packet.into_octets());
                }
            }
        }
        read
    }

    fn untaken(&self) -> usize {
        self.sessions.iter().map(|session| session.own.inbox()).sum()
    }
}

#[test]
fn the_windows_of_applications_that_read_no_more_hold_no_more_than_the_layer_may() {
    let sessions = 4;
    let limits = Limits { octets: 16 << 20, each: 16 << 10 };
    let before = held();
    let mut layer = Layer::new(sessions, limits);
    let own = layer.memory.reserved();
    assert_eq!(own, sessions * limits.each);
    assert!(layer.passes(20, usize::MAX) > 10 * sessions * FIRST);
    let reserved = layer.memory.reserved();
    assert!((limits.octets / 4..=limits.octets / 2 + own).contains(&reserved), "{reserved}");
    layer.passes(20, 0);
    assert_eq!(layer.memory.reserved(), reserved, "it may all be used");
    // Each has its first window, whatever the others have.
    assert!(layer.sessions.iter().all(|session| session.own.inbox() >= FIRST));
    let packet = usize::from(config().packet);
    assert!((layer.untaken() - sessions * FIRST) * packet <= reserved - own);
    let most = held() - before;
    // And a quarter for what tells where messages are.
    let bound = ((limits.octets + sessions * FIRST * packet) * 5 / 4) as isize;
    assert!(most < bound, "{most} octets of {bound}, {} messages", layer.untaken());
    // With those that have ended, it is free again.
    layer.sessions.truncate(1);
    assert!(layer.memory.reserved() < reserved);
    layer.sessions.clear();
    assert_eq!(layer.memory.reserved(), 0);
}

#[test]
fn one_alone_has_its_full_window_until_its_application_stalls() {
    let mut layer = Layer::new(1, Limits { octets: 64 << 20, each: 0 });
    layer.passes(20, usize::MAX);
    let grown = (MOST - FIRST) * usize::from(config().packet);
    assert_eq!(layer.memory.reserved(), grown);
    layer.passes(20, 0);
    assert_eq!((layer.untaken(), layer.memory.reserved()), (MOST, grown));
    // What is read is no longer reserved, and the peer is given no more before it may have its
    // first window.
    for _ in 0..3 {
        assert_eq!(layer.passes(2, 2000), 4000);
        let reserved = layer.memory.reserved() / usize::from(config().packet);
        let owed = layer.untaken().saturating_sub(FIRST);
        assert!((owed..=owed + 4000).contains(&reserved), "{reserved} for {owed}");
    }
    layer.passes(1, 4000);
    layer.passes(20, 0);
    assert_eq!((layer.untaken(), layer.memory.reserved()), (FIRST, 0));
    // If the application keeps up, the window grows again.
    layer.passes(20, usize::MAX);
    assert_eq!(layer.memory.reserved(), grown);
}
