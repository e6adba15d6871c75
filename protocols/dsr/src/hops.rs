//! The associations of the layer below: one with each next hop, and one that delivers what arrives.

use core::net::{IpAddr, Ipv4Addr};

use alloc::vec::Vec;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{
    Credit, CreditBack, CreditGate, DatagramsIndication, DatagramsRequest, Ended,
    MessageProperties, QueuedBatch,
};
use stackwright_contract::{Address, Context, Handle, Participant, Party, PathLimits};
use stackwright_wire::Message;

use crate::packet::Packet;
use crate::state::{Above, HOPS_MOST, Hop, Kept, To};
use crate::{Dsr, NAME, Out};

/// Returns the participant that both other layers know a host by.
pub(crate) fn participant(host: Ipv4Addr) -> Participant {
    Address::InternetProtocol { host: IpAddr::V4(host), protocol: 0 }.into()
}

/// Returns the host that the layer above means.
pub(crate) fn host(participant: Participant) -> Option<Ipv4Addr> {
    match participant.address {
        Address::InternetProtocol { host: IpAddr::V4(host), .. } => Some(host),
        _ => None,
    }
}

impl<M: Message> Dsr<M> {
    /// Awaits what arrives.
    pub(crate) fn expect(&mut self, listener: Handle, out: Out<'_, M>) {
        if let Some(association) = self.below.expect(listener, Credit::ROOM) {
            out.request(DatagramsRequest::Await { listener, association, credit: Credit::ROOM });
        }
    }

    /// Returns the association with a next hop; opens it where there is none.
    fn hop(&mut self, wanted: Ipv4Addr, out: Out<'_, M>) -> Handle {
        self.turns += 1;
        let now = self.turns;
        for (name, hop) in self.below.iter_mut() {
            if let Hop::To { host, turn, .. } = hop
                && *host == wanted
            {
                *turn = now;
                return name;
            }
        }
        self.close_unused(out);
        let (gate, is_open) = (CreditGate::default(), false);
        let association =
            self.below.open(|_| Hop::To { host: wanted, gate, is_open, inside: 0, turn: now });
        let (remote, local, credit) = (participant(wanted), None, Credit::ROOM);
        out.request(DatagramsRequest::Open { association, remote, local, credit });
        association
    }

    /// Closes the next hop that was used least, where there are as many as are kept.
    fn close_unused(&mut self, out: Out<'_, M>) {
        let hops = self.below.iter().filter_map(|(name, hop)| match hop {
            Hop::To { turn, gate, is_open: true, .. } if gate.is_idle() => Some((*turn, name)),
            _ => None,
        });
        let least = hops.min().filter(|_| self.below.len() >= HOPS_MOST);
        if let Some((_, name)) = least {
            // It may be wanted again before its last word: then under another name.
            if let Some(Hop::To { host, is_open, .. }) = self.below.get_mut(name) {
                (*host, *is_open) = (Ipv4Addr::UNSPECIFIED, false);
            }
            out.request(DatagramsRequest::Close { name });
        }
    }

    /// Returns how many packets for a next hop have not left.
    pub(crate) fn inside(&self, wanted: Ipv4Addr) -> usize {
        let inside = |hop: &Hop<M>| match hop {
            Hop::To { host, inside, gate, .. } if *host == wanted => Some(inside + gate.waiting()),
            _ => None,
        };
        self.below.iter().find_map(|(_, hop)| inside(hop)).unwrap_or(0)
    }

    /// Sends a packet to a next hop, or has it wait for credit.
    pub(crate) fn pass(
        &mut self,
        cx: &Context,
        next: Ipv4Addr,
        packet: M,
        back: CreditBack,
        out: Out<'_, M>,
    ) {
        if packet.len() > self.path.longest as usize {
            cx.dropped(NAME, "a packet longer than the link takes");
            return self.refund(back, out);
        }
        let name = self.hop(next, out);
        let Some(Hop::To { gate, .. }) = self.below.get_mut(name) else { return };
        let properties = MessageProperties::default();
        if !gate.wait(QueuedBatch { batch: packet.into(), properties, back }) {
            return cx.dropped(NAME, "a packet for which there is no room below");
        }
        self.speak(name, out);
    }

    fn speak(&mut self, association: Handle, out: Out<'_, M>) {
        while let Some(Hop::To { gate, inside, .. }) = self.below.get_mut(association)
            && let Some(QueuedBatch { batch, properties, back }) = gate.next_ready()
        {
            *inside += 1;
            out.request(DatagramsRequest::Send { association, batch, properties });
            self.refund(back, out);
        }
    }

    /// Returns credit for packets that have left, or do not leave.
    pub(crate) fn refund(&self, back: CreditBack, out: Out<'_, M>) {
        if let Some((association, credit)) = back.filter(|(above, _)| self.above.lives(*above)) {
            out.indicate(DatagramsIndication::Credit { association, credit });
        }
    }

    pub(crate) fn more_credit(&mut self, name: Handle, more: Credit, out: Out<'_, M>) {
        if let Some(Hop::To { gate, inside, .. }) = self.below.get_mut(name) {
            gate.allow(more);
            *inside = inside.saturating_sub(more.messages);
            self.speak(name, out);
        }
    }

    /// An association below is open: a next hop, or what arrives.
    pub(crate) fn opened(
        &mut self,
        name: Handle,
        credit: Credit,
        path: PathLimits,
        out: Out<'_, M>,
    ) {
        if self.below.waits_at(name).is_some() {
            self.below.arrived(name, || Hop::Link);
            self.link = Some(name);
            self.changed(path, out);
            return self.tell_waiting(out);
        }
        if let Some(Hop::To { gate, is_open, .. }) = self.below.get_mut(name) {
            *is_open = true;
            gate.allow(credit);
            self.speak(name, out);
        }
    }

    /// What the link takes has changed.
    pub(crate) fn changed(&mut self, path: PathLimits, out: Out<'_, M>) {
        if path == self.path {
            return;
        }
        self.path = path;
        let path = self.path_above();
        for (association, _) in self.above.iter().filter(|(_, above)| above.told) {
            out.indicate(DatagramsIndication::Changed { association, path });
        }
    }

    /// Returns what the layer above may send: any route may be the longest.
    fn path_above(&self) -> PathLimits {
        self.path.behind_header(self.config.overhead())
    }

    /// Tells above what waited for the link.
    pub(crate) fn tell_waiting(&mut self, out: Out<'_, M>) {
        let Some(own) = self.own.filter(|_| self.link.is_some()) else { return };
        let lives = self.above.iter().any(|(_, above)| above.to == To::Link);
        let listener = self.above.listeners().next().map(|(name, _)| name);
        if !lives && let Some((name, credit)) = listener.and_then(|name| self.above.arrive(name)) {
            self.above.open(name, Above { host: own, to: To::Link, credit, told: false });
        }
        let path = self.path_above();
        for (association, above) in self.above.iter_mut().filter(|(_, above)| !above.told) {
            above.told = true;
            let (remote, credit) = match above.to {
                To::Link => (Participant::OTHER_END, Credit::NONE),
                _ => (participant(above.host), Credit::ROOM),
            };
            let local = participant(own);
            out.indicate(DatagramsIndication::Opened { association, local, remote, credit, path });
        }
    }

    /// There is no link, or no own address: all that is open above ends.
    pub(crate) fn fail(&mut self, why: Ended, out: Out<'_, M>) {
        self.link = None;
        let names: Vec<Handle> = self.above.iter().map(|(name, _)| name).collect();
        names.into_iter().for_each(|name| self.end(name, why, out));
    }

    /// A name below has ended.
    pub(crate) fn ended_below(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        match self.below.forget(name) {
            Some(Party::Listener(())) => {
                self.own = None;
                let above = self.above.listeners().next().map(|(name, _)| name);
                self.fail(why, out);
                above.into_iter().for_each(|name| self.end(name, why, out));
            }
            Some(Party::Open(Hop::Link)) => {
                self.fail(why, out);
                let listener = self.below.listeners().next().map(|(name, _)| name);
                listener.into_iter().for_each(|listener| self.expect(listener, out));
            }
            Some(Party::Open(Hop::To { host, mut gate, .. })) => {
                for QueuedBatch { batch, back, .. } in gate.shut() {
                    self.refund(back, out);
                    self.came_back(cx, host, batch.into_single(), out);
                }
            }
            Some(Party::Awaited(_)) | None => {}
        }
    }

    /// A packet does not reach its next hop: whose it was follows from its source route.
    pub(crate) fn came_back(&mut self, cx: &Context, next: Ipv4Addr, packet: M, out: Out<'_, M>) {
        let Ok(packet) = Packet::read(packet) else {
            return cx.dropped(NAME, "a packet to a group that cannot leave");
        };
        let to = packet.last_station().unwrap_or(next);
        let is_relayed = self.own.is_none_or(|own| packet.is_relayed_by(own));
        let sender = self.above.iter().find(|(_, open)| open.host == to && open.to == To::Host);
        let from = sender.map(|(name, _)| name).filter(|_| !is_relayed);
        let until = cx.now() + self.times().waiting();
        let kept = Kept { packet, to, from, back: None, until };
        // What was kept of others comes back by itself, or had left.
        if let Some(asked) = self.neighbors.get_mut(&next).and_then(|known| known.asked.take()) {
            self.timers.cancel(asked.timer);
        }
        self.lose_link(cx, next, [kept], out);
    }
}
