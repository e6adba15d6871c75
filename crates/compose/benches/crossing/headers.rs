//! The four headers of the benchmark stack, as a file over packet radio has them. 59 octets in all:
//!
//! | layer | octets | header |
//! | --- | --- | --- |
//! | file transfer | 5 | [`Record`] |
//! | transport | 4 + 12 | [`Check32`] over all that follows, [`Segment`] |
//! | network | 20 | [`Ipv4`], with its own check |
//! | link | 2 + 16 | [`Check16`] over all that follows, [`Frame`] |

use stackwright_wire::{FieldValue, Header};

/// A record of a file transfer.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Record {
    /// Data; there is nothing else here.
    #[bits(8)]
    #[fixed(1)]
    pub kind: (),
    /// Octets that follow.
    pub length: u16,
    /// Which transfer.
    pub tag: [u8; 2],
}

/// A CRC-32C over what follows.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Check32 {
    /// The check.
    pub check: u32,
}

/// A packet of the transport.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Segment {
    /// Of this packet.
    pub number: u32,
    /// The number that is expected next from the other side.
    pub acknowledged: u32,
    /// How many packets the other side may send.
    pub window: u16,
    /// Whether to acknowledge at once.
    pub asks: bool,
    /// Whether nothing follows.
    pub last: bool,
    /// Not used.
    #[bits(14)]
    #[fixed(0)]
    pub reserved: (),
}

/// The Internet header (RFC 791 §3.1), without options.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Ipv4 {
    /// Format of the header.
    #[bits(4)]
    #[fixed(4)]
    pub version: (),
    /// Length of the header in words of 32 bits.
    #[bits(4)]
    #[fixed(5)]
    pub ihl: (),
    /// Type of service.
    pub tos: u8,
    /// Octets of header and data.
    pub total_length: u16,
    /// Tells which fragments belong together.
    pub identification: u16,
    /// Must be zero.
    #[bits(1)]
    #[fixed(0)]
    pub reserved: (),
    /// Don't fragment.
    pub df: bool,
    /// More fragments: this is none.
    #[bits(1)]
    #[fixed(0)]
    pub mf: (),
    /// Where the fragment belongs, in units of 8 octets: this is none.
    #[bits(13)]
    #[fixed(0)]
    pub fragment_offset: (),
    /// Seconds to live.
    pub ttl: u8,
    /// The next protocol.
    pub protocol: u8,
    /// Internet check over the header.
    pub checksum: u16,
    /// Whence.
    pub source: [u8; 4],
    /// Whither.
    pub destination: [u8; 4],
}

/// A CRC-16/X.25 over what follows, with the least significant octet first.
#[derive(Header, Clone, PartialEq, Debug)]
#[header(little_endian)]
pub(crate) struct Check16 {
    /// The check.
    pub check: u16,
}

/// A call sign (AX.25 v2.2 §3.12): six characters of seven bits, kept as they travel, shifted left
/// by one bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallSign(u64);

impl CallSign {
    pub(crate) fn new(characters: &[u8; 6]) -> Self {
        CallSign(characters.iter().fold(0, |bits, character| bits << 8 | u64::from(character << 1)))
    }
}

impl FieldValue for CallSign {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        (bits & 0x0101_0101_0101 == 0).then_some(CallSign(bits))
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        self.0
    }
}

/// An unnumbered information frame without repeaters (AX.25 v2.2 §3).
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Frame {
    /// Whither.
    #[bits(48)]
    pub destination: CallSign,
    /// Set in a command.
    pub command: bool,
    /// Reserved, and set.
    #[bits(2)]
    #[fixed(0b11)]
    pub destination_reserved: (),
    /// Tells stations of one call sign apart.
    #[bits(4)]
    pub destination_station: u8,
    /// Another address follows.
    #[bits(1)]
    #[fixed(0)]
    pub destination_last: (),
    /// Whence.
    #[bits(48)]
    pub source: CallSign,
    /// Set in a response.
    pub response: bool,
    /// Reserved, and set.
    #[bits(2)]
    #[fixed(0b11)]
    pub source_reserved: (),
    /// Tells stations of one call sign apart.
    #[bits(4)]
    pub source_station: u8,
    /// No address follows.
    #[bits(1)]
    #[fixed(1)]
    pub source_last: (),
    /// Unnumbered information.
    #[bits(8)]
    #[fixed(0x03)]
    pub control: (),
    /// The next protocol.
    pub protocol: u8,
}
