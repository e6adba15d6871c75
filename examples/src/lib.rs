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

/// The stack, as `config` says; secrets and the time of day are the system's.
pub fn artp(config: artp::Config) -> impl FnOnce(&System) -> Artp {
    move |system| {
        let config = artp::Config { secret: system.secret(), epoch: system.epoch(), ..config };
        Over::new(artp::layer(config, system.seed()), system.udp())
    }
}
