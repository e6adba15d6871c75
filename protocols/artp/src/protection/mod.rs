//! The protection of a datagram: none, the application's own, a signature, or a seal.
//!
//! | file | what |
//! | --- | --- |
//! | `guard.rs` | protects outgoing datagrams and opens incoming ones, in one session |
//! | `agreed.rs` | what both sides agreed on, to which a protection is bound |
//! | `opaque.rs` | for an application that signs and encrypts itself |
//! | `sign.rs` | each datagram signed |
//! | `seal.rs`, `keys.rs` | each datagram encrypted and authenticated; with which keys |
//! | `library/` | which library computes ciphers and keys |
//! | `seen.rs` | which datagrams arrived before |
#![cfg_attr(
    not(all(feature = "__seal", feature = "sign")),
    allow(dead_code, unused_variables, reason = "each protection asks for its own part")
)]

mod agreed;
mod guard;
#[cfg(feature = "__seal")]
mod keys;
#[cfg(feature = "__seal")]
mod library;
mod opaque;
#[cfg(feature = "__seal")]
mod seal;
#[cfg(any(feature = "__seal", feature = "sign"))]
mod seen;
#[cfg(feature = "sign")]
mod sign;

use core::fmt;

pub(crate) use agreed::Agreed;
pub(crate) use guard::{Datagram, Guard};
#[cfg(feature = "__seal")]
pub use library::Cipher;
pub use opaque::{compose, take_apart};
#[cfg(feature = "__seal")]
pub use seal::Sealing;
#[cfg(feature = "sign")]
pub use sign::Signing;

/// The protection of datagrams. Both sides choose the same, with keys that belong together: a side
/// that receives datagrams with another protection drops them, and gives the session up after some.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protection {
    /// None. A datagram that arrives with a signature is refused: it could not be verified here.
    #[default]
    Absent,
    /// The application's own: it sends and receives each datagram with its signature, as
    /// [`compose`] builds it and [`take_apart`] splits it.
    Opaque,
    /// Each datagram is signed: it comes from the peer, in this session and this direction. It is
    /// not encrypted.
    #[cfg(feature = "sign")]
    Signed(Signing),
    /// Each datagram is encrypted and authenticated, with keys of this session and this direction.
    #[cfg(feature = "__seal")]
    Sealed(Sealing),
}

impl Protection {
    /// Returns the octets of what replaces a signature; `None`: the application puts it there.
    pub(crate) fn signature(&self) -> Option<usize> {
        match self {
            Protection::Absent => Some(0),
            Protection::Opaque => None,
            #[cfg(feature = "sign")]
            Protection::Signed(_) => Some(sign::OCTETS),
            #[cfg(feature = "__seal")]
            Protection::Sealed(_) => Some(seal::OCTETS),
        }
    }
}

/// A secret of 32 octets, known to the two ends only. It is not printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
