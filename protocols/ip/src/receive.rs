//! Upward: from a packet to the association that it is for.

use stackwright_base::map::Map as _;
use stackwright_contract::services::{
    Batch, DatagramsIndication, DatagramsRequest, Ecn, MessageProperties,
};
use stackwright_contract::{Context, Handle, IndicationTo, Outlet, PathLimits};
use stackwright_wire::{Message, SegmentLayout};

use crate::above::Unheard;
use crate::address::is_host;
use crate::errors::Fault;
use crate::head::HEADROOM;
use crate::head::v4;
use crate::head::v6::{self, Wrong};
use crate::head::{Head, ICMP, ICMP6, Key};
use crate::interface::{Owner, is_joined, owner};
use crate::reassembly::Outcome;
use crate::{Ip, NAME, Out};

impl<M: Message> Ip<M> {
    #[inline(always)]
    pub(crate) fn on_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, batch, .. } => {
                self.delivered(cx, association, batch, out);
            }
            other => self.on_seldom(cx, other, out),
        }
    }

    /// Handles all indications but the frequent one.
    #[inline(never)]
    fn on_seldom(&mut self, cx: &Context, indication: IndicationTo<Self>, out: Out<'_, M>) {
        match indication {
            DatagramsIndication::Delivered { .. } => unreachable!("it was handled before"),
            DatagramsIndication::Credit { association, credit } => {
                self.allow(association, credit, out);
            }
            DatagramsIndication::Opened { association, path, credit, .. } => {
                self.opened(cx, association, path, credit, out);
            }
            DatagramsIndication::Listening { listener, .. } => {
                let Some(port) = self.below.listener(listener).copied() else { return };
                self.links[usize::from(port.interface)].use_address(port.host, true);
                self.update(cx, port.interface, out);
            }
            DatagramsIndication::Changed { association, path } => {
                self.changed(cx, association, path, out);
            }
            DatagramsIndication::Reported { association, what, .. } => {
                self.reported_below(association, what, out);
            }
            DatagramsIndication::Ended { name, .. } => self.ended_below(cx, name, out),
            DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. }
            | DatagramsIndication::Finished { .. } => {}
        }
    }

    #[inline(always)]
    fn delivered(
        &mut self,
        cx: &Context,
        below: Handle,
        batch: Batch<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(hop) = self.below.get_mut(below) else {
            return cx.dropped(NAME, "a packet of an association that has ended");
        };
        let (interface, back) = (hop.interface, hop.handled.add(batch.cost()));
        if batch.segment_size().is_some() {
            self.several(cx, interface, batch, out);
        } else {
            self.one(cx, interface, batch, out);
        }
        if let Some(credit) = back {
            out.request(DatagramsRequest::Credit { association: below, credit });
        }
    }

    #[inline(always)]
    fn one(
        &mut self,
        cx: &Context,
        interface: u16,
        mut batch: Batch<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let packet = batch.single_mut();
        let octets = packet.len();
        // The straight path: an association has a key of its own addresses, so nothing more is to
        // be checked.
        if let Some(front) = packet.front(v4::LENGTH).and_then(|front| front.first_chunk())
            && let Some((key, total)) = v4::plain(front, octets)
            && key.protocol != ICMP
            && let ecn = front[1] & 3
            && let Some(name) = self.table.resolve(&key)
        {
            if total < octets {
                packet.truncate(total);
            }
            packet.advance(v4::LENGTH);
            return self.hand_up(cx, name, ecn, batch, out);
        }
        self.any(cx, interface, batch.into_single(), out);
    }

    /// Handles a packet of any kind.
    #[inline(never)]
    fn any(&mut self, cx: &Context, interface: u16, mut packet: M, out: Out<'_, M>) {
        let head = match Head::read(&mut packet) {
            Ok(head) => head,
            Err(reason) => return cx.dropped(NAME, reason),
        };
        let key = head.key();
        if head.fragment.is_none()
            && !matches!(key.protocol, ICMP | ICMP6)
            && let Some(name) = self.table.resolve(&key)
        {
            return self.deliver(cx, name, &head, packet, out);
        }
        self.stray(cx, interface, head, packet, out);
    }

    /// Delivers the payload of a packet to an association.
    #[inline(always)]
    fn deliver(
        &mut self,
        cx: &Context,
        association: Handle,
        head: &Head,
        mut packet: M,
        out: &mut (impl Outlet<Self> + ?Sized),
    ) {
        packet.truncate(head.total);
        packet.advance(head.length.into());
        self.hand_up(cx, association, head.ecn, packet.into(), out);
    }

    #[inline(always)]
    fn hand_up(
        &mut self,
        cx: &Context,
        association: Handle,
        ecn: u8,
        batch: Batch<M>,
        out: &mut (impl Outlet<Self> + ?Sized),
    ) {
        let Some(open) = self.above.get_mut(association) else { return };
        let cost = batch.cost();
        if !open.up.covers(cost) {
            return cx.dropped(NAME, "a message for which there is no credit above");
        }
        open.up -= cost;
        let properties =
            MessageProperties { ecn: Ecn::of_bits(ecn), ..MessageProperties::default() };
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// Handles packets that came together: those of one association stay together.
    #[inline(never)]
    fn several(
        &mut self,
        cx: &Context,
        interface: u16,
        batch: Batch<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let mut batch = batch;
        if let Some(head) = alike(&batch) {
            if let Some(association) = self.table.resolve(&head.key()) {
                let (size, header) = (batch.longest(), usize::from(head.length));
                let mut octets = batch.into_octets();
                octets.drop_gaps(&SegmentLayout::new(size, header));
                let batch = Batch::new(octets, size - header);
                return self.hand_up(cx, association, head.ecn, batch, out);
            }
            if self.config.forwards
                && owner(&self.links, interface, head.destination) == Owner::Other
            {
                match self.forward_batch(cx, interface, &head, batch, out) {
                    Ok(()) => return,
                    Err(same) => batch = same,
                }
            }
        }
        for packet in batch {
            self.one(cx, interface, packet.into(), out);
        }
    }

    /// Handles what is for no association, is a fragment, or ICMP.
    #[inline(never)]
    fn stray(&mut self, cx: &Context, by: u16, mut head: Head, mut packet: M, out: Out<'_, M>) {
        if !is_host(head.source) {
            return cx.dropped(NAME, "a packet whose source is no host");
        }
        packet.truncate(head.total);
        match owner(&self.links, by, head.destination) {
            Owner::Own => {}
            Owner::Several => {
                let group = head.destination;
                if !is_joined(&self.links, group) && !self.has_joined(group) {
                    return cx.dropped(NAME, "a packet to a group that nobody here has joined");
                }
            }
            Owner::Other if self.config.forwards => return self.forward(cx, by, head, packet, out),
            Owner::Other => return cx.dropped(NAME, "a packet for another host"),
        }
        if owner(&self.links, by, head.source) != Owner::Other {
            return cx.dropped(NAME, "a packet from an address of this host, or of several");
        }
        if head.is_extended()
            && let Err(Wrong { reason, problem }) = v6::read_chain(&mut packet, &mut head)
        {
            cx.dropped(NAME, reason);
            if let Some((code, at)) = problem {
                self.fault(cx, by, &head, packet, Fault::Problem { code, at }, out);
            }
            return;
        }
        if head.fragment.is_some() {
            return self.fragment(cx, by, head, packet, out);
        }
        self.whole(cx, by, head, packet, out);
    }

    /// Handles a fragment for this host.
    fn fragment(&mut self, cx: &Context, by: u16, head: Head, mut packet: M, out: Out<'_, M>) {
        let link = self.links[usize::from(by)].path(head.source).unwrap_or(PathLimits::UNBOUNDED);
        match self.reassembly.add(cx.now(), (by, link), head, &mut packet, HEADROOM) {
            Outcome::Kept => {}
            Outcome::Whole(head, octets) => {
                let end = octets.len();
                let mut whole = M::from_block(octets.into(), HEADROOM, end);
                let Head { source, destination, protocol, hops, ecn, .. } = head;
                let first = Head { ecn, ..Head::of(source, destination, protocol, hops) };
                first.push(&mut whole);
                // What stood behind the fragment header is read now.
                match Head::read(&mut whole) {
                    Ok(head) => self.stray(cx, by, head, whole, out),
                    Err(reason) => cx.dropped(NAME, reason),
                }
            }
            Outcome::Dropped(reason) => cx.dropped(NAME, reason),
            Outcome::Problem(reason, at) => {
                cx.dropped(NAME, reason);
                if head.source.is_ipv6() {
                    let code = v6::ERRONEOUS;
                    self.fault(cx, by, &head, packet, Fault::Problem { code, at }, out);
                }
            }
        }
    }

    /// Handles a whole packet for this host.
    fn whole(&mut self, cx: &Context, by: u16, head: Head, mut packet: M, out: Out<'_, M>) {
        let key @ Key { protocol, .. } = head.key();
        let is_ipv4 = head.source.is_ipv4();
        if protocol == if is_ipv4 { ICMP } else { ICMP6 } {
            packet.advance(head.length.into());
            return self.icmp(cx, by, head, packet, out);
        }
        if protocol == v6::NOTHING && !is_ipv4 {
            return cx.dropped(NAME, "a packet that carries nothing");
        }
        let name = match self.table.resolve(&key) {
            Some(name) => Some(name),
            None => match self.arrive(cx, key, out) {
                Ok(name) => name,
                Err(Unheard) => {
                    cx.dropped(NAME, "a packet of a protocol that nobody here has");
                    return self.fault(cx, by, &head, packet, Fault::NoProtocol, out);
                }
            },
        };
        if let Some(name) = name {
            self.deliver(cx, name, &head, packet, out);
        }
    }

    /// Delivers an ICMP message to those that listen for them.
    pub(crate) fn hand_icmp(&mut self, cx: &Context, head: &Head, message: M, out: Out<'_, M>) {
        let name = match self.table.resolve(&head.key()) {
            Some(name) => Some(name),
            None => self.arrive(cx, head.key(), out).unwrap_or_default(),
        };
        match name {
            Some(name) => self.hand_up(cx, name, head.ecn, message.into(), out),
            None => cx.dropped(NAME, "an ICMP message that nobody awaits"),
        }
    }
}

/// Returns the header of the first of these packets, if they differ in their payload only and have
/// one each.
fn alike<M: Message>(batch: &Batch<M>) -> Option<Head> {
    let (mut left, size) = (batch.octets(), batch.longest());
    let mut first: Option<Head> = None;
    for mut pieces in batch.pieces() {
        let octets = left.min(size);
        left -= octets;
        let head = Head::of_front(pieces.next()?, octets)?;
        let is_plain = head.fragment.is_none()
            && head.total == octets
            && head.total > head.length.into()
            && !matches!(head.protocol, ICMP | ICMP6);
        let same = |first: Head| Head { total: head.total, ..first } == head;
        if !is_plain || !first.is_none_or(same) {
            return None;
        }
        first = first.or(Some(head));
    }
    first
}
