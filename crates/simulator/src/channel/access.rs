//! How a station accesses the channel.

use stackwright_contract::Duration;

/// How one station accesses the channel: the parameters that KISS sets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AccessParameters {
    /// How long the transmitter is on before the first octet: TXDELAY.
    pub key_up: Duration,
    /// How long it stays on behind the last octet: TXtail.
    pub tail: Duration,
    /// How long the station waits before it draws again: SlotTime. Longer than nothing.
    pub slot: Duration,
    /// The probability that it sends when the channel is free, drawn once a slot, above 0 and up
    /// to 1: p.
    pub persistence: f64,
    /// It sends at once, whatever it hears. The channel has one frequency, so it is deaf all the
    /// same while it sends.
    pub full_duplex: bool,
}

impl AccessParameters {
    /// # Panics
    /// If no station would ever send, or none would ever wait.
    pub(super) fn check(&self) {
        assert!(self.persistence > 0.0, "a station that never sends: `persistence` is above 0");
        assert!(!self.slot.is_zero(), "a station that never waits: `slot` is longer than nothing");
    }
}
