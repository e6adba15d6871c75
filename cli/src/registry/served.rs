//! Transports that are in a server.

use stackwright::compose::graph::{Parameter, ParameterKind, ParameterTable as _, Parameters};
use stackwright_parts::{Part, SERVED_GIVES, STREAMS_GIVE, Served, ServedStreams};

use super::{Made, Setting, lane, shown};
use crate::placement::remote;

pub(super) const PARAMETERS: &[Parameter] = &[Parameter::required(
    "at",
    ParameterKind::Text,
    "the socket of a stack of `stackwright host`, such as /run/user/1000/stackwright/artp",
)];

pub(super) fn messages(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let Some(Setting { driver, pool, .. }) = setting else { return shown::<Served>() };
    let socket = table.text("at").unwrap_or_default().into();
    Ok(remote::<_, SERVED_GIVES>(socket, driver.registry(), lane, pool.clone()).boxed())
}

pub(super) fn streams(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let Some(Setting { driver, pool, .. }) = setting else { return shown::<ServedStreams>() };
    let socket = table.text("at").unwrap_or_default().into();
    Ok(remote::<_, STREAMS_GIVE>(socket, driver.registry(), lane, pool.clone()).boxed())
}
