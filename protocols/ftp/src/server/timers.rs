//! Every timer, and why:
//!
//! | timer | of | when it expires |
//! | --- | --- | --- |
//! | idle | a session without work | 421, and it is ended (RFC 1123 §4.1.3.2) |
//! | data wait | a transfer without data association | 425 |
//! | idle | a transfer that stands still | 426 |
//! | penalty | a wrong password | its answer |
//! | lingering | a data association whose peer does not close | it is reset |
//!
//! `next` is the earliest of them or earlier: a deadline that moved on costs one idle look, not a search per event.

use alloc::vec::Vec;

use stackwright_contract::services::{Ended, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle, Instant, earliest};
use stackwright_wire::Message;

use super::state::{Data, File, Stream, TRIES_MOST, Work};
use super::{Out, Server, Trouble};

/// How long a peer may hold a data association after all was sent.
pub(super) const LINGER: Duration = Duration::from_secs(60);

impl<M: Message> Server<M> {
    /// Something happened in this session: its patience begins anew.
    pub(super) fn touch(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let patience = match &state.work {
            Work::Transfer(transfer) if transfer.link.is_none() => self.config.data_wait,
            Work::Penalty => self.config.penalty,
            _ => self.config.idle,
        };
        state.deadline = cx.now() + patience;
        self.watch(cx.now() + patience);
    }

    pub(super) fn watch(&mut self, deadline: Instant) {
        self.next = earliest(self.next, Some(deadline));
    }

    pub(super) fn expire(&mut self, cx: &Context, out: Out<'_, M>) {
        let now = cx.now();
        self.next = None;
        let due = |deadline: Instant| deadline <= now;
        let sessions: Vec<Handle> =
            self.sessions.iter().filter(|(_, session)| due(session.deadline)).map(|(name, _)| name).collect();
        for session in sessions {
            self.patience_ends(cx, session, out);
        }
        let held: Vec<Handle> = self
            .streams
            .iter()
            .filter(|(_, stream)| matches!(stream, Stream::Lingering { until } if due(*until)))
            .map(|(name, _)| name)
            .collect();
        for association in held {
            // Once is enough: its last word comes.
            if let Some(stream) = self.streams.get_mut(association) {
                *stream = Stream::Lingering { until: now + LINGER };
            }
            Self::ask_streams(out, StreamsRequest::Abort { association });
        }
        let sessions = self.sessions.iter().map(|(_, session)| session.deadline);
        let streams = self.streams.iter().filter_map(|(_, stream)| match stream {
            Stream::Lingering { until } => Some(*until),
            _ => None,
        });
        self.next = earliest(self.next, sessions.chain(streams).min());
    }

    fn patience_ends(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match &state.work {
            Work::Penalty => {
                state.work = Work::Idle;
                if state.tries >= TRIES_MOST {
                    self.reply(cx, session, 421, "Too many wrong passwords.", out);
                    self.leave(session, out);
                } else {
                    self.reply(cx, session, 530, "The user name or the password is wrong.", out);
                }
                self.touch(cx, session);
                self.obey_waiting(cx, session, out);
            }
            // The disk says its last word, sooner or later; before it, nobody knows whether the file has its name.
            Work::Transfer(transfer) if matches!(transfer.file, File::Keeping(_)) => self.touch(cx, session),
            Work::Transfer(transfer) if transfer.link.is_none() => {
                let code_and_text = match state.data {
                    Data::Absent => (425, "The data connection could not be opened."),
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
            Work::Idle | Work::Asked(_) => {
                if state.control.leaving == super::state::Leaving::No {
                    self.reply(cx, session, 421, "You were silent for too long.", out);
                    self.leave(session, out);
                    self.touch(cx, session);
                } else {
                    // It was told so and does not let go.
                    let association = state.control.name;
                    state.deadline = cx.now() + LINGER;
                    Self::ask_streams(out, StreamsRequest::Abort { association });
                }
            }
        }
    }
}
