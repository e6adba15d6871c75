//! Packets for others, on a router (RFC 1812 §5).

use core::net::IpAddr;

use stackwright_contract::services::{Batch, MessageProperties};
use stackwright_contract::{Context, PathLimits};
use stackwright_wire::Message;

use crate::address::is_host;
use crate::errors::{Fault, complete_check};
use crate::head::{Head, TCP};
use crate::{Ip, NAME, Out, super_packets, v4};

/// Octets of a header that change with each hop, and all before them.
const HOPS4: usize = 12;
const HOPS6: usize = 8;

/// Returns whether routers pass an address on (RFC 3927 §2.6.2, RFC 4291 §2.5.6).
fn is_forwardable(host: IpAddr) -> bool {
    let is_link_local = match host {
        IpAddr::V4(host) => host.is_link_local(),
        IpAddr::V6(host) => host.is_unicast_link_local(),
    };
    is_host(host) && !is_link_local
}

impl<M: Message> Ip<M> {
    /// Forwards a packet that has come by the interface `by`, or tells its sender why not.
    pub(crate) fn forward(
        &mut self,
        cx: &Context,
        by: u16,
        head: Head,
        mut packet: M,
        out: Out<'_, M>,
    ) {
        if !is_forwardable(head.source) || !is_forwardable(head.destination) {
            return cx.dropped(NAME, "a packet between addresses that are not forwarded");
        }
        // Strict reverse path (RFC 3704 §2.2).
        if self.routes.resolve(head.source).is_none_or(|(interface, _)| interface != by) {
            return cx.dropped(NAME, "a packet whose source is not where it came from");
        }
        if head.hops <= 1 {
            cx.dropped(NAME, "a packet whose hops are used up");
            return self.fault(cx, by, &head, packet, Fault::NoHops, out);
        }
        let Some((interface, next_hop)) = self.routes.resolve(head.destination) else {
            cx.dropped(NAME, "a packet to where no route leads");
            return self.fault(cx, by, &head, packet, Fault::NoRoute, out);
        };
        let from = self.links[usize::from(by)].path(next_hop).unwrap_or(PathLimits::UNBOUNDED);
        let Some(to) = self.links[usize::from(interface)].path(next_hop) else {
            cx.dropped(NAME, "a packet for an interface that is down");
            return self.fault(cx, by, &head, packet, Fault::Unreachable, out);
        };
        let (longest, is_long) = (to.longest as usize, head.total > to.longest as usize);
        // A kernel's super-packet stands for as many packets as its link would have taken.
        let is_several = head.protocol == TCP
            && head.fragment.is_none()
            && from.checks
            && head.total > from.longest as usize;
        if is_long && !is_several && head.df {
            cx.dropped(NAME, "a packet longer than the next link takes");
            return self.fault(cx, by, &head, packet, Fault::TooLong(to.longest), out);
        }
        if from.checks && !to.checks && head.fragment.is_none() && !is_several {
            let mut header = [0; 60];
            let header = &mut header[..usize::from(head.length).min(60)];
            packet.copy_to(header);
            if header.len() == usize::from(head.length) {
                packet.advance(header.len());
                complete_check(&head, &mut packet);
                packet.push_front(header.len()).copy_from_slice(header);
            }
        }
        take_hop(&head, &mut packet);
        let hop = self.hop(interface, next_hop, out);
        let properties = MessageProperties::default();
        if is_several && is_long {
            let most = longest.min(from.longest as usize);
            let Some((octets, size)) = super_packets::split(&head, &packet, most, to.checks) else {
                return cx.dropped(NAME, "a super-packet that cannot be split");
            };
            let packets = Batch::new(M::with_headroom(crate::send::HEADROOM, &octets), size);
            self.pass(cx, hop, packets, properties, None, out);
        } else if is_long {
            self.forward_fragments(cx, hop, &head, packet, longest, out);
        } else {
            self.pass(cx, hop, packet.into(), properties, None, out);
        }
    }
}

/// Takes a hop off a packet, in place where nobody else holds it.
fn take_hop(head: &Head, packet: &mut impl Message) {
    let mut front = [0; HOPS4];
    let octets = if head.source.is_ipv4() { HOPS4 } else { HOPS6 };
    let front = &mut front[..octets];
    packet.copy_to(front);
    if octets == HOPS4 {
        v4::take_hop(front);
    } else {
        front[HOPS6 - 1] -= 1;
    }
    packet.advance(octets);
    packet.push_front(octets).copy_from_slice(front);
}
