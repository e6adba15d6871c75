//! ARP (RFC 826), with the probes of RFC 5227, over Ethernet and over AX.25.

use core::net::{IpAddr, Ipv4Addr};

use stackwright_contract::Context;
use stackwright_wire::internet::{Arp, Ax25Arp, is_group};
use stackwright_wire::{Header, Message};

use crate::neighbors::Neighbor;
use crate::version::{ARP, Key};
use crate::{NAME, Out, Resolve, radio};

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

impl<M: Message> Resolve<M> {
    /// Asks for the address of a host, with the source `from`.
    pub(crate) fn ask_arp(
        &mut self,
        cx: &Context,
        to: [u8; 6],
        from: Ipv4Addr,
        host: Ipv4Addr,
        out: Out<'_, M>,
    ) {
        self.send_arp(cx, (to, ARP), (REQUEST, from), ([0; 6], host), out);
    }

    /// Asks whether somebody has an address that we want (RFC 5227 §2.1.1).
    pub(crate) fn probe_arp(&mut self, cx: &Context, host: Ipv4Addr, out: Out<'_, M>) {
        self.ask_arp(cx, [0xff; 6], Ipv4Addr::UNSPECIFIED, host, out);
    }

    /// Tells that an address is ours (RFC 5227 §2.3).
    pub(crate) fn announce_arp(&mut self, cx: &Context, host: Ipv4Addr, out: Out<'_, M>) {
        self.ask_arp(cx, [0xff; 6], host, host, out);
    }

    fn send_arp(
        &mut self,
        cx: &Context,
        key: Key,
        (operation, from): (u16, Ipv4Addr),
        (target, host): ([u8; 6], Ipv4Addr),
        out: Out<'_, M>,
    ) {
        let Some(sender) = self.hardware else { return };
        let (hardware, protocol, hardware_length, protocol_length) = ((), (), (), ());
        let (sender_host, target_host) = (from.octets(), host.octets());
        let arp = Arp {
            hardware,
            protocol,
            hardware_length,
            protocol_length,
            operation,
            sender,
            sender_host,
            target,
            target_host,
        };
        let mut octets = [0; Ax25Arp::LENGTH];
        let length = if self.config.call.is_some() {
            radio::ax25_arp(arp).encode(&mut octets);
            Ax25Arp::LENGTH
        } else {
            arp.encode(&mut octets);
            Arp::LENGTH
        };
        self.transmit_own(cx, key, &octets[..length], out);
    }

    /// Handles what arrived from a station. Only a request for one of our addresses makes an entry,
    /// as RFC 826 merges: a gratuitous packet or a reply that nobody asked for changes at most what
    /// is known.
    pub(crate) fn on_arp(&mut self, cx: &Context, key: Key, mut packet: M, out: Out<'_, M>) {
        let is_radio = self.config.call.is_some();
        let arp = if is_radio {
            packet.pull::<Ax25Arp>().ok().and_then(radio::arp)
        } else {
            packet.pull::<Arp>().ok()
        };
        let Some(arp) = arp else {
            return cx.dropped(NAME, "a malformed ARP packet");
        };
        let (sender, target) = (Ipv4Addr::from(arp.sender_host), Ipv4Addr::from(arp.target_host));
        let is_known = [REQUEST, REPLY].contains(&arp.operation);
        let is_probe = sender.is_unspecified();
        if !is_known
            || is_group(arp.sender)
            || arp.sender == [0; 6]
            || Some(arp.sender) == self.hardware
            // A station speaks for itself: by radio, whoever claims an address signs for it.
            || is_radio && arp.sender != key.0
        {
            return cx.dropped(NAME, "an ARP packet that no other station sends");
        }
        if sender.is_multicast() || sender.is_broadcast() || sender.is_loopback() {
            return cx.dropped(NAME, "an ARP packet from no host");
        }
        if let Some((listener, _)) = self.own(sender.into()) {
            cx.dropped(NAME, "an ARP packet from our own address");
            return self.conflict(cx, listener, out);
        }
        let is_for_us = match self.own(target.into()) {
            Some((_, own)) if own.is_usable() => true,
            // Another host probes for the address, too (RFC 5227 §2.1.1).
            Some((listener, _)) if is_probe => return self.conflict(cx, listener, out),
            _ => false,
        };
        let host = IpAddr::V4(sender);
        match self.neighbor(host) {
            _ if is_probe => {}
            Some(id) => {
                let asked = arp.operation == REPLY
                    && is_for_us
                    && self.neighbors.get(id).is_some_and(Neighbor::is_asked);
                if asked {
                    self.confirm(cx, id, arp.sender, out);
                } else {
                    self.learn(cx, id, arp.sender, out);
                }
            }
            None if is_for_us && arp.operation == REQUEST => {
                let id = self.add_neighbor(cx, host, false, out);
                // By radio, another question would cost more than it tells.
                if is_radio {
                    self.confirm(cx, id, arp.sender, out);
                } else {
                    self.learn(cx, id, arp.sender, out);
                }
            }
            None => {}
        }
        if arp.operation == REQUEST && is_for_us {
            // Back to where it came from: no address that it claims makes us send elsewhere.
            self.send_arp(cx, key, (REPLY, target), (arp.sender, sender), out);
        }
    }
}
