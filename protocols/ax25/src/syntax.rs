//! The syntax of a frame, for programs that display packets.
//!
//! A frame does not say how its link counts: [`SYNTAX`] is that of links whose numbers have three
//! bits, as other programs show all of them. I and S frames of links with numbers of seven bits
//! have [`EXTENDED_SYNTAX`].

use stackwright_wire::Header;
use stackwright_wire::internet::Ax25Arp;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Reference, Step, field};

use crate::header::{AddressField, pid};
use crate::segment::SegmentHeader;
use crate::xid::{XidHeader, XidParameter};

/// The control field of one octet, whatever its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct ControlField {
    /// N(R) of I and S frames; the first bits of the kind of U frames.
    #[bits(3)]
    pub received: u8,
    /// The P bit of a command, the F bit of a response.
    pub poll: bool,
    /// Of I frames, the first bits of N(S); of S and U frames, the kind.
    #[bits(2)]
    pub kind: u8,
    /// 1: an S frame; 3: a U frame; else an I frame, and the first bit is the last of N(S).
    #[bits(2)]
    pub format: u8,
}

/// The control field of two octets, of I and S frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct ExtendedControlField {
    /// N(S) of an I frame; twice the kind of an S frame.
    #[bits(7)]
    pub sent: u8,
    /// It is an S frame.
    pub supervisory: bool,
    /// N(R).
    #[bits(7)]
    pub received: u8,
    /// The P bit of a command, the F bit of a response.
    pub poll: bool,
}

/// The protocol identifier (§3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct ProtocolIdentifier {
    /// Which protocol the information belongs to; 0xF0: none.
    pub pid: u8,
}

/// The own protocol identifier of a segmented message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct SegmentedIdentifier {
    /// Which protocol the message belongs to.
    pub pid: u8,
}

/// A frame.
pub const SYNTAX: &[Step] =
    &[of::<AddressField>(), of::<AddressField>(), more(PATH_8), CONTROL[0], CONTROL[1]];

/// An I or an S frame of a link with numbers of seven bits.
pub const EXTENDED_SYNTAX: &[Step] = &[
    of::<AddressField>(),
    of::<AddressField>(),
    more(PATH_8),
    of::<ExtendedControlField>(),
    Step::Choice {
        by: Discriminant::Value(field(ExtendedControlField::NAME, "supervisory")),
        cases: &[Case { value: 1, name: "supervisory", steps: &[Step::Rest("numbers")] }],
        otherwise: INFORMATION,
    },
];

const LAST: Reference = field(AddressField::NAME, "last");

/// What follows an address that is not the last.
const fn more(steps: &'static [Step]) -> Step {
    Step::Choice {
        by: Discriminant::Value(LAST),
        cases: &[Case { value: 1, name: "", steps: &[] }],
        otherwise: steps,
    }
}

const PATH_8: &[Step] = &[of::<AddressField>(), more(PATH_7)];
const PATH_7: &[Step] = &[of::<AddressField>(), more(PATH_6)];
const PATH_6: &[Step] = &[of::<AddressField>(), more(PATH_5)];
const PATH_5: &[Step] = &[of::<AddressField>(), more(PATH_4)];
const PATH_4: &[Step] = &[of::<AddressField>(), more(PATH_3)];
const PATH_3: &[Step] = &[of::<AddressField>(), more(PATH_2)];
const PATH_2: &[Step] = &[of::<AddressField>(), more(PATH_1)];
const PATH_1: &[Step] = &[of::<AddressField>()];

const CONTROL: [Step; 2] = [
    of::<ControlField>(),
    Step::Choice {
        by: Discriminant::Value(field(ControlField::NAME, "format")),
        cases: &[
            Case { value: 1, name: "supervisory", steps: &[Step::Rest("numbers")] },
            Case { value: 3, name: "unnumbered", steps: UNNUMBERED },
        ],
        otherwise: INFORMATION,
    },
];

const UNNUMBERED: &[Step] = &[Step::Choice {
    by: Discriminant::Value(field(ControlField::NAME, "received")),
    cases: &[
        Case {
            value: 0,
            name: "",
            steps: &[Step::Choice {
                by: Discriminant::Value(field(ControlField::NAME, "kind")),
                cases: &[Case { value: 0, name: "UI", steps: INFORMATION }],
                otherwise: &[Step::Rest("information")],
            }],
        },
        Case { value: 5, name: "XID", steps: XID },
    ],
    otherwise: &[Step::Rest("information")],
}];

const XID: &[Step] = &[
    of::<XidHeader>(),
    Step::Part {
        octets: field(XidHeader::NAME, "length"),
        less: 0,
        steps: &[Step::Repeat(&[
            of::<XidParameter>(),
            Step::Octets { name: "value", octets: field(XidParameter::NAME, "length") },
        ])],
    },
];

const INFORMATION: &[Step] = &[
    of::<ProtocolIdentifier>(),
    Step::Choice {
        by: Discriminant::Value(field(ProtocolIdentifier::NAME, "pid")),
        cases: &[
            Case { value: 0xcd, name: "ARP", steps: &[of::<Ax25Arp>()] },
            Case {
                value: pid::SEGMENT as u64,
                name: "segment",
                steps: &[
                    of::<SegmentHeader>(),
                    Step::Choice {
                        by: Discriminant::Value(field(SegmentHeader::NAME, "first")),
                        cases: &[Case {
                            value: 1,
                            name: "first",
                            steps: &[of::<SegmentedIdentifier>()],
                        }],
                        otherwise: &[],
                    },
                    Step::Rest("information"),
                ],
            },
        ],
        otherwise: &[Step::Rest("information")],
    },
];

const fn of<H: Header>() -> Step {
    Step::Header(Layout::of::<H>())
}
