//! The configuration of XSTP.

use core::num::NonZeroU64;

use stackwright_contract::services::Credit;
use stackwright_transport::Limits;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};

/// The octets of the shortest packet that a peer may be told is the longest.
pub const PACKET_LEAST: u16 = 40;

/// How long the transmitter is keyed, in seconds, and how many packets leave meanwhile, at most.
const KEY_UP: u64 = 30;
pub(crate) const BURST_MOST: u8 = 63;

/// The settings of XSTP. [`Config::new`] suits local networks and satellites, [`Config::radio`]
/// packet radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest packet that is sent, header included, in octets: 40 … 65 515. The path may
    /// shorten it, and the peer.
    pub packet: u16,
    /// The receive window, in packets: 1 … 254.
    pub window: u8,
    /// The most that may be on its way from the application to the peer.
    pub send: Credit,
    /// The limits that all connections share for windows that have grown.
    pub limits: Limits,
    /// The rate at which packets leave, in octets per second, and how many may leave at once, in
    /// octets. Without it, the congestion window alone bounds them.
    pub rate: Option<(NonZeroU64, u32)>,
    /// Whether the link carries one direction at a time: a gap is told when the sender asks, and
    /// not while it sends.
    pub half_duplex: bool,
    /// How often questions are asked while something is in flight (Timer_POLL).
    pub poll: Nanoseconds,
    /// After how many packets one is asked at the latest (MaxPD).
    pub poll_packets: u32,
    /// The longest interval that unanswered questions are doubled to: the peer is out of reach.
    pub patience: Nanoseconds,
    /// After how long without an answer the peer is gone (Timer_NO-RESPONSE).
    pub silence: Nanoseconds,
    /// How long the answer to a beginning or an end is waited for (Timer_CC); doubled each time, up
    /// to `patience`.
    pub again: Nanoseconds,
    /// How often a beginning is sent (MaxCC).
    pub tries: u32,
    /// How often an end is sent.
    pub ends: u32,
    /// The timeout before a round trip was measured.
    pub timeout_first: Nanoseconds,
    /// The least that the timeout is longer than the round trip.
    pub timeout_least: Nanoseconds,
    /// How long a connection that is over is remembered.
    pub remembered: Nanoseconds,
    /// How many connections there may be that peers opened and that have not shown that they
    /// receive our packets.
    pub half_open_most: usize,
}

impl Config {
    /// Returns the defaults.
    pub const fn new() -> Self {
        Config {
            packet: 1480,
            window: 254,
            send: Credit { octets: 1 << 20, messages: 1024 },
            limits: Limits { octets: 1 << 28, each: 0 },
            rate: None,
            half_duplex: false,
            poll: 50 * MILLISECOND,
            poll_packets: 127,
            patience: 5 * SECOND,
            silence: 100 * SECOND,
            again: SECOND,
            tries: 8,
            ends: 8,
            timeout_first: SECOND,
            timeout_least: 20 * MILLISECOND,
            remembered: 60 * SECOND,
            half_open_most: 1024,
        }
    }

    /// Returns the settings for a radio channel of `rate` bits per second whose frames carry
    /// packets of `packet` octets, as many of them as 30 seconds carry each time the transmitter is
    /// keyed, and 63 at most. The peer may be out of reach for three days.
    pub const fn radio(rate: NonZeroU64, packet: u16) -> Self {
        let burst = KEY_UP * rate.get() / (8 * packet as u64);
        Self::bursts(rate, packet, if burst < BURST_MOST as u64 { burst as u8 } else { BURST_MOST })
    }

    /// Returns the same for a channel on which `burst` packets leave each time the transmitter is
    /// keyed. The last one asks, and nothing follows until that is answered.
    pub const fn bursts(rate: NonZeroU64, packet: u16, burst: u8) -> Self {
        let octets = match NonZeroU64::new(rate.get() / 8) {
            Some(octets) => octets,
            None => NonZeroU64::MIN,
        };
        let frame = packet as u64 * SECOND / octets.get();
        let burst = if burst == 0 { 1 } else { burst };
        let turn = 4 * frame + SECOND;
        Config {
            packet,
            window: burst,
            // When a burst is answered, the next one is there.
            send: Credit { octets: 2 * burst as usize * packet as usize, messages: 128 },
            rate: Some((octets, packet as u32 * burst as u32)),
            half_duplex: true,
            poll: turn,
            poll_packets: burst as u32,
            patience: 300 * SECOND,
            silence: 3 * 86_400 * SECOND,
            again: turn,
            tries: u32::MAX,
            timeout_first: burst as u64 * frame + turn,
            timeout_least: 2 * frame,
            ..Config::new()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}
