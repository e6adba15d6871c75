//! How a file describes it.

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::{Rules, StopAndWait};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "patience",
        ParameterKind::Number,
        "how long an acknowledgement is waited for, in milliseconds",
    ),
    Parameter::new("tries", ParameterKind::Number, "how often a message is sent at most"),
];

/// How a file describes it.
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
