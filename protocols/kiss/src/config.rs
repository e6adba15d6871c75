//! The configuration.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use stackwright_contract::Duration;
use stackwright_contract::services::Credit;

use crate::header::{FULL_DUPLEX, PERSISTENCE, SLOT_TIME, TX_DELAY, TX_TAIL};

/// The configuration of a [`Kiss`](crate::Kiss).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest frame in either direction, in octets: 1 to [`LONGEST_MOST`].
    pub longest: usize,
    /// How many ports of the TNC are used, counted from 0: 1 to 16. Frames of others are dropped.
    pub ports: u8,
    /// What may be on its way to the antenna on one port: the initial credit downward. It has room
    /// for the longest frame. KISS has no flow control, so credit returns when a frame has left
    /// the antenna, as far as that is known; see `rate`.
    pub room: Credit,
    /// The rate on the air in bit/s, from which the air time of a frame follows. Except in ACKMODE,
    /// frames are sent no faster than this.
    pub rate: NonZeroU32,
    /// What is told to the TNC each time the line comes up.
    pub access: ChannelAccess,
    /// Frames with a mark are sent in ACKMODE: the TNC says when each has left. A TNC that does not
    /// know it drops such frames, and none can be asked whether it does.
    pub acknowledged: bool,
    /// While more than one frame is on its way, the TNC is asked each second how many octets it has
    /// queued (`TXBUF:`, as Direwolf answers): frames that wait for a free channel have not left.
    /// Off by default: the command that carries the question sets the hardware of other TNCs.
    pub asks_queue: bool,
    /// Frames have the check octet of XKISS, in both directions.
    pub checked: bool,
    /// What brings the TNC into KISS, such as `KISS ON\rRESTART\r`; sent first when the line comes
    /// up. All else follows two seconds later.
    pub enter: Vec<u8>,
    /// What takes the TNC out of KISS, such as C0 FF C0; sent by
    /// [`leave`](crate::Kiss::leave).
    pub leave: Vec<u8>,
}

/// The longest frame that can be configured, in octets.
pub const LONGEST_MOST: usize = 4096;

/// The most ports of one TNC.
pub const PORTS_MOST: u8 = 16;

impl Default for Config {
    /// Returns frames of 1024 octets on one port at 1200 bit/s; 16 KiB in 64 frames may be on their
    /// way. The TNC keeps its own parameters, and is asked nothing.
    fn default() -> Self {
        Config {
            longest: 1024,
            ports: 1,
            room: Credit { octets: 16 << 10, messages: 64 },
            rate: const { NonZeroU32::new(1200).expect("it is not 0") },
            access: ChannelAccess::default(),
            acknowledged: false,
            asks_queue: false,
            checked: false,
            enter: Vec::new(),
            leave: Vec::new(),
        }
    }
}

/// How the TNC accesses the channel. What is `None` is not told to it: it keeps its own value, and
/// air time is computed with the default of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelAccess {
    /// Time between key-up and the first octet, in units of 10 ms, at most 2.55 s; 500 ms by
    /// default.
    pub tx_delay: Option<Duration>,
    /// The probability with which a free slot is used, in units of 1/256, less one; 63 by default.
    pub persistence: Option<u8>,
    /// The time of a slot, in units of 10 ms, at most 2.55 s; 100 ms by default.
    pub slot_time: Option<Duration>,
    /// Time between the last octet and key-down, in units of 10 ms, at most 2.55 s.
    pub tx_tail: Option<Duration>,
    /// Whether to transmit without regard to what is received; not by default.
    pub full_duplex: Option<bool>,
}

/// The unit of times.
const TEN_MILLISECONDS: Duration = Duration::from_millis(10);

impl ChannelAccess {
    /// Sets what a host says with a command of KISS; other commands set nothing.
    pub(crate) fn set(&mut self, command: u8, value: u8) {
        let time = TEN_MILLISECONDS * u32::from(value);
        match command {
            TX_DELAY => self.tx_delay = Some(time),
            PERSISTENCE => self.persistence = Some(value),
            SLOT_TIME => self.slot_time = Some(time),
            TX_TAIL => self.tx_tail = Some(time),
            FULL_DUPLEX => self.full_duplex = Some(value > 0),
            _ => {}
        }
    }

    /// Returns how long it takes on average from a frame that the TNC has to its first octet on the
    /// air, where the channel is free: the slots until one is used, and the key-up.
    pub(crate) fn mean(&self) -> Duration {
        let key_up = self.tx_delay.unwrap_or(Duration::from_millis(500));
        if self.full_duplex == Some(true) {
            return key_up;
        }
        let slot = self.slot_time.unwrap_or(Duration::from_millis(100));
        let persistence = u32::from(self.persistence.unwrap_or(63)) + 1;
        key_up + slot * 256 / persistence
    }
}

/// Flags around a frame.
const FLAGS: u64 = 2;
/// The check behind it.
const FCS: u64 = 2;
/// Bits of stuffing in a million bits of random octets.
const STUFFED: u64 = 16_000;

impl Config {
    /// Returns how long a frame of `octets` octets is on the air, behind the key-up: with its
    /// check, flags and mean bit stuffing.
    pub(crate) fn air_time(&self, octets: usize) -> Duration {
        let bits = 8 * (octets as u64 + FLAGS + FCS);
        let nanoseconds = bits * (1_000_000 + STUFFED) * 1000 / u64::from(self.rate.get());
        Duration::from_nanos(nanoseconds)
    }

    /// # Panics
    /// Where a value is out of its range.
    pub(crate) fn check(&self) {
        let Config { longest, ports, room, .. } = self;
        assert!((1..=LONGEST_MOST).contains(longest), "a frame has 1 to {LONGEST_MOST} octets");
        assert!((1..=PORTS_MOST).contains(ports), "a TNC has 1 to {PORTS_MOST} ports");
        let one = Credit { octets: *longest, messages: 1 };
        assert!(room.covers(one), "the longest frame is within the room");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_time_is_that_of_its_bits() {
        let config = Config::default();
        // 260 octets with flags and check at 1200 bit/s: 1.73 s, and 1.6 % of stuffing.
        assert_eq!(config.air_time(256), Duration::from_nanos(1_761_066_666));
        let faster = Config { rate: NonZeroU32::new(9600).expect("it is not 0"), ..config };
        assert_eq!(faster.air_time(256), Duration::from_nanos(220_133_333));
    }

    #[test]
    fn access_is_the_mean_of_slots_and_the_key_up() {
        let milliseconds = |access: ChannelAccess| access.mean().as_millis();
        assert_eq!(milliseconds(ChannelAccess::default()), 900);
        let eager = ChannelAccess {
            tx_delay: Some(Duration::from_millis(200)),
            persistence: Some(255),
            slot_time: Some(Duration::from_millis(10)),
            ..ChannelAccess::default()
        };
        assert_eq!(milliseconds(eager), 210);
        let duplex = ChannelAccess { full_duplex: Some(true), ..ChannelAccess::default() };
        assert_eq!(milliseconds(duplex), 500);
    }
}
