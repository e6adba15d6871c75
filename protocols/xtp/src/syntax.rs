//! The syntax of a packet, for programs that display packets. The layouts are those of `header.rs`.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

use crate::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, Internet6Address, InternetAddress,
    KeyExchange, SpanCount, SpanSegment, TrafficHeader, TrafficTerms, XtpKind, XtpPacket,
};

/// Any packet.
pub const SYNTAX: &[Step] = &[
    of::<XtpPacket>(),
    Step::Choice {
        by: Discriminant::Value(field(XtpPacket::NAME, "format")),
        cases: &[
            Case { value: XtpKind::Data as u64, name: "DATA", steps: &[] },
            Case { value: XtpKind::Control as u64, name: "CNTL", steps: &[of::<ControlSegment>()] },
            Case { value: XtpKind::First as u64, name: "FIRST", steps: FIRST },
            Case { value: XtpKind::ErrorControl as u64, name: "ECNTL", steps: SPANS },
            Case { value: XtpKind::TrafficControl as u64, name: "TCNTL", steps: EXCHANGE },
            Case { value: XtpKind::JoinControl as u64, name: "JCNTL", steps: JOIN },
            Case {
                value: XtpKind::Diagnostic as u64,
                name: "DIAG",
                steps: &[of::<DiagnosticSegment>(), Step::Rest("text")],
            },
        ],
        otherwise: &[],
    },
];

const FIRST: &[Step] = &[ADDRESS[0], ADDRESS[1], TRAFFIC[0], TRAFFIC[1]];

const ADDRESS: [Step; 2] = [
    of::<AddressHeader>(),
    Step::Part {
        octets: field(AddressHeader::NAME, "length"),
        less: AddressHeader::LENGTH,
        steps: &[Step::Choice {
            by: Discriminant::Value(field(AddressHeader::NAME, "format")),
            cases: &[
                Case {
                    value: AddressHeader::INTERNET as u64,
                    name: "IPv4",
                    steps: &[of::<InternetAddress>()],
                },
                Case {
                    value: AddressHeader::INTERNET_6 as u64,
                    name: "IPv6",
                    steps: &[of::<Internet6Address>()],
                },
            ],
            otherwise: &[Step::Rest("address")],
        }],
    },
];

const TRAFFIC: [Step; 2] = [
    of::<TrafficHeader>(),
    Step::Part {
        octets: field(TrafficHeader::NAME, "length"),
        less: TrafficHeader::LENGTH,
        steps: &[Step::Choice {
            by: Discriminant::Value(field(TrafficHeader::NAME, "format")),
            cases: &[Case { value: 1, name: "terms", steps: &[of::<TrafficTerms>()] }],
            otherwise: &[Step::Rest("unused")],
        }],
    },
];

const SPANS: &[Step] =
    &[of::<ControlSegment>(), of::<SpanCount>(), Step::Repeat(&[of::<SpanSegment>()])];

const EXCHANGE: &[Step] = &[of::<ControlSegment>(), of::<KeyExchange>(), TRAFFIC[0], TRAFFIC[1]];

const JOIN: &[Step] =
    &[of::<ControlSegment>(), of::<KeyExchange>(), ADDRESS[0], ADDRESS[1], TRAFFIC[0], TRAFFIC[1]];

const fn of<H: Header>() -> Step {
    Step::Header(Layout::of::<H>())
}
