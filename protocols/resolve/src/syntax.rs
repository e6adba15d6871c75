//! What the packets of ARP and neighbour discovery consist of, as they are on the link.

use stackwright_wire::internet::{Arp, Ipv6, Neighbor, RouterAdvertisement};
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

const NEIGHBOR: &[Step] = &[Step::Header(Layout::of::<Neighbor>()), Step::Rest("options")];
const ROUTER: &[Step] = &[Step::Header(Layout::of::<RouterAdvertisement>()), Step::Rest("options")];

const ICMP: &[Step] = &[Step::Choice {
    by: Discriminant::Ahead,
    cases: &[
        Case { value: 134, name: "router advertisement", steps: ROUTER },
        Case { value: 135, name: "neighbor solicitation", steps: NEIGHBOR },
        Case { value: 136, name: "neighbor advertisement", steps: NEIGHBOR },
    ],
    otherwise: &[Step::Rest("message")],
}];

/// A packet of ARP, whose first octet is 0, or of IPv6 with neighbour discovery in it.
pub const SYNTAX: &[Step] = &[Step::Choice {
    by: Discriminant::Ahead,
    cases: &[Case { value: 0, name: "ARP", steps: &[Step::Header(Layout::of::<Arp>())] }],
    otherwise: &[
        Step::Header(Layout::of::<Ipv6>()),
        Step::Choice {
            by: Discriminant::Value(field("Ipv6", "next_header")),
            cases: &[Case { value: 58, name: "ICMPv6", steps: ICMP }],
            otherwise: &[Step::Rest("payload")],
        },
    ],
}];
