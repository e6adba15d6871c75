//! ARTP in a described stack.

use std::net::Ipv4Addr;

use stackwright::compose::graph::{Parameter, ParameterKind, ParameterTable, Parameters};
use stackwright::transport::words::{MILLISECOND, SECOND};
use stackwright_parts::Part;

use super::{Made, Setting, shown, system, within};
use crate::stacks;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "packet",
        ParameterKind::Number,
        "the longest packet, in octets; both ends use the smaller value",
    ),
    Parameter::new(
        "window",
        ParameterKind::Number,
        "the most packets in flight, and queued for a slow reader",
    ),
    Parameter::new("longest", ParameterKind::Number, "the longest datagram accepted, in octets"),
    Parameter::new("send", ParameterKind::Number, "the send buffer of a session, in octets"),
    Parameter::new(
        "expires",
        ParameterKind::Truth,
        "datagrams may expire, and are not retransmitted afterwards",
    ),
    Parameter::new(
        "ranges",
        ParameterKind::Truth,
        "acknowledge ranges if the peer supports them (default: true)",
    ),
    Parameter::new(
        "large",
        ParameterKind::Truth,
        "datagrams of more than 65535 fragments if the peer supports them (default: true)",
    ),
    Parameter::new(
        "ecn",
        ParameterKind::Truth,
        "explicit congestion notification if the peer supports it (default: true)",
    ),
    Parameter::new(
        "single",
        ParameterKind::Truth,
        "a shorter header for datagrams of one packet if the peer supports it (default: true)",
    ),
    Parameter::new(
        "parts",
        ParameterKind::Truth,
        "split packets when the path MTU shrinks, if the peer supports it (default: true)",
    ),
    Parameter::new("reordering", ParameterKind::Number, "the packet reordering threshold"),
    Parameter::new("gather", ParameterKind::Number, "the acknowledgement delay, in milliseconds"),
    Parameter::new(
        "first",
        ParameterKind::Number,
        "the first retransmission timeout, in milliseconds",
    ),
    Parameter::new(
        "timeout",
        ParameterKind::Number,
        "the least margin of the retransmission timeout above the round trip, in milliseconds",
    ),
    Parameter::new(
        "silence",
        ParameterKind::Number,
        "end the session after this much silence of the peer, in seconds",
    ),
    Parameter::new("tries", ParameterKind::Number, "the most attempts to open a session"),
    Parameter::new(
        "congestion",
        ParameterKind::Text,
        "congestion control: `cubic` (default), `bbr`, `new-reno`, or `document`",
    ),
];

pub(super) fn make(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let number = |key, sense| within(table, key, sense);
    let packet = number("packet", 191..=65_507)?.map(|octets| octets as u16);
    let window = number("window", 1..=1 << 20)?;
    let longest = number("longest", 1..=1 << 40)?;
    let send = number("send", 65_536..=1 << 40)?;
    let reordering = number("reordering", 1..=1 << 20)?;
    let gather = number("gather", 1..=10_000)?;
    let first = number("first", 1..=600_000)?;
    let timeout = number("timeout", 1..=600_000)?;
    let silence = number("silence", 1..=86_400)?;
    let tries = number("tries", 1..=1000)?;
    let congestion =
        table.parsed("congestion", "one of `document`, `new-reno`, `cubic` and `bbr`")?;
    let Some(setting) = setting else { return shown::<stacks::Artp>() };
    let mut config = stacks::artp_config().map_err(|why| system(table, &why))?;
    let milliseconds =
        |number: Option<u64>, other| number.map_or(other, |number| number * MILLISECOND);
    config.packet =
        setting.wishes.packet.or(packet).unwrap_or(stacks::packet(Ipv4Addr::UNSPECIFIED.into()));
    config.window = window.map_or(config.window, |packets| packets as u32);
    config.longest = longest.map_or(config.longest, |octets| octets as usize);
    config.send.octets = send.map_or(config.send.octets, |octets| octets as usize);
    config.expires = table.truth("expires").unwrap_or(config.expires);
    config.ranges = table.truth("ranges").unwrap_or(config.ranges);
    config.large = table.truth("large").unwrap_or(config.large);
    config.ecn = table.truth("ecn").unwrap_or(config.ecn);
    config.single = table.truth("single").unwrap_or(config.single);
    config.parts = table.truth("parts").unwrap_or(config.parts);
    config.reordering = reordering.or(config.reordering);
    config.gather = milliseconds(gather, config.gather);
    config.timeout_first = milliseconds(first, config.timeout_first);
    config.timeout_least = milliseconds(timeout, config.timeout_least);
    config.silence = silence.map_or(config.silence, |seconds| seconds * SECOND);
    config.tries = tries.map_or(config.tries, |tries| tries as u32);
    config.congestion = congestion.unwrap_or(config.congestion);
    Ok(stacks::artp(config).map_err(|why| system(table, &why))?.boxed())
}
