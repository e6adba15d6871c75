//! The commands, a group a file. One is obeyed after the other: what comes while a session is busy
//! waits, except what the [table](crate::command::TABLE) says to overtake a transfer.
//!
//! | file | what |
//! | --- | --- |
//! | `access.rs` | who uses the session |
//! | `folders.rs`, `names.rs` | what is done with names; what is known of them |
//! | `transfers.rs`, `data.rs`, `parameters.rs` | transfers, their associations, how they look |
//! | `information.rs` | what the server tells of itself |
//! | `answers.rs` | the disk's answers to all of these |

mod access;
mod answers;
mod data;
mod folders;
mod information;
mod names;
mod parameters;
mod transfers;

pub(super) use answers::Answer;

use alloc::format;
use alloc::string::String;

use stackwright_base::session::Removed;
use stackwright_contract::services::{FilesRequest, Keep};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::question::{Deed, Question};
use super::state::{File, FileUse, OBEYED_MOST, PeerHalf, Transfer, UNSENT_MOST, Work};
use super::transfer::NO_DATA;
use super::{Indication, Out, Server};
use crate::NAME;
use crate::command::{Access, Command, CommandNeeds, Mistake, NameCommand, Row, Transfers};
use crate::line::LineEvent;

impl<M: Message> Server<M> {
    /// Obeys what does not wait for the transfer: what ends it, even where it was sent before that
    /// transfer began, and what asks for its state, unless something else waits before.
    fn obey_overtaking(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        loop {
            let Some(state) = self.sessions.get_mut(session) else { return };
            if let Work::Asked(Question::Digest { .. }, _) = state.work {
                return self.obey_abort_of_digest(cx, session, out);
            }
            let Some(transfer) = state.transfer() else { return };
            // A stored file that is getting its name cannot be given up any more.
            let can_end = !matches!(transfer.file, File::Keeping(_) | File::Parting(_));
            let waiting = &state.control.waiting;
            let ends = |event: &LineEvent| matches!(overtaking(event), Some("ABOR" | "INTR"));
            if can_end && let Some(place) = waiting.iter().position(ends) {
                let event = state.control.take(place);
                match event.as_ref().and_then(overtaking) {
                    Some("INTR") => self.interrupt_transfer(cx, session, out),
                    _ => {
                        self.abort_transfer(cx, session, out);
                        self.reply(cx, session, 226, "The abort is done.");
                    }
                }
                return;
            }
            let asks = waiting.front().and_then(overtaking) == Some("STAT");
            if !asks || state.control.unsent.len() >= UNSENT_MOST {
                return;
            }
            state.control.take(0);
            self.tell_state(cx, session);
        }
    }

    /// Obeys ABOR while a digest is computed.
    fn obey_abort_of_digest(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let aborts = |event: &LineEvent| overtaking(event) == Some("ABOR");
        if let Some(place) = state.control.waiting.iter().position(aborts) {
            state.control.take(place);
            self.give_up_digest(session, out);
            self.reply(cx, session, 426, "The digest was given up.");
            self.reply(cx, session, 226, "The abort is done.");
        }
    }

    /// Gives up the digest that is computed for a session, if one is.
    fn give_up_digest(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if !matches!(state.work, Work::Asked(Question::Digest { .. }, _)) {
            return;
        }
        state.work = Work::Idle;
        let is_its =
            |use_: &FileUse| matches!(use_, FileUse::Question { session: of } if *of == session);
        let found = self.files.iter().find(|(_, use_)| is_its(use_)).map(|(token, _)| token);
        if let Some(file) = found
            && let Some(use_) = self.files.get_mut(file)
        {
            *use_ = FileUse::Forgotten;
            Self::ask_files(out, FilesRequest::Close { file, keep: Keep::Nothing });
        }
    }

    /// Obeys what waits, as long as nothing keeps the session busy and it has its turn.
    pub(super) fn obey_waiting(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        loop {
            self.obey_overtaking(cx, session, out);
            let Some(state) = self.sessions.get_mut(session) else { return };
            if !state.can_obey() || state.control.obeyed >= OBEYED_MOST {
                break;
            }
            state.control.parse();
            let Some(heard) = state.control.take(0) else {
                if state.control.half >= PeerHalf::Finished {
                    self.leave(cx, session);
                }
                break;
            };
            state.control.obeyed += 1;
            self.touch(cx, session);
            match heard {
                LineEvent::Line(line) => self.obey_line(cx, session, &line, out),
                LineEvent::TooLong => self.reply(cx, session, 500, "The line is too long."),
                LineEvent::NotText => self.reply(cx, session, 501, "The line is not UTF-8."),
                LineEvent::Decline(octets) => self.decline(session, octets),
            }
        }
        self.mark(session);
    }

    /// Goes on after a command that took some time.
    pub(super) fn obeyed(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.touch(cx, session);
        self.obey_waiting(cx, session, out);
    }

    fn decline(&mut self, session: Handle, octets: [u8; 3]) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.control.unsent.extend_from_slice(&octets);
            self.mark(session);
        }
    }

    fn obey_line(&mut self, cx: &Context, session: Handle, line: &str, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A password never reaches a trace.
        let shown = if line.get(..4).is_some_and(|verb| verb.eq_ignore_ascii_case("PASS")) {
            "PASS ****"
        } else {
            line
        };
        cx.event(NAME, format_args!("{} ▸ {shown}", state.control.peer));
        let is_stranger = state.rights().is_none();
        let row = Row::of(line);
        let parsed = row.and_then(|(row, argument)| Ok((row, row.parse(argument)?)));
        // RNTO follows RNFR at once (RFC 959 §4.1.3).
        if !matches!(parsed, Ok((_, Command::Names(NameCommand::Rnto(_))))) {
            state.rename_from = None;
        }
        match parsed {
            // Before mistakes in the argument: none of them would help.
            _ if is_stranger && row.is_ok_and(|(row, _)| row.needs.login()) => {
                self.reply(cx, session, 530, "Log in with USER and PASS first.");
            }
            Ok((row, command)) => {
                if let Some((code, text)) = self.lacks(session, row.needs, &command) {
                    self.reply(cx, session, code, text);
                } else {
                    self.obey(cx, session, command, out);
                }
            }
            Err(mistake) => self.mistake(cx, session, mistake),
        }
    }

    fn mistake(&mut self, cx: &Context, session: Handle, mistake: Mistake) {
        self.reply(cx, session, mistake.code(), &capital(&format!("{mistake}.")));
    }

    /// Returns the refusal of a command that needs what the session does not have.
    fn lacks(
        &self,
        session: Handle,
        needs: CommandNeeds,
        command: &Command<'_>,
    ) -> Option<(u16, &'static str)> {
        let state = self.sessions.get(session)?;
        let rights = state.rights();
        if needs == CommandNeeds::Login && rights.is_some() {
            return None;
        }
        // Behind REST, whether the file has that octet is said first (RFC 3659 §5.4).
        let asks_file_first = state.restart > 0
            && matches!(command, Command::Transfers(Transfers::Retr(_) | Transfers::Stor(_)));
        match command {
            Command::Access(Access::User(_) | Access::Pass(_))
                if self.config.security.required() && !state.protection.control =>
            {
                Some((530, "Say AUTH TLS first: nobody logs in without encryption here."))
            }
            _ if needs.write() && !rights.is_some_and(|rights| rights.write) => {
                Some((550, "You may not change files here."))
            }
            _ if needs.data() && state.lacks_data(self.config.merged) && !asks_file_first => {
                Some(NO_DATA)
            }
            _ if needs.data() && self.config.security.required() && !state.protection.data => {
                Some((521, "Say PROT P first: nothing is sent without encryption here."))
            }
            _ => None,
        }
    }

    fn obey(&mut self, cx: &Context, session: Handle, command: Command<'_>, out: Out<'_, M>) {
        match command {
            Command::Access(command) => self.obey_access(cx, session, command, out),
            Command::Folders(command) => self.obey_folders(cx, session, command, out),
            Command::Names(command) => self.obey_names(cx, session, command, out),
            Command::Transfers(command) => self.obey_transfers(cx, session, command, out),
            Command::Data(command) => self.obey_data(cx, session, command, out),
            Command::Parameters(command) => self.obey_parameters(cx, session, command),
            Command::Information(command) => self.obey_information(cx, session, command, out),
        }
    }

    /// Asks the disk, about a path that is resolved.
    fn ask(
        &mut self,
        cx: &Context,
        session: Handle,
        question: Question,
        path: String,
        out: Out<'_, M>,
    ) {
        let token = self.files.name(FileUse::Question { session });
        let request = answers::request(token, &question, path.clone());
        self.await_answer(cx, session, question, path);
        Self::ask_files(out, request);
    }

    /// Has the disk do something, whose answer is that it is done.
    fn ask_to_do(
        &mut self,
        cx: &Context,
        session: Handle,
        (deed, path): (Deed, String),
        request: impl FnOnce(Handle) -> FilesRequest<M>,
        out: Out<'_, M>,
    ) {
        let token = self.files.name(FileUse::Question { session });
        self.await_answer(cx, session, Question::Done(deed), path);
        Self::ask_files(out, request(token));
    }

    fn await_answer(&mut self, cx: &Context, session: Handle, question: Question, path: String) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.work = Work::Asked(question, path);
        }
        self.touch(cx, session);
    }

    /// Ends a session whose client is gone.
    pub(super) fn forget_session(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.control.hush();
        if let Some(Transfer { .. }) = state.transfer() {
            self.lose_transfer(cx, session, out);
        }
        self.end_recital(session, out);
        self.give_up_digest(session, out);
        self.forget_data(cx, session, out);
        if let Removed::Last(state) = self.sessions.close(session) {
            self.crowd.leave(state.control.peer.ip());
            out.indicate(Indication::Left { peer: state.control.peer.into() });
        }
    }
}

/// Returns the name of a command that overtakes a transfer.
fn overtaking(event: &LineEvent) -> Option<&'static str> {
    let LineEvent::Line(line) = event else { return None };
    let row = Row::named(line.trim()).filter(|row| row.overtakes)?;
    Some(row.name)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
