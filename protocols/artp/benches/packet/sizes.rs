//! What an association takes that is idle.

use stackwright_artp::Config;

use crate::ends::{End, Pair, boxed, by_hand, written_down};
use crate::{Rounds, WARM, count};

/// At most so many octets, with all that it holds.
const MOST: usize = 4096;

/// A minute, in nanoseconds.
const MINUTE: u64 = 60_000_000_000;

/// The octets of an end that arrived, and what it holds beside itself, after so many rounds and a
/// minute of silence.
fn held<E: End>(make: fn(&Config, u8) -> E, config: &Config, rounds: u64) -> usize {
    let mut pair = Pair::new(make(config, 0), make(config, 1), config);
    pair.run(64, rounds);
    pair.exchange();
    pair.now = pair.now.later(MINUTE);
    pair.exchange();
    let Pair { here, there, .. } = pair;
    let holds = |end: E| count::held(|| drop(end)).1.wrapping_neg();
    size_of::<E>() + holds(here).max(holds(there))
}

fn row<E: End>(name: &str, make: fn(&Config, u8) -> E, config: &Config) -> bool {
    let (open, used) = (held(make, config, 0), held(make, config, WARM));
    let verdict = if open.max(used) <= MOST { "met" } else { "MISSED" };
    println!("{name:14} {open:6} {used:6}  at most {MOST}: {verdict}");
    open.max(used) <= MOST
}

/// Prints all; whether each is small enough.
pub(crate) fn print(config: &Config) -> bool {
    println!(
        "octets of an idle association, with all that it holds: when it is open, and when it was used"
    );
    row("monolith", by_hand, config);
    row("static", written_down, config) & row("boxed", boxed, config)
}
