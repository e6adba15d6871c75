//! Every timer, and why:
//!
//! | timer | of | when it expires |
//! | --- | --- | --- |
//! | idle | a session without work | 421, and it is ended (RFC 1123 §4.1.3.2) |
//! | login | a session without login, whatever it does | 421, and it is ended |
//! | lingering | a session that was told to end | it is reset |
//! | data wait | a transfer without data association | 425 |
//! | idle | a transfer without progress | 426 |
//! | next turn | an upload whose client is gone | 426, unless all of it had arrived |
//! | penalty | a wrong password | its reply |
//! | delay | a password from an address of too many wrong ones | it is tried |
//! | lingering | a data association whose peer does not close | it is reset |
//!
//! Those of the sessions are the base's; `next` is when the first association that lingers is cut
//! off, or earlier.

use alloc::vec::Vec;
use core::{iter, mem};

use stackwright_contract::services::{Ended, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle, Instant, earliest};
use stackwright_wire::Message;

use super::question::Question;
use super::state::{Data, File, Leaving, Stream, Transfer, Work};
use super::{Out, Server, Trouble};

/// How long a peer may hold a data association after all was sent.
pub(super) const LINGER: Duration = Duration::from_secs(60);

/// How long it is until what has arrived meanwhile was told: what is due now may be done before.
const NEXT_TURN: Duration = Duration::from_nanos(1);

impl<M: Message> Server<M> {
    /// Restarts the timer of a session in which something happened.
    pub(super) fn touch(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let timeout = match &state.work {
            Work::Delayed(_) => return,
            Work::Transfer(_) if state.is_forsaken() => NEXT_TURN,
            Work::Transfer(transfer) if transfer.link.is_none() => self.config.data_wait,
            Work::Penalty => self.config.penalty,
            _ if state.control.leaving != Leaving::No => LINGER,
            _ => self.config.idle,
        };
        state.deadline = cx.now() + timeout;
        let strange = state.rights().is_none() && state.control.leaving == Leaving::No;
        if strange && matches!(state.work, Work::Idle | Work::Securing) {
            state.deadline = state.deadline.min(state.login_until);
        }
        self.look_at(session);
    }

    /// Has the session looked at when its deadline comes.
    pub(super) fn look_at(&mut self, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let deadline = state.deadline;
        if deadline < state.looked_at {
            state.looked_at = deadline;
            self.sessions.schedule(session, (), deadline);
        }
    }

    /// Has lingering associations looked at by `deadline`.
    pub(super) fn watch(&mut self, deadline: Instant) {
        self.next = earliest(self.next, Some(deadline));
    }

    pub(super) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        let now = cx.now();
        let due: Vec<Handle> =
            iter::from_fn(|| self.sessions.expire(now)).map(|(session, ())| session).collect();
        for session in due {
            let Some(state) = self.sessions.get_mut(session) else { continue };
            state.looked_at = Instant::END;
            if state.deadline <= now {
                self.deadline_passed(cx, session, out);
            }
            self.look_at(session);
        }
        if self.next.is_some_and(|next| next <= now) {
            self.cut_off_those_that_linger(now, out);
        }
    }

    fn cut_off_those_that_linger(&mut self, now: Instant, out: Out<'_, M>) {
        let held: Vec<Handle> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.lingers_until().is_some_and(|until| until <= now))
            .map(|(name, _)| name)
            .collect();
        for association in held {
            // Once is enough: its end comes.
            if let Some(Stream::Lingering { until } | Stream::Refused { until }) =
                self.streams.get_mut(association)
            {
                *until = now + LINGER;
            }
            Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
        }
        self.next = self.streams.iter().filter_map(|(_, stream)| stream.lingers_until()).min();
    }

    fn deadline_passed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let is_forsaken = state.is_forsaken();
        match &mut state.work {
            Work::Penalty => {
                self.wrong_password(cx, session);
                self.obeyed(cx, session, out);
            }
            Work::Delayed(password) => {
                let password = mem::take(password);
                state.work = Work::Idle;
                self.try_password(cx, session, &password, true, out);
                self.obeyed(cx, session, out);
            }
            // The disk answers, sooner or later; before that, it is not known whether the file has
            // its name.
            Work::Transfer(Transfer { file: File::Keeping(_) | File::Parting(_), .. })
            // A large file takes its time.
            | Work::Asked(Question::Digest { .. }, _) => self.touch(cx, session),
            Work::Transfer(_) if is_forsaken => self.forsake(cx, session, out),
            Work::Transfer(transfer) if transfer.link.is_none() => {
                let code_and_text = match state.data {
                    Data::Absent => (425, "The data connection could not be opened."),
                    _ if state.protection.resumes => {
                        (425, "No data connection that resumes the TLS session came in time.")
                    }
                    _ => (425, "Nobody came to the data connection in time."),
                };
                self.fail(cx, session, Trouble::Data(Ended::Expired), code_and_text, out);
            }
            Work::Transfer(_) => {
                self.fail(
                    cx,
                    session,
                    Trouble::Data(Ended::Expired),
                    (426, "The transfer stood still."),
                    out,
                );
            }
            Work::Securing => {
                let association = state.control.name;
                state.deadline = cx.now() + LINGER;
                Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
            }
            Work::Idle | Work::Asked(..) | Work::Recital(_) => {
                if state.control.leaving == Leaving::No {
                    let text = if state.rights().is_none() && state.login_until <= cx.now() {
                        "Login timeout, closing the control connection."
                    } else {
                        "Idle timeout, closing the control connection."
                    };
                    self.end_recital(session, out);
                    self.reply(cx, session, 421, text);
                    self.leave(cx, session);
                } else {
                    // It was told so and does not close.
                    let association = state.control.name;
                    state.deadline = cx.now() + LINGER;
                    Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
                }
            }
        }
    }
}
