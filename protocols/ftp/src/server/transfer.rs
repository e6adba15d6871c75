//! The beginning and the end of transfers.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{
    Failure, FilesRequest, FolderEntry, Keep, Purpose, StreamsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::moving::Coding;
use super::state::{Data, File, FileUse, Motion, Transfer, Work};
use super::{Indication, Out, Server, Trouble};
use crate::listing;

/// The reply to REST in a form in which it has no meaning.
pub(super) const NO_RESTART: &str = "REST counts the octets of a file: it needs TYPE I and STRU F.";

impl<M: Message> Server<M> {
    pub(super) fn retrieve(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let next = mem::take(&mut state.restart);
        if next > 0 && !state.form.restarts() {
            return self.reply(cx, session, 501, NO_RESTART);
        }
        let purpose = Purpose::Read { as_octets: !state.form.is_plain() };
        let motion = Motion::Retrieve { next, asked: VecDeque::new(), expected: None, end: false };
        self.open(cx, session, path, purpose, motion, out);
    }

    pub(super) fn store(&mut self, cx: &Context, session: Handle, path: String, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let from = mem::take(&mut state.restart);
        if from > 0 && !state.form.restarts() {
            return self.reply(cx, session, 501, NO_RESTART);
        }
        self.open(
            cx,
            session,
            path,
            Purpose::Create { from },
            Motion::Store { next: from, unwritten: 0 },
            out,
        );
    }

    pub(super) fn list(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        names_only: bool,
        out: Out<'_, M>,
    ) {
        let motion = Motion::List { names_only, text: None, asked: false, end: false };
        self.open(cx, session, path, Purpose::List, motion, out);
    }

    /// Lists a single file, for which no folder has to be opened.
    pub(super) fn list_one(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        line: &str,
        out: Out<'_, M>,
    ) {
        let motion = Motion::List { names_only: false, text: None, asked: false, end: false };
        self.begin(cx, session, path, File::Absent, motion);
        if let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer()) {
            transfer.list(line, true);
        }
        self.accepted(cx, session, "Here is the listing.", out);
    }

    fn open(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        purpose: Purpose,
        motion: Motion<M>,
        out: Out<'_, M>,
    ) {
        let file = self.files.name(FileUse::Transfer { session });
        self.begin(cx, session, path.clone(), File::Opening(file), motion);
        Self::ask_files(out, FilesRequest::Open { file, path, purpose });
    }

    fn begin(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        file: File,
        motion: Motion<M>,
    ) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.work = Work::Transfer(Transfer::new(path, file, motion, state.form, cx.now()));
        }
        self.touch(cx, session);
    }

    pub(super) fn file_opened(
        &mut self,
        cx: &Context,
        session: Handle,
        size: Option<u64>,
        out: Out<'_, M>,
    ) {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let File::Opening(file) = transfer.file else { return };
        transfer.file = File::Open(file);
        let text = match (&mut transfer.motion, size) {
            // Clients read the size from here for their progress bars.
            (Motion::Retrieve { next, expected, .. }, Some(size)) => {
                // A position beyond the end counts as the end, so that no sum of offsets overflows.
                *next = size.min(*next);
                let octets = size - *next;
                *expected = Some(octets);
                if transfer.form.is_plain() {
                    format!("Opening the data connection for {} ({octets} bytes).", transfer.path)
                } else {
                    format!("Opening the data connection for {}.", transfer.path)
                }
            }
            (Motion::List { .. }, _) => "Here is the listing.".into(),
            _ => format!("Opening the data connection for {}.", transfer.path),
        };
        self.accepted(cx, session, &text, out);
    }

    fn accepted(&mut self, cx: &Context, session: Handle, text: &str, out: Out<'_, M>) {
        let Some(state) = self.sessions.get(session) else { return };
        let kept = matches!(&state.data, Data::Arrived(link) if link.kept);
        self.reply(cx, session, if kept { 125 } else { 150 }, text);
        self.want_data(cx, session, out);
    }

    pub(super) fn entries(
        &mut self,
        cx: &Context,
        session: Handle,
        entries: &[FolderEntry],
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let now = self.config.epoch.map(|epoch| epoch + cx.now().nanoseconds() / 1_000_000_000);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let writable = state.rights().is_some_and(|rights| rights.write);
        let Some(transfer) = state.transfer() else { return };
        let Motion::List { names_only, asked, .. } = &mut transfer.motion else { return };
        *asked = false;
        let names_only = *names_only;
        let lines: String = entries
            .iter()
            .filter(|entry| !entry.name.contains(['\r', '\n', '\0']))
            .map(|entry| {
                if names_only {
                    format!("{}\r\n", entry.name)
                } else {
                    listing::line(entry, writable, now)
                }
            })
            .collect();
        transfer.list(&lines, entries.is_empty());
        self.pump(cx, session, out);
    }

    /// Handles the end of a file: a stored file has its name now, or something failed.
    pub(super) fn file_closed(
        &mut self,
        cx: &Context,
        session: Handle,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        transfer.file = File::Absent;
        match result {
            Ok(()) => self.succeed(cx, session, out),
            Err(failure) => self.fail(cx, session, Trouble::File(failure), refusal(failure), out),
        }
    }

    pub(super) fn succeed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(mut transfer) = self.end_transfer(session, out) else { return };
        let mut code = 226;
        match transfer.link.take() {
            Some(link) if link.stays_open(transfer.form) => {
                code = 250; // the association stays open (RFC 959 §3.3)
                self.keep_data(session, link);
            }
            Some(link) => self.part_data(cx, session, &link, out),
            None => {}
        }
        let text = match &transfer.coding {
            Coding::Decode(decoder) if decoder.is_suspect() => {
                "Transfer complete; you marked some of it as suspect."
            }
            _ => "Transfer complete.",
        };
        self.reply(cx, session, code, text);
        self.tell(cx, session, transfer, Ok(()), out);
        self.obeyed(cx, session, out);
    }

    /// Ends a transfer that is not whole; what waits is obeyed next.
    pub(super) fn fail(
        &mut self,
        cx: &Context,
        session: Handle,
        trouble: Trouble,
        reply: (u16, &str),
        out: Out<'_, M>,
    ) {
        self.break_off(cx, session, trouble, reply, out);
        self.obeyed(cx, session, out);
    }

    /// Breaks a transfer off: the peer sees a reset, and a file that was being stored leaves no
    /// trace.
    pub(super) fn break_off(
        &mut self,
        cx: &Context,
        session: Handle,
        trouble: Trouble,
        (code, text): (u16, &str),
        out: Out<'_, M>,
    ) {
        let Some(transfer) = self.end_transfer(session, out) else { return };
        if let Some(link) = &transfer.link {
            self.abandon(cx, link.association);
            Self::ask_streams(
                out,
                StreamsRequest::Abort { association: link.association, code: 0 },
            );
        }
        self.forget_data(cx, session, out);
        self.reply(cx, session, code, text);
        self.tell(cx, session, transfer, Err(trouble), out);
    }

    fn end_transfer(&mut self, session: Handle, out: Out<'_, M>) -> Option<Transfer<M>> {
        let state = self.sessions.get_mut(session)?;
        state.transfer()?;
        let Work::Transfer(transfer) = mem::replace(&mut state.work, Work::Idle) else {
            return None;
        };
        if let File::Opening(file) | File::Open(file) | File::Keeping(file) = transfer.file
            && let Some(use_) = self.files.get_mut(file)
        {
            *use_ = FileUse::Forgotten;
            // A file that is getting its name was closed already.
            if !matches!(transfer.file, File::Keeping(_)) {
                Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Nothing });
            }
        }
        Some(transfer)
    }

    fn tell(
        &mut self,
        cx: &Context,
        session: Handle,
        transfer: Transfer<M>,
        result: Result<(), Trouble>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get(session) else { return };
        out.indicate(Indication::Transferred {
            peer: state.control.peer.into(),
            direction: transfer.motion.direction(),
            path: transfer.path,
            octets: transfer.octets,
            took: cx.now().since(transfer.began),
            result,
        });
    }

    /// Aborts the transfer, at the request of the client or because it is gone.
    pub(super) fn abort_transfer(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.break_off(cx, session, Trouble::GivenUp, (426, "The transfer was aborted."), out);
    }
}

/// Returns the reply to a failure of the disk (RFC 959 §5.4).
pub(super) fn refusal(failure: Failure) -> (u16, &'static str) {
    match failure {
        Failure::NotFound => (550, "There is no such file or folder."),
        Failure::Denied => (550, "That is not allowed."),
        Failure::Exists => (550, "There is a file or folder of that name already."),
        Failure::NotEmpty => (550, "The folder is not empty."),
        Failure::BadName => {
            (553, "That cannot be the name of a file, or it names the wrong kind of thing.")
        }
        Failure::Full => (452, "There is no room left on the disk."),
        Failure::Short => (554, "The file has fewer octets than REST says."),
        Failure::Unsupported => (502, "The files cannot do that."),
        Failure::Lost
        | Failure::NotLoggedIn
        | Failure::Expired
        | Failure::Unreachable
        | Failure::Garbled
        | Failure::Untrusted
        | Failure::Insecure => (450, "The files cannot be reached."),
        Failure::Broken | Failure::Damaged | Failure::GivenUp => {
            (451, "The disk reports an error.")
        }
    }
}

/// Returns the last part of a path.
pub(super) fn last_part(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(2, '/').collect();
    parts[0].into()
}
