//! The headers that captures of Linux have in place of a link's own.

use crate::Header;

/// The header of a "cooked" capture of Linux, in place of the link's own (LINKTYPE_LINUX_SLL).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Cooked {
    /// To us 0, to all 1, to many 2, to others 3, from us 4.
    pub packet_type: u16,
    /// The kind of the link: 1 is Ethernet, 772 is loopback.
    pub arphrd_type: u16,
    /// Octets of the sender's address.
    pub address_length: u16,
    /// The source.
    pub address: [u8; 8],
    /// The next protocol, as on Ethernet.
    pub protocol_type: u16,
}

/// The same header in newer captures of Linux (LINKTYPE_LINUX_SLL2).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Cooked2 {
    /// The next protocol, as on Ethernet.
    pub protocol_type: u16,
    /// Must be zero.
    pub reserved: u16,
    /// The number of the interface.
    pub interface_index: u32,
    /// The kind of the link: 1 is Ethernet, 772 is loopback.
    pub arphrd_type: u16,
    /// To us 0, to all 1, to many 2, to others 3, from us 4.
    pub packet_type: u8,
    /// Octets of the sender's address.
    pub address_length: u8,
    /// The source.
    pub address: [u8; 8],
}
