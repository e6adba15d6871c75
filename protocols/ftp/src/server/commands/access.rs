//! Who uses the session, and how it is protected: USER PASS ACCT REIN QUIT HOST LANG, AUTH PBSZ
//! PROT CCC.

use core::mem;

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::state::{Login, TRIES_MOST, Work};
use super::super::{Indication, Out, SecurityLevel, Server};
use crate::command::{Access, ProtectionLevel};

impl<M: Message> Server<M> {
    pub(super) fn obey_access(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Access<'_>,
        out: Out<'_, M>,
    ) {
        match command {
            Access::User(name) => self.user(cx, session, name),
            Access::Pass(password) => self.pass(cx, session, password, out),
            Access::Acct => self.reply(cx, session, 202, "That is not needed here."),
            Access::Quit => {
                self.reply(cx, session, 221, "Farewell.");
                self.leave(cx, session);
            }
            Access::Rein => {
                self.forget_data(cx, session, out);
                let login_until = cx.now() + self.config.login_wait;
                if let Some(state) = self.sessions.get_mut(session) {
                    state.begin_anew(login_until, self.config.terse);
                }
                self.reply(cx, session, 220, "The session begins anew.");
            }
            Access::Host(name) => self.host(cx, session, name),
            Access::Lang(tag) => {
                // Also where only the primary tag is known (RFC 2640 §4.1).
                let primary = tag.trim().split('-').next().unwrap_or_default();
                if primary.is_empty() || primary.eq_ignore_ascii_case("EN") {
                    self.reply(cx, session, 200, "Replies are in English.");
                } else {
                    self.reply(cx, session, 504, "Replies are in English only: LANG EN.");
                }
            }
            Access::Auth(_) | Access::Pbsz(_) | Access::Prot(_) | Access::Ccc
                if self.config.security == SecurityLevel::Off && !self.is_secure(session) =>
            {
                self.reply(cx, session, 502, "There is no encryption here.");
            }
            Access::Auth(mechanism) => self.auth(cx, session, mechanism, out),
            Access::Pbsz(_) => {
                let Some(state) = self.sessions.get_mut(session) else { return };
                if !state.protection.control {
                    return self.reply(cx, session, 503, "Say AUTH TLS first.");
                }
                state.protection.sized = true;
                // TLS has no such buffers (RFC 4217 §9).
                self.answer(cx, session, 200, "PBSZ=0");
            }
            Access::Prot(protection) => {
                let Some(state) = self.sessions.get_mut(session) else { return };
                if !state.protection.sized {
                    return self.reply(cx, session, 503, "Say PBSZ 0 first.");
                }
                let is_private = protection == ProtectionLevel::Private;
                if mem::replace(&mut state.protection.data, is_private) != is_private {
                    // What was arranged before is protected otherwise: a file would leave in the
                    // clear, or as a region that TLS cannot read.
                    self.forget_data(cx, session, out);
                }
                self.reply(cx, session, 200, "So be it.");
            }
            Access::Ccc => {
                // What follows would be open to an attacker in between.
                self.reply(cx, session, 534, "The control connection stays encrypted.");
            }
        }
    }

    /// Returns whether the control association is secure.
    fn is_secure(&self, session: Handle) -> bool {
        self.sessions.get(session).is_some_and(|state| state.protection.control)
    }

    fn user(&mut self, cx: &Context, session: Handle, name: &str) {
        let login_until = cx.now() + self.config.login_wait;
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.log_out(Login::Named(name.into()), login_until);
        // The same reply for users that exist and for others (RFC 2577 §6).
        self.reply(cx, session, 331, "Now the password, please.");
    }

    fn pass(&mut self, cx: &Context, session: Handle, password: &str, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A refused command changes nothing: who is logged in stays so.
        if !matches!(state.login, Login::Named(_)) {
            return self.reply(cx, session, 503, "Say USER first.");
        }
        let delay = self.failures.delay(cx.now(), state.control.peer.ip(), self.config.penalty);
        if delay.is_zero() {
            return self.try_password(cx, session, password, false, out);
        }
        // It is not tried yet: a client that gives up before learns nothing.
        state.work = Work::Delayed(password.into());
        self.touch(cx, session);
        if let Some(state) = self.sessions.get_mut(session) {
            state.deadline = cx.now() + delay;
        }
        self.look_at(session);
    }

    /// Tries a password; one that was delayed before is answered at once, if it is wrong.
    pub(in super::super) fn try_password(
        &mut self,
        cx: &Context,
        session: Handle,
        password: &str,
        delayed: bool,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Login::Named(user) = mem::replace(&mut state.login, Login::Stranger) else { return };
        let peer = state.control.peer;
        if let Some(rights) = self.config.accounts.admits(&user, password) {
            state.login = Login::User { name: user.clone(), rights };
            self.touch(cx, session); // the time for the login does not count any more
            self.reply(cx, session, 230, "Welcome.");
            out.indicate(Indication::LoggedIn { peer: peer.into(), user });
            return;
        }
        state.tries += 1;
        state.work = Work::Penalty;
        self.failures.count(cx.now(), peer.ip());
        if delayed {
            return self.wrong_password(cx, session);
        }
        self.touch(cx, session);
    }

    /// Replies to a wrong password.
    pub(in super::super) fn wrong_password(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.work = Work::Idle;
        if state.tries >= TRIES_MOST {
            self.reply(
                cx,
                session,
                421,
                "Too many wrong passwords, closing the control connection.",
            );
            self.leave(cx, session);
        } else {
            self.reply(
                cx,
                session,
                530,
                "Login incorrect: the user name or the password is wrong.",
            );
        }
    }

    /// Obeys HOST (RFC 7151): the server is the one host of its names and its address.
    fn host(&mut self, cx: &Context, session: Handle, name: &str) {
        let Some(state) = self.sessions.get(session) else { return };
        let literal =
            name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        let here = literal.parse() == Ok(state.control.local.ip())
            || self.config.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
        match state.login {
            // It comes before USER (§3.3).
            Login::Named(_) | Login::User { .. } => {
                self.reply(cx, session, 503, "Say HOST before USER, or REIN first.");
            }
            Login::Stranger if here => self.reply(cx, session, 220, "That is here."),
            Login::Stranger => self.reply(cx, session, 504, "That host is not here."),
        }
    }

    /// Obeys AUTH (RFC 4217 §4).
    fn auth(&mut self, cx: &Context, session: Handle, mechanism: &str, out: Out<'_, M>) {
        let Some(state) = self.sessions.get(session) else { return };
        let known = ["TLS", "TLS-C", "SSL"].iter().any(|name| name.eq_ignore_ascii_case(mechanism));
        if !known {
            self.reply(cx, session, 504, "Say AUTH TLS.");
        } else if state.protection.control {
            self.reply(cx, session, 503, "The control connection is encrypted already.");
        } else {
            self.secure_control(cx, session, out);
        }
    }
}
