//! The same tests once more, of endpoints whose stack is in a server: each in one of its own.

#[path = "../all/blocking.rs"]
mod blocking;
#[cfg(feature = "tokio")]
#[path = "../all/common/mod.rs"]
mod common;
#[path = "../all/ends.rs"]
mod ends;
#[path = "../all/limits.rs"]
mod limits;
mod placement;
#[cfg(feature = "tokio")]
#[path = "../all/tasks.rs"]
mod tasks;
#[cfg(feature = "tokio")]
#[path = "../all/threads.rs"]
mod threads;
mod trace;
