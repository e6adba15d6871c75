//! Every timer, and why:
//!
//! | timer | of | when it expires |
//! | --- | --- | --- |
//! | idle | a session without a job; at least 10 s while others have jobs, not at all where no more come | it sends QUIT |
//! | other end | a reply of several lines whose last line has another code | that code counts |
//! | timeout | a server that is silent, a transfer without progress | the session is dropped, its job has expired |
//! | opening | a data association to the port that EPSV named | the transfer begins anew with PASV |
//! | confirmation | a server that has sent all octets of a file and does not confirm it | the file is complete, the session is dropped |
//! | farewell | a transfer whose data association is gone, and perhaps the server | the session is dropped, its job is lost |
//! | timeout | a data association that the server does not close | it is reset |

use alloc::vec::Vec;

use stackwright_contract::services::{Failure, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle, Instant, earliest};
use stackwright_wire::Message;

use super::state::{Data, Session, Step, Stream, What};
use super::{Client, Out};
use crate::reply::Replies;

/// How long a server may take to close after QUIT, and how long the replies to ABOR are waited for,
/// or the reply to a transfer that cannot go on.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a session without a job stays at least while others have jobs: more are likely.
const BUSY: Duration = Duration::from_secs(10);

/// How long the final reply is waited for when a file is whole by its size: some firewalls forget
/// the control association while a long transfer runs.
const CONFIRMATION: Duration = Duration::from_secs(15);

/// How long it is waited for more of a reply that ends with another code than it began with.
const OTHER_END: Duration = Duration::from_secs(2);

/// Which part of the timeout the port that EPSV named may take to answer.
const OPENING: u32 = 3;

impl<M: Message> Client<M> {
    /// Restarts the timer of a session in which something happened.
    pub(super) fn touch(&mut self, cx: &Context, session: Handle) {
        let is_whole = self.is_whole(session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let is_busy = state.step == Step::Idle && self.jobs.iter().next().is_some();
        let timeout = match state.step {
            Step::Idle if state.before.is_empty() && is_busy => self.config.idle.max(BUSY),
            Step::Idle if state.before.is_empty() && self.leaves => Duration::ZERO,
            Step::Idle if state.before.is_empty() => self.config.idle,
            // The file is whole, and the application takes its time.
            Step::Complete if matches!(state.data, Data::Absent) => Duration::MAX,
            Step::Quitting | Step::Aborting(_) | Step::Interrupting => FAREWELL,
            _ if is_whole => CONFIRMATION.min(self.config.timeout),
            _ if matches!(state.data, Data::Opening { extended: true, .. }) && !self.only_pasv => {
                self.config.timeout / OPENING
            }
            _ if matches!(state.data, Data::Gone) => FAREWELL.min(self.config.timeout),
            _ => self.config.timeout,
        };
        self.lingers |= is_busy;
        let timeout = match state.replies.has_other_end() {
            true => timeout.min(OTHER_END),
            false => timeout,
        };
        state.deadline = cx.now() + timeout;
        self.next = earliest(self.next, Some(state.deadline));
    }

    /// Restarts the timers of sessions that stayed because others had jobs, after the last one.
    pub(super) fn touch_idle(&mut self, cx: &Context) {
        if !self.lingers || self.jobs.iter().next().is_some() {
            return;
        }
        self.lingers = false;
        self.idle().into_iter().for_each(|session| self.touch(cx, session));
    }

    /// Quits sessions that have no job, those that have one after it, until there is one again.
    pub(super) fn leave(&mut self, cx: &Context, out: Out<'_, M>) {
        self.leaves = true;
        for session in self.idle() {
            let state = self.sessions.get(session);
            // Where replies are missing, it quits once they are here.
            if state.is_some_and(|state| state.before.is_empty()) {
                self.quit(cx, session, out);
            }
        }
    }

    fn idle(&self) -> Vec<Handle> {
        let is_idle = |session: &Session| session.step == Step::Idle;
        self.sessions.iter().filter(|(_, state)| is_idle(state)).map(|(name, _)| name).collect()
    }

    pub(super) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        let now = cx.now();
        let due: Vec<Handle> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.deadline <= now)
            .map(|(name, _)| name)
            .collect();
        for session in due {
            let replies = self.sessions.get_mut(session).map(|state| &mut state.replies);
            if let Some(reply) = replies.and_then(Replies::take_other_end) {
                self.reply_arrived(cx, session, &reply, out);
                continue;
            }
            let state = self.sessions.get(session);
            let gone = state.is_some_and(|state| matches!(state.data, Data::Gone));
            match state.map(|state| state.step) {
                Some(Step::Idle) if state.is_some_and(|state| state.before.is_empty()) => {
                    self.quit(cx, session, out);
                }
                Some(Step::Moving) if !gone && self.asker_rests(session) => self.touch(cx, session),
                Some(_) if gone => self.drop_session(cx, session, Failure::Lost, out),
                Some(_) if self.passive_failed(cx, session, out) => {}
                Some(_) => self.lose_session(cx, session, Failure::Expired, out),
                None => {}
            }
        }
        let held: Vec<Handle> = self
            .streams
            .iter()
            .filter(|(_, stream)| matches!(stream, Stream::Lingering { until } if *until <= now))
            .map(|(name, _)| name)
            .collect();
        for association in held {
            self.abandon(cx, association); // once is enough: its end comes
            out.request(StreamsRequest::Abort { association, code: 0 });
        }
        let sessions = self.sessions.iter().map(|(_, session)| session.deadline);
        let streams = self.streams.iter().filter_map(|(_, stream)| match stream {
            Stream::Lingering { until } => Some(*until),
            _ => None,
        });
        self.next = sessions.chain(streams).min().filter(|next| *next < Instant::END);
    }

    /// Returns whether the transfer waits for the application, and not for the server: a slow disk
    /// is no silent server.
    fn asker_rests(&mut self, session: Handle) -> bool {
        match self.job_of(session).map(|(_, job)| &job.what) {
            Some(What::Read(read)) => read.asked.is_empty(),
            Some(What::Create(create)) => create.unsent.is_empty() && !create.closing,
            Some(What::List(list)) => !list.wanted && !list.entries.is_empty(),
            Some(What::Stat(_) | What::Deed(_)) | None => false,
        }
    }
}
