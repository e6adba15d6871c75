//! The header, and what may follow it.

use stackwright_wire::Header;
use stackwright_wire::syntax::{Case, Discriminant, Layout, Step, field};

/// The first octet of every frame: which port of the TNC, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct KissType {
    /// The port, 0 to 15.
    #[bits(4)]
    pub port: u8,
    /// What follows; 0: a frame.
    ///
    /// 1 TXDELAY, 2 persistence, 3 slot time, 4 TXtail, 5 full duplex, 6 hardware, 12 a frame to be
    /// acknowledged, 14 poll, 15 the end of KISS.
    #[bits(4)]
    pub command: u8,
}

/// What precedes the data in ACKMODE; the TNC returns it when the frame was transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct KissAcknowledgement {
    /// The host's number of the frame.
    pub id: u16,
}

/// The value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct KissParameter {
    /// A time in units of 10 ms; persistence in units of 1/256, less one; or 1 for full duplex.
    pub value: u8,
}

/// A frame in either direction.
pub(crate) const DATA: u8 = 0;
/// Time between key-up and the first octet.
pub(crate) const TX_DELAY: u8 = 1;
/// The probability with which a free slot is used.
pub(crate) const PERSISTENCE: u8 = 2;
/// The time of a slot.
pub(crate) const SLOT_TIME: u8 = 3;
/// Time between the last octet and key-down.
pub(crate) const TX_TAIL: u8 = 4;
/// Whether the TNC transmits while it receives.
pub(crate) const FULL_DUPLEX: u8 = 5;
/// Whatever the TNC's maker wants.
pub(crate) const SET_HARDWARE: u8 = 6;
/// A frame with a number before it, which is returned when it was transmitted.
pub(crate) const ACKNOWLEDGED: u8 = 0xC;
/// The end of KISS, whatever the port.
pub(crate) const RETURN: u8 = 0xF;

/// What asks for the octets that the TNC has queued, and begins the answer.
pub(crate) const QUEUED: &[u8] = b"TXBUF:";

const VALUE: &[Step] = &[Step::Header(Layout::of::<KissParameter>())];

const fn parameter(command: u8, name: &'static str) -> Case {
    Case { value: command as u64, name, steps: VALUE }
}

/// What a frame consists of, between its ends and without escapes.
pub const SYNTAX: &[Step] = &[
    Step::Header(Layout::of::<KissType>()),
    Step::Choice {
        by: Discriminant::Value(field("KissType", "command")),
        cases: &[
            Case { value: DATA as u64, name: "data", steps: &[Step::Rest("frame")] },
            parameter(TX_DELAY, "TXDELAY"),
            parameter(PERSISTENCE, "persistence"),
            parameter(SLOT_TIME, "slot time"),
            parameter(TX_TAIL, "TXtail"),
            parameter(FULL_DUPLEX, "full duplex"),
            Case {
                value: SET_HARDWARE as u64,
                name: "hardware",
                steps: &[Step::Rest("setting of the hardware")],
            },
            Case {
                value: ACKNOWLEDGED as u64,
                name: "data to be acknowledged",
                steps: &[Step::Header(Layout::of::<KissAcknowledgement>()), Step::Rest("frame")],
            },
            Case { value: RETURN as u64, name: "return", steps: &[] },
        ],
        otherwise: &[Step::Rest("unknown")],
    },
];
