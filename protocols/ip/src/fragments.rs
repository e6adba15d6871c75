//! What is longer than the path takes leaves in fragments (RFC 791 §3.2, RFC 8200 §4.5).

use core::net::IpAddr;

use stackwright_base::map::Hashing as _;
use stackwright_contract::services::{CreditBack, MessageProperties};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;
use stackwright_wire::internet::Extensions;

use crate::errors::complete_check;
use crate::head::{Fragment, Head, PACKET_MOST, TCP, Template};
use crate::head::{v4, v6};
use crate::{Ip, NAME, Out};

impl<M: Message> Ip<M> {
    /// Returns whether what this host sends of a protocol may leave in fragments.
    pub(crate) fn may_fragment(&self, protocol: u8) -> bool {
        self.config.fragments && protocol != TCP
    }

    /// Returns the identification of the next packet that leaves in fragments: of each pair of
    /// hosts another row of numbers, which others cannot guess (RFC 7739 §5).
    fn identification(&mut self, source: IpAddr, destination: IpAddr, protocol: u8) -> u32 {
        self.fragmented = self.fragmented.wrapping_add(1);
        (self.hashing.hash(&(source, destination, protocol)) as u32).wrapping_add(self.fragmented)
    }

    /// Sends a message of this host to a hop, in fragments: it is longer than packets of `longest`
    /// octets. `back` is given back with the last. Checks that drivers would complete are
    /// completed, because no driver sees the message.
    pub(crate) fn send_fragments(
        &mut self,
        cx: &Context,
        (hop, longest): (Handle, usize),
        head: &Head,
        mut message: M,
        back: CreditBack,
        out: Out<'_, M>,
    ) {
        let Head { source, destination, protocol, ecn, hops, .. } = *head;
        let is_ipv4 = source.is_ipv4();
        let header = if is_ipv4 { v4::LENGTH } else { v6::LENGTH + v6::FRAGMENT };
        let most = if is_ipv4 { PACKET_MOST - header } else { PACKET_MOST };
        let each = longest.saturating_sub(header) / 8 * 8;
        if message.len() > most || each == 0 {
            cx.dropped(NAME, "a message longer than any packet");
            return self.give_back(back, out);
        }
        complete_check(head, &mut message);
        let identification = self.identification(source, destination, protocol);
        let next = if is_ipv4 { protocol } else { Extensions::FRAGMENT };
        let template = Template::new(source, destination, next, hops);
        let mut offset = 0;
        while !message.is_empty() {
            let mut payload = message.split_to(message.len().min(each));
            let more = !message.is_empty();
            let octets = payload.len();
            let fragment = Fragment { identification, offset, more };
            if is_ipv4 {
                let mut header = template.header(ecn, octets, false);
                v4::be_fragment(&mut header[..v4::LENGTH], octets, fragment);
                payload.push_front(v4::LENGTH).copy_from_slice(&header[..v4::LENGTH]);
            } else {
                let header = template.header(ecn, octets + v6::FRAGMENT, true);
                let behind = v6::fragment_header(protocol, fragment);
                let front = payload.push_front(v6::LENGTH + v6::FRAGMENT);
                front[..v6::LENGTH].copy_from_slice(&header);
                front[v6::LENGTH..].copy_from_slice(&behind);
            }
            offset += octets as u32;
            let back = back.filter(|_| !more);
            self.pass(cx, hop, payload.into(), MessageProperties::default(), back, out);
        }
    }

    /// Fragments a packet of IPv4 that is forwarded, and may be a fragment itself. Its options, if
    /// it has any, are in the first one only.
    pub(crate) fn forward_fragments(
        &mut self,
        cx: &Context,
        hop: Handle,
        head: &Head,
        mut packet: M,
        longest: usize,
        out: Out<'_, M>,
    ) {
        let header = usize::from(head.length);
        let mut first = [0; 60];
        packet.copy_to(&mut first[..header]);
        packet.advance(header);
        let whole = head.fragment.unwrap_or(Fragment {
            identification: u16::from_be_bytes([first[4], first[5]]).into(),
            offset: 0,
            more: false,
        });
        let (mut offset, mut length) = (whole.offset, header);
        while !packet.is_empty() {
            let each = longest.saturating_sub(length) / 8 * 8;
            if each == 0 {
                return cx.dropped(NAME, "a packet that no fragment of the link holds");
            }
            let mut payload = packet.split_to(packet.len().min(each));
            let more = whole.more || !packet.is_empty();
            let octets = payload.len();
            first[0] = 0x40 | (length / 4) as u8;
            let fragment = Fragment { offset, more, ..whole };
            v4::be_fragment(&mut first[..length], octets, fragment);
            payload.push_front(length).copy_from_slice(&first[..length]);
            (offset, length) = (offset + octets as u32, v4::LENGTH);
            self.pass(cx, hop, payload.into(), MessageProperties::default(), None, out);
        }
    }
}
