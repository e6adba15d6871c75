//! A listing in the reply to STAT (RFC 959 §4.1.3). The client's credit bounds it: no more entries
//! are asked of the disk than it has read.

use alloc::format;
use alloc::string::String;
use core::mem;

use stackwright_contract::services::{Failure, FilesRequest, FolderEntry, Keep, Purpose};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::state::{File, FileUse, Recital, UNSENT_MOST, Work};
use super::transfer::refusal;
use super::{Out, Server};
use crate::listing;

impl<M: Message> Server<M> {
    /// Begins to list a folder in the reply.
    pub(super) fn recite(&mut self, cx: &Context, session: Handle, path: String, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let file = self.files.name(FileUse::Recital { session });
        state.work = Work::Recital(Recital { file: File::Opening(file), asked: false });
        self.touch(cx, session);
        Self::ask_files(out, FilesRequest::Open { file, path, purpose: Purpose::List });
    }

    pub(super) fn recital_opened(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(recital) = self.recital(session) else { return };
        let File::Opening(file) = recital.file else { return };
        recital.file = File::Open(file);
        self.reply_lines(cx, session, "212-Listing:\r\n");
        self.go_on_reciting(session, out);
    }

    pub(super) fn recital_entries(
        &mut self,
        cx: &Context,
        session: Handle,
        entries: &[FolderEntry],
        out: Out<'_, M>,
    ) {
        let (now, writable) = (self.since_1970(cx), self.writable(session));
        let Some(recital) = self.recital(session) else { return };
        recital.asked = false;
        if entries.is_empty() {
            self.end_recital(session, out);
            self.reply_lines(cx, session, "212 End\r\n");
            return self.obeyed(cx, session, out);
        }
        let lines: String = entries
            .iter()
            .filter(|entry| super::transfer::is_listed(entry))
            .map(|entry| format!(" {}", listing::line(entry, writable, now)))
            .collect();
        self.reply_lines(cx, session, &lines);
        self.touch(cx, session);
        self.go_on_reciting(session, out);
    }

    /// Handles the end of the folder before that of the listing: it could not be opened, or read.
    pub(super) fn recital_closed(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let Some(recital) = self.recital(session) else { return };
        let opened = matches!(mem::replace(&mut recital.file, File::Absent), File::Open(_));
        self.end_recital(session, out);
        let (code, text) = refusal(failure);
        // What has begun with a code ends with it.
        self.reply(cx, session, if opened { 212 } else { code }, text);
        self.obeyed(cx, session, out);
    }

    /// Asks for more entries, if the client has read those before.
    pub(super) fn go_on_reciting(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let reads = state.control.unsent.len() < UNSENT_MOST;
        if let Work::Recital(Recital { file: File::Open(file), asked, .. }) = &mut state.work
            && reads
            && !mem::replace(asked, true)
        {
            Self::ask_files(out, FilesRequest::Next { file: *file });
        }
    }

    /// Ends a listing, wherever it is.
    pub(super) fn end_recital(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(recital) = self.recital(session) else { return };
        let file = recital.file;
        if let Some(state) = self.sessions.get_mut(session) {
            state.work = Work::Idle;
        }
        if let File::Opening(file) | File::Open(file) = file
            && let Some(use_) = self.files.get_mut(file)
        {
            *use_ = FileUse::Forgotten;
            Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Nothing });
        }
    }

    fn recital(&mut self, session: Handle) -> Option<&mut Recital> {
        match &mut self.sessions.get_mut(session)?.work {
            Work::Recital(recital) => Some(recital),
            _ => None,
        }
    }
}
