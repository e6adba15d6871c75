//! What a frame consists of.

use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};
use stackwright_wire::{Header, internet};

/// The EtherType of a tag (IEEE 802.1Q §9.6).
pub(crate) const TAGGED: u16 = 0x8100;

/// What follows the header of a frame that has the tag of a virtual LAN (IEEE 802.1Q §9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Tag {
    /// The frame's priority.
    #[bits(3)]
    pub priority: u8,
    /// Whether it may be dropped sooner than others.
    pub drop_eligible: bool,
    /// The virtual LAN; 0: the frame has only a priority.
    #[bits(12)]
    pub lan: u16,
    /// The protocol of the payload.
    pub ether_type: u16,
}

/// A frame as devices deliver it: without preamble and check.
pub const SYNTAX: &[Step] = &[
    Step::Header(Layout::of::<internet::Ethernet>()),
    Step::Choice {
        by: Discriminant::Value(field("Ethernet", "ether_type")),
        cases: &[Case {
            value: TAGGED as u64,
            name: "tagged",
            steps: &[Step::Header(Layout::of::<Tag>())],
        }],
        otherwise: &[],
    },
    Step::Rest("payload"),
];
