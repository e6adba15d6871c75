//! The commands. One is obeyed after the other: what comes while a session is busy waits, except
//! ABOR.

use alloc::format;
use alloc::string::String;
use core::mem;
use core::net::SocketAddr;

use stackwright_base::session::Removed;
use stackwright_contract::services::{Failure, FileKind, FilesRequest, FolderEntry, Status};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::state::{Data, File, FileUse, Leaving, Login, OBEYED_MOST, Question, Transfer, Work};
use super::transfer::{NO_RESTART, last_part, refusal};
use super::{Indication, Out, Server};
use crate::command::{self, Command, EpsvArgument};
use crate::form::{Mode, Representation};
use crate::line::LineEvent;
use crate::{NAME, listing, path, reply};

impl<M: Message> Server<M> {
    /// Obeys ABOR, which does not wait for the transfer that it aborts, even where it was sent
    /// before that transfer began.
    fn obey_abort(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A stored file that is getting its name cannot be given up any more.
        let can_abort =
            state.transfer().is_some_and(|transfer| !matches!(transfer.file, File::Keeping(_)));
        if !can_abort {
            return;
        }
        let aborts = |event: &LineEvent| matches!(event, LineEvent::Line(line) if line.trim().eq_ignore_ascii_case("ABOR"));
        let waiting = &mut state.control.waiting;
        if let Some(place) = waiting.iter().position(aborts) {
            waiting.remove(place);
            self.abort_transfer(cx, session, out);
            self.reply(cx, session, 226, "The abort is done.");
        }
    }

    /// Obeys what waits, as long as nothing keeps the session busy and it has its turn.
    pub(super) fn obey_waiting(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        loop {
            self.obey_abort(cx, session, out);
            let Some(state) = self.sessions.get_mut(session) else { return };
            if !state.can_obey() || state.control.obeyed >= OBEYED_MOST {
                break;
            }
            let Some(heard) = state.control.waiting.pop_front() else {
                if state.control.peer_finished {
                    self.leave(session);
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
        let Some(state) = self.sessions.get(session) else { return };
        // A password never reaches a trace.
        let shown = if line.get(..4).is_some_and(|verb| verb.eq_ignore_ascii_case("PASS")) {
            "PASS ****"
        } else {
            line
        };
        cx.event(NAME, format_args!("{} ▸ {shown}", state.control.peer));
        match Command::parse(line) {
            Ok(command) => self.obey(cx, session, command, out),
            Err(mistake) => {
                self.reply(cx, session, mistake.code(), &capital(&format!("{mistake}.")))
            }
        }
    }

    fn obey(&mut self, cx: &Context, session: Handle, command: Command<'_>, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match command {
            Command::User(name) => self.user(cx, session, name),
            Command::Pass(password) => self.pass(cx, session, password, out),
            Command::Quit => {
                self.reply(cx, session, 221, "Farewell.");
                self.leave(session);
            }
            Command::Noop => self.reply(cx, session, 200, "I am here."),
            Command::Syst => self.reply(cx, session, 215, "UNIX Type: L8"),
            Command::Help => {
                let help =
                    reply::lines(214, "These commands are known:", command::help(), "That is all.");
                self.reply_lines(cx, session, &help);
            }
            Command::Feat => {
                let features = ["EPRT", "EPSV", "MODE Z", "REST STREAM", "SIZE", "UTF8"]
                    .map(|feature| format!(" {feature}"));
                let features = reply::lines(211, "Extensions:", features.into_iter(), "End");
                self.reply_lines(cx, session, &features);
            }
            Command::Opts(option) if option.eq_ignore_ascii_case("UTF8 ON") => {
                self.reply(cx, session, 200, "Names are always UTF-8.");
            }
            Command::Opts(option) if let Some(level) = command::deflate_level(option) => {
                state.level = level;
                if let Mode::Deflate { .. } = state.form.mode {
                    state.form.mode = Mode::Deflate { level };
                }
                self.reply(cx, session, 200, &format!("MODE Z LEVEL set to {level}."));
            }
            Command::Opts(_) => self.reply(cx, session, 501, "There is no such option."),
            Command::Acct | Command::Allo => {
                self.reply(cx, session, 202, "That is not needed here.")
            }
            _ if state.rights().is_none() => {
                self.reply(cx, session, 530, "Log in with USER and PASS first.")
            }
            command => self.obey_user(cx, session, command, out),
        }
    }

    /// Obeys a command for which the user has to be logged in.
    fn obey_user(&mut self, cx: &Context, session: Handle, command: Command<'_>, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let resolved = |argument: &str| path::resolve(&state.folder, argument);
        match command {
            Command::Pwd => {
                let text = format!("{} is the working folder.", path::quoted(&state.folder));
                self.reply(cx, session, 257, &text);
            }
            Command::Cwd(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, path.clone(), Question::Folder { path }, out);
            }
            Command::Cdup => {
                let path = resolved("..");
                self.ask(cx, session, path.clone(), Question::Folder { path }, out);
            }
            // What a transfer would have is known only where it has the octets of the file.
            Command::Size(_) if !state.form.restarts() || state.form.mode == Mode::Block => {
                self.reply(cx, session, 550, "SIZE needs TYPE I, STRU F, and MODE S or Z.");
            }
            Command::Size(argument) => {
                let path = resolved(argument);
                self.ask(cx, session, path, Question::Size, out);
            }
            Command::Type(representation) => {
                state.form.representation = representation;
                self.reply(
                    cx,
                    session,
                    200,
                    match representation {
                        Representation::Ascii => "Lines end with CRLF from now on.",
                        Representation::Image => "Files are sent as they are.",
                    },
                );
            }
            Command::Mode(mode) => {
                state.form.mode = match mode {
                    Mode::Deflate { .. } => Mode::Deflate { level: state.level },
                    mode => mode,
                };
                self.reply(cx, session, 200, "The mode is set.");
            }
            Command::Stru(structure) => {
                state.form.structure = structure;
                self.reply(cx, session, 200, "The structure is set.");
            }
            Command::Rest(offset) if offset > 0 && !state.form.restarts() => {
                self.reply(cx, session, 501, NO_RESTART);
            }
            Command::Rest(offset) => {
                state.restart = offset;
                self.reply(cx, session, 350, &format!("The next transfer begins at {offset}."));
            }
            Command::Port(_) | Command::Pasv if state.epsv_only => {
                self.reply(cx, session, 501, "You said that you would use nothing but EPSV.");
            }
            Command::Port(target) => self.go_active(cx, session, target, out),
            Command::Pasv if state.control.local.is_ipv6() => {
                self.reply(cx, session, 425, "Use EPSV: this is an IPv6 connection.");
            }
            Command::Pasv => self.go_passive(cx, session, false, out),
            Command::Epsv(EpsvArgument::All) => {
                state.epsv_only = true;
                self.reply(cx, session, 200, "From now on nothing but EPSV.");
            }
            Command::Epsv(EpsvArgument::Family(family))
                if (family == 1) != state.control.local.is_ipv4() =>
            {
                self.reply(cx, session, 522, "This connection is of the other family, use (1,2).");
            }
            Command::Epsv(_) => self.go_passive(cx, session, true, out),
            Command::Abor => self.reply(cx, session, 226, "There is no transfer to abort."),
            Command::Stor(_) if !state.rights().is_some_and(|rights| rights.write) => {
                self.reply(cx, session, 550, "You may not store files here.");
            }
            Command::Retr(_) | Command::Stor(_) | Command::List(_) | Command::Nlst(_)
                if matches!(state.data, Data::Absent) =>
            {
                self.reply(cx, session, 425, "Say PASV, EPSV, PORT or EPRT first.");
            }
            Command::Retr(argument) => {
                let path = resolved(argument);
                self.retrieve(cx, session, path, out);
            }
            Command::Stor(argument) => {
                let path = resolved(argument);
                self.store(cx, session, path, out);
            }
            Command::List(argument) => {
                let path = resolved(without_options(argument));
                self.ask(
                    cx,
                    session,
                    path.clone(),
                    Question::List { path, names_only: false },
                    out,
                );
            }
            Command::Nlst(argument) => {
                let path = resolved(without_options(argument));
                self.ask(cx, session, path.clone(), Question::List { path, names_only: true }, out);
            }
            _ => self.reply(cx, session, 502, "That command is not implemented."),
        }
    }

    fn user(&mut self, cx: &Context, session: Handle, name: &str) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.login = Login::Named(name.into());
        // The same reply for users that exist and for others (RFC 2577 §6).
        self.reply(cx, session, 331, "Now the password, please.");
    }

    fn pass(&mut self, cx: &Context, session: Handle, password: &str, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Login::Named(user) = mem::replace(&mut state.login, Login::Stranger) else {
            return self.reply(cx, session, 503, "Say USER first.");
        };
        if let Some(rights) = self.config.accounts.admits(&user, password) {
            state.login = Login::User(rights);
            let peer = state.control.peer.into();
            self.reply(cx, session, 230, "Welcome.");
            out.indicate(Indication::LoggedIn { peer, user });
        } else {
            state.tries += 1;
            state.work = Work::Penalty;
            self.touch(cx, session);
        }
    }

    fn go_active(&mut self, cx: &Context, session: Handle, target: SocketAddr, out: Out<'_, M>) {
        self.forget_data(cx, session, out);
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A server that connects anywhere is a weapon (RFC 2577 §3).
        if target.ip().to_canonical() != state.control.peer.ip() {
            return self.reply(
                cx,
                session,
                501,
                "I connect only to the address that you came from.",
            );
        }
        if target.port() < 1024 {
            return self.reply(cx, session, 504, "I do not connect to ports below 1024.");
        }
        state.data = Data::Target(target);
        self.reply(cx, session, 200, "I shall connect there.");
    }

    fn ask(
        &mut self,
        cx: &Context,
        session: Handle,
        path: String,
        question: Question,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.work = Work::Asked(question);
        let token = self.files.name(FileUse::Question { session });
        self.touch(cx, session);
        Self::ask_files(out, FilesRequest::Stat { token, path, part: false });
    }

    /// Handles an answer of the disk.
    pub(super) fn stated(
        &mut self,
        cx: &Context,
        session: Handle,
        result: Result<Status, Failure>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Work::Asked(question) = mem::replace(&mut state.work, Work::Idle) else { return };
        match (question, result) {
            // Files that cannot tell what a name stands for may be able to list it all the same:
            // those of another server.
            (
                Question::List { path, names_only },
                Err(Failure::NotFound | Failure::Unsupported),
            ) => {
                self.list(cx, session, path, names_only, out);
                return self.obey_waiting(cx, session, out);
            }
            (_, Err(failure)) => {
                let (code, text) = refusal(failure);
                self.reply(cx, session, code, text);
            }
            (Question::Size, Ok(Status { kind: FileKind::File, size, .. })) => {
                self.reply(cx, session, 213, &format!("{size}"));
            }
            (Question::Size, Ok(_)) => self.reply(cx, session, 550, "That is not a file."),
            (Question::Folder { path }, Ok(Status { kind: FileKind::Folder, .. })) => {
                let text = format!("{} is the working folder.", path::quoted(&path));
                state.folder = path;
                self.reply(cx, session, 250, &text);
            }
            (Question::Folder { .. }, Ok(_)) => {
                self.reply(cx, session, 550, "That is not a folder.")
            }
            (Question::List { path, names_only }, Ok(Status { kind: FileKind::Folder, .. })) => {
                self.list(cx, session, path, names_only, out);
                return self.obey_waiting(cx, session, out);
            }
            (Question::List { path, names_only: true }, Ok(_)) => {
                let line = format!("{}\r\n", last_part(&path));
                self.list_one(cx, session, path, &line, out);
                return self.obey_waiting(cx, session, out);
            }
            (Question::List { path, names_only: false }, Ok(status)) => {
                let writable = state.rights().is_some_and(|rights| rights.write);
                let line =
                    listing::line(&FolderEntry::new(last_part(&path), status), writable, None);
                self.list_one(cx, session, path, &line, out);
                return self.obey_waiting(cx, session, out);
            }
        }
        self.obeyed(cx, session, out);
    }

    /// Ends a session whose client is gone.
    pub(super) fn forget_session(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.control.leaving = Leaving::Finished; // no reply follows
        state.control.credit = 0;
        if let Some(Transfer { .. }) = state.transfer() {
            self.abort_transfer(cx, session, out);
        }
        self.forget_data(cx, session, out);
        if let Removed::Last(state) = self.sessions.close(session) {
            out.indicate(Indication::Left { peer: state.control.peer.into() });
            self.await_clients(state.control.listener, out);
        }
    }
}

/// Returns LIST's argument without the options that clients pass on from their command line
/// (`LIST -la folder`).
fn without_options(argument: &str) -> &str {
    let mut rest = argument.trim_start();
    while rest.starts_with('-') {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
