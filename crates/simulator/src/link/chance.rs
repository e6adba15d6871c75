//! Random fates: the fate of each packet, drawn as the conditions say.

use fastrand::Rng;
use stackwright_contract::{Duration, Instant};

use super::bit_errors::BitErrors;
use super::{Conditions, Fate, Loss};

/// Draws the fates of one link's packets.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    random: Rng,
    /// Whether a link that has a good and a bad state is in the bad one.
    bad: bool,
    errors: BitErrors,
}

/// How long a stream waits before it first sends a lost segment again.
pub(super) const RESEND_FIRST: Duration = Duration::from_millis(200);
/// How long it waits at most, if the segment is lost again and again.
const RESEND_LAST: Duration = Duration::from_secs(10);
/// How often a segment is sent again at most.
const RESENDS_MOST: u32 = 1000;

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Chance { random: Rng::with_seed(seed), bad: false, errors: BitErrors::default() }
    }

    /// Draws the fate of the `nth` packet, sent `now`, of which `exposed` octets can be altered.
    pub(super) fn fate(
        &mut self,
        conditions: &Conditions,
        now: Instant,
        nth: u64,
        exposed: usize,
    ) -> Fate {
        let mut fate = Fate::default();
        let random = &mut self.random;
        fate.lost = match conditions.loss_at(now) {
            Some(probability) => happens(random, probability),
            None => conditions.loss.strikes(nth, &mut self.bad, random),
        };
        if !fate.lost {
            if happens(random, conditions.duplicate) {
                fate.twin = Some(any_up_to(random, conditions.jitter));
            }
            if happens(random, conditions.corrupt) {
                fate.altered.push(random.u64(..));
            }
            self.errors
                .strike(conditions.bit_errors, exposed, random, |bit| fate.altered.push(bit));
            fate.late = any_up_to(random, conditions.jitter);
            if happens(random, conditions.reorder.probability) {
                fate.held = conditions.reorder.by;
            }
        }
        fate
    }

    /// Returns how much later the `nth` packet arrives, a segment of a stream, sent `now`: a lost
    /// or altered one is sent again. `None` if it never does.
    pub(super) fn lateness(
        &mut self,
        conditions: &Conditions,
        now: Instant,
        nth: u64,
        octets: usize,
    ) -> Option<Duration> {
        let random = &mut self.random;
        let stepped = conditions.loss_at(now).map(Loss::Bernoulli);
        let loss = stepped.as_ref().unwrap_or(&conditions.loss);
        if loss.is_total() || conditions.corrupt >= 1.0 {
            return None;
        }
        let mut late = Duration::ZERO;
        let mut again = RESEND_FIRST;
        // A packet that is lost because of its number is lost once: it is sent again under another.
        let mut lost = loss.strikes(nth, &mut self.bad, random);
        for _ in 0..RESENDS_MOST {
            let mut altered = happens(random, conditions.corrupt);
            self.errors.strike(conditions.bit_errors, octets, random, |_| altered = true);
            if !lost && !altered {
                return Some(late + any_up_to(random, conditions.jitter));
            }
            late += again;
            again = (again * 2).min(RESEND_LAST);
            lost = !loss.is_counted() && loss.strikes(nth, &mut self.bad, random);
        }
        None
    }
}

/// Draws whether an event of this probability happens.
pub(crate) fn happens(random: &mut Rng, probability: f64) -> bool {
    probability > 0.0 && random.f64() < probability
}

fn any_up_to(random: &mut Rng, most: Duration) -> Duration {
    if most.is_zero() {
        return Duration::ZERO;
    }
    Duration::from_nanos(random.u64(0..=u64::try_from(most.as_nanos()).unwrap_or(u64::MAX)))
}
