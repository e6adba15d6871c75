//! The policies that fill the slots of a transport: a module per slot, a file per policy. Each says
//! what it does, what it needs and gives, and when to choose it. To do nothing
//! ([`Absent`](flow::Absent)) is a policy, too.
//!
//! | slot | decides |
//! | --- | --- |
//! | [`connection`] | how an association begins and ends |
//! | [`acknowledgement`] | what the receiver reports, and when |
//! | [`inquiry`] | when the sender asks for a report, and repeats that |
//! | [`recovery`] | what is lost, and sent again |
//! | [`rtt`] | the round-trip time and the retransmission timeout |
//! | [`flow`] | how much the two ends take |
//! | [`congestion`] | how much the network takes |
//! | [`rate`] | how fast packets leave |
//! | [`ordering`] | in which order units are delivered |
//! | [`framing`] | how messages become pieces, and pieces messages |
//! | [`lifetime`] | when a message has expired |
//! | [`integrity`] | whether a packet is what was sent |
//! | [`membership`] | whether one peer reports, or a group |
//! | [`switching`] | by which rules a message goes |
//!
//! [`profile`] selects one of them for each slot.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod acknowledgement;
pub mod congestion;
pub mod connection;
pub mod flow;
pub mod framing;
pub mod inquiry;
pub mod integrity;
pub mod lifetime;
pub mod membership;
pub mod ordering;
pub mod profile;
pub mod rate;
pub mod recovery;
pub mod rtt;
pub mod switching;

use alloc::vec::Vec;

use stackwright_contract::ask::SendingChange;

/// Keeps the last ten changes.
fn keep(changes: &mut Vec<SendingChange>, change: SendingChange) {
    if changes.len() == 10 {
        changes.remove(0);
    }
    changes.push(change);
}
