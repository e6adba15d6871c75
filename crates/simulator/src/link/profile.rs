//! Profiles: well-known kinds of links, with their figures.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::{Conditions, GilbertElliott, Loss, Outages, Passes, Queue};
use crate::ChannelConditions;

/// What connects two stations, or more.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "a program has a handful of them")]
pub enum Profile {
    /// A link of their own.
    Link {
        /// The direction from the first to the second.
        forward: Conditions,
        /// The direction back.
        back: Conditions,
    },
    /// A channel that all of them share.
    Channel(ChannelConditions),
}

/// A profile with a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedProfile {
    /// Its name.
    pub name: &'static str,
    /// What it is and where its figures come from, in one sentence.
    pub about: &'static str,
    profile: fn() -> Profile,
}

impl NamedProfile {
    /// Returns the profile.
    pub fn profile(&self) -> Profile {
        (self.profile)()
    }
}

/// The least similarity of a profile's name to the given one for a suggestion, 1 being equal.
const LIKENESS_LEAST: f64 = 0.7;

impl Profile {
    /// All named profiles.
    pub const ALL: &[NamedProfile] = &[
        NamedProfile {
            name: "ethernet-10m",
            about: "10 Mb/s Ethernet, MTU 1500: 38 octets of framing are preamble, header, FCS and gap (IEEE 802.3); \
                    25.6 us is half its slot of 512 bits, the longest way it allows",
            profile: || symmetric(ethernet(10_000_000, 25_600)),
        },
        NamedProfile {
            name: "ethernet-100m",
            about: "100 Mb/s Ethernet, MTU 1500: framing and longest way as at 10 Mb/s, in bits",
            profile: || symmetric(ethernet(100_000_000, 2_560)),
        },
        NamedProfile {
            name: "fddi",
            about: "100 Mb/s FDDI, MTU 4352 (RFC 1390): 36 octets of framing are preamble, delimiters, control, \
                    addresses, LLC, SNAP, FCS and status; 51 us is 10 km of glass",
            profile: || {
                let delay = Duration::from_micros(51);
                let mtu = Some(4352);
                symmetric(Conditions { mtu, overhead: 36, delay, ..wired(100_000_000) })
            },
        },
        NamedProfile {
            name: "lan-1g",
            about: "1 Gb/s Ethernet, MTU 1500, through a switch: 50 us each way is what two hosts and it take",
            profile: || symmetric(ethernet(1_000_000_000, 50_000)),
        },
        NamedProfile {
            name: "wan",
            about: "100 Mb/s, 20 ms each way, as between cities 4000 km of glass apart; its queue holds one product of \
                    rate and round trip, 500 kB",
            profile: || symmetric(far(100_000_000, 20)),
        },
        NamedProfile {
            name: "geo",
            about: "a geostationary satellite, 20 Mb/s forward and 2 Mb/s back, 270 ms each way (RFC 2488: 239.6 to \
                    279 ms); each queue holds one product of rate and round trip",
            profile: || Profile::Link { forward: far(20_000_000, 270), back: far(2_000_000, 270) },
        },
        NamedProfile {
            name: "packet-radio-1200",
            about: "a shared channel of 1200 b/s (Bell 202 in FM voice) with the defaults of KISS: key-up 500 ms, slot \
                    100 ms, p 0.25; AX.25 frames of up to 329 octets, 4 of flags and FCS",
            profile: || Profile::Channel(packet_radio(1_200, 500, 100)),
        },
        NamedProfile {
            name: "packet-radio-9600",
            about: "a shared channel of 9600 b/s (G3RUH FSK), key-up 150 ms and slot 50 ms, as voice radios made fit for \
                    data need; the rest is as at 1200 b/s",
            profile: || Profile::Channel(packet_radio(9_600, 150, 50)),
        },
        NamedProfile {
            name: "leo-pass",
            about: "a small satellite 500 km high, 9600 b/s each way on two bands: 8 minutes of every 95 it is above \
                    the horizon, 6 ms away (1800 km, as when it stands low), with a bit error in 100 000 (a usual link budget)",
            profile: || symmetric(low_orbit()),
        },
        NamedProfile {
            name: "lossy-wifi",
            about: "40 Mb/s through walls: bursts of 10 packets of which half are lost, 1 % of all (a choice, not a \
                    measurement), and up to 4 ms of retries, which keep the order",
            profile: || symmetric(wifi()),
        },
    ];

    /// Returns the profile of that name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.iter().find(|known| known.name == name).map(NamedProfile::profile)
    }

    /// Returns the name that is most similar to `name`, if one is similar.
    pub fn suggestion(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        let likeness = |known: &NamedProfile| (strsim::jaro_winkler(&name, known.name), known.name);
        let best =
            Profile::ALL.iter().map(likeness).max_by(|one, other| one.0.total_cmp(&other.0))?;
        (best.0 >= LIKENESS_LEAST).then_some(best.1)
    }
}

fn symmetric(conditions: Conditions) -> Profile {
    Profile::Link { forward: conditions.clone(), back: conditions }
}

/// Returns a link of `bits` bits per second, with the queue of a usual host: 1000 packets.
fn wired(bits: u64) -> Conditions {
    Conditions { rate: Some(bits / 8), queue: Queue::packets(1000), ..Conditions::IDEAL }
}

fn ethernet(bits: u64, nanoseconds: u64) -> Conditions {
    let delay = Duration::from_nanos(nanoseconds);
    Conditions { mtu: Some(1500), overhead: 38, delay, ..wired(bits) }
}

/// Returns a link of `milliseconds` milliseconds each way, with a queue for what is sent in a round
/// trip.
fn far(bits: u64, milliseconds: u64) -> Conditions {
    let queue = Queue::octets(bits / 8 * 2 * milliseconds / 1000);
    let delay = Duration::from_millis(milliseconds);
    Conditions { mtu: Some(1500), delay, queue, ..wired(bits) }
}

/// The longest frame of AX.25 has addresses of 70 octets, control of 2, the PID, and 256 octets of
/// information.
const AX25_FRAME: usize = 70 + 2 + 1 + 256;
/// A flag at each end, and the FCS. Stuffed bits are not counted: they are one in 63 of random
/// ones.
const AX25_FRAMING: usize = 2 + 2;

fn packet_radio(bits: u64, key_up: u64, slot: u64) -> ChannelConditions {
    ChannelConditions {
        mtu: Some(AX25_FRAME),
        overhead: AX25_FRAMING,
        queue: 64,
        key_up: Duration::from_millis(key_up),
        tail: Duration::from_millis(10),
        slot: Duration::from_millis(slot),
        persistence: 0.25,
        delay: Duration::from_micros(100),
        ..ChannelConditions::ideal(bits / 8)
    }
}

fn low_orbit() -> Conditions {
    const MINUTE: u64 = 60;
    let outages = Outages::Passes(Passes {
        period: Duration::from_secs(95 * MINUTE),
        length: Duration::from_secs(8 * MINUTE),
        first: Duration::ZERO,
    });
    Conditions {
        mtu: Some(AX25_FRAME),
        overhead: AX25_FRAMING,
        delay: Duration::from_millis(6),
        bit_errors: 1e-5,
        outages,
        queue: Queue::packets(64),
        ..wired(9_600)
    }
}

fn wifi() -> Conditions {
    let loss = GilbertElliott { p: 0.002, r: 0.1, good: 0.0, bad: 0.5 };
    Conditions {
        mtu: Some(1500),
        delay: Duration::from_millis(2),
        jitter: Duration::from_millis(4),
        keeps_order: true,
        loss: Loss::GilbertElliott(loss),
        queue: Queue::packets(256),
        ..wired(40_000_000)
    }
}
