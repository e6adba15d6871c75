//! Downward: a header before each message, and the way to the next hop.

use stackwright_contract::services::{
    Batch, Credit, CreditBack, DatagramsIndication, MessageProperties,
};
use stackwright_contract::{Context, Handle, PathLimits, Trouble};
use stackwright_wire::Message;

use crate::errors::{Fault, write_check};
use crate::head::{HEADROOM, Head, ICMP6, Key, Template};
use crate::hops::HopKind;
use crate::{Ip, NAME, Out};

/// Blocks of copied packets that may be on their way down.
pub(crate) const LENT_MOST: usize = 16;
/// The octets of a block: a batch of 64 KiB with the headers of short packets.
pub(crate) const BLOCK: usize = 80 << 10;

impl<M: Message> Ip<M> {
    /// Pushes the header before messages that fit into packets, for a next hop that takes them now:
    /// returns that, and the credit that is given back then. `None`: they are sent in another way.
    #[inline(always)]
    pub(crate) fn push_header(
        &mut self,
        name: Handle,
        batch: &mut Batch<M>,
        properties: &MessageProperties,
    ) -> Option<(Handle, Option<Credit>)> {
        let open = self.above.get_mut(name)?;
        let (cost, header) = (batch.cost(), open.template.length());
        let size = if cost.messages == 1 { cost.octets } else { batch.longest() };
        let is_plain = size <= open.longest && open.key.protocol != ICMP6 && !properties.returned;
        let below = open.hop.filter(|_| is_plain)?;
        let hop = self.below.get_mut(below)?;
        let packets = Credit { octets: cost.octets + cost.messages * header, ..cost };
        if !hop.gate.pass(packets) {
            return None;
        }
        if !open.template.push(batch, properties.ecn.bits()) {
            hop.gate.allow(packets);
            return None;
        }
        Some((below, open.owed.add(cost)))
    }

    /// Sends what cannot leave [at once](Self::push_header).
    #[inline(never)]
    pub(crate) fn send_any(
        &mut self,
        cx: &Context,
        name: Handle,
        mut batch: Batch<M>,
        properties: MessageProperties,
        out: Out<'_, M>,
    ) {
        let Some(open) = self.above.get(name).filter(|open| open.is_open) else {
            return cx.dropped(NAME, "a message for an association that is not open");
        };
        let (template, most, source) = (open.template, open.longest, open.source);
        let Key { peer, protocol, .. } = open.key;
        let (interface, next_hop, hop) = (open.interface, open.next_hop, open.hop);
        let back = Some((name, batch.cost()));
        if properties.returned {
            return self.returned(cx, name, batch, back, out);
        }
        let hop = match hop.filter(|hop| self.below.get(*hop).is_some()) {
            Some(hop) => hop,
            None if self.links[usize::from(interface)].path(next_hop).is_none() => {
                cx.dropped(NAME, "a message for an interface that is down");
                return self.give_back(back, out);
            }
            None => {
                let hop = self.hop(interface, next_hop, out);
                self.use_hop(hop);
                self.above.get_mut(name).into_iter().for_each(|open| open.hop = Some(hop));
                hop
            }
        };
        let ecn = properties.ecn.bits();
        if batch.longest() <= most && protocol != ICMP6 {
            match self.headed(&template, ecn, batch) {
                Ok(packets) => return self.pass(cx, hop, packets, properties, back, out),
                Err(same) => batch = same,
            }
        }
        let (mut messages, mut back) = (batch.into_iter(), back);
        let head = Head { ecn, ..Head::of(source, peer, protocol, self.config.hop_limit) };
        while let Some(message) = messages.next() {
            // The credit comes back with the last.
            let back = if messages.len() == 0 { back.take() } else { None };
            self.send_long(cx, [name, hop], &head, message, (properties, back), out);
        }
    }

    /// Sends a message that may be longer than a packet, or whose check this host writes (RFC 3542
    /// §3.1).
    fn send_long(
        &mut self,
        cx: &Context,
        [name, hop]: [Handle; 2],
        head: &Head,
        mut message: M,
        (properties, back): (MessageProperties, CreditBack),
        out: Out<'_, M>,
    ) {
        let Some(open) = self.above.get(name) else { return };
        let (most, by) = (open.longest, open.local_participant());
        if head.protocol == ICMP6 {
            write_check(head, &mut message);
        }
        if message.len() <= most {
            head.push(&mut message);
            return self.pass(cx, hop, message.into(), properties, back, out);
        }
        if self.may_fragment(head.protocol) {
            let longest = most + head.header_octets();
            return self.send_fragments(cx, (hop, longest), head, message, back, out);
        }
        cx.dropped(NAME, "a message longer than the path takes");
        let (mut quoted, what) = ([0; 8], Trouble::TooLong { longest: most as u32 });
        message.copy_to(&mut quoted);
        out.indicate(DatagramsIndication::Reported { association: name, by, what, quoted });
        self.give_back(back, out);
    }

    /// Tells the sender of a message, which was delivered on this association, that nobody awaits
    /// it.
    #[cold]
    fn returned(
        &mut self,
        cx: &Context,
        name: Handle,
        batch: Batch<M>,
        back: CreditBack,
        out: Out<'_, M>,
    ) {
        if let Some(open) = self.above.get(name) {
            let (Key { own, peer, protocol }, by) = (open.key, open.interface);
            for mut message in batch {
                let mut head = Head::of(peer, own, protocol, self.config.hop_limit);
                head.push(&mut message);
                head.total = message.len();
                self.fault(cx, by, &head, message, Fault::NoPort, out);
            }
        }
        self.give_back(back, out);
    }

    /// Returns a batch of messages with a header before each: in the gap before it, where there is
    /// one, else copied into one block. Returns the messages where neither can be done.
    fn headed(
        &mut self,
        template: &Template,
        ecn: u8,
        mut batch: Batch<M>,
    ) -> Result<Batch<M>, Batch<M>> {
        if template.push(&mut batch, ecn) {
            return Ok(batch);
        }
        let (size, header) = (batch.longest(), template.length());
        let end = HEADROOM + batch.octets() + batch.count() * header;
        let may = self.pool.regain(&mut self.lent) || self.lent.len() < LENT_MOST;
        if end > self.pool.block() || !may {
            return Err(batch);
        }
        let mut block = self.pool.take();
        let (mut at, mut left) = (HEADROOM, batch.octets());
        for pieces in batch.pieces() {
            let octets = left.min(size);
            left -= octets;
            let front = template.header(ecn, octets, true);
            block[at..at + header].copy_from_slice(&front[..header]);
            at += header;
            for piece in pieces {
                block[at..at + piece.len()].copy_from_slice(piece);
                at += piece.len();
            }
        }
        stackwright_wire::count_copied(batch.octets());
        let packets = M::from_block(block, HEADROOM, end);
        if M::SHARES {
            self.lent.push(packets.share());
        }
        Ok(Batch::new(packets, size + header))
    }

    /// Sends a packet of this host's own, in fragments if it is long: an answer.
    pub(crate) fn answer(&mut self, cx: &Context, head: &Head, mut payload: M, out: Out<'_, M>) {
        let Some((interface, next_hop)) = self.routes.resolve(head.destination) else {
            return cx.dropped(NAME, "an answer that no route leads back");
        };
        let Some(path) = self.links[usize::from(interface)].path(next_hop) else {
            return cx.dropped(NAME, "an answer by an interface that is down");
        };
        let hop = self.hop(interface, next_hop, out);
        let longest = (path.longest as usize).min(self.paths.to(head.destination) as usize);
        if payload.len() + head.header_octets() > longest {
            return self.send_fragments(cx, (hop, longest), head, payload, None, out);
        }
        head.push(&mut payload);
        self.pass(cx, hop, payload.into(), MessageProperties::default(), None, out);
    }

    /// The limits of a link have changed.
    pub(crate) fn changed(
        &mut self,
        cx: &Context,
        below: Handle,
        path: PathLimits,
        out: Out<'_, M>,
    ) {
        let Some(hop) = self.below.get(below) else { return };
        if let (interface, HopKind::Arrivals(_, host)) = (hop.interface, hop.kind) {
            self.set_path(cx, interface, host, Some(path), out);
        }
    }
}
