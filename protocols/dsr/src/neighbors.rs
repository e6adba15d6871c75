//! Maintenance (RFC 4728 §8.3): a next hop acknowledges, now and then, that it is there. If it does
//! not, its link is forgotten, who sent by it is told, and what it did not take is salvaged.
//!
//! A packet with a route asks in itself; one to a neighbour has nothing of DSR in it, so a packet
//! of its own asks for it. One question is open at a time, and not every packet asks.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_base::events::Events;
use stackwright_contract::Context;
use stackwright_wire::Message;

use crate::header::Opt;
use crate::packet::Packet;
use crate::state::{Asked, COPIES_MOST, Event, Kept, NEIGHBORS_MOST, Neighbor};
use crate::{Dsr, NAME, Out};

/// How often a question is repeated (MaxMaintRexmt), and its time prolonged at most.
const REPEATED: u8 = 2;
const PROLONGED: u8 = 8;
/// How often a packet is salvaged (MAX_SALVAGE_COUNT).
const SALVAGED: u8 = 15;

impl<M: Message> Dsr<M> {
    /// Returns what is known of a next hop. In a full table its place is that of the one that
    /// proved itself longest ago; `None`: all were asked.
    fn neighbor(&mut self, host: Ipv4Addr) -> Option<&mut Neighbor<M>> {
        if !self.neighbors.contains_key(&host) && self.neighbors.len() >= NEIGHBORS_MOST {
            let idle = self.neighbors.iter().filter(|(_, known)| known.asked.is_none());
            let (oldest, _) = idle.min_by_key(|(_, known)| known.confirmed)?;
            let oldest = *oldest;
            self.neighbors.remove(&oldest);
        }
        let unknown = || Neighbor { confirmed: None, asked: None };
        Some(self.neighbors.entry(host).or_insert_with(unknown))
    }

    /// Sends a packet to a next hop, which is asked to acknowledge if it was silent.
    pub(crate) fn hand_over(
        &mut self,
        cx: &Context,
        next: Ipv4Addr,
        mut kept: Kept<M>,
        out: Out<'_, M>,
    ) {
        let (now, times) = (cx.now(), self.times());
        let copies = self.neighbors.values().filter_map(|known| known.asked.as_ref());
        let has_room = copies.map(|asked| asked.copies.len()).sum::<usize>() < COPIES_MOST;
        let maintained = self.config.asks_for_acknowledgements && kept.packet.has_payload();
        let id = self.ids.wrapping_add(1);
        let mut asks_alone = false;
        if maintained && let Some(known) = self.neighbor(next) {
            match &mut known.asked {
                Some(asked) if has_room => asked.copies.push_back(kept.copy()),
                Some(_) => {}
                None if known.confirmed.is_some_and(|at| now < at + times.holdoff()) => {}
                None => {
                    asks_alone = kept.packet.route().is_none();
                    if !asks_alone {
                        kept.packet.options.push(Opt::AckRequest { id });
                    }
                    let copies = VecDeque::from([kept.copy()]);
                    self.ids = id;
                    self.ask_neighbor(cx, next, copies);
                }
            }
        }
        self.pass(cx, next, kept.packet.write(), kept.back, out);
        if asks_alone {
            self.send_question(cx, next, id, out);
        }
    }

    fn ask_neighbor(&mut self, cx: &Context, host: Ipv4Addr, copies: VecDeque<Kept<M>>) {
        let at = cx.now() + self.times().acknowledgement(0);
        let timer = self.timers.schedule(at, Event::Asked(host));
        let (id, tries, prolonged, heard) = (self.ids, 0, 0, false);
        if let Some(known) = self.neighbors.get_mut(&host) {
            known.asked = Some(Asked { id, tries, prolonged, heard, timer, copies });
        }
    }

    fn send_question(&mut self, cx: &Context, host: Ipv4Addr, id: u16, out: Out<'_, M>) {
        let Some(own) = self.own else { return };
        let question = Packet::own(own, host, 1, vec![Opt::AckRequest { id }]);
        self.pass(cx, host, question.write(), None, out);
    }

    /// A neighbour acknowledges; others cannot, because they do not know the number.
    pub(crate) fn acknowledged(&mut self, cx: &Context, by: Ipv4Addr, id: u16) {
        let asked = self.neighbors.get_mut(&by).map(|known| &mut known.asked);
        match asked.and_then(|asked| asked.take_if(|asked| asked.id == id)) {
            Some(asked) => {
                self.timers.cancel(asked.timer);
                self.confirm(cx, by);
            }
            None => cx.dropped(NAME, "an acknowledgement that was not asked for"),
        }
    }

    /// A neighbour answered us.
    pub(crate) fn confirm(&mut self, cx: &Context, host: Ipv4Addr) {
        let now = cx.now();
        if let Some(own) = self.own {
            self.links.learn(now, now + self.times().link(), &[own, host], true);
        }
        if let Some(known) = self.neighbor(host) {
            known.confirmed = Some(now);
        }
    }

    /// Something arrived from a neighbour: it is there, and its answer may wait behind others.
    pub(crate) fn hear_neighbor(&mut self, host: Ipv4Addr) {
        if let Some(asked) = self.neighbors.get_mut(&host).and_then(|known| known.asked.as_mut()) {
            asked.heard = true;
        }
    }

    /// An acknowledgement did not come in time. While packets have not left, or others come from
    /// there, that says nothing.
    pub(crate) fn not_acknowledged(&mut self, cx: &Context, host: Ipv4Addr, out: Out<'_, M>) {
        let (now, times, inside) = (cx.now(), self.times(), self.inside(host));
        let Some(known) = self.neighbors.get_mut(&host) else { return };
        let Some(asked) = &mut known.asked else { return };
        let waits = core::mem::take(&mut asked.heard) || inside > 0;
        let repeats = if waits && asked.prolonged < PROLONGED {
            asked.prolonged += 1;
            false
        } else if asked.tries < REPEATED {
            asked.tries += 1;
            true
        } else {
            let lost = core::mem::take(&mut asked.copies);
            known.asked = None;
            return self.lose_link(cx, host, lost, out);
        };
        let at = now + times.acknowledgement(asked.tries);
        asked.timer = self.timers.schedule(at, Event::Asked(host));
        if !repeats {
            return;
        }
        let first = asked.copies.front().filter(|kept| kept.packet.route().is_some());
        let (id, packet) = (asked.id, first.map(|kept| kept.packet.write()));
        match packet {
            Some(packet) => self.pass(cx, host, packet, None, out),
            None => self.send_question(cx, host, id, out),
        }
    }

    /// A next hop is not there: its link is forgotten, who sent these packets is told, and they
    /// leave by other routes, where there are such (RFC 4728 §8.3.4, §8.4).
    pub(crate) fn lose_link(
        &mut self,
        cx: &Context,
        next: Ipv4Addr,
        lost: impl IntoIterator<Item = Kept<M>>,
        out: Out<'_, M>,
    ) {
        let Some(own) = self.own else { return };
        cx.event(NAME, format_args!("the link to {next} is lost"));
        self.links.break_link(cx.now() + self.times().link(), (own, next));
        if let Some(known) = self.neighbors.get_mut(&next) {
            known.confirmed = None;
        }
        let mut told = Vec::new();
        for mut kept in lost {
            if !kept.packet.has_payload() {
                continue; // who sent it repeats it
            }
            if !kept.packet.take_hop() {
                self.give_back(cx, kept, out); // it came back as often as it may
                continue;
            }
            if kept.from.is_some() {
                self.find_route(cx, kept, out);
                continue;
            }
            let mut visited = Vec::from([kept.packet.source()]);
            if let Some(route) = kept.packet.route() {
                let place = route.visited().unwrap_or(0);
                let back = route.until(kept.packet.source(), place);
                if let Some(origin) = back.first().filter(|origin| !told.contains(*origin)) {
                    told.push(*origin);
                    let error = Opt::Error {
                        salvage: route.salvage,
                        source: own,
                        destination: *origin,
                        unreachable: next,
                    };
                    let back: Vec<_> =
                        [own].into_iter().chain(back.iter().rev().copied()).collect();
                    self.send_own(cx, &back, error, out);
                }
                visited.extend(&route.list[..place]);
            }
            self.salvage(cx, kept, &visited, out);
        }
    }

    fn salvage(&mut self, cx: &Context, kept: Kept<M>, visited: &[Ipv4Addr], out: Out<'_, M>) {
        let Some(own) = self.own else { return };
        let salvage = kept.packet.route().map_or(0, |route| route.salvage);
        let relays = self.config.relays.into();
        match self.links.route(cx.now(), (own, kept.to), visited, &[], relays) {
            Some(route) if salvage < SALVAGED => self.send_by(cx, kept, &route, salvage + 1, out),
            _ => cx.dropped(NAME, "a packet of another station whose route broke"),
        }
    }

    /// Sends an option of our own by a route from here.
    pub(crate) fn send_own(
        &mut self,
        cx: &Context,
        route: &[Ipv4Addr],
        option: Opt,
        out: Out<'_, M>,
    ) {
        let [own, next, ..] = route else { return };
        let destination = route[route.len() - 1];
        let mut packet = Packet::<M>::own(*own, destination, crate::HOPS, vec![option]);
        packet.set_route(route, 0);
        self.pass(cx, *next, packet.write(), None, out);
    }
}
