//! What stands before the octets (XTP 4.0). All numbers are big-endian.
//!
//! The definition itself is not to be had; the layouts are those that Wireshark's dissector reads,
//! and what it reads is what we mean.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct XtpPacket {
    /// The key is that of its receiver's context (RTN), not of its sender's.
    pub returned: bool,
    /// The key of a context.
    #[bits(63)]
    pub key: u64,
    /// The options.
    #[bits(24)]
    pub options: XtpOptions,
    /// 1.
    #[bits(3)]
    #[fixed(1)]
    pub version: (),
    /// The kind of the packet (pformat).
    #[bits(5)]
    pub format: XtpKind,
    /// The octets that follow the header (dlen).
    pub length: u32,
    /// The Internet checksum (RFC 1071), of the header alone with `NOCHECK`.
    pub check: u16,
    /// How urgent it is, with `SORT`.
    pub sort: u16,
    /// The number of the last inquiry.
    pub sync: u32,
    /// The number of the first octet of data; without data, of the next.
    pub sequence: u64,
}

/// The options of a packet, a bit each. The others are sent as 0 and ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct XtpOptions(u32);

impl XtpOptions {
    /// No option.
    pub const NONE: XtpOptions = XtpOptions(0);
    /// The check covers the header alone.
    pub const NOCHECK: XtpOptions = XtpOptions(0x40_0000);
    /// A change of this bit asks for a report.
    pub const EDGE: XtpOptions = XtpOptions(0x20_0000);
    /// What is lost is not sent again.
    pub const NOERR: XtpOptions = XtpOptions(0x10_0000);
    /// The context is multicast.
    pub const MULTI: XtpOptions = XtpOptions(0x08_0000);
    /// Credit is memory that the application has reserved.
    pub const RES: XtpOptions = XtpOptions(0x04_0000);
    /// The field `sort` is valid.
    pub const SORT: XtpOptions = XtpOptions(0x02_0000);
    /// Credit is not heeded.
    pub const NOFLOW: XtpOptions = XtpOptions(0x01_0000);
    /// A gap is to be reported at once.
    pub const FASTNAK: XtpOptions = XtpOptions(0x8000);
    /// A report is asked for, at once.
    pub const SREQ: XtpOptions = XtpOptions(0x4000);
    /// A report is asked for when the application has taken all before it.
    pub const DREQ: XtpOptions = XtpOptions(0x2000);
    /// The sender takes no more data, or has all.
    pub const RCLOSE: XtpOptions = XtpOptions(0x1000);
    /// The sender sends no more data.
    pub const WCLOSE: XtpOptions = XtpOptions(0x800);
    /// The data ends a message.
    pub const EOM: XtpOptions = XtpOptions(0x400);
    /// The sender's context is released.
    pub const END: XtpOptions = XtpOptions(0x200);
    /// The data begins with a tag.
    pub const BTAG: XtpOptions = XtpOptions(0x100);

    /// Returns whether one of `other` is set.
    pub const fn has(self, other: XtpOptions) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the options of both.
    #[must_use]
    pub const fn with(self, other: XtpOptions) -> XtpOptions {
        XtpOptions(self.0 | other.0)
    }

    /// Returns those that `other` has not.
    #[must_use]
    pub const fn without(self, other: XtpOptions) -> XtpOptions {
        XtpOptions(self.0 & !other.0)
    }

    /// Returns these if `yes`, else none.
    #[must_use]
    pub const fn when(self, yes: bool) -> XtpOptions {
        if yes { self } else { XtpOptions::NONE }
    }
}

/// The kind of a packet (pformat). Of JOIN (6), which is obsolete, and of 4, which is not assigned,
/// nothing is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XtpKind {
    /// DATA.
    Data = 0,
    /// CNTL.
    Control = 1,
    /// FIRST: the first packet of a context.
    First = 2,
    /// ECNTL: CNTL with spans.
    ErrorControl = 3,
    /// TCNTL: CNTL with a key and terms of traffic.
    TrafficControl = 5,
    /// JCNTL.
    JoinControl = 7,
    /// DIAG.
    Diagnostic = 8,
}

/// What CNTL, ECNTL and TCNTL begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ControlSegment {
    /// All before it was received (rseq).
    pub received: u64,
    /// How far the peer may send (alloc).
    pub allocated: u64,
    /// The last inquiry that arrived.
    pub echo: u32,
}

/// How many spans follow, in ECNTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct SpanCount {
    /// Of 16 octets each.
    pub spans: u32,
}

/// A span that was received, in ECNTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct SpanSegment {
    /// Its first number.
    pub left: u64,
    /// The number after its last.
    pub right: u64,
}

/// What stands behind [`ControlSegment`] in TCNTL, before a traffic specifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct KeyExchange {
    /// 0.
    pub reserved: u32,
    /// The key of the sender's context, which the peer is to return (xkey); 0: it knows it.
    pub key: u64,
}

/// What precedes data with `BTAG`, without a number of its own: a tag that the application chooses.
/// Which octets of it are used is *chosen*.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct MessageTag {
    /// 0.
    pub reserved: u32,
    /// The number of the message that begins here.
    pub number: u32,
}

/// What DIAG begins with; a text for people follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct DiagnosticSegment {
    /// What happened.
    pub code: u32,
    /// Why.
    pub value: u32,
}

impl DiagnosticSegment {
    /// The context was not made.
    pub const REFUSED: u32 = 1;
    /// The context is over at once.
    pub const ABANDONED: u32 = 2;
    /// There is no such context.
    pub const INVALID: u32 = 3;
    /// What is asked for is not done.
    pub const REQUEST_REFUSED: u32 = 4;
    /// With `REQUEST_REFUSED`: what is missing is not sent again.
    pub const RETRANSMISSION: u32 = 11;
    /// A message is longer than this side takes; the value is how many octets it takes. *Chosen*:
    /// the report has it for packets.
    pub const TOO_LONG: u32 = 7;
    /// No reason is given.
    pub const UNSPECIFIED: u32 = 0;
    /// With `REFUSED`: nobody listens.
    pub const NO_LISTENER: u32 = 1;
    /// With `REFUSED`: an option is not supported by the service.
    pub const OPTIONS: u32 = 2;
    /// With `REFUSED`: the format of the address is not supported.
    pub const ADDRESS_FORMAT: u32 = 3;
    /// With `REFUSED`: the address is not what its format says.
    pub const ADDRESS: u32 = 4;
    /// With `REFUSED`: the format of the traffic specifier is not supported.
    pub const TRAFFIC_FORMAT: u32 = 5;
    /// With `REFUSED`: the terms of traffic are not kept by the service.
    pub const TRAFFIC: u32 = 6;
    /// With `REFUSED`: the traffic specifier is not what its format says.
    pub const TRAFFIC_MALFORMED: u32 = 7;
    /// With `REFUSED`: nobody provides the service.
    pub const NO_PROVIDER: u32 = 8;
    /// With `REFUSED`: no memory.
    pub const NO_RESOURCE: u32 = 9;
}

/// What every address segment begins with, in FIRST.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct AddressHeader {
    /// The octets of the segment (alen).
    pub length: u16,
    /// The domain.
    pub domain: u8,
    /// The format: 1 is [`InternetAddress`], 0 none.
    pub format: u8,
}

impl AddressHeader {
    /// No address: four octets that say nothing follow.
    pub const NULL: u8 = 0;
    /// [`InternetAddress`].
    pub const INTERNET: u8 = 1;
    /// [`Internet6Address`].
    pub const INTERNET_6: u8 = 6;
}

/// What stands behind an [`AddressHeader`] without an address, and a [`TrafficHeader`] without
/// terms: it says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct NullAddress {
    /// 0, and not looked at.
    pub unused: u32,
}

/// An address segment for IPv4, behind [`AddressHeader`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct InternetAddress {
    /// The destination.
    pub destination: u32,
    /// The source.
    pub source: u32,
    /// The port of the destination.
    pub destination_port: u16,
    /// The port of the source.
    pub source_port: u16,
}

/// An address segment for IPv6, behind [`AddressHeader`]. *Chosen*: no layout is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Internet6Address {
    /// The destination.
    pub destination: [u8; 16],
    /// The source.
    pub source: [u8; 16],
    /// The port of the destination.
    pub destination_port: u16,
    /// The port of the source.
    pub source_port: u16,
}

/// What every traffic specifier begins with, in FIRST and TCNTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct TrafficHeader {
    /// The octets of the specifier (tlen): 8 or 24.
    pub length: u16,
    /// The service.
    pub service: u8,
    /// The format: 0 says nothing in 4 octets, 1 is [`TrafficTerms`].
    pub format: u8,
}

impl TrafficHeader {
    /// The format without terms.
    pub const NO_TERMS: u8 = 0;
    /// The format with terms.
    pub const TERMS: u8 = 1;
}

/// Terms of traffic, behind [`TrafficHeader`]; 0 is no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct TrafficTerms {
    /// The most octets behind the header of a packet.
    pub longest: u32,
    /// Octets per second that the sender of this packet takes.
    pub rate_in: u32,
    /// Octets at once that it takes.
    pub burst_in: u32,
    /// Octets per second that it sends.
    pub rate_out: u32,
    /// Octets at once that it sends.
    pub burst_out: u32,
}

impl FieldValue for XtpOptions {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        Some(XtpOptions(bits as u32))
    }

    fn to_bits(&self) -> u64 {
        u64::from(self.0)
    }
}

impl FieldValue for XtpKind {
    fn from_bits(bits: u64) -> Option<Self> {
        use XtpKind::*;
        [Data, Control, First, ErrorControl, TrafficControl, JoinControl, Diagnostic]
            .into_iter()
            .find(|format| *format as u64 == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
