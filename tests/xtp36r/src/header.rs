//! What stands before the octets. The fields are the report's; their places are chosen.

use stackwright_wire::Header;
use stackwright_xtp::header::{XtpKind, XtpOptions};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Packet36r {
    /// The key is that of its receiver's context (RTN), not of its sender's.
    pub returned: bool,
    /// The key of a context.
    #[bits(31)]
    pub key: u32,
    /// The options, with the bits of 4.0.
    #[bits(24)]
    pub options: XtpOptions,
    /// 0.
    #[bits(3)]
    #[fixed(0)]
    pub version: (),
    /// The kind of the packet: DATA, CNTL, FIRST or DIAG.
    #[bits(5)]
    pub format: XtpKind,
    /// The octets that follow the header (dlen).
    pub length: u32,
    /// 0: what it is for is not known.
    #[bits(32)]
    #[fixed(0)]
    pub offset: (),
    /// CXOR of header and payload, of the header alone with `NOCHECK`.
    pub check: u32,
    /// How urgent it is, with `SORT`.
    pub sort: u32,
    /// The number of the last inquiry.
    pub sync: u32,
    /// The number of the first octet of data; without data, of the next.
    pub sequence: u32,
    /// 0: there are no routes.
    pub route: u32,
    /// 0.
    pub reserved: u32,
}

/// What CNTL has, before its spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Control36r {
    /// 0: no bound.
    pub rate: u32,
    /// 0: no bound.
    pub burst: u32,
    /// The last inquiry that arrived.
    pub echo: u32,
    /// 0: round trips are measured by inquiries.
    pub time: u32,
    /// 0.
    pub techo: u32,
    /// The key of the sender's context, which the peer is to return; 0: none is said.
    pub xkey: u32,
    /// 0: there are no routes.
    pub xroute: u32,
    /// How far the peer may send (alloc).
    pub allocated: u32,
    /// All before it was received (rseq).
    pub received: u32,
    /// How many spans follow (nspan).
    pub spans: u32,
}

/// A span that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Span36r {
    /// Its first number.
    pub left: u32,
    /// The number after its last.
    pub right: u32,
}
