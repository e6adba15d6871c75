//! The configuration of TCP.

use stackwright_contract::services::Credit;
use stackwright_transport::Limits;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};

/// The shortest that the longest segment may be, header included: what any IPv4 host takes (RFC
/// 9293 §3.7.1).
pub const SEGMENT_LEAST: u16 = 556;

/// The settings of TCP. The defaults of [`Config::new`] suit the Internet and local networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest segment that is sent, header included, in octets: 556 … 65 515. The path may
    /// shorten it, and the peer.
    pub segment: u16,
    /// The first receive window, in octets.
    pub window: u32,
    /// The most that it grows to where the application keeps up, in octets: up to 1 GiB. The
    /// window scale is chosen for it.
    pub window_most: u32,
    /// The most that may be on its way from the application to the peer. It begins with 1 MiB, and
    /// grows with the path.
    pub send: Credit,
    /// The limits that all connections share for windows that have grown, and for what is on its
    /// way beyond the first 1 MiB.
    pub limits: Limits,
    /// How many octets of segments are written one behind the other, at most, for a driver that
    /// sends them in one system call; 0: each has memory of its own.
    pub run: usize,
    /// How long the first answer is waited for (RFC 6298 §2.1).
    pub timeout_first: Nanoseconds,
    /// The least that the retransmission timeout is longer than the round trip.
    pub timeout_least: Nanoseconds,
    /// How often a SYN, or its answer, is sent.
    pub tries: u32,
    /// After how long without an acknowledgement the peer is gone, while one is due (the user
    /// timeout, RFC 9293 §3.8.3).
    pub silence: Nanoseconds,
    /// After how long without a segment a peer is asked whether it is there, where nothing is on
    /// its way; `Nanoseconds::MAX`: never, the default (RFC 9293 §3.8.4).
    pub keep_alive: Nanoseconds,
    /// How long the peer's end is waited for when nobody reads it any more.
    pub orphaned: Nanoseconds,
    /// How long an acknowledgement is delayed (RFC 9293 §3.8.6.3: at most 500 ms).
    pub delay: Nanoseconds,
    /// Whether SACK is offered (RFC 2018).
    pub sack: bool,
    /// Whether timestamps are offered (RFC 7323).
    pub timestamps: bool,
    /// Whether the window scale is offered (RFC 7323).
    pub scales: bool,
    /// Whether ECN is offered, and accepted (RFC 3168).
    pub ecn: bool,
    /// How long a connection that this side closed first is remembered (TIME-WAIT, RFC 9293
    /// §3.6.1).
    pub time_wait: Nanoseconds,
    /// How many of those are remembered at a time; the oldest is forgotten first.
    pub time_wait_most: usize,
    /// Whether a short segment waits until all that has left is acknowledged, or it is full
    /// (Nagle's algorithm, RFC 9293 §3.7.4).
    pub nagle: bool,
    /// How many connections there may be that peers opened and that are not confirmed: a SYN beyond
    /// them is answered and forgotten (SYN cookies, RFC 4987 §3.6).
    pub half_open_most: usize,
    /// Random octets, drawn anew at each start, that nobody else knows: first numbers, ports and
    /// timestamps are made with them.
    pub secret: [u8; 16],
}

impl Config {
    /// Returns the defaults with this `secret`, for which there can be no default.
    pub const fn new(secret: [u8; 16]) -> Self {
        Config {
            segment: 1480,
            window: 64 << 10,
            window_most: 4 << 20,
            send: Credit { octets: 8 << 20, messages: 1024 },
            limits: Limits { octets: 1 << 28, each: 0 },
            run: 65_507,
            timeout_first: SECOND,
            timeout_least: 200 * MILLISECOND,
            tries: 6,
            silence: 100 * SECOND,
            keep_alive: Nanoseconds::MAX,
            orphaned: 60 * SECOND,
            delay: 40 * MILLISECOND,
            sack: true,
            timestamps: true,
            scales: true,
            ecn: true,
            time_wait: 60 * SECOND,
            time_wait_most: 4096,
            nagle: false,
            half_open_most: 1024,
            secret,
        }
    }

    /// Returns the shift of windows: the least with which the largest can be told (RFC 7323 §2.3).
    pub(crate) const fn shift(&self) -> u8 {
        let mut shift = 0;
        while shift < crate::options::SHIFT_MOST && self.window_most >> shift > u16::MAX as u32 {
            shift += 1;
        }
        shift
    }
}
