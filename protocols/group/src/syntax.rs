//! The syntax of a packet. A message of the application is the rest: which layers have a header in
//! it, the stack says.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

use crate::header::{FetchHeader, MeshHeader, NakHeader, OutsideHeader, RepeatHeader, ViewsHeader};

/// How much of a sender's casts a member has.
#[derive(Header)]
#[allow(dead_code, reason = "only its layout is used: `wire.rs` reads it")]
struct CountHeader {
    /// Up to this cast.
    upto: u32,
}

/// How many senders there are.
#[derive(Header)]
#[allow(dead_code, reason = "only its layout is used: `wire.rs` reads it")]
struct SendersHeader {
    /// By rank.
    senders: u16,
}

/// What a member of a large view has of one sender's casts.
#[derive(Header)]
#[allow(dead_code, reason = "only its layout is used: `nak/report.rs` reads it")]
struct SenderCountHeader {
    /// The sender's rank.
    sender: u16,
    /// Up to this cast.
    upto: u32,
}

/// What the first says of one sender's casts.
#[derive(Header)]
#[allow(dead_code, reason = "only its layout is used: `nak/report.rs` reads it")]
struct FirstCountHeader {
    /// The sender's rank.
    sender: u16,
    /// Up to which cast the first has them.
    upto: u32,
    /// Up to which a quorum has them.
    quorum: u32,
    /// Up to which all have them.
    all: u32,
}

const NAK: Step = Step::Header(Layout::of::<NakHeader>());
const COUNTS: &[Step] = &[
    Step::Header(Layout::of::<SendersHeader>()),
    Step::Repeat(&[Step::Header(Layout::of::<CountHeader>())]),
];

const TO_FIRST: &[Step] = &[
    Step::Header(Layout::of::<SendersHeader>()),
    Step::Repeat(&[Step::Header(Layout::of::<SenderCountHeader>())]),
];
const FIRST: &[Step] = &[
    Step::Header(Layout::of::<SendersHeader>()),
    Step::Repeat(&[Step::Header(Layout::of::<FirstCountHeader>())]),
];

const fn case(value: u64, name: &'static str, steps: &'static [Step]) -> Case {
    Case { value, name, steps }
}

const IN_VIEW: &[Step] = &[
    NAK,
    Step::Choice {
        by: Discriminant::Value(field("NakHeader", "kind")),
        cases: &[
            case(0, "cast", &[Step::Rest("message")]),
            case(1, "report", COUNTS),
            case(5, "report to the first", TO_FIRST),
            case(6, "report of the first", FIRST),
        ],
        otherwise: &[Step::Rest("unknown")],
    },
];

const VIEWS: &[Step] = &[
    Step::Header(Layout::of::<ViewsHeader>()),
    Step::Choice {
        by: Discriminant::Value(field("ViewsHeader", "kind")),
        cases: &[
            case(0, "PREPARE", &[]),
            case(1, "PROMISE", &[Step::Rest("counts, accepted view and suspects")]),
            case(2, "REFUSE", &[]),
            case(3, "ACCEPT", &[Step::Rest("view and target")]),
            case(4, "ACCEPTED", &[]),
            case(5, "INSTALL", &[Step::Rest("view and target")]),
            case(6, "JOIN", &[]),
            case(7, "READY", &[]),
            case(8, "LEAVE", &[]),
            case(9, "ANNOUNCE", &[]),
            case(10, "NEWER", &[Step::Rest("view")]),
            case(11, "UNHEARD", &[Step::Rest("ranks")]),
            case(12, "HERE", &[Step::Rest("first")]),
            case(13, "MERGE", &[Step::Rest("view")]),
            case(14, "MERGED", &[Step::Rest("view")]),
        ],
        otherwise: &[Step::Rest("unknown")],
    },
];

const OUTSIDE: &[Step] = &[
    Step::Header(Layout::of::<OutsideHeader>()),
    NAK,
    Step::Choice {
        by: Discriminant::Value(field("NakHeader", "kind")),
        cases: &[
            case(2, "", VIEWS),
            case(3, "question", &[Step::Header(Layout::of::<FetchHeader>())]),
            case(
                4,
                "repeated",
                &[Step::Header(Layout::of::<RepeatHeader>()), Step::Rest("message")],
            ),
        ],
        otherwise: &[Step::Rest("unknown")],
    },
];

/// What a packet consists of.
pub const SYNTAX: &[Step] = &[
    Step::Header(Layout::of::<MeshHeader>()),
    Step::Choice {
        by: Discriminant::Value(field("MeshHeader", "kind")),
        cases: &[
            case(0, "in a view", IN_VIEW),
            case(1, "outside", OUTSIDE),
            case(2, "probe", &[Step::Rest("ranks that are heard by multicast")]),
        ],
        otherwise: &[Step::Rest("unknown")],
    },
];
