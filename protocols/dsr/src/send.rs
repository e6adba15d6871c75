//! From above: a packet leaves by the route that is known to its next hop, or waits for one.

use core::net::Ipv4Addr;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, Ended, MessageProperties,
};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::header::is_host;
use crate::hops::host;
use crate::packet::Packet;
use crate::state::{Above, Event, Kept, To, WAITING_MOST};
use crate::{Dsr, NAME, Out};

impl<M: Message> Dsr<M> {
    pub(crate) fn open(
        &mut self,
        name: Handle,
        remote: Participant,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        let Some(host) = host(remote) else {
            return out.indicate(DatagramsIndication::Ended { name, why: Ended::Unreachable });
        };
        let to = if is_host(host) { To::Host } else { To::Group };
        self.above.open(name, Above { host, to, credit, told: false });
        self.tell_waiting(out);
    }

    pub(crate) fn send(&mut self, cx: &Context, name: Handle, batch: Batch<M>, out: Out<'_, M>) {
        let Some(&Above { host, to, .. }) = self.above.get(name) else {
            return cx.dropped(NAME, "a packet for a name that has ended");
        };
        let back = Some((name, batch.cost()));
        let packet = batch.into_single();
        if to == To::Group {
            return self.pass(cx, host, packet, back, out);
        }
        let reason = match Packet::read(packet) {
            Ok(packet) if to == To::Host && !packet.is_ours => {
                let until = cx.now() + self.times().waiting();
                let kept = Kept { packet, to: host, from: Some(name), back, until };
                return self.find_route(cx, kept, out);
            }
            Ok(_) => "a packet that has a route, or no next hop",
            Err(reason) => reason,
        };
        cx.dropped(NAME, reason);
        self.refund(back, out);
    }

    /// Sends a packet by a route that is known, or searches for one.
    pub(crate) fn find_route(&mut self, cx: &Context, kept: Kept<M>, out: Out<'_, M>) {
        let Some(own) = self.own.filter(|own| *own != kept.to) else {
            return self.give_back(cx, kept, out);
        };
        let relays = self.config.relays.into();
        let route =
            |without: &[_]| self.links.route(cx.now(), (own, kept.to), without, &[], relays);
        // One of another that came back before it had a route looks as if it came from above.
        let source = kept.packet.source();
        let without: &[_] = if source == own { &[] } else { &[source] };
        match route(without) {
            Some(route) => self.send_by(cx, kept, &route, 0, out),
            // All lead through its source: no search finds another.
            None if route(&[]).is_some() => self.give_back(cx, kept, out),
            None if cx.now() >= kept.until => self.give_back(cx, kept, out),
            None => self.wait_for_route(cx, kept, out),
        }
    }

    /// Sends a packet by a route from here.
    pub(crate) fn send_by(
        &mut self,
        cx: &Context,
        mut kept: Kept<M>,
        route: &[Ipv4Addr],
        salvage: u8,
        out: Out<'_, M>,
    ) {
        self.links.touch(route);
        kept.packet.set_route(route, salvage);
        self.hand_over(cx, route[1], kept, out);
    }

    fn wait_for_route(&mut self, cx: &Context, kept: Kept<M>, out: Out<'_, M>) {
        let to = kept.to;
        if self.waiting.len() == WAITING_MOST
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.give_back(cx, oldest, out);
        }
        self.waiting.push_back(kept);
        self.schedule_expiry();
        self.search(cx, to, out);
    }

    /// Packets have waited long enough.
    pub(crate) fn expire_waiting(&mut self, cx: &Context, out: Out<'_, M>) {
        self.expires = false;
        self.give_back_those(cx, |kept| kept.until <= cx.now(), out);
        self.schedule_expiry();
    }

    fn schedule_expiry(&mut self) {
        let first = self.waiting.iter().map(|kept| kept.until).min();
        if let Some(until) = first.filter(|_| !self.expires) {
            self.timers.schedule(until, Event::Waiting);
            self.expires = true;
        }
    }

    /// Gives packets back that wait for a route.
    pub(crate) fn give_back_those(
        &mut self,
        cx: &Context,
        is_it: impl Fn(&Kept<M>) -> bool,
        out: Out<'_, M>,
    ) {
        while let Some(place) = self.waiting.iter().position(&is_it)
            && let Some(kept) = self.waiting.remove(place)
        {
            self.give_back(cx, kept, out);
        }
    }

    /// Returns a packet to whom sent it, and its credit: no route leads where it goes.
    pub(crate) fn give_back(&mut self, cx: &Context, mut kept: Kept<M>, out: Out<'_, M>) {
        self.refund(kept.back, out);
        kept.packet.options.clear();
        let batch = Batch::from(kept.packet.write());
        let cost = batch.cost();
        let above = kept.from.and_then(|name| Some((name, self.above.get_mut(name)?)));
        let Some((association, above)) = above.filter(|(_, above)| above.credit.covers(cost))
        else {
            return cx.dropped(NAME, "a packet to a station that no route leads to");
        };
        above.credit -= cost;
        let properties = MessageProperties { returned: true, ..MessageProperties::default() };
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }
}
