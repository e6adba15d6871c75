//! What datagrams and the network say of congestion: the two last bits of the traffic class (RFC 3168 §5).

use quinn_udp::EcnCodepoint;
use rustix::net::sockopt;
use stackwright_contract::services::Ecn;
use stackwright_wire::Message;

use super::Socket;

impl<M: Message> Socket<M> {
    /// Something leaves that says this. Who lets routers mark what he sends hears of marks on what comes: that costs something with
    /// every system call, and nobody else wants to know.
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

    /// Datagrams that leave alone say this from now on. The socket remembers it: nothing has to be said beside each of them.
    #[cold]
    pub(super) fn bear(&mut self, ecn: Ecn) {
        let bits = written(ecn).map_or(0, |codepoint| codepoint as u8);
        let _ = sockopt::set_ip_tos(&self.socket, bits);
        if self.local.is_ipv6() {
            let _ = sockopt::set_ipv6_tclass(&self.socket, bits.into());
        }
        self.ecn = ecn;
    }
}

fn written(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

pub(super) fn read(came: Option<EcnCodepoint>) -> Ecn {
    match came {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0 | EcnCodepoint::Ect1) => Ecn::Ect,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
