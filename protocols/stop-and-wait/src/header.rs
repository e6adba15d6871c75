//! What stands before a message.

use stackwright_wire::Header;

/// The header of every message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct StopAndWaitHeader {
    /// Nothing yet.
    #[bits(7)]
    #[fixed(0)]
    pub reserved: (),
    /// Nothing is behind it: it only says that the message of this number arrived.
    pub acknowledgement: bool,
    /// Of the message. Counts on from 0, and wraps.
    pub number: u16,
}
