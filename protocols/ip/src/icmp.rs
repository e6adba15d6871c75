//! ICMP messages that arrive (RFC 792, RFC 4443): echo requests are answered, errors are told to
//! those that they are about, and the rest is for those that listen for them.

use stackwright_contract::Context;
use stackwright_wire::Header;
use stackwright_wire::Message;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Icmp, pseudo_header};

use crate::head::{Head, ICMP6};
use crate::interface::{Owner, owner};
use crate::{Ip, NAME, Out};

/// Types of both versions.
const ECHO: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ECHO6: u8 = 128;
const ECHO_REPLY6: u8 = 129;

/// Returns the check of an ICMP message: 0 where it holds its own. That of IPv6 covers the
/// pseudo-header (RFC 4443 §2.3).
pub(crate) fn check(head: &Head, message: &impl Message) -> u16 {
    let mut check = Internet::new();
    if head.protocol == ICMP6 {
        let octets = message.len() as u32;
        let sum = pseudo_header(head.source, head.destination, ICMP6, octets);
        check.add(&sum.to_be_bytes());
    }
    message.each(|piece| check.add(piece));
    check.value()
}

impl<M: Message> Ip<M> {
    pub(crate) fn icmp(
        &mut self,
        cx: &Context,
        interface: u16,
        head: Head,
        mut message: M,
        out: Out<'_, M>,
    ) {
        let Some(Ok(front)) = message.front(Icmp::LENGTH).map(Icmp::decode) else {
            return cx.dropped(NAME, "an ICMP message that is too short");
        };
        if check(&head, &message) != 0 {
            return cx.dropped(NAME, "an ICMP message whose check does not agree");
        }
        let is_echo = front.icmp_type == if head.protocol == ICMP6 { ECHO6 } else { ECHO };
        if is_echo && self.config.answers_echo {
            return self.echo(cx, interface, head, front, message, out);
        }
        self.hand_icmp(cx, &head, message, out);
    }

    /// Answers an echo request with the same octets, and another type (RFC 1122 §3.2.2.6).
    fn echo(
        &mut self,
        cx: &Context,
        interface: u16,
        head: Head,
        asked: Icmp,
        mut message: M,
        out: Out<'_, M>,
    ) {
        if owner(&self.links, interface, head.destination) != Owner::Own {
            return cx.dropped(NAME, "an echo request to several hosts");
        }
        let icmp_type = if head.protocol == ICMP6 { ECHO_REPLY6 } else { ECHO_REPLY };
        // The pseudo-header of the answer has the same sum.
        let [old, new] = [asked.icmp_type, icmp_type].map(|kind| u16::from_be_bytes([kind, 0]));
        let checksum = Internet::update(asked.checksum, old, new);
        message.advance(Icmp::LENGTH);
        message.push(&Icmp { icmp_type, checksum, ..asked });
        let answer = Head {
            source: head.destination,
            destination: head.source,
            hops: self.config.hop_limit,
            ..head
        };
        self.answer(cx, &answer, message, out);
    }
}
