//! What lies between client and server.

use stackwright_tests::place::{Loopback, Place};

use super::task::Task;
use crate::measure::Effort;
use crate::problem::Problem;

/// The names of all wires, as cells begin with them.
pub(super) const WIRES: [&str; 1] = ["loopback"];

/// Two places with a wire between.
pub(super) struct Between {
    /// Where clients run.
    pub(super) near: Box<dyn Place>,
    /// Where servers run.
    pub(super) far: Box<dyn Place>,
}

/// Puts up the wire of that name.
///
/// # Errors
/// Where it cannot be put up, and why.
pub(super) fn between(name: &str) -> Result<Between, Problem> {
    match name {
        "loopback" => {
            let place = Loopback { six: false };
            Ok(Between { near: Box::new(place), far: Box::new(place) })
        }
        _ => Err(Problem::usage(format!("there is no wire called {name}"))),
    }
}

/// Whether this effort has time for a file of so many octets over that wire.
pub(super) fn has_time(wire: &str, task: Task, octets: usize, effort: Effort) -> bool {
    match wire {
        "loopback" => true,
        // The raw client is a part of this program, and cannot go elsewhere.
        _ if task == Task::ServeRaw => false,
        "100m" => effort == Effort::Full || octets <= 10_000_000,
        _ => true,
    }
}
