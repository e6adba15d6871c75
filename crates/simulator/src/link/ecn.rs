//! The ECN field: what a queue writes (RFC 3168 §5), and what routers do that do not know it.

use serde::{Deserialize, Serialize};

/// CE.
pub(super) const MARKED: u8 = 0b11;

/// What a path does to the ECN field of packets, beside the marks of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnTreatment {
    /// Nothing.
    #[default]
    Keep,
    /// Clears it, the queue's marks among them.
    Bleach,
    /// Marks each packet that is ECN-capable.
    Mark,
    /// Marks each packet.
    MarkAll,
    /// Exchanges ECT(0) and ECT(1).
    Swap,
}

impl EcnTreatment {
    /// Returns what becomes of the field.
    pub(super) fn of(self, ecn: u8) -> u8 {
        match (self, ecn) {
            (EcnTreatment::Bleach, _) => 0b00,
            (EcnTreatment::Mark, 0b01 | 0b10) | (EcnTreatment::MarkAll, _) => MARKED,
            (EcnTreatment::Swap, 0b01) => 0b10,
            (EcnTreatment::Swap, 0b10) => 0b01,
            (_, ecn) => ecn,
        }
    }
}
