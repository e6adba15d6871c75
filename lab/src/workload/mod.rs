//! Workloads: the same work for every transport.
//!
//! A workload is a plan of *conversations*, each on an association of its own. The one who has the
//! plan is a protocol on top of a transport, [`Client`], and so is the one who listens, [`Server`]:
//! they run in the simulator and on real sockets alike.
//!
//! | file | what |
//! | --- | --- |
//! | `plan.rs` | from a workload to conversations |
//! | `content.rs` | what stands in a message, so that whoever gets it can tell whether it is whole |
//! | `client.rs` | opens, sends, waits for replies, closes |
//! | `server.rs` | listens, checks, replies |
//! | `promises.rs` | what a transport promised, held against what it delivered |
//! | `account.rs`, `ends.rs` | what came of it, in figures; how it ended |

mod account;
mod client;
mod content;
mod ends;
mod plan;
mod promises;
mod server;
mod words;

pub(crate) use account::Account;
pub(crate) use client::Client;
pub(crate) use ends::{End, Ends, TIME_RAN_OUT};
pub(crate) use plan::{Plan, Workload};
pub(crate) use promises::{Broken, Counts, Promises};
pub(crate) use server::Server;
pub(crate) use words::{Request, Told};

use stackwright_contract::Duration;

/// How long a reply is waited for before it counts as missing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Room for the headers of all layers below.
const HEADROOM: usize = 128;
