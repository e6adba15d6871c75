//! The configuration of a station.

use stackwright_contract::services::Credit;
use stackwright_transport::Limits;

/// The shortest packet that a configuration may have as its longest, in octets.
pub const PACKET_LEAST: u16 = 256;

/// The settings that a plan leaves open. The defaults of [`Config::new`] suit the Internet and
/// local networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest packet, header included, in octets: 256 … 65507. Where the path
    /// is found to drop such packets, they are shorter (RFC 8899).
    pub packet: u16,
    /// The most that may be on its way from the application to the peer.
    pub send: Credit,
    /// The limits that all associations share for messages that are not complete.
    pub limits: Limits,
    /// How many associations there may be whose peer has not shown that it hears, before others
    /// that open have to show it first.
    pub half_open_most: usize,
    /// The hash of the application's protocol, `HASH` where it is generated from a specification:
    /// sides with different ones refuse each other.
    pub protocol: u64,
    /// Hashes of the protocols whose openers are taken as well, `ACCEPTS` where it is generated:
    /// older versions that this side understands.
    pub accepts: &'static [u64],
    /// Random octets, drawn anew at each start, that nobody else knows: tokens are made with them.
    pub secret: [u8; 16],
}

impl Config {
    /// Returns the defaults with this `secret`, for which there can be no default.
    pub const fn new(secret: [u8; 16]) -> Self {
        Config {
            packet: 1472,
            send: Credit { octets: 1 << 20, messages: 1024 },
            limits: Limits { octets: 1 << 28, each: 16 << 10 },
            half_open_most: 256,
            protocol: 0,
            accepts: &[],
            secret,
        }
    }
}
