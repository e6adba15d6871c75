//! What the protocols of a station dropped.

use std::collections::BTreeMap;

/// How often the protocols of one station dropped something, by protocol and reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drops(BTreeMap<(&'static str, &'static str), u64>);

impl Drops {
    pub(crate) fn count(&mut self, protocol: &'static str, reason: &'static str) {
        *self.0.entry((protocol, reason)).or_default() += 1;
    }

    /// Returns how often any protocol dropped something for this reason.
    pub fn of(&self, reason: &str) -> u64 {
        self.iter().filter(|(_, known, _)| *known == reason).map(|(_, _, count)| count).sum()
    }

    /// Iterates over protocols, reasons and counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        self.0.iter().map(|((protocol, reason), count)| (*protocol, *reason, *count))
    }
}
