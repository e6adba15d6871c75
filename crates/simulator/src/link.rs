//! A model of a link: when a packet arrives, and whether.

use fastrand::Rng;
use stackwright_contract::{Duration, Instant};

/// What a link does to packets.
///
/// ```
/// use stackwright_contract::Duration;
/// use stackwright_simulator::Conditions;
/// let radio = Conditions { delay: Duration::from_millis(40), loss: 0.1, ..Conditions::IDEAL };
/// # assert_eq!(radio.duplicate, 0.0);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conditions {
    /// How long a packet is under way, at least.
    pub delay: Duration,
    /// How much longer it may be, by chance. Packets overtake each other within it.
    pub jitter: Duration,
    /// In octets per second; `None` is without limit. At least 1.
    pub rate: Option<u64>,
    /// What comes while more than so many octets wait for their turn is lost. Counts only where there is a `rate`.
    pub queue: u64,
    /// The probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// The probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
    /// The probability that one bit of a packet is altered, 0 to 1.
    pub corrupt: f64,
}

impl Conditions {
    /// Nothing is lost, and everything arrives at once.
    pub const IDEAL: Self = Conditions {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        rate: None,
        queue: u64::MAX,
        loss: 0.0,
        duplicate: 0.0,
        corrupt: 0.0,
    };
}

/// What a link has to know of a packet.
pub trait Packet {
    /// How many octets it occupies.
    fn octets(&self) -> usize;
    /// The same once more.
    fn twin(&self) -> Self;
    /// Turns over one bit, chosen by `at`; nothing where it has none to alter.
    fn alter(&mut self, at: u64);
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried<P> {
    /// It never arrives.
    Lost,
    /// It arrives.
    Once(Instant, P),
    /// It arrives, and a copy of it does.
    Twice([(Instant, P); 2]),
}

/// One way of a link between two stations. It holds nothing: it only says when.
#[derive(Clone, Debug)]
pub struct Link {
    conditions: Conditions,
    random: Rng,
    /// When the last packet has left the sender.
    free: Instant,
}

/// After how long a stream sends a lost segment again, the first time.
const RESEND_FIRST: Duration = Duration::from_millis(200);
/// After how long at most, where it is lost again and again.
const RESEND_LAST: Duration = Duration::from_secs(10);

impl Link {
    /// A link whose chances follow from `seed`.
    pub fn new(conditions: Conditions, seed: u64) -> Self {
        Link { conditions, random: Rng::with_seed(seed), free: Instant::START }
    }

    /// What becomes of `packet`, sent `now`.
    pub fn carry<P: Packet>(&mut self, now: Instant, mut packet: P) -> Carried<P> {
        let Conditions { loss, duplicate, corrupt, .. } = self.conditions;
        if self.waiting(now) > self.conditions.queue {
            return Carried::Lost;
        }
        let left = self.leave(now, packet.octets());
        if self.happens(loss) {
            return Carried::Lost;
        }
        let twin = self.happens(duplicate).then(|| (self.arrive(left), packet.twin()));
        if self.happens(corrupt) {
            packet.alter(self.random.u64(..));
        }
        let arrival = self.arrive(left);
        match twin {
            Some(twin) => Carried::Twice([(arrival, packet), twin]),
            None => Carried::Once(arrival, packet),
        }
    }

    /// When a segment of so many octets, sent `now`, has arrived at last, where a lost or altered one is sent again.
    /// `None` where it never does, because all are lost.
    pub fn carry_surely(&mut self, now: Instant, octets: usize) -> Option<Instant> {
        let Conditions { loss, corrupt, .. } = self.conditions;
        if loss >= 1.0 || corrupt >= 1.0 {
            return None;
        }
        let mut left = self.leave(now, octets);
        let mut again = RESEND_FIRST;
        while self.happens(loss) || self.happens(corrupt) {
            left = left + again;
            again = (again * 2).min(RESEND_LAST);
        }
        Some(self.arrive(left))
    }

    /// How many octets wait for their turn.
    fn waiting(&self, now: Instant) -> u64 {
        let rate = self.conditions.rate.unwrap_or(0);
        let octets = self.free.since(now).as_nanos() * u128::from(rate) / 1_000_000_000;
        u64::try_from(octets).unwrap_or(u64::MAX)
    }

    /// When so many octets have left the sender.
    fn leave(&mut self, now: Instant, octets: usize) -> Instant {
        let start = self.free.max(now);
        self.free = match self.conditions.rate {
            None => start,
            Some(rate) => {
                let nanoseconds = octets as u128 * 1_000_000_000 / u128::from(rate.max(1));
                start + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
            }
        };
        self.free
    }

    fn arrive(&mut self, left: Instant) -> Instant {
        let jitter = u64::try_from(self.conditions.jitter.as_nanos()).unwrap_or(u64::MAX);
        left + self.conditions.delay + Duration::from_nanos(self.random.u64(0..=jitter))
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.f64() < probability
    }
}
