//! The description of the protocol in a file.

use alloc::format;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::Participant;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{Axudp, Config};

const PARAMETERS: &[Parameter] = &[
    Parameter::required("peers", ParameterKind::Text, "addresses with ports, between spaces"),
    Parameter::new("local", ParameterKind::Text, "the own address and port"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Axudp<M>> {
    Described { parameters: PARAMETERS, make: |table, _| Ok(Axudp::new(config(table)?)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let local = addresses(table, "local")?.first().copied();
    Ok(Config { local, peers: addresses(table, "peers")? })
}

fn addresses(table: &dyn ParameterTable, key: &'static str) -> Result<Vec<Participant>, Unfit> {
    let read = |text: &str| {
        let is = || format!("has addresses such as 192.0.2.1:10093, and `{text}` stands there");
        text.parse::<SocketAddr>().map(Participant::from).map_err(|_| Unfit { key, is: is() })
    };
    table.text(key).unwrap_or_default().split_whitespace().map(read).collect()
}
