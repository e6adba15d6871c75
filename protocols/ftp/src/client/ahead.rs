//! Commands that are sent ahead, so that their replies cost no round trip.
//!
//! ```text
//! without:  EPSV ─▸ 229   connect, RETR a ─▸ data, 226   EPSV ─▸ 229   connect, RETR b ─▸ data, 226
//! ahead:    EPSV ─▸ 229   connect, RETR a, EPSV ─▸ data, 226, 229      connect, RETR b, EPSV ─▸ …
//! ```
//!
//! RFC 959 §5.4 has a client wait for each reply, and there are servers for which it has to: small
//! devices drop what arrives together with a command, others execute commands side by side and
//! reply in an order of their own. So nothing is sent ahead unless the server is known, by its
//! greeting or by what only it lists as a feature, to execute commands one after the other and to
//! reply in that order: then what was sent before the command of a session's step is replied to
//! before it. Otherwise a command waits for its turn ([`queue`](super::send::queue)), and all else
//! is the same.
//!
//! Where data are streams beside the control stream ([`DataMode::Merged`]), the server is this one,
//! and a whole transfer leaves in one burst:
//!
//! ```text
//! merged:   open control and data, USER, PASS, TYPE I, REST n, RETR a ─▸ 220, 331, …, data, 226
//! ```
//!
//! During a transfer even these differ: proftpd refuses EPSV with 450, pure-ftpd whatever is not
//! ABOR with 500, both before the final reply. So EPSV is sent behind RETR or STOR only to servers
//! that are known to let it wait.

use alloc::format;

use stackwright_contract::services::Failure;
use stackwright_contract::{Context, Duration, Handle, Instant};
use stackwright_wire::Message;

use super::data::port;
use super::features::Features;
use super::state::{Job, Session, Step, What};
use super::{Client, DataMode, Out};
use crate::listing::facts;
use crate::reply::{Reply, ReplyKind};

/// How long a port that a server named ahead is used: servers accept there for 30 seconds or more.
const FRESH: Duration = Duration::from_secs(10);

/// A command whose reply comes before that of the session's step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Before {
    /// The command of a step of the login; the greeting has none.
    Login(Step),
    /// SUPP; whatever the reply, it has text or not.
    Terse,
    /// REST, of the transfer that follows.
    Restart,
    /// EPSV, for the next transfer.
    Port,
    /// MDTM, of the file that this job fetches.
    Modified(Handle),
    /// MLST, of the file that this job fetches.
    Facts(Handle),
    /// The command of a job that has no other.
    Deed(Handle),
}

/// The port of the next transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextPort {
    Unasked,
    /// EPSV was sent behind the transfer that runs.
    Asked,
    /// The server named it.
    Known {
        port: u16,
        since: Instant,
    },
}

/// Returns whether a server, by its greeting, executes what is sent during a transfer when the
/// transfer is over.
pub(super) fn lets_commands_wait(greeting: &str) -> bool {
    greeting.contains("vsFTPd") || greeting.contains("Stackwright")
}

/// Returns whether a server, by its greeting, executes commands that arrive together one after the
/// other.
pub(super) fn pipelines(greeting: &str) -> bool {
    lets_commands_wait(greeting) || greeting.contains("ProFTPD") || greeting.contains("Pure-FTPd")
}

/// Returns the same by the features that a server lists: each of these has one that no other server
/// has (of pure-ftpd, of proftpd, of this one), whatever its greeting says.
pub(super) fn pipelines_by_features(features: &str) -> bool {
    let is_known =
        |line: &str| matches!(line.trim(), "ESTP" | "MFF modify;UNIX.group;UNIX.mode;" | "ARST");
    features.lines().any(is_known)
}

impl Session {
    /// Notes that the final reply to the transfer is here: the next is about what was sent behind.
    pub(super) fn transfer_replied(&mut self) {
        self.transfers = self.transfers.saturating_add(1);
        if self.next_port == NextPort::Asked {
            self.next_port = NextPort::Unasked;
            self.before.push_back(Before::Port);
        }
    }
}

impl<M: Message> Client<M> {
    /// Returns whether data are streams beside the control stream.
    pub(super) fn is_merged(&self) -> bool {
        self.config.data == DataMode::Merged && !self.secures()
    }

    /// Sends the login, and what the first job needs behind it, to a server that has said nothing
    /// yet.
    pub(super) fn log_in_ahead(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        (state.pipelines, state.features) = (true, Features::OURS);
        state.before.push_back(Before::Login(Step::Greeting));
        self.suppress_text(cx, session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let user = format!("USER {}", self.config.user);
        let password = format!("PASS {}", self.config.password);
        let commands = [(Step::User, &*user), (Step::Pass, &*password), (Step::Type, "TYPE I")];
        for (step, command) in commands {
            state.before.push_back(Before::Login(step));
            super::send::queue(cx, state, command);
        }
        self.start_job(cx, session, out);
    }

    /// Asks for replies without text, where that is configured: before the command that follows.
    pub(super) fn suppress_text(&mut self, cx: &Context, session: Handle) {
        if let Some(state) = self.sessions.get_mut(session).filter(|_| self.config.terse) {
            state.before.push_back(Before::Terse);
            super::send::queue(cx, state, "SUPP");
        }
    }

    /// Handles the reply to a step of a login that left as a whole.
    fn login_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        match (step, reply.kind()) {
            (Step::User, ReplyKind::Intermediate)
            | (Step::Greeting | Step::Type, ReplyKind::Completion) => {}
            (Step::Pass, ReplyKind::Completion) => self.accepted(session),
            _ => self.login_refused(cx, session, step, reply, out),
        }
    }

    /// Sends EPSV behind the command that begins a transfer, if another transfer is likely: one
    /// came before, and the server lets it wait.
    pub(super) fn ask_next_port(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let passive = self.config.data == DataMode::Passive && !self.only_pasv;
        let Some(state) = self.sessions.get_mut(session) else { return };
        let is_likely = state.transfers > 0 && state.lets_wait;
        if passive && is_likely {
            state.next_port = NextPort::Asked;
            super::send::queue(cx, state, "EPSV");
            super::send::flush(state, out);
        }
    }

    /// Begins a transfer with the port that was asked for ahead. Returns whether there is one, or
    /// will be.
    pub(super) fn arrange_ahead(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) -> bool {
        let fits = match self.job_of(session).map(|(_, job)| &job.what) {
            // The reply to RETR tells the size; behind REST, it does not.
            Some(What::Read(read)) => read.position == 0,
            Some(What::Create(create)) => create.there.is_some(),
            Some(What::List(_)) => true,
            Some(What::Stat(_) | What::Deed(_)) | None => false,
        };
        let Some(state) = self.sessions.get_mut(session).filter(|_| fits) else { return false };
        if state.before.contains(&Before::Port) {
            state.step = Step::Prepared;
            self.touch(cx, session);
            return true;
        }
        match core::mem::replace(&mut state.next_port, NextPort::Unasked) {
            NextPort::Known { port, since } if cx.now().since(since) < FRESH => {
                self.open_data(cx, session, port, true, out);
                true
            }
            _ => false,
        }
    }

    /// Asks when the file of a job was modified, where the list of a folder did not tell it, or for
    /// its version: the reply comes before that of the transfer.
    pub(super) fn ask_modified(&mut self, cx: &Context, session: Handle) {
        let Some(features) = self.sessions.get(session).map(|state| state.features) else { return };
        let (untimed, tells) = (self.untimed, self.tells_times());
        let Some((name, Job { path, what: What::Read(read), .. })) = self.job_of(session) else {
            return;
        };
        if read.versioned {
            // What was told before another transfer does not count.
            (read.version, read.stamp, read.modified_asked) = (None, None, false);
        }
        let by_facts = read.versioned && features.facts;
        let wants = by_facts || tells && (read.versioned || untimed);
        if !wants || core::mem::replace(&mut read.modified_asked, true) {
            return;
        }
        let (verb, before) = match by_facts {
            true => ("MLST", Before::Facts(name)),
            false => ("MDTM", Before::Modified(name)),
        };
        let command = format!("{verb} {}", super::deed::relative(path));
        if let Some(state) = self.sessions.get_mut(session) {
            state.before.push_back(before);
            super::send::queue(cx, state, &command);
        }
    }

    /// Returns whether MDTM may be asked: where FEAT does not list it, it is tried once.
    pub(super) fn tells_times(&self) -> bool {
        !self.tells_no_times
    }

    /// Notes what the reply to MDTM says of the server.
    pub(super) fn times_told(&mut self, reply: &Reply) {
        self.tells_no_times |= matches!(reply.code, 500..=504);
    }

    /// Sends the command of a job that has no other, and lets the session go on with the next job.
    pub(super) fn say_ahead(
        &mut self,
        cx: &Context,
        session: Handle,
        command: &str,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(job) = state.job.take() else { return };
        state.before.push_back(Before::Deed(job));
        super::send::queue(cx, state, command);
        super::send::flush(state, out);
        self.free(cx, session, out);
    }

    /// Handles the reply to a command that was sent ahead.
    pub(super) fn before_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if reply.kind() == ReplyKind::Preliminary {
            return;
        }
        match state.before.pop_front() {
            Some(Before::Login(step)) => self.login_replied(cx, session, step, reply, out),
            Some(Before::Terse) => {}
            Some(Before::Restart) if reply.kind() == ReplyKind::Intermediate => {}
            // The transfer begins elsewhere in the file.
            Some(Before::Restart) => {
                self.drop_session(cx, session, super::receive::failure(reply), out);
            }
            Some(Before::Port) => {
                let waits = state.step == Step::Prepared;
                match port(reply, true) {
                    Some(port) if waits => self.open_data(cx, session, port, true, out),
                    Some(port) => state.next_port = NextPort::Known { port, since: cx.now() },
                    None if waits => self.arrange(cx, session, out),
                    None => {}
                }
            }
            Some(Before::Modified(job)) => {
                self.times_told(reply);
                let stamp = Some(reply.text.trim()).filter(|_| reply.code == 213);
                if let Some(Job { what: What::Read(read), .. }) = self.jobs.get_mut(job) {
                    read.modified = stamp.and_then(crate::time::parse);
                    read.stamp = stamp.filter(|_| read.modified.is_some()).map(Into::into);
                }
            }
            Some(Before::Facts(job)) => {
                let status = facts::find_status(&reply.text).filter(|_| reply.code / 100 == 2);
                if let Some(Job { what: What::Read(read), .. }) = self.jobs.get_mut(job) {
                    read.modified = status.and_then(|status| status.modified);
                    read.version = status.and_then(|status| status.version);
                    read.size = status.filter(|_| read.version.is_some()).map(|it| it.size);
                }
            }
            Some(Before::Deed(job)) => self.ahead_done(job, reply, out),
            None => {}
        }
        self.touch(cx, session);
    }

    /// Fails what was sent ahead in a session that is gone.
    pub(super) fn drop_before(&mut self, state: &Session, failure: Failure, out: Out<'_, M>) {
        for before in &state.before {
            match before {
                Before::Deed(job) => self.job_failed(*job, failure, out),
                // It is asked again where it is fetched.
                Before::Modified(job) | Before::Facts(job) => {
                    if let Some(Job { what: What::Read(read), .. }) = self.jobs.get_mut(*job) {
                        read.modified_asked = false;
                    }
                }
                Before::Login(_) | Before::Terse | Before::Restart | Before::Port => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{lets_commands_wait, pipelines, pipelines_by_features};

    #[test]
    fn greetings_tell_what_may_be_sent_during_a_transfer() {
        for known in ["(vsFTPd 3.0.5)", "Stackwright FTP"] {
            assert!(lets_commands_wait(known));
        }
        for other in ["ProFTPD Server ready.", "---------- Welcome to Pure-FTPd ----------", ""] {
            assert!(!lets_commands_wait(other));
            assert_eq!(pipelines(other), !other.is_empty());
        }
        assert!(pipelines_by_features("Extensions\n ARST\nEnd"));
        assert!(!pipelines_by_features("Features\n SIZE\n MLST type*;size*;\n SITE HELP\nEnd"));
    }
}
