//! A data packet of ARTP leaves, and arrives; and an acknowledgement of sixteen does both. Policies
//! are known to the compiler, or in boxes.

use stackwright_artp::{Artp, Config, Secrets, policies};
use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit, MessageProperties};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_transport::words::Phase;
use stackwright_transport::{Association, Configuration, Memory, Slots};
use stackwright_wire::{BufferTree, Message};

/// Packets, of which all are acknowledged at once.
const PACKETS: usize = 16;
/// Octets of a message.
const PAYLOAD: usize = 64;
/// Octets before it, for all headers.
const HEADROOM: usize = 128;
/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One packet.
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };
/// From one step to the next, in nanoseconds.
const STEP: u64 = 100_000;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    add_with(figures, "static", slots);
    add_with(figures, "boxed", |side| slots(side).boxed());
}

fn add_with<C: Configuration<Message = BufferTree>>(
    figures: &mut Vec<Figure>,
    kind: &str,
    make: fn(u8) -> Slots<C>,
) {
    let rounds = PACKETS as u64;
    figures
        .push(Figure::new(format!("artp/{kind}/send"), rounds, move || Sending(Talk::new(make))));
    figures.push(Figure::new(format!("artp/{kind}/receive"), rounds, move || {
        Receiving(Talk::new(make))
    }));
    figures
        .push(Figure::new(format!("artp/{kind}/acknowledge"), 1, move || Heeding(Talk::new(make))));
}

fn slots(side: u8) -> Slots<Artp<BufferTree>> {
    let config =
        Config { gather_most: PACKETS as u64, gather_full: PACKETS as u32, ..Config::new([0; 16]) };
    let secrets = Secrets {
        first: 7,
        nonce: 0x1234_5678 * u64::from(side),
        salt: [side; 16],
        reset: [side; 16],
    };
    policies(5, &config, secrets)
}

/// Two ends, and what is between them.
struct Talk<C: Configuration<Message = BufferTree>> {
    here: Association<C>,
    there: Association<C>,
    memory: Memory<BufferTree>,
    now: Instant,
    /// On their way.
    packets: Vec<BufferTree>,
    /// Made, or taken.
    messages: Vec<BufferTree>,
}

impl<C: Configuration<Message = BufferTree>> Talk<C> {
    fn new(make: fn(u8) -> Slots<C>) -> Self {
        let mut talk = Talk {
            here: Association::new(make(1)),
            there: Association::new(make(2)),
            memory: Memory::new(usize::from(Config::new([0; 16]).packet), HEADROOM, 4 * PACKETS),
            now: Instant::from_nanoseconds(1_000_000_000),
            packets: Vec::with_capacity(PACKETS),
            messages: Vec::with_capacity(PACKETS),
        };
        talk.here.open(talk.now);
        for _ in 0..4 {
            talk.settle();
        }
        assert_eq!(talk.there.phase(talk.now), Phase::Open, "the session is open");
        talk
    }

    /// Messages for the next step.
    fn make(&mut self) {
        self.now = self.now.later(STEP);
        for message in self.messages.drain(..) {
            message.reclaim(&self.memory.pool);
        }
        for _ in 0..PACKETS {
            let mut block = self.memory.pool.take();
            block[HEADROOM..HEADROOM + PAYLOAD].fill(7);
            self.messages.push(BufferTree::from_block(block, HEADROOM, HEADROOM + PAYLOAD));
        }
    }

    fn send(&mut self) {
        for message in self.messages.drain(..) {
            let sent =
                self.here.send(self.now, message, MessageProperties::default(), &self.memory);
            assert!(sent.is_ok(), "it is not too long");
            self.packets.extend(
                self.here.transmit(self.now, &mut self.memory, ONE).map(Batch::into_octets),
            );
        }
    }

    fn receive(&mut self) {
        for mut packet in self.packets.drain(..) {
            let received =
                self.there.receive(self.now, None, &mut packet, None, &mut self.memory, EVERYTHING);
            match received.expect("nothing is dropped") {
                Some(_) => self.messages.push(packet),
                None => {
                    self.messages
                        .extend(self.there.take(self.now, EVERYTHING).map(|(message, _)| message));
                }
            }
        }
    }

    /// Gives how many octets went the other way.
    fn acknowledge(&mut self) -> usize {
        let mut octets = 0;
        while let Some(packet) = self.there.transmit(self.now, &mut self.memory, ONE) {
            let mut packet = packet.into_octets();
            octets += packet.len();
            let received =
                self.here.receive(self.now, None, &mut packet, None, &mut self.memory, EVERYTHING);
            assert!(matches!(received, Ok(None)), "nothing is dropped");
        }
        octets
    }

    /// All that is under way arrives.
    fn settle(&mut self) {
        self.now = self.now.later(STEP);
        self.packets
            .extend(self.here.transmit(self.now, &mut self.memory, ONE).map(Batch::into_octets));
        self.receive();
        self.acknowledge();
    }
}

struct Sending<C: Configuration<Message = BufferTree>>(Talk<C>);

impl<C: Configuration<Message = BufferTree>> Subject for Sending<C> {
    fn ready(&mut self) {
        self.0.receive();
        self.0.settle();
        self.0.make();
    }

    fn work(&mut self) -> u64 {
        self.0.send();
        assert_eq!(self.0.packets.len(), PACKETS, "each message leaves");
        self.0.packets.iter().map(Message::len).sum::<usize>() as u64
    }
}

struct Receiving<C: Configuration<Message = BufferTree>>(Talk<C>);

impl<C: Configuration<Message = BufferTree>> Subject for Receiving<C> {
    fn ready(&mut self) {
        self.0.settle();
        self.0.make();
        self.0.send();
    }

    fn work(&mut self) -> u64 {
        self.0.receive();
        assert_eq!(self.0.messages.len(), PACKETS, "each message arrives");
        self.0.messages.iter().map(Message::len).sum::<usize>() as u64
    }
}

struct Heeding<C: Configuration<Message = BufferTree>>(Talk<C>);

impl<C: Configuration<Message = BufferTree>> Subject for Heeding<C> {
    fn ready(&mut self) {
        self.0.make();
        self.0.send();
        self.0.receive();
    }

    fn work(&mut self) -> u64 {
        let octets = self.0.acknowledge();
        let settled = self.0.here.sending().settled_upto() == self.0.here.sending().sent_upto();
        assert!(settled && octets > 0, "everything is acknowledged");
        octets as u64
    }
}
