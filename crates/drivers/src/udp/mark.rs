//! What datagrams and the network say of congestion: the two last bits of the traffic class (RFC
//! 3168 §5).

use rustix::net::sockopt;
use stackwright_contract::services::Ecn;
use stackwright_wire::Message;

use super::Socket;

impl<M: Message> Socket<M> {
    /// Something leaves that says this. Who lets routers mark what he sends hears of marks on what
    /// comes: that costs something with every system call, and nobody else wants to know.
    #[inline]
    pub(super) fn hear_of_marks(&mut self, ecn: Ecn) {
        if ecn != Ecn::NotEct && !self.hears_marks {
            self.hears_marks = true;
            // A kernel that cannot do it tells of none: who is above finds out.
            let _ = sockopt::set_ip_recvtos(&self.socket, true);
            // A socket for both families has both.
            if self.local.is_ipv6() {
                let _ = sockopt::set_ipv6_recvtclass(&self.socket, true);
            }
        }
    }

    /// Datagrams that leave alone say this from now on. The socket remembers it: nothing has to be
    /// said beside each of them.
    #[cold]
    pub(super) fn bear(&mut self, ecn: Ecn) {
        let bits = written(ecn);
        let _ = sockopt::set_ip_tos(&self.socket, bits);
        if self.local.is_ipv6() {
            let _ = sockopt::set_ipv6_tclass(&self.socket, bits.into());
        }
        self.ecn = ecn;
    }
}

/// RFC 3168 §5: the two bits for what is said.
fn written(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect => 0b10, // ECT(0)
        Ecn::Ce => 0b11,
    }
}

/// What the traffic class of a datagram says that came.
pub(super) fn read(class: u8) -> Ecn {
    match class & 0b11 {
        0b00 => Ecn::NotEct,
        0b11 => Ecn::Ce,
        _ => Ecn::Ect, // ECT(0), and ECT(1), which is as good
    }
}
