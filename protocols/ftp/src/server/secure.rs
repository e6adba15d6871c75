//! Where TLS begins (RFC 4217).

use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::Server;

impl<M: Message> Server<M> {
    /// Protects the control association.
    pub(super) fn secure_control(&mut self, cx: &Context, session: Handle) {
        // No layer below can do so yet.
        self.reply(cx, session, 431, "Encryption is not available now.");
    }
}
