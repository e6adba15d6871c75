//! How long to wait before a line is tried again.

use std::time::Duration;

use stackwright_contract::{Context, Instant};

/// The first delay, and the least.
const FIRST: Duration = Duration::from_secs(1);

/// Doubles from one failure to the next, up to a bound.
pub(super) struct Delay {
    next: Duration,
    most: Duration,
    /// When the line came up.
    up_at: Instant,
}

impl Delay {
    pub(super) fn up_to(most: Duration) -> Self {
        Delay { next: FIRST, most, up_at: Instant::END }
    }

    /// The line is up.
    pub(super) fn on_up(&mut self, cx: &Context) {
        self.up_at = cx.now();
    }

    /// The line failed, or went down; returns when to try it again. Up to a quarter earlier than
    /// the delay, so that programs that lost one TNC together do not return together.
    pub(super) fn on_failure(&mut self, cx: &Context) -> Instant {
        // One that was up for longer than the delays before was not merely accepted and closed.
        if cx.now().since(self.up_at) >= self.next {
            self.next = FIRST;
        }
        self.up_at = Instant::END;
        let delay = self.next;
        self.next = (2 * delay).min(self.most);
        let quarter = delay.as_nanos() as u64 / 4;
        cx.now() + (delay - Duration::from_nanos(cx.random(quarter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_the_bound_and_begins_anew_after_a_time_up() {
        let cx = Context::new(1);
        let mut delay = Delay::up_to(Duration::from_secs(30));
        let fails = |delay: &mut Delay| {
            let again = delay.on_failure(&cx).since(cx.now());
            cx.set_now(cx.now() + again);
            again.as_secs_f64()
        };
        for most in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            let delay = fails(&mut delay);
            assert!((0.75 * most..=most).contains(&delay), "{delay} of {most}");
        }
        // A host that accepts and closes at once is not a host that came back.
        delay.on_up(&cx);
        assert!(fails(&mut delay) > 20.0);
        delay.on_up(&cx);
        cx.set_now(cx.now() + Duration::from_secs(31));
        assert!(fails(&mut delay) <= 1.0);
        assert!(fails(&mut delay) > 1.0);
    }
}
