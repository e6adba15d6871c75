//! The description of the protocol in a file.

use alloc::format;

use stackwright_contract::CallSign;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{Compress, RuleSet};

const PARAMETERS: &[Parameter] = &[
    Parameter::required("call", ParameterKind::Text, "the call sign of the station"),
    Parameter::new("rules", ParameterKind::Text, "what is known of headers, instead of the own"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Compress<M>> {
    Described { parameters: PARAMETERS, make: |table, _| made(table) }
}

fn made<M: Message>(table: &dyn ParameterTable) -> Result<Compress<M>, Unfit> {
    let call = table.text("call").unwrap_or_default();
    let is = || format!("is a call sign, such as N0CALL-7, and `{call}` stands there");
    let call: CallSign = call.parse().map_err(|_| Unfit { key: "call", is: is() })?;
    let rules = match table.text("rules") {
        Some(text) => text.parse().map_err(|why: crate::BadRules| Unfit {
            key: "rules",
            is: format!("is a text of rules; {why}"),
        })?,
        None => RuleSet::built_in(),
    };
    Ok(Compress::new(call, rules))
}
