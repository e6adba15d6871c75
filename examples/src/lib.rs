//! What several examples share: the stack that they stand on.

use stackwright::compose::Over;
use stackwright::wire::BufferTree;
use stackwright_artp as artp;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::System;
use stackwright_endpoint::blocking::{Association, Endpoint};

/// ARTP over the kernel's UDP.
pub type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

/// An endpoint on that stack.
pub type ArtpEndpoint = Endpoint<Artp>;

/// An association of such an endpoint.
pub type ArtpAssociation = Association<Artp>;

/// The stack, whose secret and time of day are the system's.
pub fn artp(system: &System) -> Artp {
    artp_with(system, |_| {})
}

/// The same, after `change` to its configuration.
pub fn artp_with(system: &System, change: impl FnOnce(&mut artp::Config)) -> Artp {
    let mut config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    change(&mut config);
    Over::new(artp::layer(config, system.seed()), system.udp())
}
