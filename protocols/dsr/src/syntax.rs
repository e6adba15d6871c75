//! What packets with a header of DSR consist of, as they are on the link.

use stackwright_wire::Header;
use stackwright_wire::internet::Ipv4;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

use crate::header::{DsrFront, DsrOptionFront, REPLY, REQUEST, RouteFront, SOURCE_ROUTE};

/// What a request says before its list.
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DsrRequest {
    /// Tells requests of one initiator apart.
    pub id: u16,
    /// Who is searched for.
    pub target: [u8; 4],
}

/// What a reply says before its list.
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DsrReply {
    /// Whether the last hop is not one of DSR's.
    pub last_external: bool,
    /// Nothing.
    #[bits(7)]
    pub rsvd: u8,
}

/// A station in a list.
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DsrAddress {
    /// Its address.
    pub address: [u8; 4],
}

const LIST: Step = Step::Repeat(&[Step::Header(Layout::of::<DsrAddress>())]);
const OPTION: &[Step] = &[
    Step::Header(Layout::of::<DsrOptionFront>()),
    Step::Part {
        octets: field(DsrOptionFront::NAME, "octets"),
        less: 0,
        steps: &[Step::Choice {
            by: Discriminant::Value(field(DsrOptionFront::NAME, "option")),
            cases: &[
                Case {
                    value: REQUEST as u64,
                    name: "route request",
                    steps: &[Step::Header(Layout::of::<DsrRequest>()), LIST],
                },
                Case {
                    value: REPLY as u64,
                    name: "route reply",
                    steps: &[Step::Header(Layout::of::<DsrReply>()), LIST],
                },
                Case {
                    value: SOURCE_ROUTE as u64,
                    name: "source route",
                    steps: &[Step::Header(Layout::of::<RouteFront>()), LIST],
                },
            ],
            otherwise: &[Step::Rest("data")],
        }],
    },
];

/// The header behind IPv4's, and what follows it.
pub const HEADER_SYNTAX: &[Step] = &[
    Step::Header(Layout::of::<DsrFront>()),
    Step::Part { octets: field(DsrFront::NAME, "length"), less: 0, steps: &[Step::Repeat(OPTION)] },
    Step::Rest("payload"),
];

/// A packet of IPv4 without options, with DSR's header in it.
pub const SYNTAX: &[Step] = &[
    Step::Header(Layout::of::<Ipv4>()),
    Step::Choice {
        by: Discriminant::Value(field(Ipv4::NAME, "protocol")),
        cases: &[Case { value: crate::header::PROTOCOL as u64, name: "DSR", steps: HEADER_SYNTAX }],
        otherwise: &[Step::Rest("payload")],
    },
];
