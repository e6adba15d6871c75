//! The configuration.

use stackwright_wire::{Header, internet};

use crate::Tag;

/// The configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The own address (EUI-48): not that of a group.
    pub address: [u8; 6],
    /// The virtual LAN whose tag all frames have, 1 to 4094; `None`: frames have no tag.
    pub lan: Option<u16>,
}

impl Config {
    /// Returns how long the header of a frame is, in octets.
    pub(crate) const fn header_length(&self) -> usize {
        internet::Ethernet::LENGTH + if self.lan.is_some() { Tag::LENGTH } else { 0 }
    }
}
