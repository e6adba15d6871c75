//! A window leaves over a round trip, and not at once.

use core::num::NonZeroU64;

use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};

/// Below this round trip a timer is coarser than the path, and packets that leave together cost
/// less than those that do not.
const LEAST: Nanoseconds = 2 * MILLISECOND;

/// By how much the pace exceeds a window for each round trip, so that the window and not the pace
/// decides how much is in flight: twice in slow start, in which it doubles, and a quarter else (RFC
/// 9002 §7.7; Linux has 2 and 1.2).
const STARTING: f64 = 2.0;
const STEADY: f64 = 1.25;

/// Returns the rate at which a window of `window` octets is to leave, in octets per second, where a
/// round trip takes `round_trip`; `None` where it leaves as fast as it can.
///
/// It is computed whenever it is asked for: a pace that is older than the window would hold it
/// back.
#[inline]
pub(super) fn pace(window: u64, is_starting: bool, round_trip: Nanoseconds) -> Option<NonZeroU64> {
    if round_trip < LEAST {
        return None;
    }
    let gain = if is_starting { STARTING } else { STEADY };
    NonZeroU64::new((gain * window as f64 * (SECOND as f64 / round_trip as f64)) as u64)
}

/// Returns whether a window is paced where a round trip takes `round_trip`.
#[inline]
pub(super) fn is_paced(round_trip: Nanoseconds) -> bool {
    round_trip >= LEAST
}
