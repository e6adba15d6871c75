//! The description of the protocol in a file.

use alloc::format;

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;
use stackwright_wire::internet::hardware_address;

use crate::{Config, Resolve, radio};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("probe", ParameterKind::Truth, "whether own addresses are probed before use"),
    Parameter::new("retransmit", ParameterKind::Number, "time between solicitations, in ms"),
    Parameter::new("reachable", ParameterKind::Number, "how long an answer is believed, in ms"),
    Parameter::new("call", ParameterKind::Text, "the own call sign, over AX.25"),
    Parameter::new(
        "neighbors",
        ParameterKind::Text,
        "known ones as 192.0.2.1=02:00:00:00:00:01 or, over AX.25, 192.0.2.1=N0CALL-7",
    ),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Resolve<M>> {
    Described { parameters: PARAMETERS, make: |table, seed| Ok(Resolve::new(config(table)?, seed)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let mut config = Config::default();
    if let Some(call) = table.text("call") {
        let is = || format!("is a call sign, such as N0CALL-7, and `{call}` stands there");
        config = Config::radio(call.parse().map_err(|_| Unfit { key: "call", is: is() })?);
    }
    config.probes = table.truth("probe").unwrap_or(config.probes);
    let time = |key| Ok(table.within(key, 1..=86_400_000)?.map(Duration::from_millis));
    config.retransmit_time = time("retransmit")?.unwrap_or(config.retransmit_time);
    config.reachable_time = time("reachable")?.unwrap_or(config.reachable_time);
    let call = config.call;
    for text in table.text("neighbors").unwrap_or_default().split_whitespace() {
        let neighbor = text.split_once('=').and_then(|(host, station)| {
            let address = match call {
                Some(_) => station.parse().ok().map(radio::hardware),
                None => hardware_address(station),
            };
            Some((host.parse().ok()?, address?))
        });
        let form = if call.is_some() { "N0CALL-7" } else { "02:00:00:00:00:01" };
        let is = || format!("has neighbours such as 192.0.2.1={form}, and `{text}` stands there");
        config.neighbors.push(neighbor.ok_or_else(|| Unfit { key: "neighbors", is: is() })?);
    }
    Ok(config)
}
