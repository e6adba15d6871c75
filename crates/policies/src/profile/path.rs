//! What is known of the way between two ends.

use stackwright_transport::words::{MILLISECOND, Nanoseconds};

/// So much of 1000 starves a window where the rate is not known: at 50 ms it keeps no more than 4
/// Mb/s.
const LOSS_STARVES: u16 = 5;

/// What is known of the way between two ends: measured, or told. What changes while data flows is
/// asked again, and a judge exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// There and back.
    pub round_trip: Nanoseconds,
    /// In octets per second, where it is known.
    pub rate: Option<u64>,
    /// Of 1000 packets, how many are lost by nature, not because there are too many; `None`: nobody
    /// knows.
    pub loss: Option<u16>,
    /// The longest packet, in octets.
    pub packet: usize,
    /// Others use it too, and must get their share.
    pub shared: bool,
    /// One direction at a time, or a narrow way back: each report has its price.
    pub reports_are_dear: bool,
    /// Packets overtake each other.
    pub reorders: bool,
}

impl Default for Path {
    /// The Internet.
    fn default() -> Self {
        Path {
            round_trip: 50 * MILLISECOND,
            rate: None,
            loss: None,
            packet: 1200,
            shared: true,
            reports_are_dear: false,
            reorders: true,
        }
    }
}

impl Path {
    /// A line of one's own with this rate, in octets per second, such as a packet radio link: half
    /// duplex, in order.
    pub fn line(rate: u64, packet: usize) -> Self {
        // A frame there and a report back.
        let round_trip = 2 * packet as u64 * 1_000_000_000 / rate.max(1);
        Path {
            round_trip,
            rate: Some(rate),
            loss: Some(0),
            packet,
            shared: false,
            reports_are_dear: true,
            reorders: false,
        }
    }

    /// Whether loss by nature would starve a window that takes each loss for congestion: by Mathis'
    /// rule it keeps about 1.2/√p packets on their way.
    pub(crate) fn starves(&self) -> bool {
        let loss = self.loss.unwrap_or(0);
        let Some(rate) = self.rate else { return loss >= LOSS_STARVES };
        let on_their_way =
            u128::from(rate) * u128::from(self.round_trip) / 1_000_000_000 / self.packet.max(1) as u128;
        // on_their_way > 1.2/√p  ⇔  on_their_way² · p > 1.5, with p in thousandths.
        on_their_way * on_their_way * u128::from(loss) > 1500
    }
}
