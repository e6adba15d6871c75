//! What takes too long.

use stackwright_contract::{Context, Handle, SecurityError};
use stackwright_wire::Message;

use crate::stage::Failure;
use crate::{Out, Tls};

impl<M: Message> Tls<M> {
    /// The one timer of an association: for its handshake, or for what was sent before `Close`.
    pub(crate) fn expired(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some((secured, ..)) = self.secured(name) else { return };
        secured.deadline = None;
        let failure = if secured.closes() {
            Failure::Expired
        } else if secured.shaking {
            Failure::Security(SecurityError::TooSlow)
        } else {
            return;
        };
        self.fail(cx, name, failure, out);
    }
}
