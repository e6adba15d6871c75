//! From IP, upward.

use stackwright_base::Place;
use stackwright_contract::services::MessageProperties;
use stackwright_wire::Message;

use crate::{UdpFront, UdpPorts};

/// Why a datagram is dropped whose check does not agree with it.
pub(crate) const ALTERED: &str = "a datagram that was altered";

impl<M: Message> UdpPorts<M> {
    /// Delivers a datagram, unless it was altered.
    #[inline]
    pub(crate) fn receive(at: &mut impl Place<Self>, datagram: &UdpFront, payload: M) {
        let association = at.association();
        // Whoever completes checks below has verified them, too.
        if !association.offered
            && !datagram.is_sound(association.pseudo, association.checked, &payload)
        {
            return at.cx().dropped("udp", ALTERED);
        }
        let ecn = at.arrived().ecn;
        at.deliver(payload, MessageProperties { ecn, ..Default::default() });
    }
}
