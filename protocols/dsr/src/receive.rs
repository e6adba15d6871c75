//! From below: packets for this station, and for others by way of it.

use core::net::Ipv4Addr;

use stackwright_contract::services::{
    Batch, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::header::{Opt, is_host, repeats};
use crate::packet::Packet;
use crate::state::{Hop, Kept, To};
use crate::{Dsr, NAME, Out};

impl<M: Message> Dsr<M> {
    pub(crate) fn delivered(
        &mut self,
        cx: &Context,
        association: Handle,
        batch: Batch<M>,
        properties: MessageProperties,
        out: Out<'_, M>,
    ) {
        let credit = batch.cost();
        out.request(DatagramsRequest::Credit { association, credit });
        let packet = batch.into_single();
        if let Some(Hop::To { host, .. }) = self.below.get(association) {
            let host = *host;
            if properties.returned {
                self.came_back(cx, host, packet, out);
            }
            return;
        }
        match Packet::read(packet) {
            Ok(packet) if packet.is_ours => self.handle(cx, packet, out),
            Ok(packet) => self.deliver(cx, packet, out),
            Err(reason) => cx.dropped(NAME, reason),
        }
    }

    /// Delivers a packet without what DSR put into it.
    fn deliver(&mut self, cx: &Context, mut packet: Packet<M>, out: Out<'_, M>) {
        if !packet.has_payload() {
            return;
        }
        packet.options.clear();
        let batch = Batch::from(packet.write());
        let cost = batch.cost();
        let mut open = self.above.iter_mut().filter(|(_, above)| above.to == To::Link);
        let Some((association, above)) = open.next().filter(|(_, above)| above.credit.covers(cost))
        else {
            return cx.dropped(NAME, "a packet that nobody above takes");
        };
        above.credit -= cost;
        let properties = MessageProperties::default();
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// Handles a packet with a header of DSR's.
    fn handle(&mut self, cx: &Context, packet: Packet<M>, out: Out<'_, M>) {
        let Some(own) = self.own else { return };
        let (source, destination) = (packet.source(), packet.destination());
        if source == own || !is_host(source) {
            return cx.dropped(NAME, "a packet of DSR from this station itself, or from none");
        }
        if let Some(reason) = flaw(&packet, own) {
            return cx.dropped(NAME, reason);
        }
        if !is_host(destination) {
            return self.for_all(cx, packet, out);
        }
        self.hear_neighbor(previous(&packet));
        let mut asked = None;
        for option in packet.options.clone() {
            match option {
                Opt::AckRequest { id } => asked = Some(id),
                Opt::Acknowledgement { id, source: by, destination: to } => {
                    if (by, to) == (source, own) {
                        self.acknowledged(cx, by, id);
                    }
                }
                Opt::Reply { list } => self.replied(cx, (source, destination), &list, out),
                Opt::Error { source: by, destination: to, unreachable, .. } => {
                    self.told(cx, (source, destination), (by, to), unreachable);
                }
                Opt::Request { .. } => cx.dropped(NAME, "a request that is not for all"),
                Opt::Route(_) => {}
            }
        }
        if let Some(id) = asked {
            self.acknowledge(cx, (own, previous(&packet)), id, out);
        }
        self.go_on(cx, own, packet, out);
    }

    fn for_all(&mut self, cx: &Context, packet: Packet<M>, out: Out<'_, M>) {
        match packet.options.first() {
            Some(Opt::Request { id, target, list })
                if packet.destination() == Ipv4Addr::BROADCAST && is_host(*target) =>
            {
                let request = (*id, *target, list.clone());
                self.requested(cx, packet, request, out);
            }
            _ => cx.dropped(NAME, "a packet to a group with a route, or with nothing in it"),
        }
    }

    fn acknowledge(
        &mut self,
        cx: &Context,
        (source, destination): (Ipv4Addr, Ipv4Addr),
        id: u16,
        out: Out<'_, M>,
    ) {
        let answer = Opt::Acknowledgement { id, source, destination };
        self.send_own(cx, &[source, destination], answer, out);
    }

    /// An error arrived, or is relayed: it is believed of a link that is known, from the station at
    /// its end, which tells whom the packet is for.
    fn told(
        &mut self,
        cx: &Context,
        packet: (Ipv4Addr, Ipv4Addr),
        error: (Ipv4Addr, Ipv4Addr),
        unreachable: Ipv4Addr,
    ) {
        let until = cx.now() + self.times().link();
        if packet != error || !self.links.has(error.0, unreachable) {
            return cx.dropped(NAME, "an error from another station, or of a link that is none");
        }
        self.links.break_link(until, (error.0, unreachable));
    }

    /// Has a packet go on: to the next station of its route, or upward.
    fn go_on(&mut self, cx: &Context, own: Ipv4Addr, mut packet: Packet<M>, out: Out<'_, M>) {
        let (source, destination) = (packet.source(), packet.destination());
        packet.options.retain(|option| !matches!(option, Opt::AckRequest { .. }));
        let Some(route) = packet.route_mut().filter(|route| route.left > 0) else {
            if let Some(route) = packet.route().filter(|route| !route.first_external) {
                // The way back is known now.
                let mut trail = route.until(source, route.list.len());
                trail.push(own);
                let until = cx.now() + self.times().link();
                self.links.learn(cx.now(), until, &trail, true);
            }
            return self.deliver(cx, packet, out);
        };
        route.left -= 1;
        let next = route.next().unwrap_or(destination);
        if route.left == 0 && route.last_external {
            return self.deliver(cx, packet, out);
        }
        if !packet.take_hop() {
            return cx.dropped(NAME, "a packet that has taken as many hops as it may");
        }
        let to = packet.last_station().unwrap_or(destination);
        let until = cx.now() + self.times().waiting();
        let kept = Kept { packet, to, from: None, back: None, until };
        self.hand_over(cx, next, kept, out);
    }
}

/// Returns what is wrong with a packet at this station: it is not for it, or its route leads in a
/// circle, to a group, or further than it is long (RFC 4728 §8.1.4).
fn flaw<M: Message>(packet: &Packet<M>, own: Ipv4Addr) -> Option<&'static str> {
    let (source, destination) = (packet.source(), packet.destination());
    let Some(route) = packet.route() else {
        let is_here = destination == own || !is_host(destination);
        return (!is_here).then_some("a packet for another station without a route");
    };
    if packet.options.iter().filter(|option| matches!(option, Opt::Route(_))).count() > 1 {
        return Some("a packet with two routes");
    }
    if usize::from(route.left) > route.list.len() {
        return Some("a route with more stations left than it has");
    }
    if repeats(&route.list) || route.list.contains(&source) || route.list.contains(&destination) {
        return Some("a route that leads in a circle");
    }
    if !is_host(destination) {
        return Some("a route to a group");
    }
    let here = if route.left > 0 { route.next() } else { Some(destination) };
    (here != Some(own)).then_some("a packet that another station shall relay")
}

/// Returns the station from which a packet came: the one before this in its route.
fn previous<M: Message>(packet: &Packet<M>) -> Ipv4Addr {
    let before = packet.route().and_then(|route| Some(route.list[route.visited()?]));
    before.unwrap_or_else(|| packet.source())
}
