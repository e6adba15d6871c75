//! The beginning of transfers.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use stackwright_contract::services::{
    Ended, Failure, FileKind, FilesRequest, FolderEntry, Purpose,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::question::Style;
use super::state::{Data, File, FileUse, Motion, Transfer, Work};
use super::{Out, Server, Trouble};
use crate::listing;

/// What announces a listing.
const LISTING: &str = "Here is the listing.";
/// The reply to a transfer for which no data connection was arranged.
pub(super) const NO_DATA: (u16, &str) = (425, "Say PASV, EPSV, PORT or EPRT first.");
/// The reply to REST in a form in which it has no meaning.
pub(super) const NO_RESTART: &str =
    "REST and RANG count the octets of a file: they need TYPE I and STRU F.";

impl<M: Message> Server<M> {
    pub(super) fn retrieve(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // The later of REST and RANG counts: each forgets the other.
        let next = mem::take(&mut state.restart);
        let range = state.range.take().unwrap_or(next..u64::MAX);
        if range != (0..u64::MAX) && !state.form.restarts() {
            return self.reply(cx, session, 501, NO_RESTART);
        }
        // What is encoded or encrypted is looked at.
        let as_octets = !state.form.is_plain() || state.protection.data;
        let purpose = Purpose::Read { as_octets, versioned: false };
        let Range { start: next, end: until } = range;
        let (asked, expected, end) = (VecDeque::new(), None, false);
        let motion = Motion::Retrieve { next, until, asked, expected, end };
        self.open(cx, session, path, purpose, motion, out);
    }

    /// Stores a file from the octet that REST says.
    pub(super) fn store(&mut self, cx: &Context, session: Handle, path: String, out: Out<'_, M>) {
        let Some(state) = self.sessions.get(session) else { return };
        let purpose = match state.restart {
            0 if state.autorestart => Purpose::Part,
            from => Purpose::Create { from },
        };
        self.store_as(cx, session, path, purpose, out);
    }

    pub(super) fn store_as(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        purpose: Purpose,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let next = mem::take(&mut state.restart);
        if next > 0 && !state.form.restarts() {
            return self.reply(cx, session, 501, NO_RESTART);
        }
        self.open(cx, session, path, purpose, Motion::Store { next, unwritten: 0 }, out);
    }

    pub(super) fn list(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        style: Style,
        out: Out<'_, M>,
    ) {
        let motion = Motion::List { style, text: None, asked: false, end: false };
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
        let motion = Motion::List { style: Style::Facts, text: None, asked: false, end: false };
        self.begin(cx, session, path, File::Absent, Purpose::List, motion);
        self.resecure_data(session, out);
        if let Some(transfer) = self.sessions.get_mut(session).and_then(|state| state.transfer()) {
            transfer.list(line, true);
        }
        self.accepted(cx, session, LISTING, "", out);
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
        self.begin(cx, session, path, File::Absent, purpose, motion);
        self.resecure_data(session, out);
        if !self.take_over(cx, session, out) {
            self.open_file(session, File::Absent, out);
        }
    }

    /// Opens the file of a transfer that waits in this state.
    pub(super) fn open_file(&mut self, session: Handle, waits: File, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(transfer) = state.transfer().filter(|transfer| transfer.file == waits) else {
            return;
        };
        let file = self.files.name(FileUse::Transfer { session });
        transfer.file = File::Opening(file);
        let (path, purpose) = (transfer.path.clone(), transfer.purpose);
        Self::ask_files(out, FilesRequest::Open { file, path, purpose });
    }

    fn begin(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        file: File,
        purpose: Purpose,
        motion: Motion<M>,
    ) {
        if let Some(state) = self.sessions.get_mut(session) {
            let (form, now) = (state.form, cx.now());
            state.work = Work::Transfer(Transfer::new(path, file, purpose, motion, form, now));
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
        let mut needed = String::new();
        match (&mut transfer.motion, size) {
            (Motion::Retrieve { next, until, expected, .. }, Some(size)) => {
                if *next > size {
                    return self.refuse_transfer(cx, session, Failure::Short, out);
                }
                let octets = size.min(*until).saturating_sub(*next);
                *expected = Some(octets);
                // Clients read the size from here for their progress bars.
                if transfer.form.is_plain() {
                    needed = format!("({octets} bytes)");
                }
            }
            (Motion::Store { next, .. }, size) => {
                let size = size.unwrap_or(*next);
                match transfer.purpose {
                    Purpose::Append => *next = size,
                    // It has become shorter since it was asked for.
                    Purpose::Resume if *next > size => {
                        return self.refuse_transfer(cx, session, Failure::Short, out);
                    }
                    Purpose::Resume => transfer.least = size,
                    // RFC 1123 §4.1.2.9
                    Purpose::New => needed = format!("FILE: {}", last_part(&transfer.path)),
                    _ => {}
                }
            }
            _ => {}
        }
        let text = match transfer.purpose {
            Purpose::List => LISTING.into(),
            Purpose::New => needed.clone(),
            _ if needed.is_empty() => {
                format!("Opening the data connection for {}.", transfer.path)
            }
            _ => format!("Opening the data connection for {} {needed}.", transfer.path),
        };
        self.accepted(cx, session, &text, &needed, out);
    }

    /// Says that the data association may begin; `needed` is what a client that suppresses text
    /// gets of it.
    fn accepted(
        &mut self,
        cx: &Context,
        session: Handle,
        text: &str,
        needed: &str,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.lacks_data(self.config.merged) {
            return self.fail(cx, session, Trouble::Data(Ended::Unlistened), NO_DATA, out);
        }
        let kept = matches!(&state.data, Data::Arrived(link) if link.kept);
        let text = if state.terse { needed } else { text };
        self.answer(cx, session, if kept { 125 } else { 150 }, text);
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
        let (now, writable) = (self.since_1970(cx), self.writable(session));
        let Some(state) = self.sessions.get_mut(session) else { return };
        let facts = state.facts;
        let Some(transfer) = state.transfer() else { return };
        let Motion::List { style, asked, .. } = &mut transfer.motion else { return };
        *asked = false;
        let lines: String = entries
            .iter()
            .filter(|entry| is_listed(entry))
            .filter_map(|entry| match style {
                Style::Long(Some(pattern)) | Style::Names(Some(pattern), _)
                    if !pattern.matches(&entry.name) =>
                {
                    None
                }
                Style::Long(_) => Some(listing::line(entry, writable, now)),
                Style::Names(_, before) => Some(format!("{before}{}\r\n", entry.name)),
                Style::Facts => {
                    let facts = facts.of(&entry.status, entry.target.as_deref(), writable);
                    Some(format!("{facts} {}\r\n", entry.name))
                }
            })
            .collect();
        transfer.list(&lines, entries.is_empty());
        self.pump(cx, session, out);
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
            (550, "The name is not allowed, or it is that of the wrong kind of thing.")
        }
        Failure::Full => (452, "There is no room left on the disk."),
        Failure::Short => (554, "The file has fewer octets than REST says."),
        Failure::Unsupported => (502, "The files cannot do that."),
        Failure::Lost
        | Failure::NotLoggedIn
        | Failure::Expired
        | Failure::Unreachable
        | Failure::Garbled
        | Failure::UnknownListing(_)
        | Failure::Untrusted { .. }
        | Failure::Insecure(_) => (450, "The files cannot be reached."),
        Failure::Broken | Failure::Damaged | Failure::GivenUp => {
            (451, "The disk reports an error.")
        }
    }
}

/// Returns whether listings tell of an entry: they do of what can be fetched, entered or removed,
/// and of names that a line can hold.
pub(super) fn is_listed(entry: &FolderEntry) -> bool {
    entry.status.kind != FileKind::Other && !entry.name.contains(['\r', '\n', '\0'])
}

/// Returns the last part of a path.
pub(super) fn last_part(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(2, '/').collect();
    parts[0].into()
}
