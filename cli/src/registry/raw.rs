//! Packets of the operating system's IP.

use stackwright::compose::graph::{Parameter, ParameterKind, Parameters};
use stackwright_drivers::ip::Ip;
use stackwright_parts::Part;

use super::{Made, Message, Setting, lane, shown, within};

pub(super) const PARAMETERS: &[Parameter] = &[Parameter::required(
    "number",
    ParameterKind::Number,
    "the protocol's number in IP's header: 36 is XTP, 253 is XSTP",
)];

pub(super) fn make(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let number = within(table, "number", 1..=255)?;
    let (Some(Setting { driver, pool, .. }), Some(number)) = (setting, number) else {
        return shown::<Ip<Message>>();
    };
    Ok(Ip::<Message>::new(number as u8, driver.registry(), lane, pool.clone()).boxed())
}
