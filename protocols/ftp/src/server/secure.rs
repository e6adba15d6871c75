//! Where TLS begins (RFC 4217): a layer below secures associations when it is commanded to.
//!
//! ```text
//! AUTH TLS ─▸ 234, when that has left ─▸ Control(Secure) ─▸ handshake ─▸ the next command
//! implicit ─▸ Control(Secure) before it is open ─▸ handshake ─▸ 220
//! PROT P   ─▸ Control(Secure) for each data association, before it is open: what is read
//!             together with the arrival belongs to the handshake
//! ```

use stackwright_contract::services::StreamsRequest;
use stackwright_contract::{Command, CommandError, Context, Handle, Secure, SessionGroup, TlsRole};
use stackwright_wire::Message;

use super::state::{Control, Session, Work};
use super::{Out, Server};
use crate::NAME;

impl<M: Message> Server<M> {
    /// Agrees to secure the control association. What the client has sent behind AUTH is plaintext
    /// that an attacker may have put there (CVE-2011-1575): it is discarded.
    pub(super) fn secure_control(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.forget_data(cx, session, out);
        self.reply(cx, session, 234, "TLS begins.");
        let login_until = cx.now() + self.config.login_wait;
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.begin_anew(login_until, self.config.terse);
        state.control.forget_waiting();
        state.work = Work::Securing;
        state.control.secures = true;
        self.touch(cx, session);
    }

    /// Commands once more to secure a data association that is still to come: now it is known that
    /// its client reads.
    pub(super) fn resecure_data(&mut self, session: Handle, out: Out<'_, M>) {
        if let Some(state) = self.sessions.get_mut(session)
            && let Some(association) = state.coming()
            && state.transfer().is_some_and(|transfer| !transfer.stores())
        {
            secure_data(state, association, out);
        }
    }

    /// Handles the answer to the command: a control association that could not be secured ends.
    pub(super) fn secured(
        &mut self,
        cx: &Context,
        session: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if !matches!(state.work, Work::Securing) {
            return;
        }
        match outcome {
            Ok(_) => {
                state.work = Work::Idle;
                state.protection.control = true;
                if state.protection.from_start {
                    state.protection.data = true;
                    self.greet(cx, session);
                }
                self.obeyed(cx, session, out);
            }
            // It ends, behind an alert that says why.
            Err(CommandError::Insecure { .. }) => {
                cx.dropped(NAME, "a control connection that could not be encrypted");
            }
            // No layer below can do so: nothing that is not encrypted follows 234.
            Err(_) => {
                let association = state.control.name;
                Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
            }
        }
    }
}

/// Commands to secure the control association, once reply 234 was sent.
pub(super) fn secure_behind_replies<M: Message>(control: &mut Control, out: Out<'_, M>) {
    if control.secures && control.unsent.is_empty() {
        control.secures = false;
        control.lines.forget();
        secure_control(control.name, out);
    }
}

/// Commands to secure a control association, which may not be open yet.
pub(super) fn secure_control<M: Message>(control: Handle, out: Out<'_, M>) {
    secure(control, SessionGroup::Begins(group(control)), out);
}

/// Commands to secure the data association of a session that protects them, in the group of its
/// control association: a client that resumes there holds the secret of that one. It is given a
/// session for the next one only where it is known that it reads, on a download or a listing: so it
/// is commanded once more when one begins. A client that stores may never read, and to close with a
/// ticket unread resets the association (RFC 1122 §4.2.2.13), at the cost of what is on its way.
pub(super) fn secure_data<M: Message>(
    state: &mut Session<M>,
    association: Handle,
    out: Out<'_, M>,
) {
    let group = group(state.control.name);
    if state.protection.data {
        let reads = state.transfer().is_some_and(|transfer| !transfer.stores());
        let sessions =
            if reads { SessionGroup::Joins(group) } else { SessionGroup::Borrows(group) };
        secure(association, sessions, out);
    }
}

fn secure<M: Message>(association: Handle, sessions: SessionGroup, out: Out<'_, M>) {
    let command = Command::Secure(Secure { role: TlsRole::Server, identity: 0, sessions });
    Server::ask_streams(out, StreamsRequest::Control { association, command });
}

/// A number that no other control association has had.
fn group(control: Handle) -> u64 {
    u64::from(control.generation) << 32 | u64::from(control.index)
}
