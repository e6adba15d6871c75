//! The description of the protocol in a file.

use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{ChannelAccess, Config, Kiss, LONGEST_MOST, PORTS_MOST};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("longest", ParameterKind::Number, "how many octets a frame has at most"),
    Parameter::new("ports", ParameterKind::Number, "how many ports of the TNC are used"),
    Parameter::new("rate", ParameterKind::Number, "the rate on the air, in bit/s"),
    Parameter::new("txdelay", ParameterKind::Number, "from key-up to the first octet, in ms"),
    Parameter::new("persistence", ParameterKind::Number, "how eagerly a free slot is used, to 255"),
    Parameter::new("slottime", ParameterKind::Number, "the time of a slot, in ms"),
    Parameter::new("txtail", ParameterKind::Number, "from the last octet to key-down, in ms"),
    Parameter::new("duplex", ParameterKind::Truth, "whether it transmits while it receives"),
    Parameter::new("ackmode", ParameterKind::Truth, "whether the TNC tells when a frame has left"),
    Parameter::new("txbuf", ParameterKind::Truth, "whether the TNC is asked what it has queued"),
    Parameter::new("check", ParameterKind::Truth, "whether frames have the check octet of XKISS"),
    Parameter::new("enter", ParameterKind::Text, "what brings the TNC into KISS"),
    Parameter::new("leave", ParameterKind::Text, "what takes the TNC out of KISS"),
];

/// Returns the description: the parameters that a file may set.
///
/// A character of `enter` and `leave` is an octet: `"\u00C0\u00FF\u00C0"` are three.
pub const fn described<M: Message>() -> Described<Kiss<M>> {
    Described { parameters: PARAMETERS, make: |table, _| Ok(Kiss::new(config(table)?)) }
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let mut config = Config::default();
    if let Some(longest) = table.within("longest", 1..=LONGEST_MOST as u64)? {
        config.longest = longest as usize;
    }
    if let Some(ports) = table.within("ports", 1..=PORTS_MOST.into())? {
        config.ports = ports as u8;
    }
    if let Some(rate) = table.within("rate", 1..=u32::MAX.into())? {
        config.rate = NonZeroU32::new(rate as u32).unwrap_or(config.rate);
    }
    let time = |key| Ok(table.within(key, 0..=2550)?.map(Duration::from_millis));
    config.access = ChannelAccess {
        tx_delay: time("txdelay")?,
        persistence: table.within("persistence", 0..=255)?.map(|units| units as u8),
        slot_time: time("slottime")?,
        tx_tail: time("txtail")?,
        full_duplex: table.truth("duplex"),
    };
    config.acknowledged = table.truth("ackmode").unwrap_or(false);
    config.asks_queue = table.truth("txbuf").unwrap_or(false);
    config.checked = table.truth("check").unwrap_or(false);
    config.enter = octets(table, "enter")?;
    config.leave = octets(table, "leave")?;
    Ok(config)
}

fn octets(table: &dyn ParameterTable, key: &'static str) -> Result<Vec<u8>, Unfit> {
    let text = table.text(key).unwrap_or_default();
    let octets: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    octets.map_err(|_| Unfit { key, is: String::from("has characters beyond U+00FF") })
}
