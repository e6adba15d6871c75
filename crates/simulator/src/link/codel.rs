//! Controlled delay: drops a packet now and then if packets wait too long for too long. RFC 8289.

use stackwright_contract::{Duration, Instant};

/// The state of the queue's control law, §5.5 and §5.6.
///
/// The RFC decides when a packet leaves the queue. Here the queue is first in, first out, at a
/// known rate: when a packet arrives it is known when it would leave, and all that is dropped
/// before it has been dropped already. So the decision is taken at once, with the time at which the
/// packet would leave as the present, and it is the same one. It differs in two points. It is not
/// known yet whether a packet will be behind this one, so the test whether less than one packet of
/// the MTU waits (§5.6) is missing; in its place the caller lets the target be more than the time
/// of one such packet, so that a queue of one is not dropped either. And a packet that is going to
/// be dropped takes no place in the queue meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct CoDel {
    /// From when on a packet may be dropped, if packets wait too long: `first_above_time_`.
    above_until: Option<Instant>,
    dropping: bool,
    /// When the next is dropped: `drop_next_`.
    next: Instant,
    /// How many were dropped since dropping began: `count_`.
    count: u32,
    /// That number when dropping began the last time: `lastcount_`.
    last_count: u32,
    after: After,
}

/// What happened to the previous packet: the RFC takes the next one from the queue at once, in the
/// same call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum After {
    #[default]
    Sent,
    /// It was the first that was dropped: the next one passes.
    First,
    /// One more was dropped: the next one is, too, if its time has come.
    Another,
}

impl CoDel {
    /// Whether the packet that would begin to leave at `now`, after this waiting time, is dropped.
    pub(super) fn drops(
        &mut self,
        target: Duration,
        interval: Duration,
        now: Instant,
        waited: Duration,
    ) -> bool {
        let too_long = self.too_long(target, interval, now, waited);
        match std::mem::take(&mut self.after) {
            After::First => return false,
            After::Another if too_long => self.next = law(self.next, interval, self.count),
            After::Sent if !self.dropping && too_long => {
                self.begin(interval, now);
                return true;
            }
            After::Another | After::Sent => self.dropping &= too_long,
        }
        let drops = self.dropping && now >= self.next;
        if drops {
            self.count = self.count.saturating_add(1);
            self.after = After::Another;
        }
        drops
    }

    /// Records that the packet was marked, and not dropped: no other takes its place at once, and
    /// the next is due by the control law.
    pub(super) fn marked(&mut self, interval: Duration) {
        if std::mem::take(&mut self.after) == After::Another {
            self.next = law(self.next, interval, self.count);
        }
    }

    /// `dodequeue`: whether packets have waited for longer than the target for at least the
    /// interval.
    fn too_long(
        &mut self,
        target: Duration,
        interval: Duration,
        now: Instant,
        waited: Duration,
    ) -> bool {
        if waited < target {
            self.above_until = None;
            return false;
        }
        let until = *self.above_until.get_or_insert(now + interval);
        now >= until
    }

    /// Begins to drop, at the rate at which dropping ended, if that was not long ago.
    fn begin(&mut self, interval: Duration, now: Instant) {
        let delta = self.count.saturating_sub(self.last_count);
        let recently = now.since(self.next) < 16 * interval;
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.last_count = self.count;
        self.next = law(now, interval, self.count);
        self.dropping = true;
        self.after = After::First;
    }
}

/// `control_law`: the more were dropped, the sooner is the next.
fn law(time: Instant, interval: Duration, count: u32) -> Instant {
    time + interval.div_f64(f64::from(count.max(1)).sqrt())
}
