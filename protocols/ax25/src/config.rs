//! The configuration of a station.

use alloc::vec::Vec;

use stackwright_contract::{CallSign, Duration};

use stackwright_wire::Header as _;

use crate::header::{AddressField, DigipeaterPath};

/// The configuration of a station.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The call sign of the station: the source of every frame that it makes.
    pub call: CallSign,
    /// Further call signs of the station, which a listener or an opener may choose.
    pub aliases: Vec<CallSign>,
    /// Call signs of the station that others below use, as programs of a TNC do: what they send is
    /// shown, and is no frame of a peer.
    pub others: Vec<CallSign>,
    /// Which version a link is opened with.
    pub version: LinkVersion,
    /// Peers whose version is known.
    pub peers: Vec<(CallSign, LinkVersion)>,
    /// Ports and digipeaters by which peers are reached: [`Address::Station`] has an index,
    /// counted from 1. Route 0 is the first port, directly.
    ///
    /// [`Address::Station`]: stackwright_contract::Address::Station
    pub routes: Vec<Route>,
    /// Peers that unnumbered frames of route 0 reach by another one, of that number.
    pub reached: Vec<(CallSign, u16)>,
    /// The most I frames that may be unacknowledged where numbers have three bits (k): 1 to 7.
    pub window: u8,
    /// The same where numbers have seven bits: 1 to 63.
    pub window_extended: u8,
    /// The longest information of a frame, in octets (N1): 32 to 1024.
    pub longest: usize,
    /// How stream octets are cut into I frames.
    pub frame: FrameLength,
    /// The longest information of an I frame that is sent, in octets (PACLEN): at least 1.
    pub paclen: u16,
    /// How long the I frames are on the air that a link sends before it asks for an answer: others
    /// wait for the channel meanwhile. One leaves in any case.
    pub key_up: Duration,
    /// How often a frame that asks is sent before the peer counts as gone (N2).
    pub tries: u8,
    /// T1 before anything was measured, counted from when a frame has left the antenna.
    pub timeout: Duration,
    /// How long a link is silent before the peer is asked whether it is still there (T3).
    pub idle: Duration,
    /// The rate on the air, in bits per second. At least 1.
    pub rate: u32,
    /// The rates of ports, from port 0 on, where they are not all the same: beyond the last of
    /// them, it is `rate`.
    pub rates: Vec<u32>,
    /// How long it takes on average from the end of one transmission to the first octet of the
    /// next: waiting for the channel, and the key-up.
    pub access: Duration,
    /// Which frames of others are repeated.
    pub digipeat: Digipeating,
    /// How many octets of a stream are taken that the peer has not acknowledged.
    pub buffer: usize,
    /// The most links at a time; for one more, a link gives way whose peer has said nothing since
    /// it asked for it, or it is refused.
    pub links_most: usize,
}

/// A version of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkVersion {
    /// Asks for 2.2, and falls back to 2.0.
    Auto,
    /// Asks for 2.0 only.
    V20,
    /// Asks for 2.2 only.
    V22,
}

/// How stream octets are cut into I frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameLength {
    /// As long as gets most octets through, by the share of frames that were lost.
    Adaptive,
    /// This many octets, at most N1.
    Fixed(u16),
}

/// Which frames of others a station repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digipeating {
    /// None.
    Off,
    /// Those that name one of its call signs next.
    Named,
    /// Those, and UI frames that name `WIDEn-N` next.
    Wide {
        /// The largest n that is repeated as asked, 1 to 7. Larger ones, and N beyond n, get one
        /// hop, and no digipeater after this one repeats them.
        most: u8,
    },
}

/// A way to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The port of the TNC.
    pub port: u8,
    /// The digipeaters.
    pub path: DigipeaterPath,
}

impl Route {
    /// The first port, without digipeaters.
    pub const DIRECT: Self = Route { port: 0, path: DigipeaterPath::DIRECT };
}

impl Config {
    /// Returns the configuration of a station on a channel of 1200 bit/s.
    pub const fn new(call: CallSign) -> Self {
        Config {
            call,
            aliases: Vec::new(),
            others: Vec::new(),
            version: LinkVersion::Auto,
            peers: Vec::new(),
            routes: Vec::new(),
            reached: Vec::new(),
            window: 4,
            window_extended: 32,
            longest: 256,
            frame: FrameLength::Adaptive,
            paclen: 256,
            key_up: Duration::from_secs(30),
            tries: 10,
            timeout: Duration::from_secs(3),
            idle: Duration::from_secs(300),
            rate: 1200,
            rates: Vec::new(),
            access: Duration::from_millis(700),
            digipeat: Digipeating::Off,
            buffer: 8192,
            links_most: 100,
        }
    }

    /// Returns whether a call sign is one of this station's.
    pub fn owns(&self, call: CallSign) -> bool {
        self.call == call || self.aliases.contains(&call)
    }

    /// Checks what would stop every link.
    ///
    /// # Panics
    /// Where a number is out of its range.
    pub(crate) fn check(&self) {
        assert!((1..=7).contains(&self.window), "a window of numbers of three bits is 1 to 7");
        assert!((1..=63).contains(&self.window_extended), "an extended window is 1 to 63");
        assert!((32..=1024).contains(&self.longest), "a frame carries 32 to 1024 octets");
        assert!(self.rates.iter().all(|rate| *rate > 0), "nothing would ever move");
        assert!(self.paclen > 0, "a frame carries at least one octet");
        if let Digipeating::Wide { most } = self.digipeat {
            assert!((1..=7).contains(&most), "WIDEn-N has n from 1 to 7");
        }
        assert!(self.rate > 0 && self.tries > 0 && self.buffer > 0, "nothing would ever move");
    }

    /// Returns the rate on the air of a port, in bits per second.
    pub fn rate_of(&self, port: u8) -> u32 {
        self.rates.get(usize::from(port)).copied().unwrap_or(self.rate)
    }

    /// Returns how long a frame with `information` octets takes on the air of a port: its head, the
    /// frame check, two flags, and the bits that are stuffed into octets without a pattern, one in
    /// 63.
    pub fn air(&self, port: u8, information: usize) -> Duration {
        air_time(2 * AddressField::LENGTH + 2 + information, self.rate_of(port))
    }
}

/// Returns how long a frame of `octets` octets, without its check and its flags, takes on the air
/// at `rate` bit/s.
pub fn air_time(octets: usize, rate: u32) -> Duration {
    let bits = (octets + 2 + 2) as u64 * 8 * 64 / 63;
    Duration::from_nanos(bits.saturating_mul(1_000_000_000) / u64::from(rate))
}
