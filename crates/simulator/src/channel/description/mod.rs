//! A channel and its stations as a text: what a file says of them.
//!
//! ```toml
//! rate = "1200 b/s"             # on the air; or profile = "packet-radio-1200", where to begin
//! speed = 20                    # how much faster than on the air it runs, 1 to 50; else 1
//! seed = 7                      # of all chance; else 1
//! key-up = "300 ms"             # TXDELAY, unless a station or its program says otherwise
//! tail = "50 ms"                # TXtail
//! slot = "100 ms"               # SlotTime
//! persistence = 0.25            # p
//! delay = "1 ms"                # from any station to any other
//! bit-errors = 1e-4             # the probability of each bit to be altered, for each receiver
//! longest = 1024                # octets of a frame, without its check
//! queue = 64                    # frames that wait in a station
//!
//! [[station]]
//! name = "N0AAA"
//! kiss = "127.0.0.1:8101"       # where programs find its TNC
//!
//! [[station]]
//! name = "N0BBB"
//! kiss = "127.0.0.1:8102"
//! hears = ["N0AAA"]             # else all others
//! key-up = "500 ms"             # and tail, slot, persistence, full-duplex
//! ```
//!
//! All may be left out but `rate` or `profile`, and of each station its name.

mod resolve;

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{AccessParameters, Channel, ChannelConditions};
use crate::link::description::{AirRate, Probability, ProfileName};
use crate::{LinkPacket, Time};

/// A channel and its stations, as a file describes them.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelDescription {
    /// What the channel does to frames, for frames with their check ([`HdlcFrame`]).
    ///
    /// [`HdlcFrame`]: crate::HdlcFrame
    pub conditions: ChannelConditions,
    /// How much faster than on the air it runs where a clock drives it, 1 to 50.
    pub speed: u32,
    /// The seed of all chance.
    pub seed: u64,
    /// The longest frame, in octets without its check: 1 to 4096.
    pub longest: usize,
    /// The stations.
    pub stations: Vec<StationDescription>,
}

/// A station of a channel.
#[derive(Clone, PartialEq, Debug)]
pub struct StationDescription {
    /// Its name, mostly a call sign.
    pub name: String,
    /// Where programs find its TNC, over TCP.
    pub kiss: Option<SocketAddr>,
    /// How it accesses the channel, until a program says otherwise.
    pub access: AccessParameters,
}

/// Why a description is refused, and at which octets of it, where that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelFlaw {
    /// The place.
    pub at: Option<Range<usize>>,
    /// What is wrong, and what to write.
    pub says: String,
}

impl fmt::Display for ChannelFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl std::error::Error for ChannelFlaw {}

impl ChannelDescription {
    /// Reads a text.
    ///
    /// # Errors
    /// The first flaw.
    pub fn read(text: &str) -> Result<Self, ChannelFlaw> {
        let written: Written = toml::from_str(text)
            .map_err(|error| ChannelFlaw { at: error.span(), says: error.message().into() })?;
        written.resolve()
    }

    /// Returns the channel, on which each station has its own access.
    pub fn channel<P: LinkPacket>(&self) -> Channel<P> {
        let mut channel = Channel::new(self.conditions.clone(), self.stations.len(), self.seed);
        for (index, station) in self.stations.iter().enumerate() {
            channel.set_access(index, station.access);
        }
        channel
    }
}

/// A file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    profile: Option<Spanned<ProfileName>>,
    rate: Option<Spanned<AirRate>>,
    speed: Option<Spanned<u32>>,
    seed: Option<u64>,
    key_up: Option<Spanned<Time>>,
    tail: Option<Spanned<Time>>,
    slot: Option<Spanned<Time>>,
    persistence: Option<Spanned<Probability>>,
    delay: Option<Time>,
    bit_errors: Option<Probability>,
    longest: Option<Spanned<usize>>,
    queue: Option<Spanned<usize>>,
    #[serde(default)]
    station: Vec<Spanned<WrittenStation>>,
}

/// A station, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenStation {
    name: Spanned<String>,
    kiss: Option<Spanned<String>>,
    hears: Option<Vec<Spanned<String>>>,
    key_up: Option<Spanned<Time>>,
    tail: Option<Spanned<Time>>,
    slot: Option<Spanned<Time>>,
    persistence: Option<Spanned<Probability>>,
    full_duplex: Option<bool>,
}
