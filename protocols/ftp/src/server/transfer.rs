//! Octets between a data association and a file. Credit ties the two together: nothing is read from
//! the disk that the association has no credit for, and nothing from the association that the disk
//! has not written.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{
    Credit, Failure, FilesRequest, FolderEntry, Keep, Purpose, StreamsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::state::{Data, File, FileUse, Motion, READ_AT_ONCE, Transfer, WRITE_AT_ONCE, Work};
use super::{Indication, Out, Server, TransferDirection, Trouble};
use crate::listing;

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
        let motion = Motion::Retrieve { next, asked: VecDeque::new(), expected: None, end: false };
        self.open(cx, session, path, Purpose::Read { as_octets: false }, motion, out);
    }

    pub(super) fn store(&mut self, cx: &Context, session: Handle, path: String, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let from = mem::take(&mut state.restart);
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
        let text = Some(M::with_headroom(0, line.as_bytes()));
        let motion = Motion::List { names_only: false, text, asked: false, end: true };
        self.begin(cx, session, path, File::Absent, motion);
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
            let transfer = Transfer { path, file, link: None, motion, octets: 0, began: cx.now() };
            state.work = Work::Transfer(transfer);
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
                format!("Opening the data connection for {} ({octets} bytes).", transfer.path)
            }
            (Motion::List { .. }, _) => "Here is the listing.".into(),
            _ => format!("Opening the data connection for {}.", transfer.path),
        };
        self.accepted(cx, session, &text, out);
    }

    fn accepted(&mut self, cx: &Context, session: Handle, text: &str, out: Out<'_, M>) {
        self.reply(cx, session, 150, text);
        self.want_data(cx, session, out);
    }

    /// Moves what can be moved.
    pub(super) fn pump(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let Transfer { file, link: Some(link), motion, octets, .. } = transfer else { return };
        let all_sent = match (motion, *file) {
            (Motion::Retrieve { next, asked, expected, end }, File::Open(file)) => {
                // No small reads while larger ones are on their way: the credit they use comes
                // back.
                let length = READ_AT_ONCE.min(link.credit_most.div_ceil(2));
                while !*end && link.credit >= length {
                    link.credit -= length;
                    asked.push_back(length);
                    let offset = *next;
                    *next = next.saturating_add(length as u64);
                    Self::ask_files(out, FilesRequest::Read { file, offset, length });
                }
                let all = *end && asked.is_empty();
                // A regular end would pass for the whole file.
                if all && expected.is_some_and(|expected| *octets < expected) {
                    let text = "The file became shorter while it was sent.";
                    return self.fail(cx, session, Trouble::File(Failure::Short), (451, text), out);
                }
                all
            }
            (Motion::List { text, asked, end, .. }, file) => {
                if let Some(mut rest) = text.take() {
                    let length = rest.len().min(link.credit);
                    if length > 0 {
                        link.credit -= length;
                        *octets += length as u64;
                        let (association, message) = (link.association, rest.split_to(length));
                        Self::ask_streams(
                            out,
                            StreamsRequest::Send {
                                association,
                                batch: message.into(),
                                properties: Default::default(),
                            },
                        );
                    }
                    *text = (!rest.is_empty()).then_some(rest);
                }
                if let (None, File::Open(file), false, false) = (&text, file, *end, *asked) {
                    *asked = true;
                    Self::ask_files(out, FilesRequest::Next { file });
                }
                *end && text.is_none()
            }
            (Motion::Store { next, unwritten }, File::Open(file)) => {
                let enough = |message: &M| {
                    *unwritten == 0 || link.peer_finished || message.len() >= WRITE_AT_ONCE
                };
                if let Some(message) = link.early.take_if(|message| enough(message)) {
                    let length = message.len();
                    let offset = *next;
                    *next = next.saturating_add(length as u64);
                    *unwritten += length;
                    *octets += length as u64;
                    Self::ask_files(out, FilesRequest::Write { file, offset, message });
                }
                if link.peer_finished && *unwritten == 0 {
                    transfer.file = File::Keeping(file);
                    Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Whole });
                }
                false
            }
            _ => false,
        };
        if all_sent {
            let (association, left) = (link.association, link.credit >= link.credit_most);
            if !mem::replace(&mut link.finished, true) {
                Self::ask_streams(out, StreamsRequest::Finish { association });
            }
            if left {
                self.succeed(cx, session, out);
            }
        }
    }

    pub(super) fn on_data_credit(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        credit: usize,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Data::Arrived(link) = &mut state.data
            && link.association == association
        {
            link.credit += credit;
            return;
        }
        if let Some(Transfer { link: Some(link), .. }) = state.transfer()
            && link.association == association
        {
            link.credit += credit;
            self.pump(cx, session, out);
        }
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
        if let Some(link) = self.link(session, association) {
            // Bounded by the credit that was given.
            match &mut link.early {
                Some(early) => early.join(message),
                None => link.early = Some(message),
            }
            self.pump(cx, session, out);
        }
    }

    pub(super) fn data_finished(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A client that fetches may close its half early; it still gets the file.
        let stores =
            matches!(state.transfer(), Some(Transfer { motion: Motion::Store { .. }, .. }) | None);
        if stores && let Some(link) = self.link(session, association) {
            link.peer_finished = true;
            self.pump(cx, session, out);
        }
    }

    fn link(&mut self, session: Handle, association: Handle) -> Option<&mut super::state::Link<M>> {
        let state = self.sessions.get_mut(session)?;
        let link = match (&mut state.data, &mut state.work) {
            (Data::Arrived(link), _) => link,
            (_, Work::Transfer(Transfer { link: Some(link), .. })) => link,
            _ => return None,
        };
        (link.association == association).then_some(link)
    }

    pub(super) fn read(&mut self, cx: &Context, session: Handle, message: M, out: Out<'_, M>) {
        self.touch(cx, session);
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let Transfer {
            link: Some(link), motion: Motion::Retrieve { asked, end, .. }, octets, ..
        } = transfer
        else {
            return;
        };
        let Some(wanted) = asked.pop_front() else { return };
        let length = message.len();
        let association = link.association;
        link.credit += wanted - length;
        *octets += length as u64;
        *end |= length < wanted;
        if length > 0 {
            Self::ask_streams(
                out,
                StreamsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: Default::default(),
                },
            );
        }
        self.pump(cx, session, out);
    }

    pub(super) fn written(
        &mut self,
        cx: &Context,
        session: Handle,
        octets: usize,
        out: Out<'_, M>,
    ) {
        self.touch(cx, session);
        let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer())
        else {
            return;
        };
        let Transfer { link: Some(link), motion: Motion::Store { unwritten, .. }, .. } = transfer
        else {
            return;
        };
        *unwritten -= octets;
        if octets > 0 && !link.peer_finished {
            let association = link.association;
            Self::ask_streams(
                out,
                StreamsRequest::Credit { association, credit: Credit::of_octets(octets) },
            );
        }
        self.pump(cx, session, out);
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
        let Some(Transfer { motion: Motion::List { names_only, text, asked, end }, .. }) =
            state.transfer()
        else {
            return;
        };
        *asked = false;
        *end = entries.is_empty();
        let lines: String = entries
            .iter()
            .filter(|entry| !entry.name.contains(['\r', '\n', '\0']))
            .map(|entry| {
                if *names_only {
                    format!("{}\r\n", entry.name)
                } else {
                    listing::line(entry, writable, now)
                }
            })
            .collect();
        *text = (!lines.is_empty()).then(|| M::with_headroom(0, lines.as_bytes()));
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
        let Some(transfer) = self.end_transfer(session, out) else { return };
        if let Some(link) = &transfer.link {
            if transfer.motion.direction() == TransferDirection::Received {
                Self::ask_streams(out, StreamsRequest::Finish { association: link.association });
            }
            self.linger(cx, session, link.association, out);
        }
        self.reply(cx, session, 226, "Transfer complete.");
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
