//! Octets between a data association and the application.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{
    Credit, Failure, FileKind, FilesIndication, Keep, Status, StreamsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Leaf, Message};

use super::state::{Create, Data, Job, List, Step, What};
use super::{Client, Out};
use crate::reply::Reply;
use crate::{NAME, listing};

/// The longest line of a listing that is read, in octets.
const LISTING_LINE_MOST: usize = 4096;

impl<M: Message> Client<M> {
    /// Begins the job of a session that is logged in, or lets it wait for one.
    pub(super) fn start_job(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return self.free(cx, session, out) };
        match &job.what {
            What::Stat => self.ask_size(cx, session, out),
            What::Read(_) | What::Create(_) | What::List(_) => self.arrange(cx, session, out),
        }
    }

    pub(super) fn job_of(&mut self, session: Handle) -> Option<(Handle, &mut Job<M>)> {
        let name = self.sessions.get(session)?.job?;
        Some((name, self.jobs.get_mut(name)?))
    }

    fn ask_size(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return };
        let path = job.path.clone();
        self.say_with_path(cx, session, Step::Size, "SIZE", &path, out);
    }

    pub(super) fn size_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let size = reply.text.trim().parse().ok().filter(|_| reply.code == 213);
        let unknown = matches!(reply.code, 500..=504); // a server older than RFC 3659
        let Some((name, job)) = self.job_of(session) else { return };
        match &mut job.what {
            What::Stat => {
                let result = match size {
                    Some(size) => Ok(Status::new(FileKind::File, size)),
                    None if unknown => Err(Failure::Unsupported),
                    None => Err(super::receive::failure(reply)),
                };
                self.jobs.remove(name);
                self.free(cx, session, out);
                out.indicate(FilesIndication::Stated { token: name, result });
            }
            // All octets that the server sent are here: was that the file?
            What::Read(read) if size.is_some() || unknown => {
                read.size = Some(size.unwrap_or(read.position));
                if let Some(state) = self.sessions.get_mut(session) {
                    state.step = Step::Complete;
                }
                self.read_to_the_end(cx, session, out);
            }
            _ => self.session_job_failed(cx, session, super::receive::failure(reply), out),
        }
    }

    // ---- reading --------------------------------------------------------------------------------

    pub(super) fn read(
        &mut self,
        cx: &Context,
        file: Handle,
        offset: u64,
        length: usize,
        out: Out<'_, M>,
    ) {
        let Some(Job { session: Some(session), what: What::Read(read), .. }) =
            self.jobs.get_mut(file)
        else {
            return cx.dropped(NAME, "read: no such file");
        };
        let session = *session;
        let first = !mem::replace(&mut read.begun, true);
        let restarts = first && offset != read.next_asked;
        if restarts {
            // It was begun at the first octet, and is requested from another one on. At or beyond
            // the end there is nothing.
            (read.next_asked, read.credit_to, read.position) = (offset, offset, offset);
            read.gathered = None;
            read.end = read.size.is_some_and(|size| offset >= size);
        } else if offset != read.next_asked {
            // FTP only reads forward; to go back would be another transfer.
            return self.session_job_failed(cx, session, Failure::Unsupported, out);
        }
        read.next_asked = read.next_asked.saturating_add(length as u64);
        read.asked.push_back((offset, length));
        if read.end {
            self.answer_reads(file, out);
        } else if restarts {
            self.begin_anew(cx, session, out);
        } else {
            self.give_credit(session, out);
        }
    }

    /// Aborts the transfer that runs, or ran, for another one of the same file.
    fn begin_anew(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        match self.sessions.get(session).map(|session| session.step) {
            Some(Step::Complete) => {
                self.drop_data(cx, session, out);
                self.arrange(cx, session, out);
            }
            Some(_) => self.abort(cx, session, out),
            None => {}
        }
    }

    /// Handles the last reply to ABOR: the file is requested from another octet on, or not any
    /// more.
    pub(super) fn aborted(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if self.job_of(session).is_some() {
            self.arrange(cx, session, out);
        } else {
            self.free(cx, session, out);
        }
    }

    /// Begins the transfer, for which everything is arranged but the position where it begins.
    pub(super) fn ready_to_begin(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return };
        let restart = match &job.what {
            What::Read(read) => read.position,
            What::Create(create) => create.from,
            What::List(_) | What::Stat => 0,
        };
        if restart > 0 {
            self.say(cx, session, Step::Rest, &alloc::format!("REST {restart}"), out);
        } else {
            self.begin(cx, session, out);
        }
    }

    pub(super) fn begin(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return };
        let verb = match &job.what {
            What::Read(_) => "RETR",
            What::Create(_) => "STOR",
            What::List(_) | What::Stat => "LIST",
        };
        let path = job.path.clone();
        self.say_with_path(cx, session, Step::Begin, verb, &path, out);
    }

    /// Notes that the server has agreed to the transfer, and perhaps said how many octets it will
    /// send: most do, in words like `(1000 bytes)`. Any other is asked when all octets are here.
    pub(super) fn begun(&mut self, cx: &Context, session: Handle, reply: &Reply, out: Out<'_, M>) {
        let Some((file, job)) = self.job_of(session) else { return };
        match &mut job.what {
            // Where it was begun anew, the application knows.
            What::Read(read) if read.begun => {}
            What::Read(read) => {
                read.size = announced(&reply.text);
                let size = read.size;
                out.indicate(FilesIndication::Opened { file, size });
            }
            What::Create(_) | What::List(_) => {
                out.indicate(FilesIndication::Opened { file, size: None })
            }
            What::Stat => {}
        }
        self.send_file(cx, session, out);
    }

    pub(super) fn data_delivered(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        message: M,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some((file, job)) = self.job_of(session) else { return };
        match &mut job.what {
            What::Read(read) => {
                read.position = read.position.saturating_add(message.len() as u64);
                match &mut read.gathered {
                    Some(gathered) => gathered.join(message),
                    None => read.gathered = Some(message),
                }
                self.answer_reads(file, out);
            }
            What::List(list) => {
                list.withheld += message.len();
                list.gather(cx, &message);
                self.answer_next(file, association, out);
            }
            What::Create(_) | What::Stat => {
                cx.dropped(NAME, "octets on an association on which we send")
            }
        }
    }

    /// Answers the reads that are complete, and at the end all of them.
    fn answer_reads(&mut self, file: Handle, out: Out<'_, M>) {
        let mut answers = Vec::new();
        let Some(Job { what: What::Read(read), .. }) = self.jobs.get_mut(file) else { return };
        while let Some(&(offset, length)) = read.asked.front() {
            let here = read.gathered.as_ref().map_or(0, M::len);
            if here < length && !read.end {
                break;
            }
            read.asked.pop_front();
            let message = match &mut read.gathered {
                Some(gathered) if here > length => gathered.split_to(length),
                gathered => gathered.take().unwrap_or_else(|| M::with_headroom(0, &[])),
            };
            answers.push(FilesIndication::Read { file, offset, message });
        }
        for answer in answers {
            out.indicate(answer);
        }
    }

    // ---- writing --------------------------------------------------------------------------------

    pub(super) fn write(
        &mut self,
        cx: &Context,
        file: Handle,
        offset: u64,
        message: M,
        out: Out<'_, M>,
    ) {
        let Some(Job { session: Some(session), what: What::Create(create), .. }) =
            self.jobs.get_mut(file)
        else {
            return cx.dropped(NAME, "write: no such file");
        };
        let session = *session;
        if offset != create.next || create.closing {
            return self.session_job_failed(cx, session, Failure::Unsupported, out);
        }
        create.next = create.next.saturating_add(message.len() as u64);
        create.unsent.push_back(message); // bounded by what the application leaves unanswered
        self.send_file(cx, session, out);
    }

    /// Sends as much as there is credit for, and the end after the last octet.
    pub(super) fn send_file(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let (Some(file), Step::Moving) = (state.job, state.step) else { return };
        let Data::Open { association, credit, .. } = &mut state.data else { return };
        let Some(Job { what: What::Create(Create { unsent, closing, finished, .. }), .. }) =
            self.jobs.get_mut(file)
        else {
            return;
        };
        let association = *association;
        let mut written = 0;
        while let Some(message) = unsent.front_mut() {
            let length = message.len().min(*credit);
            if length == 0 && !message.is_empty() {
                break;
            }
            *credit -= length;
            let whole = length == message.len();
            let part = if whole { unsent.pop_front() } else { Some(message.split_to(length)) };
            if let Some(message) = part.filter(|part| !part.is_empty()) {
                out.request(StreamsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: Default::default(),
                });
            }
            written += length;
        }
        if *closing && unsent.is_empty() && !mem::replace(finished, true) {
            out.request(StreamsRequest::Finish { association });
        }
        if written > 0 {
            self.touch(cx, session);
            out.indicate(FilesIndication::Written { file, octets: written });
        }
    }

    // ---- listing --------------------------------------------------------------------------------

    pub(super) fn next_entries(&mut self, cx: &Context, file: Handle, out: Out<'_, M>) {
        let Some(Job { session: Some(session), what: What::List(list), .. }) =
            self.jobs.get_mut(file)
        else {
            return cx.dropped(NAME, "next: no such folder");
        };
        list.wanted = true;
        let session = *session;
        let association = self.sessions.get(session).and_then(|session| session.data.association());
        self.answer_next(file, association.unwrap_or(file), out);
    }

    fn answer_next(&mut self, file: Handle, association: Handle, out: Out<'_, M>) {
        let Some(Job { what: What::List(list), .. }) = self.jobs.get_mut(file) else { return };
        if list.wanted && (list.end || !list.entries.is_empty()) {
            list.wanted = false;
            let entries = mem::take(&mut list.entries);
            out.indicate(FilesIndication::Entries { file, entries });
        }
        // Credit is given back when the entries were taken, or when none was complete.
        if list.withheld > 0 && list.entries.is_empty() && !list.end {
            let credit = mem::take(&mut list.withheld);
            out.request(StreamsRequest::Credit { association, credit: Credit::of_octets(credit) });
        }
    }

    // ---- the end --------------------------------------------------------------------------------

    /// Ends a transfer where both the data and the reply have ended, in whichever order.
    pub(super) fn transfer_may_be_over(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.step != Step::Complete {
            return;
        }
        let data_finished = matches!(state.data, Data::Finished { .. });
        // A server may have failed to connect and yet report success: then nothing will come.
        let data_lost = matches!(state.data, Data::Absent | Data::Gone);
        let Some((file, job)) = self.job_of(session) else { return };
        match &mut job.what {
            What::Create(create) => {
                if create.finished {
                    self.jobs.remove(file);
                    self.abandon_data(cx, session, out);
                    self.free(cx, session, out);
                    out.indicate(FilesIndication::Closed { file, result: Ok(()) });
                } else {
                    // The server is done before all was sent.
                    self.session_job_failed(cx, session, Failure::Lost, out);
                }
            }
            _ if data_lost => self.session_job_failed(cx, session, Failure::Lost, out),
            _ if !data_finished => {} // the reply came first
            What::Read(read) => {
                let unknown = read.size.is_none();
                self.abandon_data(cx, session, out);
                if unknown {
                    self.ask_size(cx, session, out);
                } else {
                    self.read_to_the_end(cx, session, out);
                }
            }
            What::List(list) => {
                list.end = true;
                self.abandon_data(cx, session, out);
                self.touch(cx, session);
                self.answer_next(file, file, out);
            }
            What::Stat => {}
        }
    }

    /// Handles the end of what the server sends.
    fn read_to_the_end(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.touch(cx, session);
        let Some((file, Job { what: What::Read(read), .. })) = self.job_of(session) else { return };
        if read.size.is_some_and(|size| read.position < size) {
            return self.session_job_failed(cx, session, Failure::Short, out);
        }
        read.end = true;
        self.answer_reads(file, out);
    }

    fn abandon_data(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match mem::replace(&mut state.data, Data::Absent) {
            Data::Finished { association } | Data::Open { association, .. } => {
                self.abandon(cx, association)
            }
            other => {
                state.data = other;
                self.drop_data(cx, session, out);
            }
        }
    }

    pub(super) fn close(&mut self, cx: &Context, file: Handle, keep: Keep, out: Out<'_, M>) {
        let Some(job) = self.jobs.get_mut(file) else {
            return cx.dropped(NAME, "close: no such file");
        };
        let session = job.session;
        match &mut job.what {
            What::Create(create) if keep == Keep::Whole => {
                create.closing = true;
                if let Some(session) = session {
                    self.send_file(cx, session, out);
                }
                return; // answered by the server's final reply
            }
            _ => {}
        }
        let result = match &job.what {
            What::Create(_) => Err(Failure::GivenUp),
            _ => Ok(()),
        };
        self.jobs.remove(file);
        self.waiting.retain(|waiting| *waiting != file);
        out.indicate(FilesIndication::Closed { file, result });
        let Some(session) = session else { return };
        match self.sessions.get(session).map(|session| session.step) {
            // Between transfers: the session is free again.
            Some(Step::Complete) => {
                self.drop_data(cx, session, out);
                self.free(cx, session, out);
            }
            Some(Step::Begin | Step::Moving) => self.abort(cx, session, out),
            // While logging in or arranging, it is simpler to begin anew than to undo.
            _ => self.drop_session(cx, session, Failure::GivenUp, out),
        }
    }

    /// Fails a job that has no session.
    pub(super) fn job_failed(&mut self, name: Handle, failure: Failure, out: Out<'_, M>) {
        let Some(job) = self.jobs.remove(name) else { return };
        match job.what {
            What::Stat => {
                out.indicate(FilesIndication::Stated { token: name, result: Err(failure) })
            }
            _ => out.indicate(FilesIndication::Closed { file: name, result: Err(failure) }),
        }
    }

    /// Fails the job of a session. The session goes on where the server clearly refused, and is
    /// dropped otherwise.
    pub(super) fn session_job_failed(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let refused = matches!(
            failure,
            Failure::NotFound
                | Failure::Denied
                | Failure::Full
                | Failure::BadName
                | Failure::Unsupported
        );
        let between = self
            .sessions
            .get(session)
            .is_some_and(|session| matches!(session.step, Step::Size | Step::Begin | Step::Rest));
        if !(refused && between) {
            return self.drop_session(cx, session, failure, out);
        }
        self.drop_data(cx, session, out);
        let job = self.sessions.get_mut(session).and_then(|session| session.job.take());
        if let Some(job) = job {
            self.job_failed(job, failure, out);
        }
        self.free(cx, session, out);
    }

    /// Makes the session free for another job.
    pub(super) fn free(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.job = None;
            state.step = Step::Idle;
        }
        self.assign(cx, out);
        self.touch(cx, session);
    }

    /// Ends the session, and its job with it.
    pub(super) fn drop_session(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        self.drop_data(cx, session, out);
        let Some(state) = self.sessions.forget(session) else { return };
        if self.streams.get(state.control).is_some() {
            self.abandon(cx, state.control);
            out.request(StreamsRequest::Abort { association: state.control, code: 0 });
        }
        if let Some(job) = state.job {
            self.job_failed(job, failure, out);
        }
        self.assign(cx, out);
    }
}

impl List {
    /// Cuts lines, and parses those that have a known form.
    fn gather<M: Message>(&mut self, cx: &Context, message: &M) {
        for leaf in message.leaves() {
            let Leaf::Octets(octets) = leaf else { continue };
            for &octet in octets {
                if octet != b'\n' {
                    if self.partial.len() < LISTING_LINE_MOST {
                        self.partial.push(octet);
                    }
                    continue;
                }
                let line = String::from_utf8(mem::take(&mut self.partial)).unwrap_or_default();
                match listing::parse(line.trim_end_matches('\r')) {
                    Some(entry) => self.entries.push(entry),
                    None => cx.dropped(NAME, "a line of a listing that is of no known form"),
                }
            }
        }
    }
}

/// Parses `(1000 bytes)`, somewhere in the text of a 150 reply.
fn announced(text: &str) -> Option<u64> {
    let (before, _) = text.rsplit_once(" bytes)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::announced;

    #[test]
    fn sizes_that_servers_announce() {
        assert_eq!(
            announced("Opening BINARY mode data connection for a (2).txt (1000 bytes)."),
            Some(1000)
        );
        for other in [
            "Accepted data connection",
            "for x (about 5 bytes)",
            "(-1 bytes)",
            "1000 bytes)",
            "(bytes)",
        ] {
            assert_eq!(announced(other), None, "{other}");
        }
    }
}
