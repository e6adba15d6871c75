//! Data associations: PASV EPSV PORT EPRT.

use core::net::SocketAddr;

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::super::{Out, Server, state};
use crate::command::{Data, EpsvArgument};

impl<M: Message> Server<M> {
    pub(super) fn obey_data(
        &mut self,
        cx: &Context,
        session: Handle,
        command: Data,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match command {
            Data::Port(_) | Data::Pasv if state.epsv_only => {
                self.reply(cx, session, 501, "You said that you would use nothing but EPSV.");
            }
            Data::Port(target) => self.go_active(cx, session, target, out),
            Data::Pasv if state.control.local.is_ipv6() => {
                self.reply(cx, session, 425, "Use EPSV: this is an IPv6 connection.");
            }
            Data::Pasv => self.go_passive(cx, session, false, out),
            Data::Epsv(EpsvArgument::All) => {
                state.epsv_only = true;
                self.reply(cx, session, 200, "From now on nothing but EPSV.");
            }
            Data::Epsv(EpsvArgument::Family(family))
                if (family == 1) != state.control.local.is_ipv4() =>
            {
                self.reply(cx, session, 522, "This connection is of the other family, use (1,2).");
            }
            Data::Epsv(_) => self.go_passive(cx, session, true, out),
        }
    }

    fn go_active(&mut self, cx: &Context, session: Handle, target: SocketAddr, out: Out<'_, M>) {
        self.forget_data(cx, session, out);
        let Some(state) = self.sessions.get_mut(session) else { return };
        // A server that connects anywhere is a weapon (RFC 2577 §3).
        if target.ip().to_canonical() != state.control.peer.ip() {
            let text = "I connect only to the address that you came from.";
            return self.reply(cx, session, 501, text);
        }
        if target.port() < 1024 {
            return self.reply(cx, session, 504, "I do not connect to ports below 1024.");
        }
        // An IPv6 address that is valid on one link is reached through the interface of the
        // control association, which EPRT cannot tell (RFC 4007 §6).
        let mut remote = state.control.peer;
        remote.set_port(target.port());
        state.data = state::Data::Target(remote);
        self.reply(cx, session, 200, "I shall connect there.");
    }
}
