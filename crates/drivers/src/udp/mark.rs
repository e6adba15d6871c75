//! Explicit congestion notification: the last two bits of the traffic class (RFC 3168 §5).

use rustix::net::sockopt;
use stackwright_contract::services::Ecn;
use stackwright_wire::Message;

use super::Socket;

impl<M: Message> Socket<M> {
    /// Prepares for datagrams that leave with this codepoint. Marks on arriving datagrams are
    /// reported only to a sender that lets routers mark its own: reading them costs something with
    /// every system call.
    #[inline]
    pub(super) fn hear_of_marks(&mut self, ecn: Ecn) {
        if ecn != Ecn::NotEct && !self.hears_marks {
            self.hears_marks = true;
            // A kernel without it reports no marks: the layer above finds out.
            let _ = sockopt::set_ip_recvtos(&self.socket, true);
            // A socket for both families has both.
            if self.local.is_ipv6() {
                let _ = sockopt::set_ipv6_recvtclass(&self.socket, true);
            }
        }
    }

    /// Sets the codepoint of datagrams that leave alone from now on. The socket keeps it: no
    /// control message is needed for each of them.
    #[cold]
    pub(super) fn bear(&mut self, ecn: Ecn) {
        let bits = ecn.bits();
        let _ = sockopt::set_ip_tos(&self.socket, bits);
        if self.local.is_ipv6() {
            let _ = sockopt::set_ipv6_tclass(&self.socket, bits.into());
        }
        (self.ecn, self.differing) = (ecn, 0);
    }
}
