//! Paths whose delay changes in the middle of a transfer: late packets are not lost ones.

use super::cell::{Cell, MTU};

/// A change, or several.
pub(super) struct Steps {
    /// What the row is called.
    pub(super) name: &'static str,
    /// The path between the changes.
    pub(super) cell: Cell,
    /// The changes, as a link of a scenario has them.
    pub(super) delay: String,
    /// How long the transfer lasts, in seconds.
    pub(super) seconds: f64,
}

/// All of them, by their keys.
pub(super) const KEYS: [&str; 2] = ["flights/10M/100ms", "moves/10M/20ms"];

/// Five flights that arrive a second later, ten seconds apart; and a round trip that grows from 20
/// to 600 ms for twenty seconds.
pub(super) fn steps(key: &str) -> Option<Steps> {
    let path = |path| Cell::parse(path);
    match KEYS.iter().position(|known| *known == key)? {
        0 => {
            let cell = path("10M/100ms/0%/q1")?;
            // The path and the queue are full.
            let packets = 2 * cell.bandwidth_delay() / MTU;
            let step = |at| format!("{{ at = \"{at} s\", delay = \"+1 s\", packets = {packets} }}");
            let steps: Vec<_> = (1..=5).map(|number| step(10 * number)).collect();
            let delay = format!("forward = {{ delay-steps = [{}] }}", steps.join(", "));
            Some(Steps { name: "five flights a second late", cell, delay, seconds: 60.0 })
        }
        _ => {
            let cell = path("10M/20ms/0%/q4")?;
            let delay = "delay-steps = [{ at = \"20 s\", delay = \"300 ms\", for = \"20 s\" }]";
            let name = "from 20 to 600 ms and back";
            Some(Steps { name, cell, delay: delay.into(), seconds: 60.0 })
        }
    }
}
