//! What lies between client and server: nothing but the loopback interface, or a modelled wire.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use stackwright_programs::place::{Loopback, Place};
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Profile};

use super::task::Task;
use crate::link::{Side, Wire};
use crate::measure::Effort;

/// No wire.
pub(super) const LOOPBACK: &str = "loopback";
/// The names of all wires, as cells begin with them: those that are modelled have the names of
/// their profiles.
pub(super) const WIRES: [&str; 3] = [LOOPBACK, FAST, SLOW];
/// As fast as most networks, and slower than any program here.
pub(super) const FAST: &str = "lan-1g";
const SLOW: &str = "ethernet-100m";

/// The headers of TCP with timestamps, and of IPv4, which every packet of a full size has.
const HEADERS: usize = 20 + 12 + 20;

/// Two places with a wire between.
pub(super) struct Between {
    /// Where clients run.
    pub(super) near: Box<dyn Place>,
    /// Where servers run.
    pub(super) far: Box<dyn Place>,
}

/// One side of a modelled wire.
struct End {
    wire: Rc<Wire>,
    side: Side,
}

impl Place for End {
    fn address(&self) -> IpAddr {
        self.wire.address(self.side)
    }

    fn command(&self, program: &Path) -> Command {
        self.wire.command(self.side, program)
    }
}

/// Puts up the wire of that name.
///
/// # Errors
/// Where it cannot be put up, and why.
pub(super) fn between(name: &str, seed: u64) -> Result<Between, Problem> {
    if name == LOOPBACK {
        let place = Loopback { six: false };
        return Ok(Between { near: Box::new(place), far: Box::new(place) });
    }
    let profile = Profile::named(name)
        .ok_or_else(|| Problem::usage(format!("there is no wire called {name}")))?;
    let wire = Rc::new(Wire::over(&profile, seed)?);
    let end = |side| Box::new(End { wire: Rc::clone(&wire), side });
    Ok(Between { near: end(Side::A), far: end(Side::B) })
}

/// How many octets of a file the wire of that name carries a second at most; nothing where it has
/// no limit.
pub(super) fn limit(name: &str) -> Option<f64> {
    let Some(Profile::Link { back, .. }) = Profile::named(name) else { return None };
    let Conditions { rate, mtu, overhead, .. } = back;
    let (rate, mtu) = rate.zip(mtu)?;
    Some(rate as f64 * mtu.checked_sub(HEADERS)? as f64 / (mtu + overhead) as f64)
}

/// Whether this effort has time for a file of so many octets over that wire.
pub(super) fn has_time(wire: &str, task: Task, octets: usize, effort: Effort) -> bool {
    match wire {
        LOOPBACK => true,
        _ if task == Task::GetTls && effort != Effort::Full => false,
        // The raw client is a part of this program, and cannot go elsewhere.
        _ if task == Task::ServeRaw => false,
        _ if effort == Effort::Quick && task != Task::Get => false,
        SLOW => effort == Effort::Full || octets <= 10_000_000,
        _ => true,
    }
}
