//! The layer above: who listens, and associations from their opening to their end.

use core::net::IpAddr;

use stackwright_base::map::Map as _;
use stackwright_contract::services::{Credit, DatagramsIndication, Ended, OwedCredit};
use stackwright_contract::{Address, Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;
use stackwright_wire::internet::Extensions;

use crate::address::{is_group, is_host};
use crate::head::v6;
use crate::head::{Key, PACKET_MOST, Template};
use crate::interface::{Owner, owner, source_of};
use crate::{Ip, NAME, Out};

/// Whose packets a listener has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    /// An own address, or a group; unspecified: all own ones of its version, those of IPv6 of
    /// both.
    host: IpAddr,
    protocol: u8,
}

/// An association above.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) key: Key,
    pub(crate) interface: u16,
    pub(crate) next_hop: IpAddr,
    /// The next hop below; `None`: the next message opens it.
    pub(crate) hop: Option<Handle>,
    /// Whether it was told `Opened`: else it waits for its interface.
    pub(crate) is_open: bool,
    /// The own address that was asked for.
    local: Option<IpAddr>,
    /// In the packets that it sends: the own address, or where that is a group's, one of its own.
    pub(crate) source: IpAddr,
    /// Before each message.
    pub(crate) template: Template,
    /// Octets of a message that fits into a packet.
    pub(crate) longest: usize,
    path: PathLimits,
    /// Upward.
    pub(crate) up: Credit,
    /// Downward, of what has left.
    pub(crate) owed: OwedCredit,
}

fn participant(host: IpAddr, protocol: u8) -> Participant {
    Address::InternetProtocol { host, protocol }.into()
}

impl Listener {
    /// Returns whether a packet to `own` is for it.
    fn hears(&self, own: IpAddr, protocol: u8) -> bool {
        let any = self.host.is_unspecified() && (self.host.is_ipv6() || own.is_ipv4());
        self.protocol == protocol && (any || self.host == own)
    }
}

impl<M: Message> Ip<M> {
    pub(crate) fn listen(&mut self, listener: Handle, local: Participant, out: Out<'_, M>) {
        let is_own = |host: IpAddr| {
            host.is_unspecified()
                || is_group(host)
                || self.links.iter().any(|link| link.has(host, false) || link.is_broadcast(host))
        };
        let Address::InternetProtocol { host, protocol } = local.address else {
            return out.indicate(refused(listener, Ended::Unavailable));
        };
        if !is_own(host) || Extensions::is_one(protocol) {
            return out.indicate(refused(listener, Ended::Unavailable));
        }
        self.above.listen(listener, Listener { host, protocol });
        self.listeners.push(listener);
        out.indicate(DatagramsIndication::Listening {
            listener,
            local: participant(host, protocol),
        });
    }

    pub(crate) fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        up: Credit,
        out: Out<'_, M>,
    ) {
        let Address::InternetProtocol { host: peer, protocol } = remote.address else {
            return out.indicate(refused(name, Ended::Unavailable));
        };
        if Extensions::is_one(protocol) {
            return out.indicate(refused(name, Ended::Unavailable)); // it is a part of headers
        }
        let own = local.and_then(|local| match local.address {
            Address::InternetProtocol { host, .. } => Some(host),
            _ => None,
        });
        let own = own.filter(|host| !host.is_unspecified());
        let by = remote.interface().or(local.and_then(Participant::interface));
        let Some((interface, next_hop)) = self.way(peer, own, by) else {
            return out.indicate(refused(name, Ended::Unreachable));
        };
        let key = Key { own: own.unwrap_or(peer), peer, protocol };
        let mut association = self.association(key, interface, next_hop, up);
        association.local = own;
        self.above.open(name, association);
        self.try_open(cx, name, out);
    }

    /// Returns the interface and the next hop on the way to `peer`: by the routes; to a group and
    /// to all hosts of a link, by the interface that is asked for, that has the source, or that is
    /// the first of that version.
    fn way(&self, peer: IpAddr, own: Option<IpAddr>, by: Option<u16>) -> Option<(u16, IpAddr)> {
        if is_host(peer) && owner(&self.links, u16::MAX, peer) != Owner::Own {
            return self.routes.resolve(peer);
        }
        if !is_group(peer) {
            return None;
        }
        let has = |interface: &u16| {
            let link = &self.links[usize::from(*interface)];
            own.map_or(link.speaks(peer), |own| link.has(own, false))
        };
        let mut all = 0..self.links.len() as u16;
        all.find(|interface| by.map_or(has(interface), |by| by == *interface))
            .map(|interface| (interface, peer))
    }

    fn association(&self, key: Key, interface: u16, next_hop: IpAddr, up: Credit) -> Association {
        Association {
            key,
            interface,
            next_hop,
            hop: None,
            is_open: false,
            local: None,
            source: key.own,
            template: Template::new(key.own, key.peer, key.protocol, self.config.hop_limit),
            longest: 0,
            path: PathLimits::UNBOUNDED,
            up,
            owed: OwedCredit::default(),
        }
    }

    /// Opens an association if its interface is up and has an address.
    fn try_open(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(open) = self.above.get(name) else { return };
        let Association { key, interface, local, .. } = *open;
        let Some(link) = self.links.get(usize::from(interface)) else { return };
        if link.path(key.peer).is_none() {
            return; // it waits
        }
        let source = match local {
            Some(own) if !self.links.iter().any(|link| link.has(own, false)) => {
                return self.end(cx, name, Ended::Unavailable, out);
            }
            Some(own) => Some(own).filter(|own| self.links.iter().any(|link| link.has(*own, true))),
            None => source_of(&self.links, interface, key.peer),
        };
        let Some(own) = source else { return };
        let key = Key { own, ..key };
        if own.is_ipv4() != key.peer.is_ipv4() || self.table.lookup(&key).is_some() {
            return self.end(cx, name, Ended::Unavailable, out);
        }
        self.begin_association(name, key, own, out);
    }

    /// An association is open from now on: `source` is in the packets that it sends.
    fn begin_association(&mut self, name: Handle, key: Key, source: IpAddr, out: Out<'_, M>) {
        self.table.install(key, name);
        let Some(open) = self.above.get(name) else { return };
        let (interface, next_hop) = (open.interface, open.next_hop);
        let hop = self.hop(interface, next_hop, out);
        self.use_hop(hop);
        let template = Template::new(source, key.peer, key.protocol, self.config.hop_limit);
        let path = self.path_to(interface, key.peer);
        let Some(open) = self.above.get_mut(name) else { return };
        (open.key, open.source, open.template) = (key, source, template);
        (open.hop, open.is_open) = (Some(hop), true);
        open.set_path(path);
        let [local, remote] = [key.own, key.peer].map(|host| participant(host, key.protocol));
        let (credit, association) = (Credit::ROOM, name);
        let path = open.path;
        out.indicate(DatagramsIndication::Opened { association, local, remote, credit, path });
    }

    /// Returns what the path to `peer` takes: packets, with their headers.
    fn path_to(&self, interface: u16, peer: IpAddr) -> PathLimits {
        let link = self.links.get(usize::from(interface)).and_then(|link| link.path(peer));
        let path = link.unwrap_or(PathLimits::UNBOUNDED);
        let most = if peer.is_ipv4() { PACKET_MOST } else { PACKET_MOST + v6::LENGTH };
        let longest = path.longest.min(self.paths.to(peer)).min(most as u32);
        PathLimits { longest, ..path }
    }

    /// Returns whose a packet is; the first of a peer has a name that waits. `None`: none waits, or
    /// no way leads back. `Err`: nobody listens to the protocol at all.
    pub(crate) fn whose(
        &mut self,
        cx: &Context,
        key: Key,
        out: Out<'_, M>,
    ) -> Result<Option<Handle>, Unheard> {
        if let Some(name) = self.table.resolve(&key) {
            return Ok(Some(name));
        }
        let hears = |at: &&Handle| {
            self.above.listener(**at).is_some_and(|listener| listener.hears(key.own, key.protocol))
        };
        // One that listens at an address of its own comes before one that listens at all.
        let is_exact =
            |at: &&Handle| self.above.listener(**at).is_some_and(|at| at.host == key.own);
        let mut listeners = self.listeners.iter().filter(hears);
        let Some(first) = listeners.clone().next() else { return Err(Unheard) };
        let listener = *listeners.find(is_exact).unwrap_or(first);
        let Some((interface, next_hop)) = self.routes.resolve(key.peer) else {
            cx.dropped(NAME, "a packet to whose source no route leads");
            return Ok(None);
        };
        let source = match owner(&self.links, interface, key.own) {
            Owner::Own => Some(key.own),
            _ => source_of(&self.links, interface, key.peer),
        };
        let Some(source) = source else { return Ok(None) };
        let Some((name, up)) = self.above.arrive(listener) else {
            cx.dropped(NAME, "a packet of a peer for which no name waits");
            return Ok(None);
        };
        let association = self.association(key, interface, next_hop, up);
        self.above.open(name, association);
        self.begin_association(name, key, source, out);
        Ok(Some(name))
    }

    /// An interface has changed: what waited for it is opened, and all are told what it takes.
    pub(crate) fn update(&mut self, cx: &Context, interface: u16, out: Out<'_, M>) {
        let names: alloc::vec::Vec<_> = self
            .above
            .iter()
            .filter(|(_, open)| open.interface == interface)
            .map(|(name, open)| (name, open.is_open, open.key.peer))
            .collect();
        for (name, is_open, peer) in names {
            if is_open {
                self.tell_path(name, self.path_to(interface, peer), out);
            } else {
                self.try_open(cx, name, out);
            }
        }
    }

    /// The path to a peer has changed: all that send to it are told what it takes.
    pub(crate) fn update_path(&mut self, peer: IpAddr, out: Out<'_, M>) {
        let with = |(name, open): (Handle, &Association)| {
            (open.is_open && open.key.peer == peer).then_some((name, open.interface))
        };
        let names: alloc::vec::Vec<_> = self.above.iter().filter_map(with).collect();
        for (name, interface) in names {
            self.tell_path(name, self.path_to(interface, peer), out);
        }
    }

    /// Returns whether somebody here listens to a group.
    pub(crate) fn has_joined(&self, group: IpAddr) -> bool {
        self.listeners.iter().any(|at| self.above.listener(*at).is_some_and(|at| at.host == group))
    }

    /// Tells an association what its path takes, where that has changed.
    fn tell_path(&mut self, association: Handle, path: PathLimits, out: Out<'_, M>) {
        let Some(open) = self.above.get_mut(association) else { return };
        let before = open.path;
        open.set_path(path);
        if open.path != before {
            let path = open.path;
            out.indicate(DatagramsIndication::Changed { association, path });
        }
    }

    /// Ends the associations of an address that is no longer this host's, and those that wait for
    /// it.
    pub(crate) fn end_of_address(
        &mut self,
        cx: &Context,
        host: IpAddr,
        why: Ended,
        out: Out<'_, M>,
    ) {
        let has = |open: &Association| open.key.own == host || open.local == Some(host);
        loop {
            let next = self.above.iter().find(|(_, open)| has(open)).map(|(name, _)| name);
            let Some(name) = next else { break };
            self.end(cx, name, why, out);
        }
    }

    pub(crate) fn end(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        if !self.above.lives(name) {
            return cx.dropped(NAME, "a word for a name that has ended");
        }
        if let Some(open) = self.above.get(name)
            && open.is_open
        {
            let (key, hop) = (open.key, open.hop);
            self.table.erase(&key);
            self.recent = None;
            hop.into_iter().for_each(|hop| self.leave_hop(hop, out));
        }
        self.listeners.retain(|listener| *listener != name);
        self.above.end(name, why).for_each(|word| out.indicate(word));
    }
}

/// Nobody listens to a protocol.
#[derive(Debug)]
pub(crate) struct Unheard;

fn refused<M: Message>(name: Handle, why: Ended) -> DatagramsIndication<M> {
    DatagramsIndication::Ended { name, why }
}

impl Association {
    /// Notes what the path takes, as packets with their headers.
    fn set_path(&mut self, packets: PathLimits) {
        // The check of a transport is where the layers below look for it.
        let path = packets.behind_header(self.template.length() as u32);
        self.path = PathLimits { checks: packets.checks, ..path };
        self.longest = self.path.longest as usize;
    }

    pub(crate) fn remote_participant(&self) -> Participant {
        participant(self.key.peer, self.key.protocol)
    }

    pub(crate) fn local_participant(&self) -> Participant {
        participant(self.key.own, self.key.protocol)
    }
}
