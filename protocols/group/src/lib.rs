//! Groups of processes, from small layers that all speak one service: `Groups`.
//!
//! | file | what |
//! | --- | --- |
//! | `layer.rs` | a layer: what it adds, with defaults that pass everything on |
//! | `mesh.rs` | the carrier: groups over datagrams, an association with each member |
//! | `mesh/reach.rs` | multicast where it arrives |
//! | `nak.rs`, `nak/repeat.rs`, `log.rs` | numbers, the log of unstable casts, what is missing is asked for |
//! | `nak/report.rs` | what members have: in a large view by its first member |
//! | `causal.rs` | nothing before what its sender had delivered |
//! | `fragments.rs` | messages longer than a packet |
//! | `room.rs` | what a slow application has room for |
//! | `detector/` | who was silent for too long, of few members or of many |
//! | `membership/` | views, agreed by ballots: virtual synchrony, one primary view at a time |
//! | `safe.rs` | delivery of what a quorum has |
//! | `total.rs` | one order at all members |
//! | `seal.rs` | a key of the group: without it nobody is heard |
//! | `state.rs` | the state for who joins |
//! | `described.rs` | the layers in a file |
//! | `syntax.rs` | the syntax of a packet, for programs that show packets |
//! | `wire.rs` | octets of what the layers say to each other |
//!
//! From above: `StateTransfer over TotalOrder over SafeDelivery over Views over Detector over Nak
//! over Mesh over` datagrams. Each may be left out; the rule book says what is promised then.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod causal;
pub mod described;
mod detector;
mod fragments;
mod layer;
mod log;
mod membership;
mod mesh;
mod nak;
mod room;
mod safe;
mod seal;
mod state;
mod syntax;
mod total;
#[cfg(test)]
mod trials;
mod wire;

/// The headers of packets, for programs that show them.
pub mod header {
    pub use crate::detector::RingHeader;
    pub use crate::membership::{ViewsHeader, reencoded};
    pub use crate::mesh::{MeshHeader, OutsideHeader};
    pub use crate::nak::{FetchHeader, NakHeader, RepeatHeader};
}

pub use causal::CausalOrder;
pub use detector::{Detector, RingDetector};
pub use fragments::CastFragments;
pub use layer::{GroupHooks, GroupPlace, MicroLayer};
pub use membership::{PartitionedViews, Views, ViewsConfig};
pub use mesh::{Mesh, MeshConfig};
pub use nak::{Nak, NakConfig};
pub use safe::SafeDelivery;
pub use seal::GroupSeal;
pub use state::StateTransfer;
pub use syntax::SYNTAX;
pub use total::TotalOrder;
