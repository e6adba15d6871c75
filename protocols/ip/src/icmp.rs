//! ICMP messages that arrive (RFC 792, RFC 4443): echo requests are answered, errors are told to
//! those that they are about, and the rest is for those that listen for them.

use core::net::IpAddr;

use stackwright_base::map::Map as _;
use stackwright_contract::services::DatagramsIndication;
use stackwright_contract::{Address, Context, Trouble};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Extensions, Icmp, Ipv4, Ipv6, pseudo_header};
use stackwright_wire::{Header, Message};

use crate::head::{Head, ICMP6, Key};
use crate::head::{v4, v6};
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

/// Returns whether an ICMP message of this type is an error, or a redirect: about those, no error
/// is sent.
pub(crate) fn is_error(head: &Head, icmp_type: u8) -> bool {
    match head.protocol {
        ICMP6 => icmp_type < 128 || icmp_type == 137,
        _ => matches!(icmp_type, 3 | 4 | 5 | 11 | 12),
    }
}

/// Returns what an error says; `None`: nothing that is believed (redirects, source quench: RFC
/// 6633).
fn trouble(head: &Head, front: &Icmp) -> Option<Trouble> {
    Some(if head.protocol == ICMP6 {
        match (front.icmp_type, front.code) {
            (1, 1 | 5 | 6) => Trouble::Prohibited,
            (1, 4) | (4, v6::UNRECOGNISED_NEXT) => Trouble::Refused,
            (1, _) => Trouble::Unreachable,
            (2, _) => Trouble::TooLong { longest: front.rest },
            (3, _) => Trouble::TooFar,
            (4, _) => Trouble::Malformed,
            _ => return None,
        }
    } else {
        match (front.icmp_type, front.code) {
            (3, 2 | 3) => Trouble::Refused,
            (3, 4) => Trouble::TooLong { longest: front.rest & 0xffff },
            (3, 9 | 10 | 13) => Trouble::Prohibited,
            (3, _) => Trouble::Unreachable,
            (11, _) => Trouble::TooFar,
            (12, _) => Trouble::Malformed,
            _ => return None,
        }
    })
}

/// Returns of the packet that an error quotes: its association, the octets of its header and of
/// all of it, and the first octets of its payload.
pub(crate) fn quoted<M: Message>(packet: &mut M) -> Option<(Key, u32, u32, [u8; 8])> {
    let octets = packet.front(v4::LENGTH)?;
    let (source, destination, protocol, header, total);
    if octets[0] >> 4 == 4 {
        let quoted = Ipv4::decode(octets).ok()?;
        if quoted.fragment_offset > 0 {
            return None;
        }
        (source, destination) = (IpAddr::from(quoted.source), quoted.destination.into());
        (protocol, header) = (quoted.protocol, usize::from(quoted.ihl) * 4);
        total = quoted.total_length.into();
    } else {
        let octets = packet.front(v6::LENGTH)?;
        let quoted = Ipv6::decode(octets).ok()?;
        (source, destination) = (IpAddr::from(quoted.source), quoted.destination.into());
        total = v6::LENGTH as u32 + u32::from(quoted.payload_length);
        // This host writes no extension headers but that of fragments.
        (protocol, header) = if quoted.next_header == Extensions::FRAGMENT {
            let behind = &packet.front(v6::LENGTH + v6::FRAGMENT)?[v6::LENGTH..];
            if behind[2] > 0 || behind[3] & !7 > 0 {
                return None;
            }
            (behind[0], v6::LENGTH + v6::FRAGMENT)
        } else {
            (quoted.next_header, v6::LENGTH)
        };
    }
    let front = packet.front(header + 8)?.get(header..)?;
    let key = Key { own: source, peer: destination, protocol };
    Some((key, header as u32, total, *front.first_chunk()?))
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
        if is_error(&head, front.icmp_type) {
            return self.error(cx, &head, &front, message, out);
        }
        self.hand_icmp(cx, &head, message, out);
    }

    /// Tells the association that an error quotes what is wrong with what it has sent.
    fn error(&mut self, cx: &Context, head: &Head, front: &Icmp, mut message: M, out: Out<'_, M>) {
        let Some(what) = trouble(head, front) else {
            return cx.dropped(NAME, "an ICMP error that is not heeded");
        };
        message.advance(Icmp::LENGTH);
        let Some((key, header, total, quoted)) = quoted(&mut message) else {
            return cx.dropped(NAME, "an ICMP error that quotes too little");
        };
        // An error about what was never sent is forged, or late.
        let Some(association) = self.table.resolve(&key) else {
            return cx.dropped(NAME, "an ICMP error about what was not sent");
        };
        let what = match what {
            Trouble::TooLong { longest } => {
                let before = self.paths.to(key.peer);
                let mtu = self.paths.learn(cx.now(), key.peer, longest, total);
                if mtu == u32::MAX || mtu >= total {
                    return cx.dropped(NAME, "an ICMP error about a packet that is not too long");
                }
                if mtu != before {
                    self.update_path(key.peer, out);
                }
                Trouble::TooLong { longest: mtu - header }
            }
            what => what,
        };
        let by = Address::InternetProtocol { host: head.source, protocol: head.protocol }.into();
        out.indicate(DatagramsIndication::Reported { association, by, what, quoted });
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
