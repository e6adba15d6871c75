//! Which proxy, and how it is spoken to.

use alloc::string::String;

use stackwright_contract::{Duration, Participant};

/// The proxy.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its address.
    pub address: Participant,
    /// Its protocol.
    pub kind: Kind,
    /// The user it asks for, if it does.
    pub login: Option<Login>,
    /// How long an association may take to be opened through it.
    pub timeout: Duration,
}

impl Config {
    /// Returns the proxy at `address`, without a login, and a time limit of 30 s.
    pub fn new(kind: Kind, address: impl Into<Participant>) -> Self {
        Config { address: address.into(), kind, login: None, timeout: Duration::from_secs(30) }
    }
}

/// The protocol of a proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// SOCKS 5 (RFC 1928).
    Socks5,
    /// CONNECT of HTTP/1.1 (RFC 9110 §9.3.6).
    HttpConnect,
}

/// A user of a proxy, each part at most 255 octets long for SOCKS.
#[derive(Clone)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password: it reaches the proxy in the clear.
    pub password: String,
}

/// Shows everything but the password.
impl core::fmt::Debug for Login {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}
