//! The description of the protocol in a file.

use alloc::format;

use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;
use stackwright_wire::internet::{hardware_address, is_group};

use crate::{Config, EthernetDatagrams};

const PARAMETERS: &[Parameter] = &[
    Parameter::required("address", ParameterKind::Text, "the own address, as 02:00:00:00:00:01"),
    Parameter::new("lan", ParameterKind::Number, "the virtual LAN whose tag all frames have"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<EthernetDatagrams<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| Ok(EthernetDatagrams::new(config(table)?, seed)),
    }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let text = table.text("address").unwrap_or_default();
    let is = || format!("is a station's, such as 02:00:00:00:00:01, and `{text}` stands there");
    let address = hardware_address(text).filter(|address| !is_group(*address));
    let address = address.ok_or_else(|| Unfit { key: "address", is: is() })?;
    let lan = table.within("lan", 1..=4094)?.map(|lan| lan as u16);
    Ok(Config { address, lan })
}
