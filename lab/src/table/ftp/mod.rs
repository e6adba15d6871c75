//! E4–E7: file transfer. Clients of everybody from one server, servers of everybody to one client.

mod clients;
mod cpu;
mod documents;
mod ground;
mod held;
mod latency;
mod memory;
pub(super) mod program;
mod strangers;
mod task;
mod throughput;
mod wires;

pub(crate) use cpu::Cpu;
pub(crate) use latency::Latency;
pub(crate) use memory::Memory;
pub(crate) use throughput::Throughput;

use stackwright_programs::content::{SIZES, Sized};

/// The eight sizes of the document.
fn sizes() -> &'static [Sized] {
    &SIZES[1..]
}

/// The size of that name.
fn size(name: &str) -> Option<Sized> {
    sizes().iter().copied().find(|size| size.name == name)
}
