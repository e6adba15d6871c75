//! Integrated layer processing: what several layers do with all octets, in one pass over them (D.
//! Clark, D. Tennenhouse: Architectural considerations for a new generation of protocols, 1990).
//!
//! A [`Stage`] reads or alters octets; a tuple of stages is a stage. [`copy_through`] copies the
//! pieces of a message to one place and has the stages handle each block on its way, while it is in
//! the processor's registers or its nearest cache; each octet is read from memory once and written
//! once. [`in_place`] does the same where the octets are already.
//!
//! | stage | what it does |
//! | --- | --- |
//! | [`Cxor`](crate::check::Cxor), [`Internet`](crate::check::Internet), [`Crc32c`](crate::check::Crc32c) | adds the octets to the check |
//! | [`XorMask`] | XORs them with a repeated key: a stand-in for a stream cipher |
//! | [`ByteSwap`] | swaps the octets of each 32-bit word: presentation |
//!
//! The order counts: a check before a mask is that of the plain octets, one behind it that of the
//! masked ones.
//!
//! ```
//! use stackwright_wire::check::{Crc32c, Cxor};
//! use stackwright_wire::stages::{XorMask, copy_through};
//!
//! let leaves: [&[u8]; 2] = [b"a message ", b"in two leaves"];
//! let mut target = [0; 32];
//! let mut stages = (Cxor::new(), XorMask::new([1, 2, 3, 4]), Crc32c::new());
//! let length = copy_through(leaves, &mut target, &mut stages);
//! assert_eq!(length, 23);
//! assert_eq!(stages.0.value(), Cxor::of(b"a message in two leaves"));
//! assert_eq!(stages.2.value(), Crc32c::of(&target[..length]));
//! ```

mod byte_swap;
mod checks;
mod pass;
mod xor_mask;

pub use byte_swap::ByteSwap;
pub use pass::{Pass, copy_through, in_place};
pub use xor_mask::XorMask;

/// The length of the shortest block in octets. Periods of stages divide it.
pub const BLOCK: usize = 32;

/// What one layer does with all octets that pass.
///
/// One that is implemented with `#[inline(always)]` is compiled into the loop of the pass, and with
/// the feature `std` once more for AVX2. It can be cloned, so that the loop has it in registers.
pub trait Stage: Clone {
    /// Handles the next block, which is as long as several of [`BLOCK`] octets.
    fn block<const N: usize>(&mut self, block: &mut [u8; N]);

    /// Handles the last octets of a pass, less than [`BLOCK`].
    fn tail(&mut self, octets: &mut [u8]);
}

/// Several stages, one after the other.
macro_rules! tuples {
    ($(($($stage:ident)*))*) => {
        $(impl<$($stage: Stage),*> Stage for ($($stage,)*) {
            #[inline(always)]
            fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
                #[allow(non_snake_case, reason = "the names of types")]
                let ($($stage,)*) = self;
                $($stage.block(block);)*
            }

            #[inline(always)]
            fn tail(&mut self, octets: &mut [u8]) {
                #[allow(non_snake_case, reason = "the names of types")]
                let ($($stage,)*) = self;
                $($stage.tail(octets);)*
            }
        })*
    };
}

tuples! { (A) (A B) (A B C) (A B C D) }
