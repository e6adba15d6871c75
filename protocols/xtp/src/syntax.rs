//! The syntax of a packet, for programs that display packets. The layouts are those of `header.rs`.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

use crate::header::{
    AddressHeader, Control, Diagnostic, Exchange, Internet6Address, InternetAddress, Packet,
    PacketFormat, Span, SpanCount, Traffic, TrafficHeader,
};

/// Any packet.
pub const SYNTAX: &[Step] = &[
    of::<Packet>(),
    Step::Choice {
        by: Discriminant::Value(field(Packet::NAME, "format")),
        cases: &[
            Case { value: PacketFormat::Data as u64, name: "DATA", steps: &[] },
            Case { value: PacketFormat::Control as u64, name: "CNTL", steps: &[of::<Control>()] },
            Case { value: PacketFormat::First as u64, name: "FIRST", steps: FIRST },
            Case { value: PacketFormat::ErrorControl as u64, name: "ECNTL", steps: SPANS },
            Case { value: PacketFormat::TrafficControl as u64, name: "TCNTL", steps: EXCHANGE },
            Case { value: PacketFormat::JoinControl as u64, name: "JCNTL", steps: JOIN },
            Case {
                value: PacketFormat::Diagnostic as u64,
                name: "DIAG",
                steps: &[of::<Diagnostic>(), Step::Rest("text")],
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
            cases: &[Case { value: 1, name: "terms", steps: &[of::<Traffic>()] }],
            otherwise: &[Step::Rest("unused")],
        }],
    },
];

const SPANS: &[Step] = &[of::<Control>(), of::<SpanCount>(), Step::Repeat(&[of::<Span>()])];

const EXCHANGE: &[Step] = &[of::<Control>(), of::<Exchange>(), TRAFFIC[0], TRAFFIC[1]];

const JOIN: &[Step] =
    &[of::<Control>(), of::<Exchange>(), ADDRESS[0], ADDRESS[1], TRAFFIC[0], TRAFFIC[1]];

const fn of<H: Header>() -> Step {
    Step::Header(Layout::of::<H>())
}
