//! The description of the protocol in a file.

use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{Config, Dsr};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "rate",
        ParameterKind::Number,
        "bits a second of the channel, from which times follow",
    ),
    Parameter::new("relays", ParameterKind::Number, "stations that may relay on one route, to 9"),
    Parameter::new("answers", ParameterKind::Truth, "whether known routes of others are told"),
    Parameter::new(
        "acknowledged",
        ParameterKind::Truth,
        "whether next hops are asked to acknowledge now and then",
    ),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Dsr<M>> {
    Described { parameters: PARAMETERS, make: |table, seed| Ok(Dsr::new(config(table)?, seed)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let config = Config::default();
    let rate = table.within("rate", 1..=1_000_000_000)?.map(|rate| rate as u32);
    let relays = table.within("relays", 1..=9)?.map_or(config.relays, |relays| relays as u8);
    let answers = table.truth("answers").unwrap_or(config.answers_for_others);
    let asks = table.truth("acknowledged").unwrap_or(config.asks_for_acknowledgements);
    Ok(Config { rate, relays, answers_for_others: answers, asks_for_acknowledgements: asks })
}
