//! Authenticated encryption: by whom.
//!
//! | file | what |
//! | --- | --- |
//! | `portable.rs` | in Rust, wherever Rust runs |
//! | `assembled.rs` | by AWS-LC, whose inner loops are written for each processor (feature `aws-lc`): nearly twice as fast in bulk, all of ARTP included |

#[cfg(feature = "aws-lc")]
mod assembled;
#[cfg(any(test, not(feature = "aws-lc")))]
mod portable;

#[cfg(feature = "aws-lc")]
pub(super) use assembled::Aead;
#[cfg(not(feature = "aws-lc"))]
pub(super) use portable::Aead;
#[cfg(all(test, feature = "aws-lc"))]
pub(super) use portable::Aead as Other;

/// How datagrams are sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// AES-256 in Galois/counter mode (NIST SP 800-38D): the faster one where the processor knows AES.
    Aes256Gcm,
    /// ChaCha20 and Poly1305 (RFC 8439): the faster one everywhere else.
    ChaCha20Poly1305,
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// What the published vectors show of the one holds of the other.
    #[test]
    fn both_seal_alike() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let (one, other) = (Aead::new(cipher, &[7; 32]), Other::new(cipher, &[7; 32]));
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
}
