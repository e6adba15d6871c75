//! A TCP with an application on one connection, as the peer at the other end of its link sees it.

use std::time::Duration;

/// The ports of a side that listens, and of one that opens.
pub(crate) const PORTS: [u16; 2] = [80, 40_000];

/// What an application asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    Listen,
    Connect,
    Send(usize),
    /// Ends the own half.
    Finish,
    /// Ends both halves.
    Close,
    Abort,
    /// Reads no more, until it does again.
    Pause,
    Read,
}

impl Call {
    /// Reads a call.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (name, octets) = text.split_once(' ').unwrap_or((text, ""));
        Some(match (name, octets) {
            ("listen", "") => Call::Listen,
            ("connect", "") => Call::Connect,
            ("send", octets) => Call::Send(octets.parse().ok()?),
            ("finish", "") => Call::Finish,
            ("close", "") => Call::Close,
            ("abort", "") => Call::Abort,
            ("pause", "") => Call::Pause,
            ("read", "") => Call::Read,
            _ => return None,
        })
    }
}

/// What the application was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub(crate) open: bool,
    pub(crate) heard: usize,
    /// The peer sends no more.
    pub(crate) finished: bool,
    pub(crate) ended: Option<Why>,
}

/// Why a connection ended that was not closed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    Refused,
    Reset,
    Silent,
    /// In good order, or it was closed or aborted here.
    Over,
}

/// The host.
pub(crate) trait Host {
    fn call(&mut self, call: Call);
    /// Has a packet arrive.
    fn arrives(&mut self, packet: &[u8]);
    /// Returns the next packet of IPv4 that leaves, until a time: it is that time then.
    fn leaves(&mut self, until: Duration) -> Option<Vec<u8>>;
    /// The time since it was made.
    fn now(&self) -> Duration;
    fn told(&self) -> Told;
    /// Whether time is the world's: then what happens may happen late.
    fn is_real(&self) -> bool;
}
