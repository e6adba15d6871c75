//! How a file describes the layer.

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::{Config, Merged};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "associations",
        ParameterKind::Number,
        "the most associations that peers may open",
    ),
    Parameter::new("streams", ParameterKind::Number, "the most streams that a peer may open"),
    Parameter::new(
        "close-wait",
        ParameterKind::Number,
        "how long the peer's end of a closed stream is waited for, in seconds",
    ),
];

/// Returns the description: the parameters that a file may set, and how the layer is made of them.
pub const fn described<M: Message>() -> Described<Merged<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, _| {
            let mut config = Config::default();
            if let Some(most) = table.within("associations", 1..=10_000)? {
                config.associations_most = most as usize;
            }
            if let Some(most) = table.within("streams", 1..=10_000)? {
                config.streams_most = most as usize;
            }
            if let Some(seconds) = table.within("close-wait", 1..=1_000_000)? {
                config.close_wait = Duration::from_secs(seconds);
            }
            Ok(Merged::new(config))
        },
    }
}
