//! The description of the protocol in a file.

use alloc::format;
use core::net::SocketAddr;

use stackwright_contract::Participant;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{Axudp, AxudpPeer, Config};

const PARAMETERS: &[Parameter] = &[
    Parameter::required(
        "peers",
        ParameterKind::Text,
        "addresses with ports, between spaces; behind CALL=, that of a station",
    ),
    Parameter::new("local", ParameterKind::Text, "the own address and port"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Axudp<M>> {
    Described { parameters: PARAMETERS, make: |table, _| Ok(Axudp::new(config(table)?)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let words = |key| table.text(key).unwrap_or_default().split_whitespace();
    let local = words("local").next().map(|text| address("local", text)).transpose()?;
    let peer = |text: &str| {
        let Some((call, text)) = text.split_once('=') else {
            return Ok(address("peers", text)?.into());
        };
        let call = call.parse().map_err(|_| {
            let is = format!("has call signs before the =, and `{call}` stands there");
            Unfit { key: "peers", is }
        })?;
        Ok(AxudpPeer { remote: address("peers", text)?, call: Some(call) })
    };
    Ok(Config { local, peers: words("peers").map(peer).collect::<Result<_, _>>()? })
}

fn address(key: &'static str, text: &str) -> Result<Participant, Unfit> {
    let is = || format!("has addresses such as 192.0.2.1:10093, and `{text}` stands there");
    text.parse::<SocketAddr>().map(Participant::from).map_err(|_| Unfit { key, is: is() })
}
