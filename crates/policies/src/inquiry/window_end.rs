//! An inquiry at the end of the window, and a handshake where no answer comes.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, SECOND, View};

/// How many times the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// The longest wait for an answer, unless the timeout is longer.
const WAIT_MOST: Nanoseconds = 8 * SECOND;

/// Asks with the last packet that the window allows, with a packet in its middle, with signals
/// (XTP's SREQ), and with what leaves last where nothing else waits: once a round trip, and then
/// about the rest. Where no answer comes in time (WTIMER), data stop and
/// inquiries of their own leave until the newest is answered, at most `retries` in a row: the
/// synchronizing handshake (XTP §5). Older answers count, but do not end it.
///
/// Where data wait behind it, it also asks to be told when the application has taken what arrived
/// (XTP's DREQ): an answer at once would grant little of a window that the application has not read
/// yet, and the next one would come a timeout later. A window that stays shut is asked about less
/// and less often, for the answer that opens it may be lost.
///
/// Choose it where the sender knows best when a report is of use: it costs few reports a window.
///
/// ```
/// use stackwright_policies::inquiry::WindowEnd;
/// use stackwright_transport::slots::Inquiry;
/// assert!(WindowEnd::new(6, 1 << 19).heeds_last());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WindowEnd {
    retries: u32,
    every: u64,
    /// How many times in a flight it asks at least, and after how many numbers at the soonest.
    flight: Option<(u64, u64)>,
    /// When the answer to the oldest inquiry without one is due.
    at: Instant,
    latest: u32,
    /// Up to which number data had left when it last asked.
    asked_upto: u64,
    /// How many inquiries in a row were sent because no answer came.
    tries: u32,
    asked: Asked,
    /// Up to which number data had left at the last answer, and how many answers in a row let none
    /// leave.
    shut: (u64, u32),
}

/// Returns the wait behind `times` that were in vain.
fn doubled(timeout: Nanoseconds, times: u32) -> Nanoseconds {
    (timeout << times.min(DOUBLED_MOST)).min(WAIT_MOST.max(timeout))
}

/// What of the data that left was asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    /// All of it was, and answered; or nobody has asked yet.
    Answered,
    /// All of it is.
    All,
    /// More has left since.
    Some,
    /// What had left before was, and answered; more has left since.
    Rest,
}

impl WindowEnd {
    /// Creates the policy. It asks after every `every` numbers, unless the window ends before; half
    /// of the window keeps data flowing. A peer that does not answer `retries` inquiries in a row
    /// in time counts as gone.
    pub const fn new(retries: u32, every: u64) -> Self {
        WindowEnd {
            retries,
            every,
            flight: None,
            at: Instant::END,
            latest: 0,
            asked_upto: 0,
            tries: 0,
            asked: Asked::Answered,
            shut: (0, 0),
        }
    }

    /// Asks at least `times` times in each flight as well, though not sooner than `least` numbers
    /// after it asked before: where the network's window is smaller than the peer's, answers are
    /// what lets it grow, and what tells of its losses in time.
    #[must_use]
    pub const fn each_flight(self, times: u64, least: u64) -> Self {
        WindowEnd { flight: Some((times, least)), ..self }
    }

    /// Returns how many numbers leave between two inquiries.
    fn distance(&self, view: &View) -> u64 {
        match self.flight {
            Some((times, least)) => (view.in_flight / times).max(least).min(self.every),
            None => self.every,
        }
    }

    fn wait(&self, view: &View) -> Nanoseconds {
        doubled(view.rtt.timeout, self.tries)
    }

    /// Returns whether it asks about the rest, with which nothing more leaves.
    fn asks_about_rest(&self, view: &View) -> bool {
        self.asked == Asked::Rest && view.drained && !view.idle
    }

    fn is_overdue(&self, view: &View) -> bool {
        self.at <= view.now
    }

    /// Returns whether it asked, and the answer has not come.
    fn waits(&self) -> bool {
        matches!(self.asked, Asked::All | Asked::Some)
    }
}

impl Inquiry for WindowEnd {
    #[inline]
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        if self.is_overdue(view) || self.asks_about_rest(view) {
            return true;
        }
        match occasion {
            Occasion::Unit { last, lone } => {
                let is_far = view.sent_upto.saturating_sub(self.asked_upto) >= self.distance(view);
                last && !(lone && self.waits()) || is_far
            }
            Occasion::Signal => true,
            // What waits may not leave, and no answer that allows it is on its way.
            Occasion::Nothing => !view.drained && view.idle && self.at == Instant::END,
        }
    }

    fn awaits_taking(&self, view: &View, occasion: Occasion) -> bool {
        match occasion {
            Occasion::Unit { lone, .. } => !lone,
            Occasion::Nothing => !view.drained,
            Occasion::Signal => false,
        }
    }

    fn heeds_last(&self) -> bool {
        true
    }

    #[inline]
    fn on_sent(&mut self, view: &View) {
        // That nothing may follow is a promise about the future, which a window that shrinks
        // breaks.
        if self.at == Instant::END {
            self.at = view.now.later(self.wait(view));
        }
        if self.asked == Asked::All {
            self.asked = Asked::Some;
        }
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        if self.is_overdue(view) {
            // Half a window may take longer than the timeout: then nobody was asked yet.
            (self.tries, self.at) = (self.tries + u32::from(self.waits()), Instant::END);
        }
        self.at = self.at.min(view.now.later(self.wait(view)));
        (self.latest, self.asked_upto, self.asked) = (number, view.sent_upto, Asked::All);
    }

    fn believes(&self, number: u32) -> bool {
        self.tries == 0 || number == self.latest
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        if number == self.latest {
            self.tries = 0;
            self.asked = if self.asked == Asked::All { Asked::Answered } else { Asked::Rest };
        } else if self.tries > 0 {
            return;
        }
        // What is still in flight, or waits for credit, is asked about again.
        let over = number == self.latest && view.idle && view.drained;
        let (upto, times) = self.shut;
        let stays_shut = view.idle && !view.drained && view.sent_upto == upto;
        self.shut = (view.sent_upto, if stays_shut { times + 1 } else { 0 });
        let wait = doubled(view.rtt.timeout, self.shut.1);
        self.at = if over { Instant::END } else { view.now.later(wait) };
    }

    fn holds(&self, view: &View) -> bool {
        self.tries > 0 || self.waits() && self.is_overdue(view)
    }

    fn gives_up(&self) -> bool {
        self.tries > self.retries
    }

    fn deadline(&self, _: &View) -> Instant {
        self.at
    }
}

component! {
    WindowEnd: "inquiry at the window's end", "asks with the last packet that may leave, and insists",
    needs: Property::INQUIRIES.and(Property::ANSWERS), gives: Property::ASKS,
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, MILLISECOND};

    use super::*;

    const RTT: Estimate = Estimate {
        smoothed: 20 * MILLISECOND,
        variation: 0,
        least: 20 * MILLISECOND,
        timeout: 100 * MILLISECOND,
    };

    fn at(milliseconds: u64) -> View {
        let now = Instant::START.later(milliseconds * MILLISECOND);
        View { now, rtt: RTT, idle: false, ..View::START }
    }

    const LONE: Occasion = Occasion::Unit { last: true, lone: true };

    /// Sends a unit that nothing may follow, which asks.
    fn ask(policy: &mut WindowEnd, view: &View, number: u32) {
        assert!(policy.due(view, Occasion::Unit { last: true, lone: false }));
        policy.on_sent(view);
        policy.on_asked(view, number);
    }

    /// An application that sends one message at a time asks with the first, and then about the
    /// rest.
    #[test]
    fn what_leaves_alone_is_asked_about_once_a_round_trip() {
        let mut policy = WindowEnd::new(3, 1000);
        assert!(policy.due(&at(0), LONE));
        policy.on_sent(&at(0));
        policy.on_asked(&at(0), 1);
        for time in 1..20 {
            assert!(!policy.due(&at(time), LONE));
            policy.on_sent(&at(time));
        }
        policy.on_answer(&at(20), 1, 0);
        assert!(policy.due(&at(20), Occasion::Nothing));
        policy.on_asked(&at(20), 2);
        assert!(!policy.due(&at(21), Occasion::Nothing));
        policy.on_answer(&View { idle: true, ..at(40) }, 2, 0);
        assert_eq!(policy.deadline(&at(40)), Instant::END, "it is over");
        assert!(policy.due(&at(50), LONE));
    }

    #[test]
    fn inquiries_in_one_round_trip_are_no_silence() {
        let mut policy = WindowEnd::new(3, 1000);
        (1..=50).for_each(|number| ask(&mut policy, &at(u64::from(number)), number));
        assert!(!policy.gives_up() && !policy.holds(&at(50)));
        assert_eq!(policy.deadline(&at(50)), at(101).now, "the first answer is due");
        policy.on_answer(&at(60), 1, 0);
        assert_eq!(policy.deadline(&at(60)), at(160).now, "then the others");
    }

    #[test]
    fn an_old_answer_is_no_round_trip_once_it_was_asked_again() {
        let mut policy = WindowEnd::new(3, 1000);
        ask(&mut policy, &at(0), 1);
        ask(&mut policy, &at(10), 2);
        assert!(policy.believes(1), "the other one is not there yet");
        policy.on_asked(&at(100), 3);
        assert!(!policy.believes(2) && policy.believes(3));
    }

    #[test]
    fn a_peer_that_does_not_answer_in_time_is_asked_again_and_counts_as_gone() {
        let mut policy = WindowEnd::new(3, 1000);
        ask(&mut policy, &at(0), 0);
        let mut number = 0;
        while !policy.gives_up() {
            let now = policy.deadline(&at(0));
            let view = View { now, ..at(0) };
            assert!(policy.holds(&view) && policy.due(&view, Occasion::Nothing));
            number += 1;
            policy.on_asked(&view, number);
        }
        assert_eq!(number, 4);
        assert_eq!(policy.deadline(&at(0)), at(100 + 200 + 400 + 800 + 1600).now);
    }

    /// Half of it takes longer than the timeout.
    #[test]
    fn data_on_a_slow_link_do_not_stop_where_nobody_was_asked() {
        let mut policy = WindowEnd::new(3, 1000);
        policy.on_sent(&at(0));
        assert!(policy.due(&at(100), Occasion::Unit { last: false, lone: false }));
        assert!(!policy.holds(&at(100)));
        policy.on_asked(&at(100), 1);
        assert!(!policy.holds(&at(199)) && policy.holds(&at(200)));
    }

    #[test]
    fn it_asks_in_the_middle_of_a_long_window() {
        let mut policy = WindowEnd::new(3, 1000);
        let unit = Occasion::Unit { last: false, lone: false };
        let sent = |upto| View { sent_upto: upto, ..at(0) };
        assert!(!policy.due(&sent(900), unit));
        assert!(policy.due(&sent(1000), unit));
        policy.on_asked(&sent(1000), 1);
        assert!(!policy.due(&sent(1900), unit));
        assert!(policy.due(&sent(2000), unit));
    }

    /// As long as nothing leaves; what leaves then is waited for as ever.
    #[test]
    fn a_window_that_stays_shut_is_asked_about_less_and_less_often() {
        let mut policy = WindowEnd::new(3, 1000);
        let shut =
            |milliseconds| View { idle: true, drained: false, sent_upto: 500, ..at(milliseconds) };
        let mut now = 0;
        for wait in [100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400] {
            policy.on_asked(&shut(now), 1);
            policy.on_answer(&shut(now), 1, 0);
            assert_eq!(policy.deadline(&shut(now)), at(now + wait).now);
            now += wait;
        }
        let leaves = View { sent_upto: 900, idle: false, ..at(now) };
        policy.on_asked(&leaves, 2);
        policy.on_answer(&leaves, 2, 0);
        assert_eq!(policy.deadline(&leaves), at(now + 100).now);
    }

    #[test]
    fn what_may_not_leave_asks_though_nothing_is_in_flight() {
        let mut policy = WindowEnd::new(3, 1000);
        let shut = View { idle: true, drained: false, ..at(0) };
        assert!(policy.due(&shut, Occasion::Nothing));
        policy.on_asked(&shut, 1);
        assert!(!policy.due(&shut, Occasion::Nothing), "once, until an answer is overdue");
        assert!(policy.awaits_taking(&shut, Occasion::Nothing));
        assert!(!policy.awaits_taking(&shut, LONE));
    }
}
