//! The stack of most tests: ARTP over the kernel's UDP, in the process of its endpoint.

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::System;
use stackwright_wire::BufferTree;

pub(crate) type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

/// Whether a word takes a moment to reach the transport, which lends nothing of its memory.
pub(crate) const IN_SERVER: bool = false;

pub(crate) fn stack(system: &System, config: artp::Config) -> Artp {
    placed(system, move |system| Over::new(artp::layer(config, system.seed()), system.udp()))
}

pub(crate) fn placed(system: &System, make: impl FnOnce(&System) -> Artp) -> Artp {
    make(system)
}

/// How many associations the transport has.
pub(crate) fn associations(stack: &Artp) -> usize {
    stack.upper.associations()
}
