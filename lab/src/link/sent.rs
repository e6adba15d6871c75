//! A packet that the model has to do with: what it is, and when it was sent.

use stackwright_contract::Instant;
use stackwright_simulator::LinkPacket;

use super::counts::Number;
use super::segment::Segment;

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) segment: Segment,
    pub(super) number: Number,
    /// 0 forward, 1 back.
    pub(super) way: usize,
    /// When it was read.
    pub(super) time: Instant,
}

impl LinkPacket for Sent {
    fn octets(&self) -> usize {
        self.segment.octets()
    }

    fn exposed(&self) -> usize {
        self.segment.exposed()
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn ecn(&self) -> u8 {
        self.segment.ecn()
    }

    fn set_ecn(&mut self, ecn: u8) {
        self.segment.set_ecn(ecn);
    }

    fn alter(&mut self, bit: u64) {
        self.segment.alter(bit);
    }
}
