//! The client: what a person does with the files of a server.
//!
//! | file | what |
//! | --- | --- |
//! | `get.rs` (with `cat`), `put.rs`, `mirror.rs` | copies: which files go where |
//! | `arguments.rs` | their command lines |
//! | `ls.rs`, `listing.rs` | the names in a folder; how an entry is shown |
//! | `manage.rs` | `rm`, `mkdir`, `mv` |
//! | `place.rs`, `names.rs` | where a file is on this machine, and on a server |
//! | `expand.rs` | patterns of names on a server |
//! | `copying.rs`, `report.rs`, `bars.rs` | copies under way; what is seen of them |
//! | `left.rs` | how long a file by radio still takes |
//! | `journal/` | transfers that are interrupted: what is known of them |
//! | `job.rs`, `work.rs`, `session.rs` | what a session is asked to do; which of it is open |
//! | `route.rs`, `open.rs`, `engine.rs` | how a server is reached, and by which stack |
//! | `dialogue.rs` | what is said meanwhile |

pub(crate) mod arguments;
mod bars;
pub(crate) mod copying;
mod dialogue;
mod engine;
pub(crate) mod expand;
pub(crate) mod get;
mod job;
pub(crate) mod journal;
mod left;
pub(crate) mod listing;
pub(crate) mod ls;
pub(crate) mod manage;
pub(crate) mod mirror;
pub(crate) mod names;
mod open;
pub(crate) mod place;
pub(crate) mod put;
pub(crate) mod report;
mod route;
mod session;
mod work;

use stackwright::copy::CopySide;

pub(crate) use job::{Done, Job, name};
pub(crate) use route::Route;
pub(crate) use session::Session;

/// The server is the copy's left side, the disk its right.
pub(crate) const SERVER: CopySide = CopySide::Left;
pub(crate) const DISK: CopySide = CopySide::Right;
