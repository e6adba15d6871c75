//! Next hops: the associations below, which all that have the same way share, and what arrives.

use core::net::IpAddr;

use stackwright_base::map::Map as _;
use stackwright_contract::services::{
    Batch, Credit, CreditBack, CreditGate, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
    MessageProperties, OwedCredit, QueuedBatch,
};
use stackwright_contract::{Address, Context, Handle, Outlet, Participant, Party, PathLimits};
use stackwright_wire::Message;

use crate::{Ip, NAME, Out};

/// Next hops that are kept though no association above uses them: of answers, and of what is
/// forwarded.
const UNUSED_MOST: usize = 256;

/// An own address below: it is listened at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) interface: u16,
    pub(crate) host: IpAddr,
}

/// An association below.
pub(crate) struct Hop<M: Message> {
    pub(crate) interface: u16,
    pub(crate) kind: HopKind,
    pub(crate) gate: CreditGate<Datagrams<M>>,
    /// Upward, of what was delivered.
    pub(crate) handled: OwedCredit,
    /// Associations above that send by it.
    pub(crate) users: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HopKind {
    /// What arrives on a link: that of this listener, and of the version of its address.
    Arrivals(Handle, IpAddr),
    /// A neighbour, or a group.
    To(IpAddr),
}

impl<M: Message> Ip<M> {
    /// Says the first words below: which addresses are this host's.
    pub(crate) fn begin(&mut self, out: Out<'_, M>) {
        let several = self.config.interfaces.len() > 1;
        for interface in 0..self.config.interfaces.len() {
            for place in 0..self.config.interfaces[interface].addresses.len() {
                let (host, _) = self.config.interfaces[interface].addresses[place];
                let listener = self.below.listen(Port { interface: interface as u16, host });
                let local = Self::neighbour(host, several.then_some(interface as u16));
                out.request(DatagramsRequest::Listen { listener, local });
                self.expect(listener, out);
            }
        }
    }

    fn neighbour(host: IpAddr, interface: Option<u16>) -> Participant {
        let neighbour = Participant::from(Address::InternetProtocol { host, protocol: 0 });
        interface.map_or(neighbour, |interface| neighbour.through(interface))
    }

    fn expect(&mut self, listener: Handle, out: Out<'_, M>) {
        if let Some(association) = self.below.expect(listener, Credit::ROOM) {
            out.request(DatagramsRequest::Await { listener, association, credit: Credit::ROOM });
        }
    }

    /// Returns the association with a next hop; opens it where there is none.
    pub(crate) fn hop(&mut self, interface: u16, host: IpAddr, out: Out<'_, M>) -> Handle {
        if let Some(hop) = self.hops.resolve(&(interface, host)) {
            return hop;
        }
        let several = self.config.interfaces.len() > 1;
        let association = self.below.open(|_| Hop::new(interface, HopKind::To(host)));
        self.hops.install((interface, host), association);
        let remote = Self::neighbour(host, several.then_some(interface));
        let open =
            DatagramsRequest::Open { association, remote, local: None, credit: Credit::ROOM };
        out.request(open);
        self.unused.push_back(association);
        if self.unused.len() > UNUSED_MOST {
            self.close_unused(out);
        }
        association
    }

    /// Closes the next hop that has had no user for longest, but for those that were used again.
    fn close_unused(&mut self, out: Out<'_, M>) {
        while let Some(name) = self.unused.pop_front() {
            let Some(hop) = self.below.get(name) else { continue };
            if hop.users > 0 {
                continue; // it is noted again when it has none
            }
            if let HopKind::To(host) = hop.kind {
                self.hops.erase(&(hop.interface, host));
            }
            return out.request(DatagramsRequest::Close { name });
        }
    }

    /// Notes one user more of a next hop.
    pub(crate) fn use_hop(&mut self, name: Handle) {
        if let Some(hop) = self.below.get_mut(name) {
            hop.users += 1;
        }
    }

    /// Notes that a user of a next hop has ended.
    pub(crate) fn leave_hop(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(hop) = self.below.get_mut(name) else { return };
        hop.users -= 1;
        if hop.users == 0 && !self.unused.contains(&name) {
            self.unused.push_back(name);
            if self.unused.len() > UNUSED_MOST {
                self.close_unused(out);
            }
        }
    }

    /// Sends packets to a next hop, or has them wait for credit.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        cx: &Context,
        name: Handle,
        packets: Batch<M>,
        properties: MessageProperties,
        back: CreditBack,
        out: &mut (impl Outlet<Self> + ?Sized),
    ) {
        let Some(hop) = self.below.get_mut(name) else {
            cx.dropped(NAME, "a packet whose next hop is gone");
            return self.give_back(back, out);
        };
        if hop.gate.pass(packets.cost()) {
            out.request(DatagramsRequest::Send { association: name, batch: packets, properties });
            return self.give_back(back, out);
        }
        if !hop.gate.wait(QueuedBatch { batch: packets, properties, back }) {
            cx.dropped(NAME, "a packet for which there is no room below");
        }
    }

    /// Gives credit back to whom a packet came from that has left.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, back: CreditBack, out: &mut (impl Outlet<Self> + ?Sized)) {
        if let Some((association, cost)) = back
            && let Some(open) = self.above.get_mut(association)
            && let Some(credit) = open.owed.add(cost)
        {
            out.indicate(DatagramsIndication::Credit { association, credit });
        }
    }

    /// Adds credit of a next hop: what waited leaves.
    pub(crate) fn allow(&mut self, name: Handle, credit: Credit, out: Out<'_, M>) {
        let Some(hop) = self.below.get_mut(name) else { return };
        hop.gate.allow(credit);
        while let Some(hop) = self.below.get_mut(name)
            && let Some(QueuedBatch { batch, properties, back }) = hop.gate.next_ready()
        {
            out.request(DatagramsRequest::Send { association: name, batch, properties });
            self.give_back(back, out);
        }
    }

    /// An association below is open: a next hop, or what arrives on a link.
    pub(crate) fn opened(
        &mut self,
        cx: &Context,
        name: Handle,
        path: PathLimits,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        let Some(listener) = self.below.waits_at(name) else {
            return self.allow(name, credit, out);
        };
        let Some(Port { interface, host }) = self.below.listener(listener).copied() else { return };
        self.below.arrived(name, || Hop::new(interface, HopKind::Arrivals(listener, host)));
        self.set_path(cx, interface, host, Some(path), out);
    }

    /// The limits of a link have changed, or it is up or down.
    pub(crate) fn set_path(
        &mut self,
        cx: &Context,
        interface: u16,
        host: IpAddr,
        path: Option<PathLimits>,
        out: Out<'_, M>,
    ) {
        self.links[usize::from(interface)].set_path(host, path);
        self.update(cx, interface, out);
    }

    /// A name below has ended.
    pub(crate) fn ended_below(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        match self.below.forget(name) {
            // Another host has the address, or the interface does not take it.
            Some(Party::Listener(Port { interface, host })) => {
                self.links[usize::from(interface)].use_address(host, false);
                cx.event(NAME, format_args!("{host} cannot be used"));
                self.end_of_address(cx, host, Ended::Unavailable, out);
            }
            Some(Party::Open(Hop {
                interface, kind: HopKind::Arrivals(listener, host), ..
            })) => {
                self.set_path(cx, interface, host, None, out);
                self.expect(listener, out);
            }
            Some(Party::Open(Hop { interface, kind: HopKind::To(host), mut gate, .. })) => {
                if self.hops.resolve(&(interface, host)) == Some(name) {
                    self.hops.erase(&(interface, host));
                }
                for (_, open) in self.above.iter_mut() {
                    open.hop.take_if(|hop| *hop == name); // the next message opens another
                }
                for QueuedBatch { back, .. } in gate.shut() {
                    cx.dropped(NAME, "a packet whose next hop is gone");
                    self.give_back(back, out);
                }
            }
            Some(Party::Awaited(_)) | None => {}
        }
    }
}

impl<M: Message> Hop<M> {
    fn new(interface: u16, kind: HopKind) -> Self {
        let (gate, handled) = (CreditGate::default(), OwedCredit::default());
        Hop { interface, kind, gate, handled, users: 0 }
    }
}
