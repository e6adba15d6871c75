//! Where TLS begins (RFC 4217): a layer below secures associations when it is commanded to.
//!
//! ```text
//! explicit   220 ─▸ AUTH TLS ─▸ 234 ─▸ Control(Secure) ─▸ handshake ─▸ USER, PASS ─▸ PBSZ, PROT
//! implicit   Open, Control(Secure) ─▸ handshake ─▸ 220 ─▸ USER, PASS ─▸ PBSZ, PROT
//! data       Control(Secure) for each association, as soon as it is open
//! ```
//!
//! There is no way back to plaintext: a session that cannot be secured ends before the user's name
//! is sent, and one whose data would not be protected before a file is requested.

use alloc::format;

use stackwright_contract::services::{Failure, StreamsRequest};
use stackwright_contract::{
    Command, CommandError, Context, Handle, Secure, SecurityError, SessionGroup, TlsRole,
};
use stackwright_wire::Message;

use super::config::TlsMode;
use super::state::{Data, Step};
use super::{Client, Out};
use crate::NAME;
use crate::reply::{Reply, ReplyKind};

impl<M: Message> Client<M> {
    /// Returns whether associations have to be secured.
    pub(super) fn secures(&self) -> bool {
        self.config.tls != TlsMode::Off
    }

    /// Handles the greeting: nothing but AUTH leaves before an explicit handshake.
    pub(super) fn greeted(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        match self.config.tls {
            TlsMode::Explicit => self.say(cx, session, Step::Auth, "AUTH TLS", out),
            TlsMode::Off | TlsMode::Implicit => self.log_in(cx, session, out),
        }
    }

    fn log_in(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let user = format!("USER {}", self.config.user);
        self.say(cx, session, Step::User, &user, out);
    }

    /// Handles the reply to AUTH. Some servers say 334, which RFC 2228 §3 has for mechanisms that
    /// exchange more.
    pub(super) fn auth_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        if !matches!(reply.code, 234 | 334) {
            let failure = Failure::Insecure(SecurityError::Declined);
            return self.drop_session(cx, session, failure, out);
        }
        if let Some(state) = self.sessions.get_mut(session) {
            state.step = Step::Securing;
        }
        self.secure_control(session, out);
    }

    /// Commands to secure the control association.
    pub(super) fn secure_control(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get(session) else { return };
        let (control, group) = (state.control, SessionGroup::Begins(state.group));
        self.secure(control, group, out);
    }

    /// Commands to secure a data association, which proves by the session of its control
    /// association that it belongs to the same client.
    pub(super) fn secure_data(&mut self, session: Handle, association: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get(session) else { return };
        let group = SessionGroup::Joins(state.group);
        self.secure(association, group, out);
    }

    fn secure(&self, association: Handle, sessions: SessionGroup, out: Out<'_, M>) {
        let identity = self.config.tls_server;
        let command = Command::Secure(Secure { role: TlsRole::Client, identity, sessions });
        out.request(StreamsRequest::Control { association, command });
    }

    /// Handles the end of the control association's handshake.
    pub(super) fn control_secured(
        &mut self,
        cx: &Context,
        session: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match (outcome, self.config.tls) {
            // Its end follows, and says why.
            (Err(CommandError::Insecure { why: SecurityError::Cut, .. }), _) => {}
            (Ok(_), TlsMode::Implicit) => {
                state.step = Step::Greeting;
                self.touch(cx, session);
            }
            (Ok(_), _) => self.log_in(cx, session, out),
            (Err(CommandError::Insecure { why: SecurityError::UsedUp, .. }), _) => {
                self.start_elsewhere(cx, session, out);
            }
            // It ends by itself, behind an alert that says why.
            (Err(error @ CommandError::Insecure { .. }), _) => {
                self.forget_session(cx, session, failure(error), out);
            }
            (Err(error), _) => self.drop_session(cx, session, failure(error), out),
        }
    }

    /// Handles the end of a data association's handshake.
    pub(super) fn data_secured(
        &mut self,
        cx: &Context,
        session: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        if !self.secures() {
            return; // the answer to another command
        }
        match outcome {
            Ok(outcome) => {
                if outcome != Secure::RESUMED {
                    cx.event(NAME, format_args!("the data association began a TLS session anew"));
                }
                if let Some(state) = self.sessions.get_mut(session)
                    && let Data::Open { is_ready, .. } = &mut state.data
                {
                    *is_ready = true;
                }
                self.send_file(cx, session, out);
            }
            Err(CommandError::Insecure { why: SecurityError::Cut, .. }) => {}
            // Nothing of the file has moved. Another session can resume its own.
            Err(CommandError::Insecure { why: SecurityError::UsedUp, .. }) => {
                self.start_elsewhere(cx, session, out);
            }
            Err(error) => self.drop_session(cx, session, failure(error), out),
        }
    }

    /// Takes the first step behind the login: the protection of data associations, where they are
    /// protected. Before the login, not every server accepts it.
    pub(super) fn logged_in(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        if self.secures() {
            let (size, level) = ((Step::BufferSize, "PBSZ 0"), (Step::Protection, "PROT P"));
            self.say_both(cx, session, size, level, out);
        } else {
            self.ask_features(cx, session, out);
        }
    }

    /// Handles the reply to PBSZ, which has no meaning for TLS (RFC 4217 §8): what counts is that
    /// to PROT.
    pub(super) fn buffer_size_replied(&mut self, session: Handle) {
        if let Some(state) = self.sessions.get_mut(session)
            && let Some(then) = state.then.take()
        {
            state.step = then;
        }
    }

    /// Handles the reply to PROT.
    pub(super) fn protection_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        if reply.kind() == ReplyKind::Completion {
            self.ask_features(cx, session, out);
        } else {
            let failure = Failure::Insecure(SecurityError::Declined);
            self.drop_session(cx, session, failure, out);
        }
    }

    fn ask_features(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.suppress_text(cx, session);
        let (kind, features) = ((Step::Type, "TYPE I"), (Step::Features, "FEAT"));
        self.say_both(cx, session, kind, features, out);
    }
}

/// Returns what a handshake that failed says about the server.
fn failure(error: CommandError) -> Failure {
    use SecurityError as Why;
    let CommandError::Insecure { why, certificate } = error else {
        return Failure::Insecure(Why::Unconfigured); // no layer below can do so
    };
    match why {
        Why::Expired
        | Why::NotYetValid
        | Why::OtherName
        | Why::UnknownIssuer
        | Why::Revoked
        | Why::NotPinned
        | Why::BadCertificate => Failure::Untrusted { why, certificate },
        Why::TooSlow => Failure::Expired,
        why => Failure::Insecure(why),
    }
}
