//! A folder on a disk, seen as [`Files`](stackwright_contract::services::Files).
//!
//! | file | what |
//! | --- | --- |
//! | `disk.rs` | the protocol: requests become jobs, answers become indications |
//! | `disk/hired.rs` | its workers: when they are hired, and joined |
//! | `options.rs` | its options |
//! | `job.rs` | what that and the workers tell each other |
//! | `worker.rs` | a thread that owns its open files and does the calls that may wait for the disk |
//! | `creation.rs` | a file that appears under its name complete, or not at all |
//! | `part.rs` | the lock of a part that can be resumed |
//! | `octets.rs` | octets into a file, and out of it |
//! | `hashing.rs` | the digest of a file, a share at a time |
//! | `listing.rs` | a folder read in pieces |
//! | `place.rs` | which paths there are, and the hidden names of what is incomplete |
//! | `target.rs` | where a path leads to |
//! | `root.rs` | containment: what may be behind a path |
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
mod hashing;
mod job;
mod listing;
mod octets;
mod options;
mod part;
mod place;
mod root;
mod target;
mod worker;

pub use disk::{Disk, READ_MOST};
pub use options::{DiskOptions, NAMES_MOST};
pub use part::{open_part, part_path};
pub use root::Root;

/// Its name in refusals and notes.
const NAME: &str = "disk";
