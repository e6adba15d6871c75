//! The description of the protocol for files.

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::{Rules, StopAndWait};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "patience",
        ParameterKind::Number,
        "the wait for an acknowledgement, in milliseconds",
    ),
    Parameter::new("tries", ParameterKind::Number, "how many times a message is sent, at most"),
];

/// Returns how a file describes the protocol: its parameters, and how it is made of them.
pub const fn described<M: Message>() -> Described<StopAndWait<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| {
            let mut rules = Rules::default();
            if let Some(milliseconds) = table.within("patience", 1..=3_600_000)? {
                rules.timeout = Duration::from_millis(milliseconds);
            }
            if let Some(tries) = table.within("tries", 1..=255)? {
                rules.tries_most = tries as u8;
            }
            Ok(StopAndWait::new(rules, seed))
        },
    }
}
