//! What shall go wrong with which packet, as it stands in a scenario file.

use std::time::Duration;

use serde::Deserialize;
use stackwright_simulator::{Deed, Event};
use toml::{Table, Value};

use super::Time;

/// Something that happens to one packet of one way of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// Indices of stations: from where to where the packet goes.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) event: Event,
}

/// As it stands in a file: one deed each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    from: String,
    to: String,
    /// Counted from 1.
    nth: u64,
    #[serde(default)]
    lose: bool,
    duplicate: Option<Time>,
    delay: Option<Time>,
    hold_back: Option<Time>,
    alter: Option<u64>,
}

impl Entry {
    pub(super) fn resolve(&self, stations: &[String]) -> Result<Fault, String> {
        let station = |name: &String| {
            let known = stations.iter().position(|known| known == name);
            known.ok_or_else(|| super::unknown_station(name, stations))
        };
        let deeds = [
            self.lose.then_some(Deed::Lose),
            self.duplicate.map(|by| Deed::Duplicate { by: by.0 }),
            self.delay.map(|by| Deed::Delay { by: by.0 }),
            self.hold_back.map(|by| Deed::HoldBack { by: by.0 }),
            self.alter.map(|bit| Deed::Alter { bit }),
        ];
        let mut deeds = deeds.into_iter().flatten();
        let (Some(deed), None) = (deeds.next(), deeds.next()) else {
            return Err(
                "a fault must be one of `lose`, `duplicate`, `delay`, `hold-back`, `alter`".into(),
            );
        };
        let nth = self.nth.checked_sub(1).ok_or("packets are counted from 1")?;
        Ok(Fault { from: station(&self.from)?, to: station(&self.to)?, event: Event { nth, deed } })
    }
}

/// The text of a scenario in which these faults, and no others, happen. Comments are not kept.
pub(crate) fn written(text: &str, seed: u64, faults: &[Fault], stations: &[String]) -> String {
    let mut table: Table = text.parse().unwrap_or_default();
    table.insert("seed".into(), Value::Integer(seed.cast_signed()));
    let entries = faults.iter().map(|fault| Value::Table(entry(fault, stations)));
    table.insert("faults".into(), Value::Array(entries.collect()));
    toml::to_string(&table).unwrap_or_default()
}

fn entry(fault: &Fault, stations: &[String]) -> Table {
    let time = |by: Duration| Value::String(format!("{} ns", by.as_nanos()));
    let number = |number: u64| Value::Integer(number.cast_signed());
    let (key, value) = match fault.event.deed {
        Deed::Lose => ("lose", Value::Boolean(true)),
        Deed::Duplicate { by } => ("duplicate", time(by)),
        Deed::Delay { by } => ("delay", time(by)),
        Deed::HoldBack { by } => ("hold-back", time(by)),
        Deed::Alter { bit } => ("alter", number(bit)),
    };
    let station = |index: usize| Value::String(stations[index].clone());
    let pairs = [
        ("from", station(fault.from)),
        ("to", station(fault.to)),
        ("nth", number(fault.event.nth + 1)),
        (key, value),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
