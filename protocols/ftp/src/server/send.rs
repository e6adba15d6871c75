//! Replies, downward.

use stackwright_contract::services::StreamsRequest;
use stackwright_contract::{Context, Either, Handle};
use stackwright_wire::Message;

use super::state::{CONTROL_ROOM, Leaving, UNSENT_MOST, WAITING_MOST};
use super::{Out, Server};
use crate::{NAME, reply};

impl<M: Message> Server<M> {
    pub(super) fn reply(&mut self, cx: &Context, session: Handle, code: u16, text: &str, out: Out<'_, M>) {
        self.reply_lines(cx, session, &reply::line(code, text), out);
    }

    pub(super) fn reply_lines(&mut self, cx: &Context, session: Handle, lines: &str, out: Out<'_, M>) {
        let Some(session) = self.sessions.get_mut(session) else { return };
        // What a disk answers too late finds that the last reply was given.
        if session.control.leaving != Leaving::No {
            return;
        }
        cx.event(NAME, format_args!("{} ◂ {}", session.control.peer, lines.trim_end()));
        session.control.unsent.extend_from_slice(lines.as_bytes());
        flush(&mut session.control, out);
    }

    /// There is room for more replies.
    pub(super) fn more_room_for_replies(&mut self, session: Handle, room: usize, out: Out<'_, M>) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.control.room += room;
            flush(&mut session.control, out);
        }
    }

    /// The last reply was given: the session ends when it is out.
    pub(super) fn leave(&mut self, session: Handle, out: Out<'_, M>) {
        if let Some(session) = self.sessions.get_mut(session) {
            if session.control.leaving == Leaving::No {
                session.control.leaving = Leaving::Said;
                session.control.waiting.clear(); // so the room comes back in which the client's end arrives
            }
            flush(&mut session.control, out);
        }
    }

    /// Gives the client room for more commands, if those it sent were obeyed and it reads its replies.
    pub(super) fn listen_on(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(session) = self.sessions.get_mut(session) else { return };
        let control = &mut session.control;
        if control.withheld > 0 && control.waiting.len() < WAITING_MOST && control.unsent.len() < UNSENT_MOST
        {
            debug_assert!(control.withheld <= CONTROL_ROOM);
            let room = core::mem::take(&mut control.withheld);
            out.request(Either::Left(StreamsRequest::Receive { association: control.name, room }));
        }
    }
}

fn flush<M: Message>(control: &mut super::state::Control, out: Out<'_, M>) {
    let length = control.unsent.len().min(control.room);
    if length > 0 {
        let message = M::with_headroom(0, &control.unsent[..length]);
        control.unsent.drain(..length);
        control.room -= length;
        let association = control.name;
        out.request(Either::Left(StreamsRequest::Send { association, message, urgent: false }));
    }
    if control.leaving == Leaving::Said && control.unsent.is_empty() {
        control.leaving = Leaving::Finished;
        out.request(Either::Left(StreamsRequest::Finish { association: control.name }));
    }
}
