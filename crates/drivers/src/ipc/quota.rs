//! What applications may have of a server, and what users have.

use std::collections::BTreeMap;
use std::num::NonZero;

use stackwright_contract::Instant;

/// What one application may have, and all together. Beyond names, a request is answered with
/// [`Ended::Exhausted`](stackwright_contract::services::Ended::Exhausted); beyond octets, an
/// application is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Applications at a time.
    pub applications: usize,
    /// The same of one user that is not the server's own.
    pub applications_of_user: usize,
    /// Names of one application: listeners, associations, and those that wait for arrivals. Users
    /// that are not the server's own have no more together.
    pub names: u32,
    /// The same of all, those included that end after their application.
    pub names_together: usize,
    /// Octets that the server holds for an application that does not read them. An application that
    /// stops is ended when its peers have sent as many.
    pub waiting: usize,
    /// Octets that the server holds in both directions, for all: where there are more, the
    /// application with the most is ended.
    pub held_together: usize,
    /// The longest batch that an application sends, in octets.
    pub longest: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Quota {
            applications: 256,
            applications_of_user: 16,
            names: 4096,
            names_together: 1 << 16,
            waiting: 64 << 20,
            held_together: 256 << 20,
            longest: 64 << 20,
        }
    }
}

/// What users have that are not the server's own.
#[derive(Debug, Default)]
pub(super) struct Usages(BTreeMap<u32, Usage>);

/// What the applications of one user have together.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) applications: usize,
    pub(super) names: usize,
    pub(super) associations: usize,
    pub(super) held: usize,
    /// When it has sent no more than its rate allows.
    settled: Instant,
}

impl Usages {
    pub(super) fn of(&mut self, user: u32) -> &mut Usage {
        self.0.entry(user).or_default()
    }

    /// Forgets a user that has nothing, nor has sent more than its rate allows.
    pub(super) fn tidy(&mut self, user: u32, now: Instant) {
        let has_nothing =
            |usage: &Usage| usage.applications == 0 && usage.names == 0 && usage.settled <= now;
        if self.0.get(&user).is_some_and(has_nothing) {
            self.0.remove(&user);
        }
    }
}

impl Usage {
    /// Counts octets that were sent at a rate; returns when they have been allowed.
    pub(super) fn send(&mut self, now: Instant, octets: usize, rate: NonZero<u64>) -> Instant {
        let nanoseconds = u128::from(octets as u64) * 1_000_000_000 / u128::from(rate.get());
        let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
        self.settled = self.settled.max(now).later(nanoseconds);
        self.settled
    }
}
