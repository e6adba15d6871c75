//! Time: T1 is for answers, T2 for acknowledgements, T3 for silence.
//!
//! T1 does not run from when a frame was handed to the TNC, but from when it has left the antenna:
//! until then it waits with others, and for the channel. While a frame of another station is on the
//! air the peer cannot answer, so T1 is longer by as much.

use stackwright_contract::services::Ended;
use stackwright_contract::{Duration, Instant, earliest};
use stackwright_wire::Message;

use super::{Env, Link, LinkState};
use crate::config::{Config, LinkVersion};
use crate::header::Unnumbered;

/// How long a frame may wait for the channel at most, beside the air time of a window, where the
/// TNC has never said that one has left. One that says it is waited for: rules of the air may hold
/// a frame back for minutes.
const LEAVES_WITHIN: Duration = Duration::from_secs(60);
/// How often a busy peer is asked whether it is ready.
const BUSY: Duration = Duration::from_secs(10);
/// How often SABME is sent before it counts as not understood: some stations do not answer it.
const EXTENDED_TRIES: u8 = 3;
const T2_LEAST: Duration = Duration::from_millis(100);
const T2_MOST: Duration = Duration::from_secs(3);

/// T1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum T1 {
    Stopped,
    /// The frame that asks was not handed on: nothing can be late.
    Queued,
    /// It was handed on with this mark, and has not left; at `until` it counts as gone.
    Leaving {
        mark: u16,
        until: Option<Instant>,
    },
    /// An answer is awaited. `left`: since when, where the TNC said so, and later by the air time
    /// of others.
    Running {
        left: Option<Instant>,
        until: Instant,
    },
}

/// What is known of the time that answers take.
pub(super) struct Clock {
    /// SRT: from when an enquiry has left to its answer.
    pub(super) smoothed: Duration,
    floor: Duration,
    /// RC: how often the frame that asks was sent.
    pub(super) tries: u8,
    /// Whether P=1 was sent and not answered.
    pub(super) asked: bool,
    /// Whether P=1 before it was not answered either: the answer may be to that.
    pub(super) ambiguous: bool,
    /// Whether one answer was taken for such a late one.
    pub(super) doubted: bool,
    /// Whether the TNC did not say that the last frame that asked has left.
    unsaid: bool,
}

impl Clock {
    pub(super) fn new(floor: Duration, timeout: Duration) -> Self {
        let smoothed = (timeout / 2).max(floor);
        let (asked, ambiguous, doubted, unsaid) = (false, false, false, false);
        Clock { smoothed, floor, tries: 0, asked, ambiguous, doubted, unsaid }
    }

    /// T1V: twice the smoothed time, and a quarter of it more with each try. The specification
    /// doubles it each time, which takes more than an hour for ten tries (erratum).
    fn timeout(&self) -> Duration {
        self.smoothed * 2 + self.smoothed / 4 * u32::from(self.tries.saturating_sub(1))
    }

    fn measure(&mut self, sample: Duration) {
        self.smoothed = (self.smoothed * 7 / 8 + sample / 8).max(self.floor);
    }
}

impl<M: Message> Link<M> {
    /// A frame that asks is to be sent: T1 waits until it has left.
    pub(super) fn await_departure(&mut self) {
        self.t1 = T1::Queued;
        self.t3 = None;
    }

    /// The frame that asks was handed on with this mark, to a TNC that has said of others that they
    /// left, or has not.
    pub(crate) fn marked(&mut self, mark: u16, says_left: bool, now: Instant, config: &Config) {
        if self.t1 == T1::Queued {
            let frame = config.air(self.key.port, config.longest);
            // Where the TNC never says it, this is when it has left if the channel is free.
            let access = if self.clock.unsaid { config.access * 2 } else { LEAVES_WITHIN };
            let until = now + access + frame * self.outgoing.burst() as u32;
            self.t1 = T1::Leaving { mark, until: (!says_left).then_some(until) };
        }
    }

    /// A frame with this mark has left.
    pub(crate) fn left(&mut self, number: u16, now: Instant) {
        if matches!(self.t1, T1::Leaving { mark, .. } if mark == number) {
            self.clock.unsaid = false;
            self.t1 = T1::Running { left: Some(now), until: now + self.clock.timeout() };
        }
    }

    /// A frame of any station was on the air for so long.
    pub(crate) fn heard(&mut self, air: Duration) {
        match &mut self.t1 {
            // It stands still: what is measured is without it, too.
            T1::Running { left, until } => {
                *until = *until + air;
                *left = left.map(|left| left + air);
            }
            T1::Leaving { until: Some(until), .. } if self.clock.unsaid => *until = *until + air,
            _ => {}
        }
    }

    pub(super) fn stop_timers(&mut self) {
        (self.t1, self.t2, self.t3) = (T1::Stopped, None, None);
        (self.clock.asked, self.clock.ambiguous, self.clock.doubted) = (false, false, false);
    }

    /// Nothing is asked any more: T1 stops, and T3 starts. A peer that is busy is asked again.
    pub(super) fn rest(&mut self, env: &Env<'_, M>) {
        if self.outgoing.peer_busy && self.outgoing.wants() {
            let until = env.now() + self.clock.timeout().max(BUSY);
            self.t1 = T1::Running { left: None, until };
            self.t3 = None;
        } else {
            self.t1 = T1::Stopped;
            self.t3 = Some(env.now() + env.config.idle);
        }
    }

    /// An I frame that does not ask for an answer is acknowledged when no other follows it.
    pub(super) fn acknowledge_later(&mut self, env: &Env<'_, M>) {
        let frame = env.config.air(self.key.port, env.config.longest) * 5 / 4;
        self.t2 = Some(env.now() + frame.clamp(T2_LEAST, T2_MOST));
    }

    /// Takes an answer to P=1. Returns `false` where it may be a late one, to a question before
    /// the one that has not left yet.
    pub(super) fn answered(&mut self, env: &Env<'_, M>) -> bool {
        let leaves = matches!(self.t1, T1::Queued | T1::Leaving { .. });
        if leaves && self.clock.ambiguous && !self.clock.doubted {
            self.clock.doubted = true;
            return false;
        }
        self.sample(env.now());
        (self.clock.asked, self.clock.ambiguous, self.clock.doubted) = (false, false, false);
        self.clock.tries = 0;
        self.t1 = T1::Stopped;
        true
    }

    /// Takes how long an answer took: F=1 to P=1, or the acknowledgement of all that was sent
    /// (Check_I_Frame_Ackd selects T1V, too).
    pub(super) fn sample(&mut self, now: Instant) {
        if let T1::Running { left: Some(left), .. } = self.t1
            && !self.clock.ambiguous
            && self.clock.tries <= 1
        {
            self.clock.measure(now.since(left));
        }
    }

    /// Asks the peer what has arrived, as soon as a frame can leave.
    pub(super) fn enquire(&mut self) {
        self.state = LinkState::TimerRecovery;
        self.owes.enquiry = true;
        self.clock.ambiguous |= self.clock.asked;
        self.await_departure();
    }

    /// Returns which of T1 and T3 runs, behind a space.
    pub(crate) fn timers(&self) -> &'static str {
        match (self.t1, self.t3) {
            (T1::Stopped, None) => "",
            (T1::Stopped, Some(_)) => " T3",
            _ => " T1",
        }
    }

    /// Returns the earliest of its timers.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let t1 = match self.t1 {
            T1::Stopped | T1::Queued => None,
            T1::Leaving { until, .. } => until,
            T1::Running { until, .. } => Some(until),
        };
        let acknowledgements = earliest(self.t2, self.negotiation.until);
        earliest(earliest(t1, self.t3), acknowledgements)
    }

    /// Does what is due.
    pub(crate) fn expire(&mut self, env: &mut Env<'_, M>) {
        let now = env.now();
        let is_due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if is_due(self.t2) {
            self.t2 = None;
            self.owes.acknowledgement = true;
        }
        if is_due(self.negotiation.until) {
            self.negotiate_again(env);
        }
        if is_due(self.t3) {
            self.t3 = None;
            self.clock.tries = 1;
            self.enquire();
        }
        match self.t1 {
            T1::Leaving { until: Some(until), .. } if until <= now => {
                if !core::mem::replace(&mut self.clock.unsaid, true) {
                    env.cx.event(crate::NAME, format_args!("the TNC does not say when it sends"));
                }
                self.t1 = T1::Running { left: None, until: now + self.clock.timeout() };
            }
            T1::Running { until, .. } if until <= now => {
                self.t1 = T1::Stopped;
                self.t1_expired(env);
            }
            _ => {}
        }
    }

    fn t1_expired(&mut self, env: &mut Env<'_, M>) {
        let exhausted = self.clock.tries >= env.config.tries;
        match self.state {
            LinkState::Disconnected => {}
            LinkState::AwaitingV22Connection
                if self.version == LinkVersion::Auto && self.clock.tries >= EXTENDED_TRIES =>
            {
                self.fall_back(env);
            }
            LinkState::AwaitingConnection | LinkState::AwaitingV22Connection if exhausted => {
                self.over(Ended::Unreachable, env);
            }
            LinkState::AwaitingConnection | LinkState::AwaitingV22Connection => {
                self.clock.tries += 1;
                self.ask_to_connect(env);
            }
            LinkState::AwaitingRelease if exhausted => self.over(Ended::Expired, env),
            LinkState::AwaitingRelease => {
                self.clock.tries += 1;
                self.ask_to_release(env);
            }
            LinkState::Connected => {
                self.clock.tries = 1;
                self.enquire();
            }
            LinkState::TimerRecovery if exhausted => {
                env.respond(Unnumbered::Dm, false);
                self.over(Ended::Expired, env);
            }
            LinkState::TimerRecovery if self.is_doubtful() => {
                self.state = LinkState::AwaitingConnection;
                self.clock.tries += 1;
                self.ask_to_connect(env);
            }
            LinkState::TimerRecovery => {
                self.clock.tries += 1;
                self.enquire();
            }
        }
    }

    /// The peer does not understand SABME: SABM.
    pub(super) fn fall_back(&mut self, env: &mut Env<'_, M>) {
        self.version = LinkVersion::V20;
        self.establish(env);
    }

    /// The TNC is gone, and with it what it had not sent.
    pub(crate) fn line_down(&mut self) {
        (self.t1, self.t2, self.t3) = (T1::Stopped, None, None);
        (self.clock.asked, self.clock.ambiguous, self.clock.doubted) = (false, false, false);
    }

    /// The TNC is back: a question comes first, never data.
    pub(crate) fn line_up(&mut self, env: &mut Env<'_, M>) {
        match self.state {
            LinkState::Disconnected => {}
            LinkState::AwaitingConnection | LinkState::AwaitingV22Connection => {
                self.ask_to_connect(env)
            }
            LinkState::AwaitingRelease => self.ask_to_release(env),
            LinkState::Connected | LinkState::TimerRecovery => {
                if self.outgoing.is_outstanding() || self.state == LinkState::TimerRecovery {
                    self.clock.tries = 1;
                    self.enquire();
                } else {
                    self.rest(env);
                }
            }
        }
    }
}
