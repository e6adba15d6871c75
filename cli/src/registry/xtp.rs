//! XTP in a described stack.

use std::net::Ipv4Addr;

use stackwright::compose::graph::{Parameter, ParameterKind, ParameterTable, Parameters};
use stackwright::transport::words::{MILLISECOND, SECOND, Terms};
use stackwright::xtp::services::XtpService;
use stackwright_parts::Part;

use super::{Made, Setting, shown, system, within};
use crate::stacks::{self, Xtp};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("packet", ParameterKind::Number, "the longest packet, in octets"),
    Parameter::new(
        "window",
        ParameterKind::Number,
        "the most octets in flight, and queued for a slow reader",
    ),
    Parameter::new("send", ParameterKind::Number, "the send buffer of a context, in octets"),
    Parameter::new(
        "checks",
        ParameterKind::Truth,
        "checks cover the data, not the header alone (default: true)",
    ),
    Parameter::new(
        "sort",
        ParameterKind::Number,
        "how urgent it is among others with the same peer: 0 is the most (default: 128)",
    ),
    Parameter::new(
        "sends",
        ParameterKind::Number,
        "how fast bulk data and isochronous streams are sent, in octets per second",
    ),
    Parameter::new("takes", ParameterKind::Number, "how fast the peer may send them"),
    Parameter::new(
        "burst",
        ParameterKind::Number,
        "the octets of either that leave at once (default: one packet)",
    ),
    Parameter::new("first", ParameterKind::Number, "the first timeout, in milliseconds"),
    Parameter::new("timeout", ParameterKind::Number, "the least timeout, in milliseconds"),
    Parameter::new("tries", ParameterKind::Number, "the most inquiries in a row without an answer"),
    Parameter::new(
        "keepalive",
        ParameterKind::Number,
        "ask a silent peer whether it is there after this long, in seconds",
    ),
    Parameter::new(
        "silence",
        ParameterKind::Number,
        "end the context after this much more silence of the peer, in seconds",
    ),
];

pub(super) fn make<S: XtpService>(table: &Parameters<'_>, setting: Option<&Setting>) -> Made
where
    Xtp<S>: Part,
{
    let number = |key, sense| within(table, key, sense);
    let packet = number("packet", 256..=65_507)?.map(|octets| octets as u16);
    let window = number("window", 1..=1 << 30)?;
    let send = number("send", 65_536..=1 << 40)?;
    let sort = number("sort", 0..=255)?.map(|sort| sort as u8);
    let sends = number("sends", 1..=u32::MAX.into())?;
    let takes = number("takes", 1..=u32::MAX.into())?;
    let burst = number("burst", 1..=u32::MAX.into())?.unwrap_or(0) as u32;
    let first = number("first", 1..=600_000)?;
    let timeout = number("timeout", 1..=600_000)?;
    let tries = number("tries", 1..=1000)?;
    let keepalive = number("keepalive", 1..=86_400)?;
    let silence = number("silence", 1..=86_400)?;
    let Some(setting) = setting else { return shown::<Xtp<S>>() };
    let usual = || stacks::packet(Ipv4Addr::UNSPECIFIED.into());
    let packet = setting.wishes.packet.or(packet).unwrap_or_else(usual);
    let mut config = stacks::xtp_config(packet).map_err(|why| system(table, &why))?;
    let times = |number: Option<u64>, unit, other| number.map_or(other, |number| number * unit);
    config.window = window.map_or(config.window, |octets| octets as u32);
    config.send.octets = send.map_or(config.send.octets, |octets| octets as usize);
    config.checks_data = table.truth("checks").unwrap_or(config.checks_data);
    config.sort = sort.unwrap_or(config.sort);
    let terms =
        |rate: Option<u64>| rate.map_or(Terms::NONE, |rate| Terms { rate: rate as u32, burst });
    (config.sends, config.takes) = (terms(sends), terms(takes));
    config.timeout_first = times(first, MILLISECOND, config.timeout_first);
    config.timeout_least = times(timeout, MILLISECOND, config.timeout_least);
    config.retries = tries.map_or(config.retries, |tries| tries as u32);
    config.keepalive = times(keepalive, SECOND, config.keepalive);
    config.silence = times(silence, SECOND, config.silence);
    Ok(stacks::xtp::<S>(config).map_err(|why| system(table, &why))?.boxed())
}
