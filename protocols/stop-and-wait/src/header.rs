//! The header.

use stackwright_wire::Header;

/// The header of every message and of every acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct StopAndWaitHeader {
    /// Reserved, 0.
    #[bits(7)]
    #[fixed(0)]
    pub reserved: (),
    /// Whether this acknowledges the message of this number; no payload follows then.
    pub acknowledgement: bool,
    /// The number of the message, which counts from 0 and wraps.
    pub number: u16,
}
