//! Composition at run time: the same protocols, the same rule book and the same order as in a
//! stack, but chosen while the program runs, and changed while data flows.
//!
//! | file | what |
//! | --- | --- |
//! | `node.rs`, `erased.rs` | what stands in a graph; any protocol as such a thing |
//! | `builder.rs`, `known.rs`, `wiring.rs` | nodes by name, checked, then linked |
//! | `web.rs`, `place.rs`, `order.rs` | how a word passes, and what a timeout does |
//! | `graph.rs`, `live.rs` | the whole as a protocol; modules that come and go |
//! | `between.rs` | forks and joins |
//! | `meter.rs` | how long each node takes |
//! | `inserted.rs`, `modules/` | any filter as a module; a delay, a recorder for captures |
//! | `description.rs`, `registry.rs`, `making.rs` | graphs from a file |
//! | `draw.rs`, `explain.rs` | graphs as a picture, and in sentences |

mod between;
mod builder;
#[cfg(feature = "std")]
mod description;
mod draw;
mod erased;
mod explain;
mod flaw;
#[expect(clippy::module_inception, reason = "the graph itself, beside its parts")]
mod graph;
mod inserted;
mod known;
mod live;
#[cfg(feature = "std")]
mod making;
mod meter;
pub mod modules;
mod node;
mod order;
mod place;
#[cfg(feature = "std")]
mod registry;
mod web;
mod wiring;

pub use builder::{Builder, NODES_MOST};
#[cfg(feature = "std")]
pub use description::{DESCRIPTION_MOST, Description};
pub use erased::Erased;
pub use flaw::{At, Flaw};
pub use graph::{Graph, Unasked};
pub use inserted::Inserted;
pub use live::{ChangeRefused, Popped};
pub use meter::{LayerCost, LayerMeter, LayerTraffic};
pub use node::{AskPort, Module, Node};
#[cfg(feature = "std")]
pub use registry::{Parameters, ProtocolRegistry};
#[cfg(feature = "std")]
pub use stackwright_contract::described::{Parameter, ParameterKind, ParameterTable};
pub use web::NodeOutlet;
