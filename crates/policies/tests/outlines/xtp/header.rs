//! What stands before the octets (XTP 4.0). All numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Packet {
    /// The key is that of its receiver's context (RTN), not of its sender's.
    pub(super) returned: bool,
    /// Of a context.
    #[bits(63)]
    pub(super) key: u64,
    /// What the packet wishes.
    #[bits(24)]
    pub(super) options: Options,
    /// 1.
    #[bits(3)]
    #[fixed(1)]
    pub(super) version: (),
    /// What it is.
    #[bits(5)]
    pub(super) format: PacketFormat,
    /// How many octets follow the header.
    pub(super) length: u32,
    /// The Internet check.
    pub(super) check: u16,
    /// How urgent it is, where an option says so.
    pub(super) sort: u16,
    /// The number of the last inquiry.
    pub(super) sync: u32,
    /// The number of the first octet of data.
    pub(super) sequence: u64,
}

/// The options that are used here; the others are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Options(u32);

impl Options {
    pub(super) const NONE: Options = Options(0);
    pub(super) const NOCHECK: Options = Options(0x40_0000);
    pub(super) const SREQ: Options = Options(0x4000);
    pub(super) const RCLOSE: Options = Options(0x1000);
    pub(super) const WCLOSE: Options = Options(0x800);
    pub(super) const EOM: Options = Options(0x400);
    pub(super) const END: Options = Options(0x200);

    pub(super) const fn has(self, other: Options) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn with(self, other: Options) -> Options {
        Options(self.0 | other.0)
    }

    pub(super) const fn when(self, yes: bool) -> Options {
        if yes { self } else { Options::NONE }
    }
}

/// What a packet is (pformat), of those that are used here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PacketFormat {
    Data = 0,
    Control = 1,
    First = 2,
    /// With spans.
    ErrorControl = 3,
    Diagnostic = 8,
}

/// What CNTL and ECNTL begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Control {
    /// All before it was received (rseq).
    pub(super) received: u64,
    /// How far the peer may send (alloc).
    pub(super) allocated: u64,
    /// The last inquiry that arrived.
    pub(super) echo: u32,
}

/// What DIAG begins with; a text that people read may follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Diagnostic {
    /// What has happened: one of those below, of which the others are not used here.
    pub(super) code: u32,
    /// Why: here the number that both applications know.
    pub(super) value: u32,
}

impl Diagnostic {
    /// The context was not made.
    pub(super) const REFUSED: u32 = 1;
    /// The context is over at once.
    pub(super) const ABANDONED: u32 = 2;
}

/// A span that was received, in ECNTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Span {
    /// Its first number.
    pub(super) left: u64,
    /// The number after its last.
    pub(super) right: u64,
}

/// What FIRST begins with: an address segment for IPv4, and a traffic specifier that says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Addresses {
    /// 16 octets.
    #[bits(16)]
    #[fixed(16)]
    pub(super) length: (),
    /// No domain.
    pub(super) domain: u8,
    /// IPv4.
    #[bits(8)]
    #[fixed(1)]
    pub(super) format: (),
    /// The destination.
    pub(super) destination: u32,
    /// The source.
    pub(super) source: u32,
    /// To which port.
    pub(super) destination_port: u16,
    /// From which.
    pub(super) source_port: u16,
    /// 8 octets.
    #[bits(16)]
    #[fixed(8)]
    pub(super) traffic_length: (),
    /// A reliable stream of octets.
    pub(super) service: u8,
    /// Nothing is said.
    #[bits(8)]
    #[fixed(0)]
    pub(super) traffic_format: (),
    /// Nothing.
    pub(super) unused: u32,
}

impl FieldValue for Options {
    fn from_bits(bits: u64) -> Option<Self> {
        Some(Options(bits as u32))
    }

    fn to_bits(&self) -> u64 {
        u64::from(self.0)
    }
}

impl FieldValue for PacketFormat {
    fn from_bits(bits: u64) -> Option<Self> {
        use PacketFormat::{Control, Data, Diagnostic, ErrorControl, First};
        [Data, Control, First, ErrorControl, Diagnostic]
            .into_iter()
            .find(|format| *format as u64 == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
