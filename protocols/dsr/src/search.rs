//! Discovery (RFC 4728 §8.2): requests that all pass on, and replies with the route they took.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_base::events::Events;
use stackwright_contract::Context;
use stackwright_wire::Message;

use crate::header::{Opt, repeats};
use crate::packet::Packet;
use crate::state::{DELAYED_MOST, Event, Heard, IDS_MOST, INITIATORS_MOST, SEARCHES_MOST, Search};
use crate::{Dsr, NAME, Out};

/// Links that broke of which a request tells, so that nobody answers with them (RFC 4728 §8.3.4).
const TOLD: usize = 3;
/// Requests for one station in a row that another may answer.
const HELPED: usize = 2;
/// Requests for one station, until it is given up (MaxRequestRexmt).
const TRIES: u8 = 16;

impl<M: Message> Dsr<M> {
    /// Searches for a station, if that is not done.
    pub(crate) fn search(&mut self, cx: &Context, target: Ipv4Addr, out: Out<'_, M>) {
        if self.searches.contains_key(&target) {
            return;
        }
        if self.searches.len() >= SEARCHES_MOST {
            return self.give_back_those(cx, |kept| kept.to == target, out);
        }
        self.request(cx, target, 1, out);
    }

    /// The time of a search is up: the next request is sent, if something waits.
    pub(crate) fn search_again(&mut self, cx: &Context, target: Ipv4Addr, out: Out<'_, M>) {
        let Some(search) = self.searches.remove(&target) else { return };
        if search.tries >= TRIES {
            self.give_back_those(cx, |kept| kept.to == target, out);
        }
        if self.waiting.iter().any(|kept| kept.to == target) {
            self.request(cx, target, search.tries + 1, out);
        }
    }

    /// Sends a request, the first to neighbours alone.
    fn request(&mut self, cx: &Context, target: Ipv4Addr, tries: u8, out: Out<'_, M>) {
        let Some(own) = self.own else { return };
        self.ids = self.ids.wrapping_add(1);
        let at = cx.now() + self.times().request(tries);
        let timer = self.timers.schedule(at, Event::Search(target));
        self.searches.insert(target, Search { tries, timer });
        let hops = if tries == 1 { 1 } else { self.config.relays + 1 };
        let mut options = vec![Opt::Request { id: self.ids, target, list: vec![] }];
        options.extend(self.links.broken(cx.now(), TOLD).map(|(source, unreachable)| Opt::Error {
            salvage: 0,
            source,
            destination: own,
            unreachable,
        }));
        let packet = Packet::<M>::own(own, Ipv4Addr::BROADCAST, hops, options);
        self.pass(cx, Ipv4Addr::BROADCAST, packet.write(), None, out);
    }

    /// A request arrived, with the list of those that passed it on.
    pub(crate) fn requested(
        &mut self,
        cx: &Context,
        mut packet: Packet<M>,
        (id, target, list): (u16, Ipv4Addr, Vec<Ipv4Addr>),
        out: Out<'_, M>,
    ) {
        let (Some(own), initiator) = (self.own, packet.source()) else { return };
        let trail: Vec<_> = [initiator].into_iter().chain(list).collect();
        if trail.contains(&own) || repeats(&trail) {
            return cx.dropped(NAME, "a request that was here, or went in a circle");
        }
        if trail.len() > usize::from(self.config.relays) + 1 {
            return cx.dropped(NAME, "a request by more stations than may relay");
        }
        if !self.hear(initiator, id, target) {
            return; // as most do: all neighbours pass it on
        }
        let jitter = self.times().jitter().as_nanos() as u64;
        let relays = usize::from(self.config.relays);
        let back: Vec<_> = [own].into_iter().chain(trail.iter().rev().copied()).collect();
        if target == own {
            let now = cx.now();
            self.links.learn(now, now + self.times().link(), &back, true);
            let list = trail[1..].iter().copied().chain([own]).collect();
            return self.send_own(cx, &back, Opt::Reply { list }, out);
        }
        let left = (relays + 1).saturating_sub(trail.len() + 1);
        let broken = |option: &Opt| match option {
            Opt::Error { source, unreachable, .. } => Some((*source, *unreachable)),
            _ => None,
        };
        // They are not forgotten: the station that asks may be wrong.
        let broken: Vec<_> = packet.options.iter().filter_map(broken).collect();
        let known = self.links.route(cx.now(), (own, target), &trail, &broken, left);
        let answers = self.config.answers_for_others && self.helps(initiator, target);
        if let Some(known) = known.filter(|_| answers) {
            // Those with shorter routes answer first (RFC 4728 §8.2.5).
            let hops = (trail.len() + known.len() - 2) as u64;
            let wait = (jitter / 2).saturating_mul(hops - 1) + cx.random(jitter / 2 + 1);
            let list = trail[1..].iter().chain(&known).copied().collect();
            let mut reply = Packet::own(own, initiator, crate::HOPS, vec![Opt::Reply { list }]);
            reply.set_route(&back, 0);
            return self.delay(cx, wait, (back[1], reply));
        }
        if trail.len() <= relays && packet.take_hop() {
            let list = trail[1..].iter().copied().chain([own]).collect();
            packet.options[0] = Opt::Request { id, target, list };
            let wait = cx.random(jitter + 1);
            self.delay(cx, wait, (Ipv4Addr::BROADCAST, packet));
        }
    }

    /// Notes a request; returns whether it is new.
    fn hear(&mut self, initiator: Ipv4Addr, id: u16, target: Ipv4Addr) -> bool {
        self.turns += 1;
        if !self.heard.contains_key(&initiator) && self.heard.len() >= INITIATORS_MOST {
            let oldest = self.heard.iter().min_by_key(|(_, heard)| heard.turn);
            let oldest = oldest.map(|(initiator, _)| *initiator);
            oldest.map(|oldest| self.heard.remove(&oldest));
        }
        let Heard { turn, ids } = self.heard.entry(initiator).or_default();
        *turn = self.turns;
        if ids.contains(&(id, target)) {
            return false;
        }
        if ids.len() == IDS_MOST {
            ids.pop_front();
        }
        ids.push_back((id, target));
        true
    }

    /// Returns whether an answer for the target may still help. Who asks again and again was not
    /// helped by answers for others: a route was lost on its way, or leads over a link that it
    /// knows to be broken and had no room to tell of. Then the target shall answer.
    fn helps(&self, initiator: Ipv4Addr, target: Ipv4Addr) -> bool {
        let ids = self.heard.get(&initiator).map(|heard| &heard.ids);
        let asked = ids.into_iter().flatten().rev().take_while(|(_, asked)| *asked == target);
        asked.count() <= HELPED
    }

    /// Sends a packet after a time, which neighbours that send the same do not choose.
    fn delay(&mut self, cx: &Context, nanoseconds: u64, what: (Ipv4Addr, Packet<M>)) {
        if self.delayed.len() >= DELAYED_MOST {
            return cx.dropped(NAME, "a request where too many wait");
        }
        let at = cx.now().later(nanoseconds);
        self.turns += 1;
        self.delayed.insert((at, self.turns), what);
        self.timers.schedule(at, Event::Delayed);
    }

    pub(crate) fn send_delayed(&mut self, cx: &Context, out: Out<'_, M>) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= cx.now())
        {
            let (next, packet) = first.remove();
            self.pass(cx, next, packet.write(), None, out);
        }
    }

    /// A reply arrived, or is relayed: its route is believed where it answers a request of ours, or
    /// one that we passed on.
    pub(crate) fn replied(
        &mut self,
        cx: &Context,
        (by, to): (Ipv4Addr, Ipv4Addr),
        list: &[Ipv4Addr],
        out: Out<'_, M>,
    ) {
        let (Some(own), Some(target)) = (self.own, list.last().copied()) else { return };
        let route: Vec<_> = [to].into_iter().chain(list.iter().copied()).collect();
        let relays = usize::from(self.config.relays);
        if repeats(&route) || list.len() > relays + 1 {
            return cx.dropped(NAME, "a reply with a route that is none");
        }
        let is_asked = if to == own {
            self.searches.contains_key(&target)
        } else {
            let heard = self.heard.get(&to);
            heard.is_some_and(|heard| heard.ids.iter().any(|(_, asked)| *asked == target))
        };
        let Some(place) = route.iter().position(|at| *at == own).filter(|_| is_asked) else {
            return cx.dropped(NAME, "a reply that was not asked for");
        };
        let until = cx.now() + self.times().link();
        self.links.learn(cx.now(), until, &route[place..], by == target);
        if to != own {
            return;
        }
        self.confirm(cx, list[0]);
        // A link of it may have broken already: then the search goes on.
        if self.links.route(cx.now(), (own, target), &[], &[], relays).is_some()
            && let Some(search) = self.searches.remove(&target)
        {
            self.timers.cancel(search.timer);
        }
        let waiting = core::mem::take(&mut self.waiting);
        waiting.into_iter().for_each(|kept| self.find_route(cx, kept, out));
    }
}
