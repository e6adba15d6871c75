//! A job from its begin in a session to its end.

use alloc::format;
use core::mem;

use stackwright_contract::services::{Failure, FilesIndication, Keep, Purpose, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::ahead::{Before, NextPort};
use super::deed::relative;
use super::stat;
use super::state::{Create, Data, Job, Session, Step, What};
use super::{Client, Out};
use crate::NAME;
use crate::reply::Reply;

impl<M: Message> Client<M> {
    /// Begins the job of a session that is logged in, or lets it wait for one.
    pub(super) fn start_job(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return self.free(cx, session, out) };
        let of_part = job.is_of_part();
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.away {
            let Some(home) = &state.home else { return self.start_elsewhere(cx, session, out) };
            let home = format!("CWD {home}");
            return self.say(cx, session, Step::Home, &home, out);
        }
        if of_part && !state.features.autorestart {
            return self.refuse(cx, session, Failure::Unsupported, out);
        }
        // SIZE and HASH are about the part of an upload while ARST is in force. Where there is no
        // part, they are about the file: so that is asked for first.
        let asks_for_file = matches!(
            self.job_of(session),
            Some((_, Job { what: What::Create(Create { file: None, .. }), .. })) if of_part
        );
        let Some(state) = self.sessions.get_mut(session) else { return };
        if asks_for_file && !state.autorestart {
            let size = format!("SIZE {}", self.path_of(session));
            let (size, restart) = ((Step::SizeOfFile, &*size), (Step::Autorestart, "ARST"));
            return self.say_both(cx, session, size, restart, out);
        }
        if (of_part && !asks_for_file) != state.autorestart {
            let command = if state.autorestart { "NARS" } else { "ARST" };
            return self.say(cx, session, Step::Autorestart, command, out);
        }
        let Some((_, job)) = self.job_of(session) else { return };
        match &job.what {
            What::Stat(_) => self.ask_status(cx, session, out),
            What::Create(create) if create.purpose == Purpose::New => {
                self.ask_existence(cx, session, out);
            }
            What::Read(_) | What::Create(_) => self.arrange(cx, session, out),
            What::List(_) => self.enter(cx, session, out),
            What::Deed(_) => self.begin_deed(cx, session, out),
        }
    }

    /// Handles the reply to ARST or NARS.
    pub(super) fn autorestart_replied(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.autorestart = !state.autorestart;
        }
        self.start_job(cx, session, out);
    }

    pub(super) fn job_of(&mut self, session: Handle) -> Option<(Handle, &mut Job<M>)> {
        let name = self.sessions.get(session)?.job?;
        Some((name, self.jobs.get_mut(name)?))
    }

    // ---- the beginning of a transfer ------------------------------------------------------------

    /// Begins the transfer, for which everything is arranged but the position where it begins.
    pub(super) fn ready_to_begin(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some((_, job)) = self.job_of(session) else { return };
        let restart = match &mut job.what {
            What::Read(read) => {
                read.restart = read.position;
                read.position
            }
            // What was written since waits to be sent.
            What::Create(create) if create.purpose != Purpose::Append => {
                create.there.unwrap_or(create.next)
            }
            _ => 0,
        };
        if restart > 0 && self.is_merged() {
            if let Some(state) = self.sessions.get_mut(session) {
                state.before.push_back(Before::Restart);
                super::send::queue(cx, state, &format!("REST {restart}"));
            }
            self.begin(cx, session, out);
        } else if restart > 0 {
            self.say(cx, session, Step::Rest, &format!("REST {restart}"), out);
        } else {
            self.begin(cx, session, out);
        }
    }

    pub(super) fn begin(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let is_merged = self.is_merged();
        let Some((_, job)) = self.job_of(session) else { return };
        let verb = match &job.what {
            What::Read(_) => "RETR",
            What::Create(create) if create.purpose == Purpose::Append => "APPE",
            What::Create(_) => "STOR",
            What::List(_) if is_merged => "MLSD",
            // The session is in the folder: an argument would be options or a pattern to some.
            What::List(list) => {
                let verb = if list.facts { "MLSD" } else { "LIST" };
                return self.say(cx, session, Step::Begin, verb, out);
            }
            What::Stat(_) | What::Deed(_) => return,
        };
        let path = job.path.clone();
        self.say_with_path(cx, session, Step::Begin, verb, &path, out);
        self.ask_next_port(cx, session, out);
        // The octets leave behind the command; a refusal ends them.
        if let Some((file, Job { opened, what: What::Create(Create { there: size, .. }), .. })) =
            self.job_of(session)
            && is_merged
            && !mem::replace(opened, true)
        {
            let (size, modified, version) = (*size, None, None);
            out.indicate(FilesIndication::Opened { file, size, modified, version });
        }
    }

    /// Notes that the server has agreed to the transfer, and perhaps said how many octets it will
    /// send: most do, in words like `(1000 bytes)`.
    pub(super) fn begun(&mut self, cx: &Context, session: Handle, reply: &Reply, out: Out<'_, M>) {
        let is_merged = self.is_merged();
        let Some((file, job)) = self.job_of(session) else { return };
        let (mut modified, mut version) = (None, None);
        let size = match &mut job.what {
            What::Read(read) => {
                modified = read.modified;
                // Behind REST, some servers tell the size of the file and others, as this one, that
                // of the rest.
                if is_merged {
                    let whole =
                        announced(&reply.text).map(|rest| rest.saturating_add(read.restart));
                    read.size = whole.or(read.size);
                } else if read.position == 0 {
                    read.size = announced(&reply.text).or(read.size);
                }
                let stamped = || stat::version(read.size?, read.stamp.as_deref()?);
                version = read.version.or_else(stamped).filter(|_| read.versioned);
                read.size
            }
            What::Create(create) => create.there,
            _ => None,
        };
        // Where it was begun anew, the application knows.
        if !mem::replace(&mut job.opened, true) {
            out.indicate(FilesIndication::Opened { file, size, modified, version });
        }
        self.send_file(cx, session, out);
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
            What::Read(_) => {
                self.abandon_data(cx, session, out);
                self.read_to_the_end(cx, session, out);
            }
            What::List(_) => {
                self.abandon_data(cx, session, out);
                self.listed(cx, session, out);
            }
            What::Stat(_) | What::Deed(_) => {}
        }
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
        if let What::Create(create) = &mut job.what
            && keep == Keep::Whole
        {
            create.closing = true;
            if let Some(session) = session {
                self.send_file(cx, session, out);
            }
            return; // answered by the server's final reply
        }
        let state = session.and_then(|session| self.sessions.get(session));
        let keeps = keep == Keep::Part && state.is_some_and(|state| state.autorestart);
        let interrupts = keeps && state.is_some_and(|state| state.features.interrupt);
        // What waits behind the transfer would be replied to in an order that is up to the server.
        let asked_ahead = state.is_some_and(|state| state.next_port == NextPort::Asked);
        let result = match &job.what {
            What::Create(_) if !keeps => Err(Failure::GivenUp),
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
            Some(Step::Begin | Step::Moving) if interrupts && !asked_ahead => {
                self.say(cx, session, Step::Interrupting, "INTR", out);
            }
            Some(Step::Begin | Step::Moving) if !keeps => self.abort(cx, session, out),
            // While logging in or arranging, it is simpler to begin anew than to undo; and where a
            // part is kept, that is what keeps it.
            _ => self.drop_session(cx, session, Failure::GivenUp, out),
        }
    }

    /// Fails a job that has no session.
    pub(super) fn job_failed(&mut self, name: Handle, failure: Failure, out: Out<'_, M>) {
        let Some(job) = self.jobs.remove(name) else { return };
        out.indicate(match job.what {
            What::Stat(_) => FilesIndication::Stated { token: name, result: Err(failure) },
            What::Deed(deed) => deed.failed(name, failure),
            _ => FilesIndication::Closed { file: name, result: Err(failure) },
        });
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
                | Failure::Exists
                | Failure::NotEmpty
                | Failure::Full
                | Failure::BadName
                | Failure::Unsupported
        );
        let between = self.sessions.get(session).is_some_and(|state| {
            state.then.is_none() && matches!(state.step, Step::Begin | Step::Rest | Step::Enter)
        });
        if refused && between {
            self.refuse(cx, session, failure, out);
        } else {
            self.drop_session(cx, session, failure, out);
        }
    }

    /// Fails the job of a session that is ready for another.
    pub(super) fn refuse(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
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

    /// Begins the job of a session in another one, which knows more.
    pub(super) fn start_elsewhere(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let job = self.sessions.get_mut(session).and_then(|state| state.job.take());
        if let Some(name) = job {
            self.wait_again(name);
        }
        self.drop_session(cx, session, Failure::GivenUp, out);
    }

    /// Lets a job wait for another session, before all others.
    fn wait_again(&mut self, name: Handle) {
        if let Some(job) = self.jobs.get_mut(name) {
            job.session = None;
            self.waiting.push_front(name);
        }
    }

    /// Gives a session up to which the server grants no data association while others have one: it
    /// has a limit for these, too. Returns whether it does.
    pub(super) fn is_data_limit(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) -> bool {
        let opened = self.job_of(session).is_none_or(|(_, job)| job.opened);
        let is_limit = matches!(reply.code, 421 | 425) && !opened && self.sessions.len() > 1;
        if is_limit {
            (self.sessions_most, self.is_limited) = (self.sessions.len() - 1, true);
            self.start_elsewhere(cx, session, out);
        }
        is_limit
    }

    /// Returns whether a session that is over was one more than the server accepts: it was refused,
    /// or never answered, while others go on. Servers have many words for that: 421 in place of a
    /// greeting, 530 for a password that was right before, a connection that is refused or reset.
    fn is_one_too_many(&self, state: &Session, failure: Failure) -> bool {
        use Failure::{Garbled, GivenUp, Insecure, Untrusted};
        !state.is_logged_in
            && !self.sessions.is_empty()
            && !matches!(failure, Garbled | GivenUp | Insecure(_) | Untrusted { .. })
    }

    /// Ends a session that the server has ended, or does not answer in. What is complete stays so.
    pub(super) fn lose_session(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let unconfirmed = self.is_whole(session);
        if let Some((name, job)) = self.job_of(session) {
            let complete = match &mut job.what {
                What::Read(read) => {
                    read.end |= unconfirmed;
                    read.end
                }
                What::List(list) => list.end,
                _ => false,
            };
            if complete {
                job.session = None;
                if let Some(state) = self.sessions.get_mut(session) {
                    state.job = None;
                }
                if unconfirmed {
                    cx.event(NAME, format_args!("{}", super::UNCONFIRMED));
                }
                self.answer_reads(name, out);
            }
        }
        self.drop_session(cx, session, failure, out);
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
        if let Some(&Session { control, .. }) = self.sessions.get(session)
            && self.streams.get(control).is_some()
        {
            out.request(StreamsRequest::Abort { association: control, code: 0 });
        }
        self.forget_session(cx, session, failure, out);
    }

    /// Expects nothing but the end of a session whose control association ends by itself, and ends
    /// its job.
    pub(super) fn forget_session(
        &mut self,
        cx: &Context,
        session: Handle,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        self.drop_data(cx, session, out);
        let Some(state) = self.sessions.forget(session) else { return };
        self.abandon(cx, state.control);
        self.drop_before(&state, failure, out);
        if let Some(name) = state.job {
            if self.is_one_too_many(&state, failure) {
                (self.sessions_most, self.is_limited) = (self.sessions.len(), true);
                self.wait_again(name);
            } else {
                if !state.is_logged_in {
                    // It is not about their number.
                    self.sessions_most = self.config.sessions_most;
                }
                self.job_failed(name, failure, out);
                // The same password would be as wrong for the others.
                if failure == Failure::NotLoggedIn {
                    for name in mem::take(&mut self.waiting) {
                        self.job_failed(name, failure, out);
                    }
                }
            }
        }
        self.assign(cx, out);
    }

    // ---- a file that must be new ----------------------------------------------------------------

    fn ask_existence(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(features) = self.sessions.get(session).map(|state| state.features) else { return };
        let Some((_, job)) = self.job_of(session) else { return };
        let path = job.path.clone();
        let verb = if features.facts { "MLST" } else { "SIZE" };
        self.say_with_path(cx, session, Step::Exists, verb, &path, out);
    }

    pub(super) fn existence_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        match reply.code {
            200..300 => self.refuse(cx, session, Failure::Exists, out),
            450 | 550 => self.arrange(cx, session, out),
            // STOR would replace a file of which nothing is known.
            _ => self.refuse(cx, session, super::receive::failure(reply), out),
        }
    }

    /// Returns the path of a session's job as the server is told it.
    pub(super) fn path_of(&mut self, session: Handle) -> alloc::string::String {
        self.job_of(session)
            .map_or_else(Default::default, |(_, job)| relative(&job.path).into_owned())
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
