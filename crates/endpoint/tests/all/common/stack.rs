//! ARTP over the kernel's UDP.

use stackwright_artp as artp;
use stackwright_endpoint::System;

use crate::placement;
pub(crate) use crate::placement::Artp;

pub(crate) const ANY: &str = "127.0.0.1:0";

/// The stack, where `change` is made to its configuration.
pub(crate) fn with(change: impl Fn(&mut artp::Config)) -> impl Fn(&System) -> Artp {
    move |system| {
        let mut config =
            artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        change(&mut config);
        placement::stack(system, config)
    }
}

pub(crate) fn plain(system: &System) -> Artp {
    with(|_| {})(system)
}
