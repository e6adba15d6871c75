//! The description of the protocol in a file.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_contract::{CallSign, Duration};
use stackwright_wire::Message;

use crate::header::DigipeaterPath;
use crate::{AirRules, AirRulesConfig, Ax25, Config, Digipeating, FrameLength, LinkVersion, Route};

const PARAMETERS: &[Parameter] = &[
    Parameter::required("call", ParameterKind::Text, "the call sign of the station"),
    Parameter::new("aliases", ParameterKind::Text, "further call signs of it"),
    Parameter::new("version", ParameterKind::Text, "of links that it opens: auto, 2.0 or 2.2"),
    Parameter::new("via", ParameterKind::Text, "the digipeaters of route 1"),
    Parameter::new("through", ParameterKind::Text, "peers that unnumbered frames reach by them"),
    Parameter::new("window", ParameterKind::Number, "frames before an acknowledgement, to 7"),
    Parameter::new("extended", ParameterKind::Number, "the same with numbers of 7 bits, to 63"),
    Parameter::new("longest", ParameterKind::Number, "octets that a frame carries at most"),
    Parameter::new("frame", ParameterKind::Number, "octets of each frame; else adaptive"),
    Parameter::new("paclen", ParameterKind::Number, "octets of each frame at most"),
    Parameter::new("keyup", ParameterKind::Number, "how long frames leave before an answer, in ms"),
    Parameter::new("tries", ParameterKind::Number, "how often a frame is sent, at most"),
    Parameter::new("timeout", ParameterKind::Number, "the first wait for an answer, in ms"),
    Parameter::new("rate", ParameterKind::Number, "the rate on the air, in bit/s"),
    Parameter::new("digipeat", ParameterKind::Truth, "whether frames of others are repeated"),
    Parameter::new("wide", ParameterKind::Number, "those to WIDEn-N, too: the largest n, to 7"),
];

/// Returns the description: the parameters that a file may set.
pub const fn described<M: Message>() -> Described<Ax25<M>> {
    Described { parameters: PARAMETERS, make: |table, _| Ok(Ax25::new(config(table)?)) }
}

const RULES: &[Parameter] = &[
    Parameter::required("call", ParameterKind::Text, "the call signs of the station"),
    Parameter::new("rate", ParameterKind::Number, "the rate on the air, in bit/s"),
];

/// Returns the description of the rules of the air.
pub const fn described_rules<M: Message>() -> Described<AirRules<M>> {
    Described { parameters: RULES, make: |table, _| Ok(AirRules::new(rules(table)?)) }
}

fn rules(table: &dyn ParameterTable) -> Result<AirRulesConfig, Unfit> {
    let calls = calls(table, "call")?;
    let none = || Unfit { key: "call", is: String::from("is a call sign, such as N0CALL-7") };
    let mut config = AirRulesConfig::of(*calls.first().ok_or_else(none)?);
    config.calls = calls;
    if let Some(rate) = table.within("rate", 1..=u32::MAX.into())? {
        config.rate = rate as u32;
    }
    Ok(config)
}

fn read<T: FromStr>(text: &str, key: &'static str, what: &str) -> Result<T, Unfit> {
    text.parse().map_err(|_| Unfit { key, is: format!("is {what}, and `{text}` stands there") })
}

/// Reads call signs between spaces.
fn calls(table: &dyn ParameterTable, key: &'static str) -> Result<Vec<CallSign>, Unfit> {
    let text = table.text(key).unwrap_or_default();
    let read = |text| read(text, key, "call signs between spaces, such as N0CALL-7");
    text.split_whitespace().map(read).collect()
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    let call = table.text("call").unwrap_or_default();
    let mut config = Config::new(read(call, "call", "a call sign, such as N0CALL-7")?);
    config.aliases = calls(table, "aliases")?;
    config.version = match table.text("version") {
        None | Some("auto") => LinkVersion::Auto,
        Some("2.0") => LinkVersion::V20,
        Some("2.2") => LinkVersion::V22,
        Some(other) => {
            let is = format!("is auto, 2.0 or 2.2, and `{other}` stands there");
            return Err(Unfit { key: "version", is });
        }
    };
    let via = calls(table, "via")?;
    let path = DigipeaterPath::through(&via);
    let is = || format!("is at most 8 call signs, and {} stand there", via.len());
    let path = path.ok_or_else(|| Unfit { key: "via", is: is() })?;
    if !path.is_empty() {
        config.routes.push(Route { port: 0, path });
        config.reached = calls(table, "through")?.into_iter().map(|call| (call, 1)).collect();
    }
    if let Some(window) = table.within("window", 1..=7)? {
        config.window = window as u8;
    }
    if let Some(window) = table.within("extended", 1..=63)? {
        config.window_extended = window as u8;
    }
    if let Some(longest) = table.within("longest", 32..=1024)? {
        config.longest = longest as usize;
    }
    if let Some(length) = table.within("frame", 1..=config.longest as u64)? {
        config.frame = FrameLength::Fixed(length as u16);
    }
    if let Some(paclen) = table.within("paclen", 1..=config.longest as u64)? {
        config.paclen = paclen as u16;
    }
    if let Some(milliseconds) = table.within("keyup", 1..=3_600_000)? {
        config.key_up = Duration::from_millis(milliseconds);
    }
    if let Some(tries) = table.within("tries", 1..=255)? {
        config.tries = tries as u8;
    }
    if let Some(milliseconds) = table.within("timeout", 1..=3_600_000)? {
        config.timeout = Duration::from_millis(milliseconds);
    }
    if let Some(rate) = table.within("rate", 1..=u32::MAX.into())? {
        config.rate = rate as u32;
    }
    config.digipeat = match table.within("wide", 1..=7)? {
        Some(most) => Digipeating::Wide { most: most as u8 },
        None if table.truth("digipeat") == Some(true) => Digipeating::Named,
        None => Digipeating::Off,
    };
    Ok(config)
}
