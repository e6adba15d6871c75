//! Streams over datagrams that arrive in any order: what is delivered is a beginning of what was
//! sent, all of it where both ends say so, and each name has its last word.
//!
//! `SEEDS=n` runs n times as many seeds, `SEED=n` only that one.

mod alone;
mod ends;
mod exchange;
mod files;
mod graphs;
mod hostile;
mod talker;
mod window;
