//! A file that is fetched: octets from a data association to the application.

use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{Failure, FilesIndication};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::state::{Data, Job, Step, What};
use super::{Client, Out};
use crate::NAME;
use crate::reply::Reply;

impl<M: Message> Client<M> {
    pub(super) fn read(
        &mut self,
        cx: &Context,
        file: Handle,
        offset: u64,
        length: usize,
        out: Out<'_, M>,
    ) {
        let Some(Job { session, opened, what: What::Read(read), .. }) = self.jobs.get_mut(file)
        else {
            return cx.dropped(NAME, "read: no such file");
        };
        let (session, opened) = (*session, *opened);
        let first = !mem::replace(&mut read.begun, true);
        let restarts = first && offset != read.next_asked;
        if restarts {
            // It was begun at the first octet, and is requested from another one on. At or beyond
            // the end there is nothing.
            (read.next_asked, read.credit_to, read.position) = (offset, offset, offset);
            read.gathered = None;
            read.end = opened && read.size.is_some_and(|size| offset >= size);
        } else if offset != read.next_asked {
            // FTP only reads forward; to go back would be another transfer.
            return match session {
                Some(session) => self.session_job_failed(cx, session, Failure::Unsupported, out),
                None => {
                    self.waiting.retain(|waiting| *waiting != file);
                    self.job_failed(file, Failure::Unsupported, out);
                }
            };
        }
        read.next_asked = read.next_asked.saturating_add(length as u64);
        read.asked.push_back((offset, length));
        if read.end {
            self.answer_reads(file, out);
        } else if let Some(session) = session {
            // Before the transfer has begun, it begins where it shall.
            if restarts && opened {
                self.begin_anew(cx, session, out);
            } else if restarts {
                self.begin_elsewhere_in_the_file(cx, session, out);
            } else {
                self.give_credit(session, out);
                // What arrived before it was asked for is here.
                self.answer_reads(file, out);
            }
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

    /// Aborts a transfer that was requested and has not begun; one that was not begins right.
    fn begin_elsewhere_in_the_file(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if self.sessions.get(session).is_some_and(|session| session.step == Step::Begin) {
            self.abort(cx, session, out);
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

    /// Handles the reply to a SIZE that was sent before the transfer. A server that does not tell
    /// may still have the file.
    pub(super) fn size_known(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let size = reply.text.trim().parse().ok().filter(|_| reply.code == 213);
        match self.job_of(session).map(|(_, job)| &mut job.what) {
            Some(What::Read(read)) => read.size = size.or(read.size),
            Some(What::Create(create)) => {
                // Without a file of that name there is nothing to go on behind.
                let nothing = matches!(reply.code, 450 | 550).then_some(0);
                create.there = size.or(nothing);
                if create.file == Some(size) {
                    create.there = Some(0); // that is the file: it has no part
                }
                create.next = create.there.unwrap_or(0);
            }
            _ => {}
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        match state.then.take() {
            Some(then) => state.step = then,
            None => self.open_beside(cx, session, out),
        }
        self.touch(cx, session);
    }

    /// Handles the reply to a SIZE that was sent together with ARST.
    pub(super) fn size_of_file(&mut self, cx: &Context, session: Handle, reply: &Reply) {
        let size = reply.text.trim().parse().ok().filter(|_| reply.code == 213);
        if let Some((_, Job { what: What::Create(create), .. })) = self.job_of(session) {
            create.file = Some(size);
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(then) = state.then.take() {
            state.step = then;
        }
        self.touch(cx, session);
    }

    pub(super) fn octets_arrived(
        &mut self,
        cx: &Context,
        (session, file): (Handle, Handle),
        message: M,
        out: Out<'_, M>,
    ) {
        let Some(Job { what: What::Read(read), .. }) = self.jobs.get_mut(file) else { return };
        read.position = read.position.saturating_add(message.len() as u64);
        // A server that ignores REST sends the file from its beginning: more than is left of it.
        if read.restart > 0 && read.size.is_some_and(|size| read.position > size) {
            return self.session_job_failed(cx, session, Failure::Damaged, out);
        }
        match &mut read.gathered {
            Some(gathered) => gathered.join(message),
            None => read.gathered = Some(message),
        }
        self.answer_reads(file, out);
    }

    /// Answers the reads that are complete, and at the end all of them.
    pub(super) fn answer_reads(&mut self, file: Handle, out: Out<'_, M>) {
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

    /// Handles the end of what the server sends. Only a size that is larger than what came is a
    /// reason to doubt a clean end (RFC 959 §3.4).
    pub(super) fn read_to_the_end(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.touch(cx, session);
        let Some((file, Job { what: What::Read(read), .. })) = self.job_of(session) else { return };
        if read.size.is_some_and(|size| read.position < size) {
            return self.session_job_failed(cx, session, Failure::Short, out);
        }
        read.end = true;
        self.answer_reads(file, out);
    }

    /// Returns whether all octets of a file have arrived, and only the clean end and the server's
    /// final reply are missing: those two race.
    pub(super) fn is_whole(&mut self, session: Handle) -> bool {
        let waits = self.sessions.get(session).is_some_and(|state| {
            state.step == Step::Moving
                && matches!(state.data, Data::Open { .. } | Data::Finished { .. })
        });
        waits && self.has_size(session)
    }

    /// Returns whether as many octets of a file have arrived as it has.
    pub(super) fn has_size(&mut self, session: Handle) -> bool {
        match self.job_of(session).map(|(_, job)| &job.what) {
            Some(What::Read(read)) => read.size.is_some_and(|size| read.position >= size),
            _ => false,
        }
    }
}
