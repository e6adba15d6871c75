//! Upward: from a packet to the association that it is for.

use stackwright_base::map::Map as _;
use stackwright_contract::services::{Batch, Credit, DatagramsIndication, Ecn, MessageProperties};
use stackwright_contract::{Context, Handle, IndicationTo, PathLimits};
use stackwright_wire::{Message, SegmentLayout};

use crate::above::Unheard;
use crate::address::is_host;
use crate::errors::Fault;
use crate::head::HEADROOM;
use crate::head::v4::{self, Plain};
use crate::head::v6::{self, Wrong};
use crate::head::{Head, ICMP, ICMP6, Key};
use crate::interface::{Owner, is_joined, owner};
use crate::reassembly::Outcome;
use crate::{Ip, NAME, Out};

impl<M: Message> Ip<M> {
    /// Takes the header off packets that are for one association, which has credit for them:
    /// returns its name. `None`: they are as they were, and handled in another way.
    #[inline(always)]
    pub(crate) fn pull_header(
        &mut self,
        batch: &mut Batch<M>,
        Credit { octets, messages }: Credit,
        returned: bool,
    ) -> Option<(Handle, Ecn)> {
        let size = if messages == 1 { octets } else { batch.longest() };
        if size < v4::LENGTH || returned {
            return None;
        }
        let front: [u8; v4::LENGTH] = *batch.front(v4::LENGTH)?.first_chunk()?;
        let (plain, total) = Plain::read(&front, size)?;
        // An association has a key of its own addresses, so nothing more is to be checked.
        let name = match self.recent {
            Some((recent, name)) if recent == plain => name,
            _ => {
                let name = self.table.resolve(&plain.key())?;
                self.recent = Some((plain, name));
                name
            }
        };
        let open = self.above.get_mut(name)?;
        let cost = Credit { octets: (total - v4::LENGTH) * messages, messages };
        if !open.up.covers(cost) {
            return None;
        }
        if messages == 1 {
            let packet = batch.single_mut();
            if total < size {
                packet.truncate(total);
            }
            packet.advance(v4::LENGTH);
        } else if total < size || !batch.strip_each(&front) {
            return None;
        }
        open.up -= cost;
        Some((name, Ecn::of_bits(front[1])))
    }

    /// Handles all indications but those on the straight path.
    #[inline(never)]
    pub(crate) fn on_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: Out<'_, M>,
    ) {
        match indication {
            DatagramsIndication::Delivered { .. } => {
                cx.dropped(NAME, "a packet of an association that has ended");
            }
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
            DatagramsIndication::Ended { name, .. } => self.ended_below(cx, name, out),
            // Who is below names packets by what it returns.
            DatagramsIndication::Reported { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. }
            | DatagramsIndication::Finished { .. } => {}
        }
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
    fn deliver(
        &mut self,
        cx: &Context,
        association: Handle,
        head: &Head,
        mut packet: M,
        out: Out<'_, M>,
    ) {
        packet.truncate(head.total);
        packet.advance(head.length.into());
        self.hand_up(cx, association, head.ecn, packet.into(), out);
    }

    fn hand_up(
        &mut self,
        cx: &Context,
        association: Handle,
        ecn: u8,
        batch: Batch<M>,
        out: Out<'_, M>,
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

    /// Handles what is not all [plain](Self::pull_header): of packets that came together, those of
    /// one association stay together.
    #[inline(never)]
    pub(crate) fn on_packets(
        &mut self,
        cx: &Context,
        interface: u16,
        indication: IndicationTo<Self>,
        out: Out<'_, M>,
    ) {
        let DatagramsIndication::Delivered { mut batch, properties, .. } = indication else {
            return;
        };
        if properties.returned {
            return batch.into_iter().for_each(|packet| self.undelivered(cx, packet, out));
        }
        if batch.segment_size().is_none() {
            return self.any(cx, interface, batch.into_single(), out);
        }
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
            let mut batch = Batch::from(packet);
            let cost = batch.cost();
            match self.pull_header(&mut batch, cost, false) {
                Some((association, ecn)) => {
                    let properties = MessageProperties { ecn, ..properties };
                    out.indicate(DatagramsIndication::Delivered { association, batch, properties });
                }
                None => self.any(cx, interface, batch.into_single(), out),
            }
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
        match self.whose(cx, key, out) {
            Ok(Some(name)) => self.deliver(cx, name, &head, packet, out),
            Ok(None) => {}
            Err(Unheard) => {
                cx.dropped(NAME, "a packet of a protocol that nobody here has");
                self.fault(cx, by, &head, packet, Fault::NoProtocol, out);
            }
        }
    }

    /// Delivers an ICMP message to those that listen for them.
    pub(crate) fn hand_icmp(&mut self, cx: &Context, head: &Head, message: M, out: Out<'_, M>) {
        match self.whose(cx, head.key(), out).unwrap_or_default() {
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
