//! Requests from above become jobs; jobs become commands.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{
    Credit, Failure, FilesRequest, Purpose, StreamProperties, StreamsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::ahead::NextPort;
use super::config::TlsMode;
use super::deed::{Deed, DeedKind, relative};
use super::features::Features;
use super::state::{
    CONTROL_CREDIT, Create, Data, Job, List, Read, Session, Stat, Step, Stream, What,
};
use super::{Client, Out};
use crate::NAME;
use crate::reply::Replies;

impl<M: Message> Client<M> {
    pub(super) fn asked(&mut self, cx: &Context, request: FilesRequest<M>, out: Out<'_, M>) {
        let deed = |kind| What::Deed(Deed::new(kind));
        match request {
            FilesRequest::Open { file, path, purpose } => {
                let what = match purpose {
                    Purpose::Read { as_octets, versioned } => {
                        What::Read(Read { as_octets, versioned, ..Read::default() })
                    }
                    Purpose::List => What::List(List::default()),
                    purpose => What::Create(Create::new(purpose)),
                };
                self.add_job(cx, file, path, what, out);
            }
            FilesRequest::Read { file, offset, length } => self.read(cx, file, offset, length, out),
            FilesRequest::Write { file, offset, message } => {
                self.write(cx, file, offset, message, out)
            }
            FilesRequest::Next { file } => self.next_entries(cx, file, out),
            FilesRequest::Close { file, keep } => self.close(cx, file, keep, out),
            FilesRequest::Stat { token, path, part, is_file } => {
                self.add_job(cx, token, path, What::Stat(Stat { is_file, ..Stat::new(part) }), out);
            }
            FilesRequest::Digest { token, path, octets, part } => {
                let kind = DeedKind::Digest { octets, part, count: None };
                self.add_job(cx, token, path, deed(kind), out);
            }
            FilesRequest::Room { token, path } => {
                self.add_job(cx, token, path, deed(DeedKind::Room), out);
            }
            FilesRequest::MakeFolder { token, path } => {
                self.add_job(cx, token, path, deed(DeedKind::MakeFolder), out);
            }
            FilesRequest::Set { token, path, attribute } => {
                self.add_job(cx, token, path, deed(DeedKind::Set(attribute)), out);
            }
            FilesRequest::Rename { token, from, to } => {
                self.add_job(cx, token, from, deed(DeedKind::Rename { to }), out);
            }
            FilesRequest::Remove { token, path } => {
                self.add_job(cx, token, path, deed(DeedKind::Remove { refused: None }), out);
            }
            // A server keeps no notes; what it has of a file is known by its digest.
            FilesRequest::Note { .. } => {}
            FilesRequest::Leave => self.leave(cx, out),
        }
    }

    fn add_job(
        &mut self,
        cx: &Context,
        name: Handle,
        path: String,
        what: What<M>,
        out: Out<'_, M>,
    ) {
        let is_command = |path: &str| path.contains(['\r', '\n', '\0']); // one of its own
        let renamed = match &what {
            What::Deed(Deed { kind: DeedKind::Rename { to }, .. }) => is_command(to),
            _ => false,
        };
        let injects = is_command(&path) || renamed;
        self.jobs.insert(name, Job { path, session: None, opened: false, what });
        if injects {
            return self.job_failed(name, Failure::BadName, out);
        }
        self.leaves = false;
        self.waiting.push_back(name);
        self.assign(cx, out);
    }

    /// Gives waiting jobs to idle sessions, or to new ones. Where all sessions have transfers, what
    /// is asked about a part has one more: a transfer waits for that.
    pub(super) fn assign(&mut self, cx: &Context, out: Out<'_, M>) {
        loop {
            let idle = |(name, state): (_, &Session)| (state.step == Step::Idle).then_some(name);
            let idle = self.sessions.iter().find_map(idle);
            let is_free = idle.is_some() || self.sessions.len() < self.sessions_most;
            let may_more = !self.is_limited && self.sessions.len() == self.sessions_most;
            let place = self.waiting.iter().position(|name| {
                is_free || may_more && self.jobs.get(*name).is_some_and(Job::is_awaited)
            });
            let Some(job) = place.and_then(|place| self.waiting.remove(place)) else { return };
            let session = idle.unwrap_or_else(|| self.connect(cx, out));
            if let Some(job) = self.jobs.get_mut(job) {
                job.session = Some(session);
            }
            if let Some(session) = self.sessions.get_mut(session) {
                session.job = Some(job);
            }
            if idle.is_some() {
                self.start_job(cx, session, out);
            }
        }
    }

    fn connect(&mut self, cx: &Context, out: Out<'_, M>) -> Handle {
        let session = self.sessions.name(Session {
            control: Handle { index: 0, generation: 0 },
            ends: None,
            replies: Replies::default(),
            unsent: Vec::new(),
            held: VecDeque::new(),
            unanswered: 0,
            pipelines: false,
            is_logged_in: false,
            credit: 0,
            credit_most: 0,
            group: 0,
            step: Step::Connecting,
            then: None,
            before: VecDeque::new(),
            next_port: NextPort::Unasked,
            lets_wait: false,
            transfers: 0,
            job: None,
            data: Data::Absent,
            features: Features::UNTOLD,
            home: None,
            away: false,
            autorestart: false,
            finished: false,
            deadline: cx.now(),
        });
        let control = self.streams.name(Stream::Control { session });
        if let Some(session) = self.sessions.get_mut(session) {
            session.control = control;
            if self.config.tls != TlsMode::Off {
                session.group = cx.random(u64::MAX);
            }
        }
        self.touch(cx, session);
        out.request(StreamsRequest::Open {
            association: control,
            remote: self.config.server.into(),
            local: None,
            credit: Credit::of_octets(CONTROL_CREDIT),
        });
        if self.config.tls == TlsMode::Implicit {
            self.secure_control(session, out);
        }
        session
    }

    /// Sends a command; its reply is awaited in `step`.
    pub(super) fn say(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        command: &str,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.step = step;
        queue(cx, state, command);
        flush(state, out);
        self.touch(cx, session);
    }

    /// Sends two commands at once, so that the second costs no round trip where the server is known
    /// to execute one after the other.
    pub(super) fn say_both(
        &mut self,
        cx: &Context,
        session: Handle,
        (step, command): (Step, &str),
        (then, next): (Step, &str),
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        (state.step, state.then) = (step, Some(then));
        queue(cx, state, command);
        queue(cx, state, next);
        flush(state, out);
        self.touch(cx, session);
    }

    pub(super) fn say_with_path(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        verb: &str,
        path: &str,
        out: Out<'_, M>,
    ) {
        let path = &*relative(path);
        let command = if path.is_empty() { verb.into() } else { format!("{verb} {path}") };
        self.say(cx, session, step, &command, out);
    }

    /// Sends QUIT, and with it the end, so that nothing has to be waited for.
    pub(super) fn quit(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if let Some(state) = self.sessions.get_mut(session).filter(|_| !self.config.quits) {
            (state.step, state.finished) = (Step::Quitting, true);
            out.request(StreamsRequest::Close { name: state.control });
            return self.touch(cx, session);
        }
        self.say(cx, session, Step::Quitting, "QUIT", out);
    }

    /// Aborts a transfer: the data association is reset, and the server is sent ABOR.
    pub(super) fn abort(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.drop_data(cx, session, out);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.next_port == NextPort::Asked {
            // Whether ABOR overtakes what waits is up to the server.
            return self.start_elsewhere(cx, session, out);
        }
        // With the final reply of the transfer outstanding, two are to come.
        let replies = if state.step == Step::Complete { 1 } else { 2 };
        // TLS has no expedited octets.
        let expedites = self.config.expedite && self.config.tls == TlsMode::Off;
        if expedites && state.unsent.is_empty() && state.credit > 16 {
            // Telnet's IP and Synch, with the urgent octet where BSD puts it (RFC 959 §4.1.3,
            // erratum of practice: the mark stands on the IAC, not on the DM).
            let signal = M::with_headroom(0, &[0xFF, 0xF4, 0xFF]);
            state.credit -= signal.len();
            out.request(StreamsRequest::Send {
                association: state.control,
                batch: signal.into(),
                properties: StreamProperties { expedited: true },
            });
            state.unsent.push(0xF2);
        }
        self.say(cx, session, Step::Aborting(replies), "ABOR", out);
    }
}

/// Adds a command to what is to be sent. It waits for the reply to the one before (RFC 959 §5.4)
/// unless the server is known to take several: others drop what arrives with the first, or reply in
/// an order of their own. What ends a transfer does not wait for it.
pub(super) fn queue(cx: &Context, session: &mut Session, command: &str) {
    let waits = session.unanswered > 0 || !session.held.is_empty();
    if waits && !session.pipelines && !matches!(command, "ABOR" | "INTR") {
        return session.held.push_back(command.into());
    }
    put(cx, session, command);
}

/// Sends the next command that waits, if it waits for nothing any more.
pub(super) fn release<M: Message>(cx: &Context, session: &mut Session, out: Out<'_, M>) {
    while session.unanswered == 0 || session.pipelines {
        let Some(command) = session.held.pop_front() else { return };
        put(cx, session, &command);
        flush(session, out);
    }
}

fn put(cx: &Context, session: &mut Session, command: &str) {
    let shown = if command.starts_with("PASS ") { "PASS ****" } else { command };
    cx.event(NAME, format_args!("▸ {shown}"));
    session.unsent.extend_from_slice(command.as_bytes());
    session.unsent.extend_from_slice(b"\r\n");
    session.unanswered += 1;
}

pub(super) fn flush<M: Message>(session: &mut Session, out: Out<'_, M>) {
    let length = session.unsent.len().min(session.credit);
    if length > 0 {
        let message = M::with_headroom(0, &session.unsent[..length]);
        session.unsent.drain(..length);
        session.credit -= length;
        out.request(StreamsRequest::Send {
            association: session.control,
            batch: message.into(),
            properties: Default::default(),
        });
    }
    if session.step == Step::Quitting
        && session.unsent.is_empty()
        && session.held.is_empty()
        && !mem::replace(&mut session.finished, true)
    {
        out.request(StreamsRequest::Finish { association: session.control });
    }
}
