//! From the link, upward: packets, and what the link takes.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::ndp::is_ndp;
use crate::version::{ARP, Version};
use crate::{Above, NAME, Out, Resolve, To, participant};

impl<M: Message> Resolve<M> {
    pub(crate) fn delivered(
        &mut self,
        cx: &Context,
        association: Handle,
        batch: Batch<M>,
        properties: MessageProperties,
        out: Out<'_, M>,
    ) {
        let Some(key) = self.key(association) else { return };
        let credit = batch.cost();
        out.request(DatagramsRequest::Credit { association, credit });
        self.touch(association);
        match (Version::of_kind(key.1), batch.segment_size()) {
            (None, _) if key.1 == ARP => {
                batch.into_iter().for_each(|packet| self.on_arp(cx, key, packet, out));
            }
            (None, _) => cx.dropped(NAME, "a packet that is not IP's"),
            // A batch is of a transport: nobody sends NDP in one.
            (Some(Version::V6), None) => {
                let mut packet = batch.into_single();
                if is_ndp(&mut packet) {
                    return self.on_ndp(cx, key, packet, out);
                }
                self.deliver(cx, Version::V6, packet.into(), properties, out);
            }
            (Some(version), _) => self.deliver(cx, version, batch, properties, out),
        }
    }

    /// Delivers packets on the first association of their version, whoever sent them.
    fn deliver(
        &mut self,
        cx: &Context,
        version: Version,
        batch: Batch<M>,
        properties: MessageProperties,
        out: Out<'_, M>,
    ) {
        let is_it = |above: &Above| above.to == To::Link && Version::of(above.host) == version;
        let Some((association, above)) = self.above.iter_mut().find(|(_, above)| is_it(above))
        else {
            return cx.dropped(NAME, "a packet before an own address is in use");
        };
        let cost = batch.cost();
        if !above.credit.covers(cost) {
            return cx.dropped(NAME, "a packet without credit above");
        }
        above.credit -= cost;
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// What the link takes has changed.
    pub(crate) fn changed(&mut self, path: PathLimits, out: Out<'_, M>) {
        if path == self.path {
            return;
        }
        self.path = path;
        for (association, _) in self.above.iter().filter(|(_, above)| above.told) {
            out.indicate(DatagramsIndication::Changed { association, path });
        }
    }

    /// Opens the associations above that waited for the link.
    pub(crate) fn open_waiting(&mut self, version: Version, out: Out<'_, M>) {
        let mut opened = Vec::new();
        for (name, above) in self.above.iter_mut() {
            if !above.told && Version::of(above.host) == version {
                above.told = true;
                opened.push(name);
            }
        }
        opened.into_iter().for_each(|name| self.tell_opened(name, out));
    }

    pub(crate) fn tell_opened(&self, association: Handle, out: Out<'_, M>) {
        let Some(above) = self.above.get(association) else { return };
        let is_link = above.to == To::Link;
        let own = if is_link { Some(above.host) } else { self.source(above.host, None) };
        let unknown = match Version::of(above.host) {
            Version::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Version::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        out.indicate(DatagramsIndication::Opened {
            association,
            local: participant(own.unwrap_or(unknown)),
            remote: if is_link { Participant::OTHER_END } else { participant(above.host) },
            credit: if is_link { Credit::NONE } else { Credit::ROOM },
            path: self.path,
        });
    }

    /// A version has no link: all that is above it ends.
    pub(crate) fn fail(&mut self, version: Version, why: Ended, out: Out<'_, M>) {
        let is_it = |host: IpAddr| Version::of(host) == version;
        let listeners = self.above.listeners().filter(|(_, own)| is_it(own.host));
        let open = self.above.iter().filter(|(_, above)| is_it(above.host));
        let names: Vec<Handle> =
            listeners.map(|(name, _)| name).chain(open.map(|(name, _)| name)).collect();
        for name in names {
            self.above.end(name, why).for_each(|word| out.indicate(word));
        }
        let kinds = version.kinds();
        let listeners = self.below.listeners().filter(|(_, kind)| kinds.contains(kind));
        for (name, _) in listeners {
            out.request(DatagramsRequest::Close { name });
        }
        self.bases[version as usize] = None;
    }
}
