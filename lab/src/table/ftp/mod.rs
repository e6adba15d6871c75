//! E4–E7: file transfer. Clients of everybody from one server, servers of everybody to one client.

mod clients;
mod cpu;
mod documents;
mod ground;
mod held;
mod memory;
pub(super) mod program;
mod strangers;
mod task;
mod transfers;
mod wires;

pub(super) use cpu::{CPU, times as processor_time};
pub(super) use held::family;
pub(super) use memory::MEMORY;
pub(super) use transfers::{LATENCY, THROUGHPUT};

use stackwright_programs::content::{SIZES, Sized};

/// The eight sizes of the document.
fn sizes() -> &'static [Sized] {
    &SIZES[1..]
}

/// The largest.
const LARGEST: Sized = SIZES[SIZES.len() - 1];
