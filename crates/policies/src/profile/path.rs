//! What is known about the path between two ends.

use stackwright_transport::words::{MILLISECOND, Nanoseconds};

/// Loss, in thousandths, that starves a window where the rate is not known: at 50 ms it keeps no
/// more than 4 Mb/s.
const LOSS_STARVES: u16 = 5;

/// What is known about the path between two ends, measured or configured. Where it changes while
/// data flows, plan again and exchange what [differs](super::Plan::differences).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The round-trip time, in nanoseconds.
    pub round_trip: Nanoseconds,
    /// The rate of the narrowest link in octets per second, where it is known.
    pub rate: Option<u64>,
    /// How many of 1000 packets are lost without congestion; `None` where that is not known.
    pub loss: Option<u16>,
    /// The longest packet, in octets.
    pub packet: usize,
    /// Whether other flows use the path and must get their share.
    pub shared: bool,
    /// Whether reports are expensive: half duplex, or a narrow return path.
    pub reports_are_dear: bool,
    /// Whether packets overtake each other.
    pub reorders: bool,
}

impl Default for Path {
    /// Returns a path of the Internet.
    fn default() -> Self {
        Path::DEFAULT
    }
}

impl Path {
    /// A path of the Internet.
    pub const DEFAULT: Path = Path {
        round_trip: 50 * MILLISECOND,
        rate: None,
        loss: None,
        packet: 1200,
        shared: true,
        reports_are_dear: false,
        reorders: true,
    };

    /// Returns a dedicated line with this rate in octets per second, such as a packet radio link:
    /// half duplex, in order.
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

    /// Returns whether loss without congestion would starve a window that takes each loss for
    /// congestion: by the formula of Mathis et al., it keeps about 1.2/√p packets in flight.
    pub(crate) fn starves(&self) -> bool {
        let loss = self.loss.unwrap_or(0);
        let Some(rate) = self.rate else { return loss >= LOSS_STARVES };
        let in_flight = u128::from(rate) * u128::from(self.round_trip)
            / 1_000_000_000
            / self.packet.max(1) as u128;
        // in_flight > 1.2/√p  ⇔  in_flight² · p > 1.5, with p in thousandths.
        in_flight * in_flight * u128::from(loss) > 1500
    }
}
