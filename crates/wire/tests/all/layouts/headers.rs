//! Layouts that together use all that the derive can do.

use stackwright_wire::{FieldValue, Header};

/// All whole numbers, in the network's order.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Numbers {
    /// One octet.
    pub one: u8,
    /// Two octets.
    pub two: u16,
    /// Four octets.
    pub four: u32,
    /// Eight octets.
    pub eight: u64,
    /// Sixteen octets.
    pub sixteen: u128,
}

/// The same, the least significant octet first.
#[derive(Header, Clone, PartialEq, Debug)]
#[header(little_endian)]
pub(crate) struct LittleNumbers {
    /// One octet.
    pub one: u8,
    /// Two octets.
    pub two: u16,
    /// Three octets.
    #[bits(24)]
    pub three: u32,
    /// Always the same.
    #[bits(32)]
    #[fixed(0x1a2b_3c4d)]
    pub magic: (),
    /// As they are.
    pub octets: [u8; 3],
    /// A colour.
    #[bits(16)]
    pub colour: Colour,
    /// Eight octets.
    pub eight: u64,
    /// Sixteen octets.
    pub sixteen: u128,
}

/// Bits of all widths.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Bits {
    /// Three bits.
    #[bits(3)]
    pub three: u8,
    /// One bit.
    pub flag: bool,
    /// Twelve bits.
    #[bits(12)]
    pub twelve: u16,
    /// Always so.
    #[bits(2)]
    #[fixed(0b10)]
    pub marker: (),
    /// Over the bounds of octets: the run of this and its neighbours has five octets.
    #[bits(33)]
    pub thirty_three: u64,
    /// A colour.
    #[bits(2)]
    pub colour: Colour,
    /// The rest of the octet.
    #[bits(3)]
    pub rest: u8,
    /// Twenty-four bits alone.
    #[bits(24)]
    pub sequence: u32,
    /// More than 64 bits in a run.
    #[bits(100)]
    pub hundred: u128,
    /// The end of the run.
    #[bits(20)]
    pub twenty: u32,
    /// A raw name.
    pub r#type: u8,
    /// As they are.
    pub octets: [u8; 40],
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Colour {
    Red,
    Green,
    Blue,
}

impl FieldValue for Colour {
    fn from_bits(bits: u64) -> Option<Self> {
        [Colour::Red, Colour::Green, Colour::Blue]
            .into_iter()
            .find(|colour| colour.to_bits() == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// The Internet header (RFC 791 §3.1), without options.
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Ipv4 {
    /// Format of the header.
    #[bits(4)]
    #[fixed(4)]
    pub version: (),
    /// Length of the header in words of 32 bits.
    ///
    /// This paragraph is not in the table.
    #[bits(4)]
    pub ihl: u8,
    /// Type of service,
    /// in the words of 1981.
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
    /// More fragments.
    pub mf: bool,
    /// Where the fragment belongs, in units of 8 octets.
    #[bits(13)]
    pub fragment_offset: u16,
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

/// An address field (AX.25 v2.2 §3.12).
#[derive(Header, Clone, PartialEq, Debug)]
pub(crate) struct Address {
    /// Six characters, blank padded, each shifted left by one bit.
    #[bits(48)]
    pub callsign: CallSign,
    /// The C bit, or the H bit of a repeater.
    pub command: bool,
    /// Reserved, and set.
    #[bits(2)]
    #[fixed(0b11)]
    pub reserved: (),
    /// Tells stations of one call sign apart.
    #[bits(4)]
    pub ssid: u8,
    /// Whether no address follows.
    pub last: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CallSign(pub [u8; 6]);

impl FieldValue for CallSign {
    fn from_bits(bits: u64) -> Option<Self> {
        let [0, 0, shifted @ ..] = bits.to_be_bytes() else { return None };
        let good =
            |octet: &u8| octet & 1 == 0 && matches!(octet >> 1, b'A'..=b'Z' | b'0'..=b'9' | b' ');
        shifted.iter().all(good).then(|| CallSign(shifted.map(|octet| octet >> 1)))
    }

    fn to_bits(&self) -> u64 {
        self.0.iter().fold(0, |bits, character| bits << 8 | u64::from(character << 1))
    }
}
