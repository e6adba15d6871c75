//! From a key to the 64 bits of its hash: quickly, or so that a peer cannot choose keys that
//! collide.

use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// How a map hashes its keys.
pub trait Hashing {
    /// Creates a hashing that depends on `seed`, if it is a keyed one.
    fn new(seed: u64) -> Self;

    /// Returns the hash of `key`. The lower 32 bits are the better ones, and the only ones that our
    /// maps use unless they are very large.
    fn hash<K: Hash>(&self, key: &K) -> u64;
}

/// The hash for keys that this side or trusted peers choose: one multiplication per 16 octets, and
/// one more.
///
/// Anyone can construct keys that collide. It depends on no seed, so that the compiler computes
/// what depends on a key's length alone.
#[derive(Clone, Copy, Default, Debug)]
pub struct Trusted;

impl Hashing for Trusted {
    #[inline]
    fn new(_: u64) -> Self {
        Trusted
    }

    #[inline]
    fn hash<K: Hash>(&self, key: &K) -> u64 {
        let mut hasher = Folding(FIRST);
        key.hash(&mut hasher);
        hasher.finish()
    }
}

/// The hash for keys that any peer chooses: SipHash-1-3, under a key that the peer does not know.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    key: (u64, u64),
}

impl Hashing for Keyed {
    fn new(seed: u64) -> Self {
        Keyed { key: (spread(seed), spread(!seed)) }
    }

    /// Not inlined: it is long, and would take the registers of its caller.
    #[inline(never)]
    fn hash<K: Hash>(&self, key: &K) -> u64 {
        let mut hasher = Secret(SipHasher13::new_with_keys(self.key.0, self.key.1));
        key.hash(&mut hasher);
        hasher.finish()
    }
}

/// [`SipHasher13`], fed one number at a time: the compiler knows how many a key of fixed length
/// has, and keeps all of it in registers.
struct Secret(SipHasher13);

impl Hasher for Secret {
    #[inline]
    fn write(&mut self, mut octets: &[u8]) {
        while let Some((number, rest)) = octets.split_first_chunk() {
            self.0.write_u64(u64::from_le_bytes(*number));
            octets = rest;
        }
        if let Some((number, rest)) = octets.split_first_chunk() {
            self.0.write_u32(u32::from_le_bytes(*number));
            octets = rest;
        }
        for number in octets {
            self.0.write_u8(*number);
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.0.write_u8(number);
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.0.write_u16(number);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0.write_u32(number);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0.write_usize(number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns the finish of SplitMix64: near seeds give unrelated keys.
fn spread(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ seed >> 31
}

/// Digits of pi, as constants that cannot have been chosen for a purpose.
const FIRST: u64 = 0x243f_6a88_85a3_08d3;
const SECOND: u64 = 0x1319_8a2e_0370_7345;
const THIRD: u64 = 0xa409_3822_299f_31d1;
const FOURTH: u64 = 0x4528_21e6_38d0_1377;

/// Multiplies to 128 bits and folds them: every bit of the result depends on every bit of both.
#[inline]
const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

struct Folding(u64);

impl Folding {
    #[inline]
    fn add(&mut self, number: u64) {
        self.0 = fold(self.0 ^ number, THIRD);
    }

    #[inline]
    fn add_two(&mut self, (first, second): (u64, u64)) {
        self.0 = fold(self.0 ^ first, SECOND ^ second);
    }

    /// Adds more octets than a key usually has; the last 16 may be read twice.
    #[inline(never)]
    fn add_long(&mut self, octets: &[u8]) {
        let (chunks, _) = octets.as_chunks::<16>();
        for chunk in chunks {
            self.add_two(ends(chunk).unwrap_or_default());
        }
        let last = octets.last_chunk::<16>().and_then(|chunk| ends(chunk));
        self.add_two(last.unwrap_or_default());
    }
}

/// Returns the first and the last eight octets, which overlap in fewer than 16.
#[inline]
fn ends(octets: &[u8]) -> Option<(u64, u64)> {
    let (first, last) = (octets.first_chunk()?, octets.last_chunk()?);
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
}

/// Returns the first and the last four octets, which overlap in fewer than eight.
#[inline]
fn short_ends(octets: &[u8]) -> Option<(u64, u64)> {
    let (first, last) = (octets.first_chunk()?, octets.last_chunk()?);
    Some((u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()))
}

/// The two numbers hold all that distinguishes octets of one length; a slice's hash has written the
/// length before.
impl Hasher for Folding {
    #[inline]
    fn write(&mut self, octets: &[u8]) {
        if octets.len() > 16 {
            self.add_long(octets);
        } else if let Some(two) = ends(octets).or_else(|| short_ends(octets)) {
            self.add_two(two);
        } else {
            let number = octets.iter().fold(1, |number, octet| number << 8 | u64::from(*octet));
            self.add(number);
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.add(number.into());
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.add(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.add_two((number as u64, (number >> 64) as u64));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    /// Multiplies once more: after one multiplication, equally spaced keys are still equally
    /// spaced, and cluster.
    #[inline]
    fn finish(&self) -> u64 {
        fold(self.0, FOURTH)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Octets, with numbers before and after them, give the same digest as the library's hash of
    /// the whole.
    #[test]
    fn one_number_at_a_time_is_the_same_siphash() {
        let octets: Vec<u8> = (1..=40).collect();
        for length in 0..octets.len() {
            for before in 0..8 {
                let mut secret = Secret(SipHasher13::new_with_keys(1, 2));
                octets[..before].iter().for_each(|octet| secret.write_u8(*octet));
                secret.write(&octets[before..length.max(before)]);
                secret.write_usize(length);
                let mut whole = SipHasher13::new_with_keys(1, 2);
                whole.write(&octets[..length.max(before)]);
                whole.write(&length.to_le_bytes());
                assert_eq!(secret.finish(), whole.finish(), "{length} octets, {before} alone");
            }
        }
    }
}
