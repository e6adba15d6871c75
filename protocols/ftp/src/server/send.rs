//! Replies, downward: gathered, and sent once at the end of a batch.

use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Context, Either, Handle};
use stackwright_wire::Message;

use super::secure::secure_behind_replies;
use super::state::{
    CONTROL_CREDIT, Control, Leaving, PeerHalf, REPLIES_MOST, UNSENT_KEPT, UNSENT_MOST, Work,
};
use super::{Out, Server};
use crate::{NAME, reply};

impl<M: Message> Server<M> {
    /// Gathers a reply whose text is for people: a client that suppresses text does not get it.
    #[inline]
    pub(super) fn reply(&mut self, cx: &Context, session: Handle, code: u16, text: &str) {
        let terse = self.sessions.get(session).is_some_and(|state| state.terse);
        self.reply_lines(cx, session, &reply::line(code, if terse { "" } else { text }));
    }

    /// Gathers a reply whose text is what the client asked for.
    pub(super) fn answer(&mut self, cx: &Context, session: Handle, code: u16, text: &str) {
        self.reply_lines(cx, session, &reply::line(code, text));
    }

    /// Gathers a reply, which leaves at the end of the batch with those to other commands.
    pub(super) fn reply_lines(&mut self, cx: &Context, session: Handle, lines: &str) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A disk may answer after the last reply.
        if state.control.leaving != Leaving::No {
            return;
        }
        cx.event(NAME, format_args!("{} ◂ {}", state.control.peer, lines.trim_end()));
        state.control.unsent.extend_from_slice(lines.as_bytes());
        self.mark(session);
    }

    /// Takes credit for more replies.
    pub(super) fn on_reply_credit(&mut self, session: Handle, credit: usize) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.control.credit = (state.control.credit + credit).min(REPLIES_MOST);
            self.mark(session);
        }
    }

    /// Ends the session when the last reply has left.
    pub(super) fn leave(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.control.leaving == Leaving::No {
            state.control.leaving = Leaving::Said;
            // The credit is given back with which the client's end arrives.
            state.control.forget_waiting();
            self.touch(cx, session);
        }
        self.mark(session);
    }

    /// Remembers that the session has something to send, or to obey, at the end of the batch.
    pub(super) fn mark(&mut self, session: Handle) {
        if let Some(state) = self.sessions.get_mut(session)
            && !mem::replace(&mut state.control.due, true)
        {
            self.due.push(session);
        }
    }

    /// Sends what every session has gathered, one message each. A session with further commands
    /// stays due: it obeys them when the other sessions, and what arrives, have had their turn.
    pub(super) fn send_gathered(&mut self, cx: &Context, out: Out<'_, M>) {
        for session in mem::take(&mut self.due) {
            self.obey_waiting(cx, session, out);
            let Some(state) = self.sessions.get_mut(session) else { continue };
            if state.control.is_over() && state.transfer().is_none() {
                self.forget_session(cx, session, out);
                continue;
            }
            state.control.due = false;
            state.control.obeyed = 0;
            send(&mut state.control, out);
            secure_behind_replies(&mut state.control, out);
            listen_on(&mut state.control, out);
            let goes_on =
                !state.control.waiting.is_empty() || state.control.half >= PeerHalf::Finished;
            if goes_on && state.can_obey() {
                self.mark(session);
            } else if let Work::Recital(_) = state.work {
                self.go_on_reciting(session, out);
            }
        }
    }
}

/// Sends the gathered replies that there is credit for, and the end after the last.
fn send<M: Message>(control: &mut Control, out: Out<'_, M>) {
    let length = control.unsent.len().min(control.credit);
    if length > 0 {
        let message = M::with_headroom(0, &control.unsent[..length]);
        control.unsent.drain(..length);
        if control.unsent.is_empty() && control.unsent.capacity() > UNSENT_KEPT {
            control.unsent = Vec::new();
        }
        control.credit -= length;
        let association = control.name;
        out.request(Either::Left(StreamsRequest::Send {
            association,
            batch: message.into(),
            properties: Default::default(),
        }));
    }
    if control.leaving == Leaving::Said && control.unsent.is_empty() {
        control.leaving = Leaving::Finished;
        out.request(Either::Left(StreamsRequest::Finish { association: control.name }));
    }
}

/// Gives the client credit for more commands, if those it sent were obeyed and it reads its
/// replies.
fn listen_on<M: Message>(control: &mut Control, out: Out<'_, M>) {
    let reads = control.unsent.len() < UNSENT_MOST;
    let credit = control.withheld - control.raw.len();
    if credit > 0 && control.has_few() && reads {
        debug_assert!(control.withheld <= CONTROL_CREDIT);
        control.withheld -= credit;
        out.request(Either::Left(StreamsRequest::Credit {
            association: control.name,
            credit: Credit::of_octets(credit),
        }));
    }
}
