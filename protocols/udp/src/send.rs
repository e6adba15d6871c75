//! From above, downward.

use stackwright_base::Place;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_wire::internet::Udp as UdpHeader;
use stackwright_wire::{Header as _, Message};

use crate::header::{partial, sum};
use crate::{UdpFront, UdpPorts};

impl<M: Message> UdpPorts<M> {
    /// Sends a message as a datagram.
    #[inline]
    pub(crate) fn send(at: &mut impl Place<Self>, message: M, properties: MessageProperties) {
        let Ok(length) = u16::try_from(UdpHeader::LENGTH + message.len()) else {
            // The layer above was told how long a message may be.
            at.give_room(Credit { octets: message.len(), messages: 1 });
            return at.cx().dropped("udp", "a message that is longer than a datagram");
        };
        let association = at.association();
        let mut header = UdpHeader {
            source_port: association.ports.own,
            destination_port: association.ports.peer,
            length,
            checksum: 0,
        };
        header.checksum = match association.offered {
            true => partial(association.pseudo, length),
            false => match sum(association.pseudo, &header, &message) {
                0 => 0xffff, // 0 says that there is none
                check => check,
            },
        };
        at.bear(MessageProperties { ecn: properties.ecn, ..Default::default() });
        at.forward(&UdpFront(header), message);
    }
}
