//! Two ends of one session, and packets that go from one to the other without I/O.

use stackwright_artp::header::Packet;
use stackwright_artp::{Artp, Config, Secrets, policies};
use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit, MessageProperties};
use stackwright_transport::words::{Dropped, Phase};
use stackwright_transport::{Association, Boxed, Configuration, Memory, Slots};
use stackwright_wire::{BufferTree, Message as _, Pool};

use crate::monolith::Monolith;

/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One packet.
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };

/// The session.
pub(crate) const SESSION: u8 = 5;

/// One end, whoever wrote it.
pub(crate) trait End {
    fn open(&mut self, now: Instant);
    fn is_open(&self, now: Instant) -> bool;
    fn send(
        &mut self,
        now: Instant,
        message: BufferTree,
        properties: MessageProperties,
        memory: &Memory<BufferTree>,
    );
    fn transmit(&mut self, now: Instant, memory: &mut Memory<BufferTree>) -> Option<BufferTree>;
    fn receive(
        &mut self,
        now: Instant,
        packet: BufferTree,
        memory: &mut Memory<BufferTree>,
    ) -> Result<(), Dropped>;
    fn take(&mut self, now: Instant) -> Option<(BufferTree, MessageProperties)>;
    fn released(&mut self) -> Credit;
    fn handle_timeout(&mut self, now: Instant);
    fn next_deadline(&mut self, now: Instant) -> Option<Instant>;
}

impl<C: Configuration<Message = BufferTree>> End for Association<C> {
    fn open(&mut self, now: Instant) {
        Association::open(self, now);
    }

    fn is_open(&self, now: Instant) -> bool {
        self.phase(now) == Phase::Open && !self.is_half_open()
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        message: BufferTree,
        properties: MessageProperties,
        memory: &Memory<BufferTree>,
    ) {
        assert!(
            Association::send(self, now, message, properties, memory).is_ok(),
            "it is not too long"
        );
    }

    #[inline]
    fn transmit(&mut self, now: Instant, memory: &mut Memory<BufferTree>) -> Option<BufferTree> {
        Association::transmit(self, now, memory, ONE).map(Batch::into_octets)
    }

    #[inline]
    fn receive(
        &mut self,
        now: Instant,
        mut packet: BufferTree,
        memory: &mut Memory<BufferTree>,
    ) -> Result<(), Dropped> {
        Association::receive(self, now, None, &mut packet, None, memory, Credit::default())
            .map(|_| ())
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<(BufferTree, MessageProperties)> {
        Association::take(self, now, EVERYTHING)
    }

    fn released(&mut self) -> Credit {
        Association::released(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        Association::handle_timeout(self, now);
    }

    fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        Association::next_deadline(self, now)
    }
}

impl End for Monolith {
    fn open(&mut self, now: Instant) {
        Monolith::open(self, now);
    }

    fn is_open(&self, _: Instant) -> bool {
        Monolith::is_open(self)
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        message: BufferTree,
        properties: MessageProperties,
        _: &Memory<BufferTree>,
    ) {
        assert!(Monolith::send(self, now, message, properties).is_ok(), "it is not too long");
    }

    #[inline]
    fn transmit(&mut self, now: Instant, memory: &mut Memory<BufferTree>) -> Option<BufferTree> {
        Monolith::transmit(self, now, memory)
    }

    #[inline]
    fn receive(
        &mut self,
        now: Instant,
        packet: BufferTree,
        memory: &mut Memory<BufferTree>,
    ) -> Result<(), Dropped> {
        Monolith::receive(self, now, packet, memory)
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<(BufferTree, MessageProperties)> {
        Monolith::take(self, now, EVERYTHING)
    }

    fn released(&mut self) -> Credit {
        Monolith::released(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        Monolith::handle_timeout(self, now);
    }

    fn next_deadline(&mut self, _: Instant) -> Option<Instant> {
        Monolith::next_deadline(self)
    }
}

fn secrets(side: u8) -> Secrets {
    Secrets {
        first: u32::MAX - 5,
        nonce: 0x1234_5678 * u64::from(side + 1),
        salt: [side; 16],
        reset: [side; 16],
    }
}

/// An end by hand.
pub(crate) fn by_hand(config: &Config, side: u8) -> Monolith {
    Monolith::new(SESSION, config, secrets(side))
}

/// An end whose policies the compiler knows.
pub(crate) fn written_down(config: &Config, side: u8) -> Association<Artp<BufferTree>> {
    Association::new(policies(SESSION, config, secrets(side)))
}

/// An end whose policies are in boxes.
pub(crate) fn boxed(config: &Config, side: u8) -> Association<Boxed<BufferTree, Packet>> {
    let slots: Slots<Artp<BufferTree>> = policies(SESSION, config, secrets(side));
    Association::new(slots.boxed())
}

/// Two ends that share their memory, as those of one stack do: what one takes from the pool, the
/// other may give back.
pub(crate) struct Pair<A, B> {
    pub(crate) here: A,
    pub(crate) there: B,
    pub(crate) memory: Memory<BufferTree>,
    pub(crate) now: Instant,
}

impl<A: End, B: End> Pair<A, B> {
    pub(crate) fn new(here: A, there: B, config: &Config) -> Self {
        let memory = Memory::new(usize::from(config.packet), HEADROOM, BLOCKS);
        let now = Instant::from_nanoseconds(1_000_000_000);
        let mut pair = Pair { here, there, memory, now };
        pair.here.open(now);
        for _ in 0..4 {
            pair.exchange();
        }
        assert!(pair.here.is_open(pair.now) && pair.there.is_open(pair.now), "the session is open");
        pair
    }

    /// Everything that either has to say reaches the other.
    pub(crate) fn exchange(&mut self) {
        self.exchange_some(|| true);
    }

    /// What either has to say reaches the other where `arrives` says so, packet by packet.
    #[inline]
    pub(crate) fn exchange_some(&mut self, mut arrives: impl FnMut() -> bool) {
        let Pair { here, there, memory, now, .. } = self;
        speak(here, there, memory, now, &mut arrives);
        speak(there, here, memory, now, &mut arrives);
        wake(here, *now);
        wake(there, *now);
    }
}

/// One batch of one direction.
#[inline]
fn speak(
    from: &mut impl End,
    to: &mut impl End,
    memory: &mut Memory<BufferTree>,
    now: &mut Instant,
    arrives: &mut impl FnMut() -> bool,
) {
    *now = now.later(BATCH);
    while let Some(packet) = from.transmit(*now, memory) {
        if arrives() {
            let received = to.receive(*now, packet, memory);
            assert!(
                matches!(received, Ok(()) | Err(Dropped::Duplicate)),
                "nothing is dropped: {received:?}"
            );
        }
    }
}

/// Once a batch.
#[inline]
fn wake(end: &mut impl End, now: Instant) {
    if end.next_deadline(now).is_some_and(|deadline| deadline <= now) {
        end.handle_timeout(now);
    }
}

/// Room before a message, for all headers.
pub(crate) const HEADROOM: usize = 128;

/// How many blocks the pool keeps.
pub(crate) const BLOCKS: usize = 256;

/// From one batch to the next, in nanoseconds.
pub(crate) const BATCH: u64 = 100_000;

static PAYLOAD: [u8; 10_000] = [b'x'; 10_000];

/// A message as an application makes one: in a block of the pool where it fits.
#[inline]
pub(crate) fn message(pool: &Pool<BufferTree>, octets: usize) -> BufferTree {
    let (end, payload) = (HEADROOM + octets, &PAYLOAD[..octets]);
    if end > pool.block() {
        return BufferTree::with_headroom(HEADROOM, payload);
    }
    let mut block = pool.take();
    block[HEADROOM..end].copy_from_slice(payload);
    BufferTree::from_block(block, HEADROOM, end)
}
