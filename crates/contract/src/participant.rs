//! Who takes part in an association.

use core::fmt;
use core::net::SocketAddr;

/// An address of any kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Participant {
    /// An Internet address and port.
    Internet(SocketAddr),
    /// An Internet address and port, reached through the lower with this number: of several that one upper stands on.
    Through {
        /// Which of the lowers, counted from 0.
        interface: u16,
        /// The address and port.
        address: SocketAddr,
    },
    /// The one and only at the other end of a pipe or a line.
    OtherEnd,
}

impl Participant {
    /// The Internet address and port, where it is one.
    pub fn internet(self) -> Option<SocketAddr> {
        match self {
            Participant::Internet(address) | Participant::Through { address, .. } => Some(address),
            Participant::OtherEnd => None,
        }
    }

    /// The number of the lower through which it is reached, where that was said.
    pub fn interface(self) -> Option<u16> {
        match self {
            Participant::Through { interface, .. } => Some(interface),
            _ => None,
        }
    }

    /// The same, reached through the lower with this number. Who has no address has no choice of ways either.
    #[must_use]
    pub fn through(self, interface: u16) -> Self {
        self.internet().map_or(self, |address| Participant::Through { interface, address })
    }

    /// The same, without the number of a lower: as that lower knows it.
    #[must_use]
    pub fn direct(self) -> Self {
        self.internet().map_or(self, Participant::Internet)
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
            Participant::Through { interface, address } => write!(f, "{address} through {interface}"),
            Participant::OtherEnd => f.write_str("the other end"),
        }
    }
}
