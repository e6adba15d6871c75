//! Keys: numbers of 63 bits that tell contexts apart.
//!
//! A key that comes back says the name of its context: no map is asked.
//!
//! | bits | what |
//! | --- | --- |
//! | 13 | a tag: nobody else can make a key |
//! | 32 | the name's generation: a key is not used again |
//! | 18 | the name's index |

use core::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use stackwright_contract::Handle;

const INDEX: u32 = 18;
const GENERATION: u32 = 32;
const TAG: u32 = 63 - INDEX - GENERATION;

/// A key, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextKey {
    /// Whether it is one of ours, which the peer returns (RTN).
    pub ours: bool,
    /// The key.
    pub number: u64,
}

impl ContextKey {
    /// Returns our key of a context; `None`: there are too many contexts.
    pub(crate) fn of(name: Handle, secret: &[u8; 16]) -> Option<Self> {
        if name.index >> INDEX != 0 {
            return None;
        }
        let number = u64::from(name.generation) << INDEX | u64::from(name.index);
        let mut hasher = SipHasher13::new_with_key(secret);
        hasher.write_u64(number);
        let tag = hasher.finish() >> (u64::BITS - TAG);
        Some(ContextKey { ours: true, number: tag << (INDEX + GENERATION) | number })
    }

    /// Returns the name of our context; the tag is not looked at.
    pub(crate) fn name(self) -> Option<Handle> {
        let index = (self.number & ((1 << INDEX) - 1)) as u32;
        let generation = (self.number >> INDEX) as u32;
        self.ours.then_some(Handle { index, generation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_its_name() {
        for name in [(0, 0), (1, u32::MAX), ((1 << INDEX) - 1, 7)] {
            let name = Handle { index: name.0, generation: name.1 };
            let key = ContextKey::of(name, &[1; 16]).expect("a key");
            assert!(key.ours && key.number >> 63 == 0, "{key:?}");
            assert_eq!(key.name(), Some(name));
            assert_ne!(ContextKey::of(name, &[2; 16]), Some(key), "another program has others");
        }
        assert_eq!(ContextKey::of(Handle { index: 1 << INDEX, generation: 0 }, &[1; 16]), None);
        assert_eq!(ContextKey { ours: false, number: 1 }.name(), None);
    }
}
