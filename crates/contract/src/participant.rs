//! Who takes part in an association.

use core::fmt;
use core::net::SocketAddr;

/// An address of any kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Participant {
    /// An Internet address and port.
    Internet(SocketAddr),
    /// The one and only at the other end of a pipe or a line.
    OtherEnd,
}

impl Participant {
    /// The Internet address and port, where it is one.
    pub fn internet(self) -> Option<SocketAddr> {
        match self {
            Participant::Internet(address) => Some(address),
            Participant::OtherEnd => None,
        }
    }
}

impl From<SocketAddr> for Participant {
    fn from(address: SocketAddr) -> Self {
        Participant::Internet(address)
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Participant::Internet(address) => address.fmt(f),
            Participant::OtherEnd => f.write_str("the other end"),
        }
    }
}
