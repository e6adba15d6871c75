//! A folder on a disk, seen as [`Files`](stackwright_contract::services::Files).
//!
//! | file | what |
//! | --- | --- |
//! | `disk.rs` | the protocol: requests become jobs, answers become indications |
//! | `worker.rs` | a thread that owns its open files and does the calls that may wait for the disk |
//! | `creation.rs` | a file that appears under its name complete, or not at all |
//! | `listing.rs` | a folder read in pieces |
//! | `root.rs` | containment: which paths there are, and what may be behind them |
//!
//! The operating system has no readiness for files: a read of what is not in its cache waits for
//! the disk, and would stop every association of the stack meanwhile. So the calls are made by a
//! few threads, and only their answers come back.
//!
//! ```text
//! stack thread     requests ──▸ one queue per worker ──▸ worker: open, read, write, rename …
//!                  indications ◂── one queue of answers ◂──┘ and one wake-up per burst of them
//! ```

mod creation;
mod disk;
mod listing;
mod root;
mod worker;

pub use disk::{Disk, DiskOptions, NAMES_MOST, READ_MOST};
pub use root::Root;

/// Its name in refusals and notes.
const NAME: &str = "disk";
