//! Packets for others, on a router (RFC 1812 §5).

use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_contract::ask::Query;
use stackwright_contract::services::{Batch, MessageProperties};
use stackwright_contract::{Context, PathLimits};
use stackwright_wire::Message;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::segment_headers;

use crate::address::is_host;
use crate::errors::{Fault, complete_check};
use crate::head::v4;
use crate::head::{Head, TCP};
use crate::{Config, Ip, NAME, Out};

/// What has been forwarded? It is asked under any name, and answered by a router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarded;

impl Query for Forwarded {
    type Answer = RoutingReport;
}

/// What does a host or a router know of its links and routes? It is asked under any name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing;

impl Query for Routing {
    type Answer = Config;
}

/// What a router has forwarded so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoutingReport {
    /// Packets, as they came: one that a kernel did not segment is one.
    pub packets: u64,
    /// Octets of them, headers included.
    pub octets: u64,
}

impl RoutingReport {
    fn add(&mut self, packets: usize, octets: usize) {
        self.packets += packets as u64;
        self.octets += octets as u64;
    }
}

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

/// By which interface and to which next hop a packet leaves, and what the links take.
struct Way {
    interface: u16,
    next_hop: IpAddr,
    from: PathLimits,
    to: PathLimits,
}

impl<M: Message> Ip<M> {
    /// Returns the way of a packet that has come by the interface `by`, or why it has none.
    fn way_on(&self, by: u16, head: &Head) -> Result<Way, (&'static str, Option<Fault>)> {
        if !is_forwardable(head.source) || !is_forwardable(head.destination) {
            return Err(("a packet between addresses that are not forwarded", None));
        }
        // Strict reverse path (RFC 3704 §2.2).
        if self.routes.resolve(head.source).is_none_or(|(interface, _)| interface != by) {
            return Err(("a packet whose source is not where it came from", None));
        }
        if head.hops <= 1 {
            return Err(("a packet whose hops are used up", Some(Fault::NoHops)));
        }
        let Some((interface, next_hop)) = self.routes.resolve(head.destination) else {
            return Err(("a packet to where no route leads", Some(Fault::NoRoute)));
        };
        let path = |interface: u16| self.links[usize::from(interface)].path(next_hop);
        let Some(to) = path(interface) else {
            return Err(("a packet for an interface that is down", Some(Fault::Unreachable)));
        };
        let from = path(by).unwrap_or(PathLimits::UNBOUNDED);
        Ok(Way { interface, next_hop, from, to })
    }

    /// Forwards packets that differ in their payload only, together; returns them where each has
    /// to be handled alone. `head` is the header of the first.
    pub(crate) fn forward_batch(
        &mut self,
        cx: &Context,
        by: u16,
        head: &Head,
        batch: Batch<M>,
        out: Out<'_, M>,
    ) -> Result<(), Batch<M>> {
        let Ok(Way { interface, next_hop, from, to }) = self.way_on(by, head) else {
            return Err(batch);
        };
        let size = batch.longest();
        if size > to.longest as usize || from.checks && !to.checks {
            return Err(batch);
        }
        let mut octets = batch.into_octets();
        let Some(packets) = octets.unshared() else { return Err(Batch::new(octets, size)) };
        packets.chunks_mut(size).for_each(lower_hops);
        self.forwarded.add(packets.len().div_ceil(size), packets.len());
        let (packets, hop) = (Batch::new(octets, size), self.hop(interface, next_hop, out));
        self.pass(cx, hop, packets, MessageProperties::default(), None, out);
        Ok(())
    }

    /// Forwards a packet that has come by the interface `by`, or tells its sender why not.
    pub(crate) fn forward(
        &mut self,
        cx: &Context,
        by: u16,
        head: Head,
        mut packet: M,
        out: Out<'_, M>,
    ) {
        let Way { interface, next_hop, from, to } = match self.way_on(by, &head) {
            Ok(way) => way,
            Err((reason, fault)) => {
                cx.dropped(NAME, reason);
                let Some(fault) = fault else { return };
                return self.fault(cx, by, &head, packet, fault, out);
            }
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
        self.forwarded.add(1, head.total);
        let hop = self.hop(interface, next_hop, out);
        let properties = MessageProperties::default();
        if is_several && is_long {
            let most = longest.min(from.longest as usize);
            let Some((octets, size)) = segments(&head, &packet, most, to.checks) else {
                return cx.dropped(NAME, "a super-packet that cannot be split");
            };
            let packets = Batch::new(M::with_headroom(crate::head::HEADROOM, &octets), size);
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
    let front = &mut front[..if head.source.is_ipv4() { HOPS4 } else { HOPS6 }];
    packet.copy_to(front);
    lower_hops(front);
    packet.advance(front.len());
    packet.push_front(front.len()).copy_from_slice(front);
}

/// Takes a hop off a header, which has more than one.
fn lower_hops(front: &mut [u8]) {
    if front[0] >> 4 == 4 {
        v4::take_hop(front);
    } else {
        front[HOPS6 - 1] -= 1;
    }
}

/// Returns the packets of at most `longest` octets that a TCP packet stands for which a kernel has
/// handed over unsegmented, and the octets of each but the last; `None`: it is malformed, or its
/// headers are too long for any. With `checks`, a driver completes the check of each.
fn segments(
    head: &Head,
    packet: &impl Message,
    longest: usize,
    checks: bool,
) -> Option<(Vec<u8>, usize)> {
    let mut whole = vec![0; head.total];
    packet.copy_to(&mut whole);
    let ip = usize::from(head.length);
    let tcp = usize::from(*whole.get(ip + 12)? >> 4) * 4;
    let header = ip + tcp;
    if tcp < 20 || header >= whole.len() || longest <= header {
        return None;
    }
    let (each, payload) = (longest - header, whole.split_off(header));
    let count = payload.len().div_ceil(each);
    let mut octets = Vec::with_capacity(payload.len() + count * header);
    for (nth, part) in payload.chunks(each).enumerate() {
        let start = octets.len();
        octets.extend_from_slice(&whole);
        let span = nth * each..nth * each + part.len();
        segment_headers(&mut octets[start..], (TCP, ip), nth, span, nth + 1 == count);
        octets.extend_from_slice(part);
        if !checks {
            let segment = &mut octets[start + ip..];
            let check = Internet::of(segment);
            segment[16..18].copy_from_slice(&check.to_be_bytes());
        }
    }
    Some((octets, longest))
}
