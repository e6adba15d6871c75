//! The syntax of a packet (ARTP §1.4.1), for programs that display packets. The layouts are those
//! of `header.rs` and `option.rs`.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Reference, Step, field};

use crate::header::{
    Arrived, ArrivedRange, Challenge, Close, ControlHeader, Fragment, Identity, OptionHeader,
    Packet, PacketKind, Proposal, Signed, Single, Token, Unknown,
};
use crate::option::{self, Credit, Large, Marks, Part, Priority, Settled};
use crate::state::Matter;

const OPTION: Reference = field(OptionHeader::NAME, "id");

/// Any packet.
pub const SYNTAX: &[Step] = &[
    of::<Packet>(),
    Step::Part { octets: field(Packet::NAME, "options"), less: 0, steps: &[Step::Repeat(OPTIONS)] },
    Step::Choice {
        by: Discriminant::Value(field(Packet::NAME, "kind")),
        cases: &[
            Case { value: PacketKind::Data as u64, name: "data", steps: DATA },
            Case { value: PacketKind::Control as u64, name: "control", steps: CONTROL },
            Case { value: PacketKind::Single as u64, name: "single", steps: SINGLE },
            Case {
                value: PacketKind::Acknowledge as u64,
                name: "acknowledgement",
                steps: ACKNOWLEDGEMENT,
            },
            Case { value: PacketKind::Unknown as u64, name: "unknown", steps: &[of::<Unknown>()] },
        ],
        otherwise: &[],
    },
];

const OPTIONS: &[Step] = &[
    of::<OptionHeader>(),
    Step::Part {
        octets: field(OptionHeader::NAME, "size"),
        less: OptionHeader::LENGTH,
        steps: &[Step::Choice {
            by: Discriminant::Value(OPTION),
            cases: &[
                Case { value: option::CREDIT as u64, name: "credit", steps: &[of::<Credit>()] },
                Case { value: option::RANGES as u64, name: "ranges", steps: &[] },
                Case { value: option::LARGE as u64, name: "large", steps: &[of::<Large>()] },
                Case {
                    value: option::PRIORITY as u64,
                    name: "priority",
                    steps: &[of::<Priority>()],
                },
                Case { value: option::SETTLED as u64, name: "settled", steps: &[of::<Settled>()] },
                Case {
                    value: option::PADDING as u64,
                    name: "padding",
                    steps: &[Step::Rest("zeros")],
                },
                Case { value: option::PART as u64, name: "part", steps: &[of::<Part>()] },
                Case { value: option::MARKS as u64, name: "marks", steps: &[of::<Marks>()] },
            ],
            otherwise: &[Step::Rest("value")],
        }],
    },
];

const DATA: &[Step] = &[
    of::<Fragment>(),
    // Only the first part of the first fragment begins with the length of a signature; an option
    // has the upper half of the index.
    Step::Choice {
        by: Discriminant::Value(field(Fragment::NAME, "index")),
        cases: &[Case {
            value: 0,
            name: "",
            steps: &[Step::Choice {
                by: Discriminant::Value(field(Large::NAME, "index")),
                cases: &[Case {
                    value: 0,
                    name: "",
                    steps: &[Step::Choice {
                        by: Discriminant::Value(field(Part::NAME, "offset")),
                        cases: &[Case { value: 0, name: "", steps: SIGNED }],
                        otherwise: &[],
                    }],
                }],
                otherwise: &[],
            }],
        }],
        otherwise: &[],
    },
];

const SINGLE: &[Step] = &[of::<Single>()];

const SIGNED: &[Step] = &[
    of::<Signed>(),
    // It may go on in the next fragment.
    Step::Octets { name: "signature", octets: field(Signed::NAME, "signature") },
];

// An item may go on in the next part.
const CONTROL: &[Step] = &[Step::Choice {
    by: Discriminant::Occurred(OPTION, option::PART as u64),
    cases: &[Case { value: 1, name: "", steps: &[Step::Rest("part")] }],
    otherwise: &[Step::Repeat(ITEMS)],
}];

const ITEMS: &[Step] = &[
    of::<ControlHeader>(),
    Step::Part {
        octets: field(ControlHeader::NAME, "size"),
        less: ControlHeader::LENGTH,
        steps: &[Step::Choice {
            by: Discriminant::Value(field(ControlHeader::NAME, "id")),
            cases: &[
                Case { value: Matter::Open.id() as u64, name: "open", steps: &[of::<Proposal>()] },
                Case { value: Matter::Close.id() as u64, name: "close", steps: &[of::<Close>()] },
                Case {
                    value: Matter::Confirm.id() as u64,
                    name: "confirm",
                    steps: &[of::<Token>()],
                },
                Case { value: Matter::Probe.id() as u64, name: "probe", steps: &[of::<Token>()] },
                Case {
                    value: Matter::Identify.id() as u64,
                    name: "identify",
                    steps: &[of::<Identity>()],
                },
                Case {
                    value: Matter::Challenge.id() as u64,
                    name: "challenge",
                    steps: &[of::<Challenge>()],
                },
            ],
            otherwise: &[Step::Rest("value")],
        }],
    },
];

const ACKNOWLEDGEMENT: &[Step] = &[Step::Choice {
    by: Discriminant::Occurred(OPTION, option::RANGES as u64),
    cases: &[Case { value: 1, name: "", steps: &[Step::Repeat(&[of::<ArrivedRange>()])] }],
    otherwise: &[Step::Repeat(&[of::<Arrived>()])],
}];

const fn of<H: Header>() -> Step {
    Step::Header(Layout::of::<H>())
}
