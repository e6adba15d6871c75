//! The disk's answers to what commands asked.

use alloc::format;
use alloc::string::String;
use core::mem;
use core::ops::Range;

use stackwright_contract::services::{
    Failure, FileKind, FilesRequest, FolderEntry, Purpose, Status,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::question::{Deed, Question, Style};
use super::super::state::Work;
use super::super::transfer::{last_part, refusal};
use super::super::{Out, Server};
use crate::{listing, path, reply, time};

/// An answer of the disk.
pub(in super::super) enum Answer {
    Stated(Result<Status, Failure>),
    Digested(Result<([u8; 32], u64), Failure>),
    Room(Result<u64, Failure>),
    Done(Result<(), Failure>),
}

/// Returns what is asked of the disk.
pub(super) fn request<M>(token: Handle, question: &Question, path: String) -> FilesRequest<M> {
    match question {
        Question::Digest { octets, part, .. } => {
            FilesRequest::Digest { token, path, octets: octets.clone(), part: *part }
        }
        Question::Room => FilesRequest::Room { token, path },
        Question::Size { part } => FilesRequest::Stat { token, path, part: *part, is_file: false },
        // Whether it can be entered is known by entering it.
        Question::Folder if path != "/" => {
            FilesRequest::Stat { token, path: path + "/.", part: false, is_file: false }
        }
        Question::Resume => FilesRequest::Stat { token, path, part: true, is_file: false },
        _ => FilesRequest::Stat { token, path, part: false, is_file: false },
    }
}

impl<M: Message> Server<M> {
    /// Handles an answer of the disk.
    pub(in super::super) fn answered(
        &mut self,
        cx: &Context,
        session: Handle,
        answer: Answer,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Work::Asked(question, path) = mem::replace(&mut state.work, Work::Idle) else {
            return;
        };
        match answer {
            Answer::Stated(result) => self.stated(cx, session, question, path, result, out),
            Answer::Digested(result) => self.digested(cx, session, question, path, result, out),
            Answer::Room(Ok(octets)) => self.answer(cx, session, 213, &format!("{octets}")),
            Answer::Done(Ok(())) => self.done(cx, session, question, &path),
            Answer::Room(Err(failure)) => self.refuse(cx, session, failure),
            Answer::Done(Err(failure)) => {
                let (code, text) = refusal(failure);
                // A name that RNTO or MKD cannot use (RFC 959 §5.4).
                let made = matches!(question, Question::Done(Deed::Renamed));
                let code = if made && failure == Failure::BadName { 553 } else { code };
                self.reply(cx, session, code, text);
            }
        }
        self.obeyed(cx, session, out);
    }

    fn refuse(&mut self, cx: &Context, session: Handle, failure: Failure) {
        let (code, text) = refusal(failure);
        self.reply(cx, session, code, text);
    }

    fn stated(
        &mut self,
        cx: &Context,
        session: Handle,
        question: Question,
        path: String,
        result: Result<Status, Failure>,
        out: Out<'_, M>,
    ) {
        let unknown = matches!(result, Err(Failure::NotFound | Failure::Unsupported));
        match (question, result) {
            // What has no part is asked for as a file.
            (Question::Size { part: true }, Err(_)) => {
                self.ask(cx, session, Question::Size { part: false }, path, out);
            }
            (Question::Resume, Err(_)) => self.store(cx, session, path, out),
            (Question::Resume, Ok(status)) => self.resume(cx, session, path, status.size, out),
            // Files that cannot tell what a name stands for may be able to list it all the same:
            // those of another server.
            (Question::List(style), result) if unknown => {
                self.list_unknown(cx, session, style, path, result.err(), out);
            }
            // They may be able to remove or rename it, too.
            (Question::Delete | Question::RemoveFolder, Err(Failure::Unsupported)) => {
                self.remove(cx, session, path, out);
            }
            (Question::RenameFrom, Err(Failure::Unsupported)) => {
                self.rename_from(cx, session, path);
            }
            (_, Err(failure)) => self.refuse(cx, session, failure),
            (Question::Size { .. }, Ok(Status { kind: FileKind::File, size, .. })) => {
                self.answer(cx, session, 213, &format!("{size}"));
            }
            (Question::Size { .. }, Ok(_)) => {
                self.reply(cx, session, 550, "That is not a file.");
            }
            // It is about files (RFC 3659 §3); MLST tells it of a folder.
            (Question::Modified, Ok(Status { kind: FileKind::Folder, .. })) => {
                self.reply(cx, session, 550, "That is not a file.");
            }
            (Question::Modified, Ok(Status { modified: Some(modified), .. })) => {
                self.answer(cx, session, 213, &time::format(modified));
            }
            (Question::Modified, Ok(_)) => {
                self.reply(cx, session, 550, "When that was modified is not known.");
            }
            (Question::Facts, Ok(status)) => self.tell_facts(cx, session, &path, &status),
            (Question::Folder, Ok(status)) => self.enter(cx, session, path, &status),
            (Question::Recital, Ok(Status { kind: FileKind::Folder, .. })) => {
                self.recite(cx, session, path, out);
            }
            (Question::Recital, Ok(status)) => {
                let line = self.long_line(cx, session, &path, status);
                let lines = [format!(" {}", line.trim_end())].into_iter();
                let lines = reply::lines(213, "Status:", lines, "End");
                self.reply_lines(cx, session, &lines);
            }
            (Question::Delete, Ok(Status { kind: FileKind::Folder, .. })) => {
                self.reply(cx, session, 550, "That is a folder: RMD removes it.");
            }
            (Question::RemoveFolder, Ok(status)) if status.kind != FileKind::Folder => {
                self.reply(cx, session, 550, "That is not a folder: DELE removes it.");
            }
            (Question::Delete | Question::RemoveFolder, Ok(_)) if path == "/" => {
                self.refuse(cx, session, Failure::Denied);
            }
            (Question::Delete | Question::RemoveFolder, Ok(_)) => {
                self.remove(cx, session, path, out);
            }
            (Question::RenameFrom, Ok(_)) => self.rename_from(cx, session, path),
            (Question::List(style), Ok(status)) => {
                self.list_known(cx, session, style, path, status, out);
            }
            // An answer to another question.
            (Question::Digest { .. } | Question::Room | Question::Done(_), Ok(_)) => {
                self.refuse(cx, session, Failure::Broken);
            }
        }
    }

    /// Lists a name of which nothing is known: with a pattern, the folder that it is in.
    fn list_unknown(
        &mut self,
        cx: &Context,
        session: Handle,
        style: Style,
        path: String,
        failure: Option<Failure>,
        out: Out<'_, M>,
    ) {
        let matches = matches!(&style, Style::Long(Some(_)) | Style::Names(Some(_), _));
        if matches {
            let folder = path::resolve(&path, "..");
            self.list(cx, session, folder, style, out);
        } else if failure == Some(Failure::NotFound) && style == Style::Facts {
            self.refuse(cx, session, Failure::NotFound);
        } else {
            self.list(cx, session, path, style, out);
        }
    }

    /// Lists a folder, or one file. A name that looks like a pattern is listed as the name it is.
    fn list_known(
        &mut self,
        cx: &Context,
        session: Handle,
        style: Style,
        path: String,
        status: Status,
        out: Out<'_, M>,
    ) {
        let folder = status.kind == FileKind::Folder;
        match style {
            Style::Facts if folder => self.list(cx, session, path, Style::Facts, out),
            // RFC 3659 §7.2.1
            Style::Facts => self.reply(cx, session, 501, "That is not a folder: MLST tells of it."),
            Style::Long(_) if folder => self.list(cx, session, path, Style::Long(None), out),
            Style::Names(..) if folder => {
                self.list(cx, session, path, Style::Names(None, String::new()), out);
            }
            Style::Long(_) => {
                let line = self.long_line(cx, session, &path, status);
                self.list_one(cx, session, path, &line, out);
            }
            Style::Names(_, before) => {
                let line = format!("{before}{}\r\n", last_part(&path));
                self.list_one(cx, session, path, &line, out);
            }
        }
    }

    fn long_line(&self, cx: &Context, session: Handle, path: &str, status: Status) -> String {
        let entry = FolderEntry::new(last_part(path), status);
        let writable = self.writable(session);
        // A name may hold what would end the line.
        let line = listing::line(&entry, writable, self.since_1970(cx));
        line.replace(['\r', '\n', '\0'], "") + "\r\n"
    }

    /// Replies to MLST (RFC 3659 §7.2).
    fn tell_facts(&mut self, cx: &Context, session: Handle, path: &str, status: &Status) {
        let Some(state) = self.sessions.get(session) else { return };
        let facts = state.facts.of(status, None, self.writable(session));
        let line = format!(" {facts} {path}").replace(['\r', '\n', '\0'], "");
        let lines = reply::lines(250, "Facts:", [line].into_iter(), "End");
        self.reply_lines(cx, session, &lines);
    }

    fn enter(&mut self, cx: &Context, session: Handle, path: String, status: &Status) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // Where nobody may search it, nothing in it can be reached.
        let closed = status.mode.is_some_and(|mode| mode & 0o111 == 0);
        if status.kind != FileKind::Folder {
            return self.reply(cx, session, 550, "That is not a folder.");
        }
        if closed {
            return self.refuse(cx, session, Failure::Denied);
        }
        let text = format!("{} is the working folder.", path::quoted(&path));
        state.folder = path;
        self.reply(cx, session, 250, &text);
    }

    fn remove(&mut self, cx: &Context, session: Handle, path: String, out: Out<'_, M>) {
        let removed = (Deed::Removed, path.clone());
        let request = |token| FilesRequest::Remove { token, path };
        self.ask_to_do(cx, session, removed, request, out);
    }

    fn rename_from(&mut self, cx: &Context, session: Handle, path: String) {
        if path == "/" {
            return self.refuse(cx, session, Failure::Denied);
        }
        if let Some(state) = self.sessions.get_mut(session) {
            state.rename_from = Some(path);
        }
        self.reply(cx, session, 350, "RNTO says the new name.");
    }

    /// Continues an upload, of which `size` octets are there.
    fn resume(&mut self, cx: &Context, session: Handle, path: String, size: u64, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.restart > size {
            state.restart = 0;
            return self.refuse(cx, session, Failure::Short);
        }
        self.store_as(cx, session, path, Purpose::Resume, out);
    }

    fn digested(
        &mut self,
        cx: &Context,
        session: Handle,
        question: Question,
        path: String,
        result: Result<([u8; 32], u64), Failure>,
        out: Out<'_, M>,
    ) {
        let Question::Digest { octets, part, hash } = question else { return };
        match result {
            // What has no part is asked for as a file.
            Err(_) if part => {
                self.digests += 1;
                self.ask(cx, session, Question::Digest { octets, part: false, hash }, path, out);
            }
            Err(failure) => self.refuse(cx, session, failure),
            Ok((digest, length)) => {
                let digest: String = digest.iter().map(|octet| format!("{octet:02x}")).collect();
                if hash {
                    let Range { start, .. } = octets;
                    // The last octet, as RANG names it; of nothing, there is none.
                    let last = start.saturating_add(length.saturating_sub(1));
                    let name = last_part(&path);
                    let text = format!("SHA-256 {start}-{last} {digest} {name}");
                    self.answer(cx, session, 213, &text);
                } else {
                    self.answer(cx, session, 250, &digest);
                }
            }
        }
    }

    fn done(&mut self, cx: &Context, session: Handle, question: Question, path: &str) {
        let Question::Done(deed) = question else { return };
        match deed {
            Deed::Made => {
                let text = format!("{} is made.", path::quoted(path));
                self.answer(cx, session, 257, &text);
            }
            Deed::Removed => self.reply(cx, session, 250, "It is removed."),
            Deed::Renamed => self.reply(cx, session, 250, "It is renamed."),
            Deed::Modified(when) => {
                let text = format!("Modify={}; {path}", time::format(when));
                self.answer(cx, session, 213, &text);
            }
            Deed::Mode => self.reply(cx, session, 200, "It has these permissions."),
        }
    }
}
