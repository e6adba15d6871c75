//! Which stations of a channel hear which.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Which stations of a channel hear which. Stations are counted from 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hearing {
    /// Pairs of a station and one that it does not hear.
    deaf: BTreeSet<(usize, usize)>,
}

impl Hearing {
    /// All stations hear all others.
    pub const ALL: Self = Hearing { deaf: BTreeSet::new() };

    /// Returns a hearing in which all stations hear all others, except that the stations of these
    /// pairs do not hear one another.
    pub fn hiding(pairs: &[(usize, usize)]) -> Self {
        let both = pairs.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
        Hearing { deaf: both.collect() }
    }

    /// Returns the same, except that `listener` does not hear `speaker`, which may hear it.
    #[must_use]
    pub fn without(mut self, listener: usize, speaker: usize) -> Self {
        self.deaf.insert((listener, speaker));
        self
    }

    /// Whether `listener` hears `speaker`. No station hears itself.
    pub fn hears(&self, listener: usize, speaker: usize) -> bool {
        listener != speaker && !self.deaf.contains(&(listener, speaker))
    }
}
