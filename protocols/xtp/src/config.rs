//! The configuration of XTP.

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use stackwright_contract::services::Credit;
use stackwright_transport::Limits;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND, Terms};

/// The settings of XTP, under the names of the report's control block in parentheses. The defaults
/// of [`Config::new`] suit the Internet and local networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest packet, header included, in octets: 256 … 65507. Where the path
    /// is found to drop such packets, they are shorter (RFC 8899).
    pub packet: u16,
    /// The longest message that is sent, and that is taken, in octets: of the first the layer above
    /// is told, the peer of the second. A stream has no bound.
    pub longest: usize,
    /// How many octets may be in flight, or wait for an application that does not read (rwindow).
    pub window: u32,
    /// The most that may be on its way from the application to the peer (wbufsize).
    pub send: Credit,
    /// The limits that all contexts share for messages that are not complete.
    pub limits: Limits,
    /// How many octets of packets are written one behind the other, at most, for a driver that
    /// sends them in one system call; 0: each has memory of its own.
    pub run: usize,
    /// How many contexts there may be whose peer has not shown that it hears: it opened, and has
    /// not returned our key. The one that has been silent for longest ends for another.
    pub half_open_most: usize,
    /// Whether checks cover the data; without, the header alone (NOCHECK).
    pub checks_data: bool,
    /// How urgent a context is among others with the same peer (sort), unless its messages have a
    /// priority: the smaller, the more urgent; 128 is not said.
    pub sort: u8,
    /// How fast the services with terms send, and take data (output and input rate and burst), in
    /// packets of this protocol, headers included.
    pub sends: Terms,
    /// How fast they take data; a program changes it by [`Terms::command`].
    pub takes: Terms,
    /// How long the first answer is waited for (wtimer).
    pub timeout_first: Nanoseconds,
    /// The least time that an answer is waited for.
    pub timeout_least: Nanoseconds,
    /// How many inquiries in a row may stay without an answer (retry_count).
    pub retries: u32,
    /// After how long a silence the peer is asked whether it is there (ctimer).
    pub keepalive: Nanoseconds,
    /// How long it may then stay silent (ctimeout).
    pub silence: Nanoseconds,
    /// How long a context that is over answers its peer, which may not know that; and how long one
    /// of the peer's is remembered, of which a late copy of the first packet must not make another:
    /// at most 4096 are.
    pub linger: Nanoseconds,
    /// The number of the inquiry before the first of either side (saved_sync), for tests.
    pub sync: u32,
    /// The local address, for the address segment of FIRST.
    pub local: SocketAddr,
    /// Random octets, drawn anew at each start, that nobody else knows: keys are made with them.
    pub secret: [u8; 16],
}

/// The sort that is not said.
pub(crate) const USUAL: u8 = 128;

/// The shortest that the longest packet may be, in octets.
pub const PACKET_LEAST: u16 = 256;

impl Config {
    /// No address.
    pub(crate) const UNSPECIFIED: SocketAddr =
        SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

    /// Returns the defaults with this `secret`, for which there can be no default.
    pub const fn new(secret: [u8; 16]) -> Self {
        Config {
            packet: 1472,
            longest: 10 << 20,
            window: 1 << 20,
            send: Credit { octets: 1 << 20, messages: 1024 },
            limits: Limits { octets: 1 << 28, each: 16 << 10 },
            run: 65_507,
            half_open_most: 1024,
            checks_data: true,
            sort: USUAL,
            sends: Terms::NONE,
            takes: Terms::NONE,
            timeout_first: SECOND,
            timeout_least: 20 * MILLISECOND,
            retries: 15,
            keepalive: 20 * SECOND,
            silence: 30 * SECOND,
            linger: 60 * SECOND,
            sync: 0,
            local: Config::UNSPECIFIED,
            secret,
        }
    }
}
