//! The ciphers and the key derivation of a seal, by one of three libraries.
//!
//! | file | library |
//! | --- | --- |
//! | `portable.rs` | RustCrypto (feature `seal`): Rust alone, wherever Rust runs |
//! | `assembled.rs` | *ring* (feature `ring`) or AWS-LC (feature `aws-lc`): inner loops in assembly for each processor |
//!
//! Where several are enabled, the fastest is used: AWS-LC, then *ring*. All of them put the same
//! octets on the wire.

#[cfg(any(feature = "ring", feature = "aws-lc"))]
mod assembled;
#[cfg(any(all(test, feature = "seal"), not(any(feature = "ring", feature = "aws-lc"))))]
mod portable;

#[cfg(any(feature = "ring", feature = "aws-lc"))]
pub(super) use assembled::{Aead, Extracted};
#[cfg(not(any(feature = "ring", feature = "aws-lc")))]
pub(super) use portable::{Aead, Extracted};

/// The cipher that seals datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// AES-256 in Galois/counter mode (NIST SP 800-38D): the faster one if the processor has AES
    /// instructions.
    Aes256Gcm,
    /// ChaCha20 and Poly1305 (RFC 8439): the faster one everywhere else.
    ChaCha20Poly1305,
}

#[cfg(all(test, feature = "seal", any(feature = "ring", feature = "aws-lc")))]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// The published vectors verify one library; equal results verify the other.
    #[test]
    fn both_seal_alike() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let (one, other) = (Aead::new(cipher, &[7; 32]), portable::Aead::new(cipher, &[7; 32]));
            for length in [0, 1, 15, 16, 17, 255, 1000, 10_000] {
                let plain: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
                let (mut here, mut there) = (plain.clone(), plain.clone());
                let tag = one.seal([3; 12], b"beside", &mut here).unwrap();
                assert_eq!(other.seal([3; 12], b"beside", &mut there), Some(tag));
                assert_eq!(here, there);
                let mut elsewhere = [vec![1; length], vec![2; length]];
                let [one_there, other_there] = &mut elsewhere;
                assert_eq!(one.seal_into([3; 12], b"beside", &plain, one_there), Some(tag));
                assert_eq!(other.seal_into([3; 12], b"beside", &plain, other_there), Some(tag));
                assert!(elsewhere.iter().all(|sealed| *sealed == here));
                assert!(
                    other.open([3; 12], b"beside", &mut here, tag)
                        && one.open([3; 12], b"beside", &mut there, tag)
                );
                assert_eq!((&here, &there), (&plain, &plain));
            }
        }
    }

    #[test]
    fn both_derive_the_same_keys() {
        for length in [0, 1, 32, 64, 200] {
            let (salt, secret) = (vec![0x5a; length], vec![0xa5; length]);
            let one = Extracted::new(&salt, &secret);
            let other = portable::Extracted::new(&salt, &secret);
            let (mut here, mut there) = ([0; 44], [1; 44]);
            one.expand(&[b"what", b"", &secret], &mut here);
            other.expand(&[b"what", b"", &secret], &mut there);
            assert_eq!(here, there);
        }
    }

    #[test]
    fn both_refuse_the_same_lengths() {
        for (plain, into) in [(3, 2), (2, 3), (0, 1)] {
            let (plain, into) = (vec![1; plain], vec![0; into]);
            for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
                let (one, other) =
                    (Aead::new(cipher, &[7; 32]), portable::Aead::new(cipher, &[7; 32]));
                assert_eq!(one.seal_into([3; 12], b"", &plain, &mut into.clone()), None);
                assert_eq!(other.seal_into([3; 12], b"", &plain, &mut into.clone()), None);
            }
        }
    }
}
