//! Replies and data from below, each passed to its session.

use stackwright_contract::services::{Credit, Ended, Failure, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle, SecurityError};
use stackwright_wire::{Leaf, Message};

use super::ahead::Before;
use super::config::TlsMode;
use super::features::Features;
use super::state::{Data, Job, Session, Step, Stream, What};
use super::{Client, Out};
use crate::NAME;
use crate::reply::{Reply, ReplyKind};

/// Why octets behind the reply to AUTH are dropped.
const PLAINTEXT: &str = "plaintext behind the reply to AUTH";

impl<M: Message> Client<M> {
    pub(super) fn hear(&mut self, cx: &Context, indication: StreamsIndication<M>, out: Out<'_, M>) {
        let name = indication.name();
        let Some(stream) = self.streams.get(name).copied() else {
            return cx.dropped(NAME, "a word for a name that has ended");
        };
        match (stream, indication) {
            (_, StreamsIndication::Ended { why, .. }) => {
                self.streams.forget(name);
                match stream {
                    Stream::Control { session } => self.session_ended(cx, session, why, out),
                    Stream::DataListener { session } => {
                        self.session_job_failed(cx, session, Failure::Broken, out)
                    }
                    Stream::Data { session } => self.data_ended(cx, session, name, why, out),
                    Stream::Lingering { .. } => {}
                }
            }
            (Stream::Lingering { .. }, _) => {}

            (
                Stream::Control { session },
                StreamsIndication::Opened {
                    local,
                    remote,
                    credit: Credit { octets: credit, .. },
                    ..
                },
            ) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.ends = local.internet().zip(remote.internet());
                    (state.credit, state.credit_most) = (credit, credit);
                    state.step = match self.config.tls {
                        TlsMode::Implicit => Step::Securing,
                        TlsMode::Off | TlsMode::Explicit => Step::Greeting,
                    };
                    self.touch(cx, session);
                }
                if self.is_merged() {
                    self.log_in_ahead(cx, session, out);
                }
            }
            (Stream::Control { session }, StreamsIndication::Controlled { outcome, .. }) => {
                self.control_secured(cx, session, outcome, out);
            }
            (Stream::Data { session }, StreamsIndication::Controlled { outcome, .. }) => {
                self.data_secured(cx, session, outcome, out);
            }
            (
                Stream::Control { session },
                StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. },
            ) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.credit += credit;
                    super::send::flush(state, out);
                }
            }
            (Stream::Control { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.replies_delivered(cx, session, &message, out);
                let length = message.len();
                if self.sessions.get(session).is_some() {
                    out.request(StreamsRequest::Credit {
                        association: name,
                        credit: Credit::of_octets(length),
                    });
                }
            }
            // The server has ended; what it did not finish is lost.
            (Stream::Control { session }, StreamsIndication::Finished { .. }) => {
                self.lose_session(cx, session, Failure::Lost, out)
            }

            (Stream::DataListener { session }, StreamsIndication::Listening { local, .. }) => {
                self.listener_ready(cx, session, local, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Opened { remote, credit: Credit { octets: credit, .. }, .. },
            ) => {
                self.data_opened(cx, session, name, remote, credit, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Credit { credit: Credit { octets: more, .. }, .. },
            ) => {
                if let Some(state) = self.sessions.get_mut(session)
                    && let Data::Open { credit, .. } = &mut state.data
                {
                    *credit += more;
                    self.touch(cx, session);
                    self.send_file(cx, session, out);
                }
            }
            (Stream::Data { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.touch(cx, session);
                match self.job_of(session).map(|(file, job)| (file, &job.what)) {
                    Some((file, What::Read(_))) => {
                        self.octets_arrived(cx, (session, file), message, out);
                    }
                    Some((file, What::List(_))) => {
                        self.listing_arrived(cx, file, name, &message, out);
                    }
                    _ => cx.dropped(NAME, "octets on an association on which we send"),
                }
            }
            (Stream::Data { session }, StreamsIndication::Finished { .. }) => {
                self.data_finished(cx, session, out)
            }
            _ => cx.dropped(NAME, "a word that does not fit its name"),
        }
    }

    fn replies_delivered(&mut self, cx: &Context, session: Handle, message: &M, out: Out<'_, M>) {
        for leaf in message.leaves() {
            let Leaf::Octets(mut octets) = leaf else { continue };
            while !octets.is_empty() {
                let Some(state) = self.sessions.get_mut(session) else { return };
                // Plaintext behind the reply to AUTH is no reply to a command that is sent behind
                // the handshake: an attacker may have put it there (CVE-2011-0411).
                if state.step == Step::Securing {
                    return cx.dropped(NAME, PLAINTEXT);
                }
                let had_other_end = state.replies.has_other_end();
                let (heard, taken) = state.replies.feed(octets);
                let waits_anew = had_other_end || state.replies.has_other_end();
                octets = &octets[taken..];
                match heard {
                    Ok(None) if waits_anew => self.touch(cx, session),
                    Ok(None) => {}
                    Ok(Some(reply)) => self.reply_arrived(cx, session, &reply, out),
                    Err(wrong) => {
                        cx.event(NAME, format_args!("◂ what the server says is not FTP: {wrong}"));
                        return self.lose_session(cx, session, Failure::Garbled, out);
                    }
                }
            }
        }
    }

    pub(super) fn reply_arrived(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        cx.event(NAME, format_args!("◂ {} {}", reply.code, reply.text));
        self.touch(cx, session);
        if let Some(state) = self.sessions.get_mut(session)
            && reply.kind() != ReplyKind::Preliminary
        {
            state.unanswered = state.unanswered.saturating_sub(1);
        }
        self.replied(cx, session, reply, out);
        if let Some(state) = self.sessions.get_mut(session) {
            super::send::release(cx, state, out);
        }
    }

    fn replied(&mut self, cx: &Context, session: Handle, reply: &Reply, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if matches!(reply.code, 421 | 425)
            && matches!(state.step, Step::Pasv | Step::Port | Step::Begin)
            && self.is_data_limit(cx, session, reply, out)
        {
            return;
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        if reply.code == 421 && state.step != Step::Quitting {
            return self.lose_session(cx, session, Failure::Lost, out);
        }
        if !state.before.is_empty() {
            return self.before_replied(cx, session, reply, out);
        }
        let kind = reply.kind();
        match (state.step, kind) {
            (Step::Greeting, ReplyKind::Preliminary) => {} // 120: it will be ready soon
            (Step::Greeting, ReplyKind::Completion) => {
                state.lets_wait = super::ahead::lets_commands_wait(&reply.text);
                state.pipelines = super::ahead::pipelines(&reply.text);
                self.greeted(cx, session, out);
            }
            (Step::Auth, _) => self.auth_replied(cx, session, reply, out),
            (Step::User, ReplyKind::Intermediate) => {
                let password = alloc::format!("PASS {}", self.config.password);
                self.say(cx, session, Step::Pass, &password, out);
            }
            (Step::User | Step::Pass, ReplyKind::Completion) => {
                self.accepted(session);
                self.logged_in(cx, session, out);
            }
            (Step::BufferSize | Step::Protection, ReplyKind::Preliminary) => {}
            (Step::BufferSize, _) => self.buffer_size_replied(session),
            (Step::Protection, _) => self.protection_replied(cx, session, reply, out),
            (Step::Type, ReplyKind::Completion) => {
                state.then = None;
                state.step = Step::Features;
            }
            (Step::Features, ReplyKind::Preliminary) => {}
            (Step::Features, _) => {
                if kind == ReplyKind::Completion {
                    state.features = Features::parse(&reply.text);
                    state.pipelines |= super::ahead::pipelines_by_features(&reply.text);
                }
                self.start_job(cx, session, out);
            }
            (Step::Home, ReplyKind::Completion) => {
                state.away = false;
                self.start_job(cx, session, out);
            }
            (Step::Home, ReplyKind::Transient | ReplyKind::Permanent) => {
                self.start_elsewhere(cx, session, out);
            }
            (Step::Autorestart, ReplyKind::Completion) => {
                self.autorestart_replied(cx, session, out);
            }
            (Step::Autorestart, ReplyKind::Transient | ReplyKind::Permanent) => {
                self.refuse(cx, session, Failure::Unsupported, out);
            }
            (Step::Facts, _) => self.facts_replied(cx, session, reply, out),
            (Step::Size, _) => self.size_replied(cx, session, reply, out),
            (Step::Modified, _) => self.modified_replied(cx, session, reply, out),
            (Step::Folder, _) => self.folder_replied(cx, session, reply, out),
            (Step::Exists, _) => self.existence_replied(cx, session, reply, out),
            (Step::SizeOfFile, _) => self.size_of_file(cx, session, reply),
            (Step::SizeBefore, _) => self.size_known(cx, session, reply, out),
            (Step::Working, _) => self.working_replied(cx, session, reply),
            (Step::Enter, ReplyKind::Completion) => {
                state.away = true;
                self.arrange(cx, session, out);
            }
            (Step::Enter, ReplyKind::Transient | ReplyKind::Permanent) => {
                self.not_entered(cx, session, failure(reply), out);
            }
            (Step::Recital, ReplyKind::Preliminary) => {}
            (Step::Recital, _) => self.recited(cx, session, reply, out),
            (Step::Deed, _) => self.deed_replied(cx, session, reply, out),
            (Step::Epsv | Step::Pasv, _) => self.passive_replied(cx, session, reply, out),
            (Step::Port, ReplyKind::Completion) => self.port_replied(cx, session, out),
            (Step::Rest, ReplyKind::Intermediate) => self.begin(cx, session, out),
            (Step::Begin, ReplyKind::Preliminary) => {
                state.step = Step::Moving;
                self.begun(cx, session, reply, out);
            }
            (Step::Moving, ReplyKind::Preliminary) => {} // some say 125 and 150
            (Step::Begin, ReplyKind::Transient | ReplyKind::Permanent) => {
                state.transfer_replied();
                self.transfer_refused(cx, session, reply, out);
            }
            (Step::Begin | Step::Moving, ReplyKind::Completion) => {
                // A server that skips 1xx has begun all the same.
                if state.step == Step::Begin {
                    self.begun(cx, session, reply, out);
                }
                if let Some((_, Job { path, what: What::List(list), .. })) = self.job_of(session) {
                    list.is_denied = super::list::denies(&reply.text, path);
                }
                if let Some(state) = self.sessions.get_mut(session) {
                    state.step = Step::Complete;
                    state.transfer_replied();
                    self.transfer_may_be_over(cx, session, out);
                }
            }
            (
                Step::Aborting(left),
                ReplyKind::Completion | ReplyKind::Transient | ReplyKind::Permanent,
            ) => {
                if left > 1 {
                    state.step = Step::Aborting(left - 1);
                } else {
                    self.aborted(cx, session, out);
                }
            }
            // It crossed the command.
            (Step::Aborting(_) | Step::Interrupting, ReplyKind::Preliminary) => {}
            (Step::Interrupting, _) => {
                self.drop_data(cx, session, out);
                self.free(cx, session, out);
            }
            (Step::Quitting | Step::Idle, _) => {}
            (step @ (Step::Greeting | Step::User | Step::Pass | Step::Type), _) => {
                self.login_refused(cx, session, step, reply, out);
            }
            (_, ReplyKind::Transient | ReplyKind::Permanent) => {
                self.session_job_failed(cx, session, failure(reply), out)
            }
            _ => {
                cx.event(NAME, format_args!("◂ that reply was not expected"));
                self.drop_session(cx, session, Failure::Garbled, out);
            }
        }
    }

    /// Notes that the server has accepted the user.
    pub(super) fn accepted(&mut self, session: Handle) {
        if let Some(state) = self.sessions.get_mut(session) {
            state.is_logged_in = true;
            self.is_accepted = true;
        }
    }

    /// Ends a session whose login or greeting was refused: no other command makes sense.
    pub(super) fn login_refused(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let failure = match step {
            // The same user was accepted before: it is about something else.
            Step::User | Step::Pass if self.is_accepted => Failure::Lost,
            Step::User | Step::Pass => Failure::NotLoggedIn,
            _ => failure(reply),
        };
        self.drop_session(cx, session, failure, out);
    }

    fn session_ended(&mut self, cx: &Context, session: Handle, why: Ended, out: Out<'_, M>) {
        let awaited = |state: &Session| match state.before.front() {
            Some(Before::Login(step)) => *step,
            _ => state.step,
        };
        let failure = match self.sessions.get(session).map(awaited) {
            Some(Step::Connecting) if why != Ended::Aborted => Failure::Unreachable,
            // Some transports open before the other side has answered.
            Some(Step::Greeting)
                if matches!(why, Ended::Unreachable | Ended::Exhausted | Ended::Refused(_)) =>
            {
                Failure::Unreachable
            }
            // The server's alert says why; in TLS 1.3 it comes behind the handshake.
            _ => match why {
                Ended::Insecure(why @ SecurityError::Alert(_)) => Failure::Insecure(why),
                _ => Failure::Lost,
            },
        };
        self.lose_session(cx, session, failure, out);
    }
}

/// Returns what a negative reply says about the file (RFC 959 §5.4). One code stands for several
/// reasons, which only the words tell.
pub(super) fn failure(reply: &Reply) -> Failure {
    match reply.code {
        450 | 521 | 550 | 553 => {
            let text = reply.text.to_ascii_lowercase();
            let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
            match () {
                () if says(&["not empty"]) => Failure::NotEmpty,
                () if says(&["already exists", "file exists", "directory exists"]) => {
                    Failure::Exists
                }
                () if says(&[
                    "denied",
                    "permission",
                    "not permitted",
                    "not allowed",
                    "read-only",
                ]) =>
                {
                    Failure::Denied
                }
                () if says(&["space", "quota"]) => Failure::Full,
                () if reply.code == 553 => Failure::Denied,
                () if reply.code == 521 => Failure::Exists,
                () => Failure::NotFound,
            }
        }
        452 | 552 => Failure::Full,
        530 | 532 => Failure::NotLoggedIn,
        425 | 426 => Failure::Lost,
        500 | 502 | 504 => Failure::Unsupported,
        501 => Failure::BadName,
        554 => Failure::Short,
        100..400 => Failure::Garbled,
        _ => Failure::Broken,
    }
}
