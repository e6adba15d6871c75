//! Delay steps: a delay that changes in the middle of a run, as on a path that is routed anew.

use serde::{Deserialize, Serialize};
use stackwright_contract::{Duration, Instant};

/// A change of a link's delay, for packets that have left at `at` or after it.
///
/// Packets that leave when a step ends may overtake those before them, unless the link keeps the
/// order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DelayStep {
    /// When it begins, after the run began.
    pub at: Duration,
    /// The delay.
    pub delay: SteppedDelay,
    /// When it ends.
    pub lasts: StepLength,
}

/// The delay during a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SteppedDelay {
    /// That of the link is replaced.
    Exactly(Duration),
    /// That of the link, and this.
    Added(Duration),
}

/// How long a step lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StepLength {
    /// For ever.
    Forever,
    /// For this time.
    Time(Duration),
    /// For this number of packets, those that are lost not counted.
    Packets(u64),
}

/// How many packets each step of a link has delayed.
#[derive(Clone, Debug, Default)]
pub(super) struct Stepped(Vec<u64>);

impl Stepped {
    /// Returns the delay of a packet that has left at `left`, of a link whose delay without `steps`
    /// is `delay`. Of several steps at once, the later in the list are applied to what the earlier
    /// result in.
    pub(super) fn delay(
        &mut self,
        steps: &[DelayStep],
        delay: Duration,
        left: Instant,
    ) -> Duration {
        if steps.is_empty() {
            return delay;
        }
        self.0.resize(steps.len(), 0);
        let each = steps.iter().zip(&mut self.0);
        each.fold(delay, |delay, (step, packets)| {
            let begins = Instant::START + step.at;
            let now = left >= begins
                && match step.lasts {
                    StepLength::Forever => true,
                    StepLength::Time(time) => left < begins + time,
                    StepLength::Packets(most) => *packets < most,
                };
            if !now {
                return delay;
            }
            *packets += 1;
            match step.delay {
                SteppedDelay::Exactly(delay) => delay,
                SteppedDelay::Added(more) => delay.saturating_add(more),
            }
        })
    }
}
