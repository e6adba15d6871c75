//! Each datagram encrypted and authenticated, once: a retransmission repeats the same octets.

use alloc::vec::Vec;

use stackwright_transport::words::Dropped;
use stackwright_wire::{Block as _, Header, Leaf, Message, Pool};

use super::Secret;
use super::agreed::Agreed;
use super::guard::{Datagram, Keyed};
use super::keys::{Key, Schedule};
use super::library::Cipher;
use super::seen::Seen;
use crate::header::Seal;
use crate::sessions::HEADROOM_BELOW;
use crate::state::HEADER_MOST;

/// The octets of what replaces a signature.
pub(super) const OCTETS: usize = Seal::LENGTH;

/// The version of the format of sealed datagrams.
const FORM: u8 = 1;

/// The most octets that one key seals: 2^36 blocks of AES, which an attacker then distinguishes
/// from random octets with an advantage of at most 2^-57 (RFC 9001 appendix B.1 computes it so).
const OCTETS_MOST: u64 = 1 << 40;

/// What a datagram counts for beside its octets: it bounds the number of very short datagrams under
/// one key.
const OCTETS_BESIDE: u64 = 64;

/// How datagrams are sealed, and with which secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealing {
    cipher: Cipher,
    secret: Secret,
    octets_most: u64,
}

impl Sealing {
    /// Makes a seal whose keys are derived from `secret`, which both sides have, and from what each
    /// session begins with. The secret is random, or made by a key exchange; a password is none.
    pub const fn new(cipher: Cipher, secret: Secret) -> Self {
        Sealing { cipher, secret, octets_most: OCTETS_MOST }
    }

    /// Sets after how many octets a key is followed by the next; at most 2^40. Both sides need not
    /// agree on it. There are 2^16 keys in a session and direction: fewer octets end it sooner.
    #[must_use]
    pub const fn octets_per_key(self, octets: u64) -> Self {
        Sealing { octets_most: if octets < OCTETS_MOST { octets } else { OCTETS_MOST }, ..self }
    }
}

/// Seals and opens the datagrams of one session.
pub(super) struct Sealer {
    schedule: Schedule,
    octets_most: u64,
    ours: Generation,
    /// How many datagrams our key has sealed, and how many octets it still may.
    counter: u64,
    octets: u64,
    theirs: Generation,
    seen: Seen,
}

/// A key and its generation.
struct Generation {
    number: u16,
    key: Key,
}

impl Sealer {
    pub(super) fn new(sealing: &Sealing, agreed: Agreed) -> Self {
        let schedule = Schedule::new(sealing.cipher, &sealing.secret, agreed);
        let first = |direction| Generation { number: 0, key: schedule.key(direction, 0) };
        let (ours, theirs) = (first(schedule.agreed().ours()), first(schedule.agreed().theirs()));
        let octets_most = sealing.octets_most;
        Sealer {
            schedule,
            octets_most,
            ours,
            counter: 0,
            octets: octets_most,
            theirs,
            seen: Seen::new(),
        }
    }

    /// Moves to the next key unless the current one may seal this many octets more. `None`: there
    /// is no further key, after 2^56 octets.
    fn prepare(&mut self, octets: u64) -> Option<()> {
        if octets > self.octets && self.counter > 0 {
            let number = self.ours.number.checked_add(1)?;
            let key = self.schedule.key(self.schedule.agreed().ours(), number);
            self.ours = Generation { number, key };
            (self.counter, self.octets) = (0, self.octets_most);
        }
        Some(())
    }
}

impl<M: Message> Keyed<M> for Sealer {
    fn protect(&mut self, mut message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, M> {
        let counts = message.len() as u64 + OCTETS_BESIDE;
        let Some(()) = self.prepare(counts) else { return Err(message) };
        let (generation, counter) = (self.ours.number, self.counter);
        let associated = associated(generation, datagram);
        let key = &self.ours.key;
        let (mut message, tag) = match message.unshared() {
            Some(octets) => {
                let Some(tag) = key.seal(counter, &associated, octets) else { return Err(message) };
                (message, tag)
            }
            // A shared message is left unchanged: it is encrypted into the memory that it leaves
            // from.
            None => {
                let end = HEADROOM + message.len();
                let mut block = pool.again(end).unwrap_or_else(|| M::Block::zeroed(end));
                let into = &mut block[HEADROOM..end];
                let tag = match one_piece(&message) {
                    Some(plain) => key.seal_into(counter, &associated, plain, into),
                    None if message.copy_to(into) < into.len() => None, // a region of a file
                    None => key.seal(counter, &associated, into),
                };
                let Some(tag) = tag else { return Err(message) };
                (M::from_block(block, HEADROOM, end), tag)
            }
        };
        self.counter += 1;
        self.octets = self.octets.saturating_sub(counts);
        message.push(&Seal { generation, counter, tag });
        Ok(message)
    }

    fn open(&mut self, mut message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, Dropped> {
        let seal = message.pull::<Seal>().map_err(|_| Dropped::Forged)?;
        let mut message = alone(message, pool).map_err(|_| Dropped::Forged)?;
        let octets = message.unshared().ok_or(Dropped::Forged)?;
        let associated = associated(seal.generation, datagram);
        if seal.generation == self.theirs.number {
            if !self.theirs.key.open(seal.counter, &associated, octets, seal.tag) {
                return Err(Dropped::Forged);
            }
        } else {
            // A datagram that was overtaken, or the first one of the peer's next key: the new
            // generation is accepted only if the datagram could be opened.
            let key = self.schedule.key(self.schedule.agreed().theirs(), seal.generation);
            if !key.open(seal.counter, &associated, octets, seal.tag) {
                return Err(Dropped::Forged);
            }
            if seal.generation > self.theirs.number {
                self.theirs = Generation { number: seal.generation, key };
            }
        }
        let counter = u64::from(seal.generation) << 48 | seal.counter;
        if self.seen.is_new(counter) { Ok(message) } else { Err(Dropped::Duplicate) }
    }
}

/// The associated data. The session and all that was agreed for it are in the key.
fn associated(generation: u16, datagram: Datagram) -> [u8; 8] {
    let [high, low] = generation.to_be_bytes();
    let [kind, a, b, c, d] = datagram.octets();
    [FORM, high, low, kind, a, b, c, d]
}

/// The headroom for all headers before a datagram that is made anew.
const HEADROOM: usize = HEADROOM_BELOW + HEADER_MOST + 64;

/// Returns all octets of a message, if they are contiguous.
fn one_piece<M: Message>(message: &M) -> Option<&[u8]> {
    let mut leaves = message.leaves();
    match (leaves.next(), leaves.next()) {
        (Some(Leaf::Octets(octets)), None) => Some(octets),
        _ => None,
    }
}

/// Returns the same octets, contiguous and unshared: the message itself, or a copy with headroom
/// for all headers.
fn alone<M: Message>(mut message: M, pool: &Pool<M>) -> Result<M, M> {
    if message.unshared().is_some() {
        return Ok(message);
    }
    let end = HEADROOM + message.len();
    if let Some(mut block) = pool.again(end) {
        let copied = message.copy_to(&mut block[HEADROOM..end]);
        return if HEADROOM + copied == end {
            Ok(M::from_block(block, HEADROOM, end))
        } else {
            Err(message)
        };
    }
    // The buffer is not cleared first: it is overwritten anyway.
    let mut octets = Vec::with_capacity(end);
    octets.resize(HEADROOM, 0);
    message.append_to(&mut octets);
    if octets.len() < end {
        return Err(message); // a region of a file
    }
    Ok(M::from_block(octets.into(), HEADROOM, end))
}
