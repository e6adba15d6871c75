//! The description of the protocol in a file.

use alloc::format;

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;
use stackwright_wire::internet::hardware_address;

use crate::{Config, Resolve};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("probe", ParameterKind::Truth, "whether own addresses are probed before use"),
    Parameter::new("retransmit", ParameterKind::Number, "time between solicitations, in ms"),
    Parameter::new("reachable", ParameterKind::Number, "how long an answer is believed, in ms"),
    Parameter::new(
        "neighbors",
        ParameterKind::Text,
        "known ones as 192.0.2.1=02:00:00:00:00:01, between spaces",
    ),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Resolve<M>> {
    Described { parameters: PARAMETERS, make: |table, seed| Ok(Resolve::new(config(table)?, seed)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let mut config = Config::default();
    config.probes = table.truth("probe").unwrap_or(config.probes);
    let time = |key| Ok(table.within(key, 1..=86_400_000)?.map(Duration::from_millis));
    config.retransmit_time = time("retransmit")?.unwrap_or(config.retransmit_time);
    config.reachable_time = time("reachable")?.unwrap_or(config.reachable_time);
    for text in table.text("neighbors").unwrap_or_default().split_whitespace() {
        let neighbor = text
            .split_once('=')
            .and_then(|(host, address)| Some((host.parse().ok()?, hardware_address(address)?)));
        let form = "192.0.2.1=02:00:00:00:00:01";
        let is = || format!("has neighbours such as {form}, and `{text}` stands there");
        config.neighbors.push(neighbor.ok_or_else(|| Unfit { key: "neighbors", is: is() })?);
    }
    Ok(config)
}
