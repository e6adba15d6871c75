//! The description of the protocol in a file.

use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::{Config, Ordered};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "window",
        ParameterKind::Number,
        "how many octets of an association may wait to be read at most",
    ),
    Parameter::new("piece", ParameterKind::Number, "how many octets go into one datagram at most"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Ordered<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, _| {
            let mut config = Config::default();
            if let Some(window) = table.within("window", 128..=1 << 30)? {
                config.window = window as usize;
            }
            if let Some(piece) = table.within("piece", 1..=1 << 30)? {
                config.piece = piece as usize;
            }
            Ok(Ordered::new(config))
        },
    }
}
