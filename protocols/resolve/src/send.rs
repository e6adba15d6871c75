//! From above, to the link: packets to next hops, and the ages of neighbours.

use core::net::IpAddr;

use stackwright_base::events::Events;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Participant};
use stackwright_wire::Message;
use stackwright_wire::internet::group_address;

use crate::neighbors::{Neighbor, State, WAITING_MOST};
use crate::stations::{Queued, Used};
use crate::version::Version;
use crate::{Above, Event, NAME, Out, Resolve, To, host};

/// Solicitations of one kind that are sent (RFC 4861 §10: MAX_MULTICAST_SOLICIT, and of unicast).
const TRIES: u8 = 3;

impl<M: Message> Resolve<M> {
    pub(crate) fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        (remote, local): (Participant, Option<Participant>),
        credit: Credit,
        out: Out<'_, M>,
    ) {
        let Some(next) = host(remote) else {
            return out.indicate(DatagramsIndication::Ended { name, why: Ended::Unreachable });
        };
        if local.and_then(host).is_some_and(|local| self.own(local).is_none()) {
            return out.indicate(DatagramsIndication::Ended { name, why: Ended::Unavailable });
        }
        let to = group_address(next).map_or(To::Neighbor(None), To::Group);
        self.above.open(name, Above { host: next, to, credit, told: false });
        let version = Version::of(next);
        self.begin(cx, version, out);
        if self.is_ready(version) {
            self.open_waiting(version, out);
        }
    }

    pub(crate) fn send(
        &mut self,
        cx: &Context,
        name: Handle,
        batch: Batch<M>,
        properties: MessageProperties,
        out: Out<'_, M>,
    ) {
        let Some(&Above { host, to, .. }) = self.above.get(name) else {
            return cx.dropped(NAME, "a packet for a name that has ended");
        };
        let longest = batch.longest();
        let back = Some((name, batch.cost()));
        let what = Queued { batch, properties, back };
        if longest > self.path.longest as usize {
            cx.dropped(NAME, "a packet longer than the link takes");
            return self.refund(what.back, out);
        }
        let kind = Version::of(host).kind();
        match to {
            To::Link => {
                cx.dropped(NAME, "a packet without a next hop");
                self.refund(what.back, out);
            }
            To::Group(address) => self.transmit(cx, (address, kind), what, out),
            To::Neighbor(id) => {
                let id = id.filter(|id| self.neighbors.get(*id).is_some());
                let id = id.or_else(|| self.neighbor(host));
                let id = id.unwrap_or_else(|| self.add_neighbor(cx, host, true, out));
                if let Some(above) = self.above.get_mut(name) {
                    above.to = To::Neighbor(Some(id));
                }
                self.send_to(cx, id, what, out);
            }
        }
    }

    fn send_to(&mut self, cx: &Context, id: Handle, mut what: Queued<M>, out: Out<'_, M>) {
        let used = Used { sent: true, turn: self.turn() };
        let (now, delay) = (cx.now(), self.config.delay.max(self.interval()));
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        neighbor.used = used;
        match neighbor.state {
            State::Incomplete => {
                let begins = neighbor.timer.is_none();
                if begins {
                    neighbor.from = source(&mut what);
                }
                neighbor.waiting.push_back(what);
                let lost = (neighbor.waiting.len() > WAITING_MOST)
                    .then(|| neighbor.waiting.pop_front())
                    .flatten();
                if let Some(lost) = lost {
                    cx.dropped(NAME, "the oldest of the packets that wait for an address");
                    self.refund(lost.back, out);
                }
                return if begins {
                    self.solicit(cx, id, out)
                };
            }
            State::Reachable(until) if now > until => neighbor.state = State::Stale,
            _ => {}
        }
        let key = (neighbor.address, Version::of(neighbor.host).kind());
        if neighbor.state == State::Stale {
            (neighbor.state, neighbor.from) = (State::Delay, source(&mut what));
            neighbor.timer = Some(self.timers.schedule(now + delay, Event::Neighbor(id)));
        }
        self.transmit(cx, key, what, out);
    }

    /// Asks for a neighbour, or whether it is still there, and waits for its answer.
    fn solicit(&mut self, cx: &Context, id: Handle, out: Out<'_, M>) {
        let at = cx.now() + self.interval();
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        neighbor.tries += 1;
        neighbor.timer = Some(self.timers.schedule(at, Event::Neighbor(id)));
        let (host, from) = (neighbor.host, neighbor.from);
        let to = (neighbor.state == State::Probe).then_some(neighbor.address);
        match (host, self.source(host, from)) {
            (IpAddr::V4(host), Some(IpAddr::V4(from))) => {
                self.ask_arp(cx, to.unwrap_or([0xff; 6]), from, host, out);
            }
            (IpAddr::V6(host), Some(IpAddr::V6(from))) => self.ask_ndp(cx, to, from, host, out),
            _ => cx.dropped(NAME, "a solicitation without an own address in use"),
        }
    }

    /// A neighbour's time is up (RFC 4861 §7.3.3).
    pub(crate) fn age(&mut self, cx: &Context, id: Handle, out: Out<'_, M>) {
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        neighbor.timer = None;
        match neighbor.state {
            State::Delay => {
                (neighbor.state, neighbor.tries) = (State::Probe, 0);
                self.solicit(cx, id, out);
            }
            State::Incomplete | State::Probe if neighbor.tries < TRIES => {
                self.solicit(cx, id, out);
            }
            State::Incomplete | State::Probe => {
                cx.event(NAME, format_args!("{} does not answer", neighbor.host));
                let lost = self.neighbors.forget(id);
                for lost in lost.into_iter().flat_map(|neighbor| neighbor.waiting) {
                    self.give_back(cx, lost, out);
                }
            }
            State::Reachable(_) | State::Stale | State::Permanent | State::Derived => {}
        }
    }

    /// A neighbour answered us: it is reachable at that address.
    pub(crate) fn confirm(&mut self, cx: &Context, id: Handle, address: [u8; 6], out: Out<'_, M>) {
        let most = self.config.reachable_time.as_nanos() as u64;
        let until = cx.now().later(most / 2).later(cx.random(most));
        self.settle(cx, id, address, State::Reachable(until), out);
    }

    /// A neighbour told its address without being asked: it is right until something else is heard,
    /// and confirmed when it is used.
    pub(crate) fn learn(&mut self, cx: &Context, id: Handle, address: [u8; 6], out: Out<'_, M>) {
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        if neighbor.state == State::Incomplete || neighbor.address != address {
            self.settle(cx, id, address, State::Stale, out);
        }
    }

    fn settle(
        &mut self,
        cx: &Context,
        id: Handle,
        address: [u8; 6],
        state: State,
        out: Out<'_, M>,
    ) {
        let Some(neighbor) = self.neighbors.get_mut(id) else { return };
        if matches!(neighbor.state, State::Permanent | State::Derived) {
            if neighbor.address != address {
                cx.dropped(
                    NAME,
                    "an address of another station than the one that is known to have it",
                );
            }
            return;
        }
        (neighbor.address, neighbor.state, neighbor.tries) = (address, state, 0);
        if let Some(timer) = neighbor.timer.take() {
            self.timers.cancel(timer);
        }
        // Where it is stale, the first packet leaves to be confirmed.
        for what in core::mem::take(&mut neighbor.waiting) {
            self.send_to(cx, id, what, out);
        }
    }

    /// Adds a neighbour; where the table is full, another is forgotten for it. `sends`: because
    /// something is sent to it.
    pub(crate) fn add_neighbor(
        &mut self,
        cx: &Context,
        host: IpAddr,
        sends: bool,
        out: Out<'_, M>,
    ) -> Handle {
        if let Some(oldest) = self.least_used()
            && let Some(neighbor) = self.neighbors.forget(oldest)
        {
            neighbor.timer.map(|timer| self.timers.cancel(timer));
            for lost in neighbor.waiting {
                cx.dropped(NAME, "a packet to a host for which there is no more room");
                self.refund(lost.back, out);
            }
        }
        let used = Used { sent: sends, turn: self.turn() };
        let mut neighbor = Neighbor::new(host, used);
        // A station that was heard need not be asked for what follows from its name.
        if let Some(address) = self.heard(host) {
            (neighbor.address, neighbor.state) = (address, State::Derived);
        }
        self.neighbors.name(neighbor)
    }

    /// Returns the time between two solicitations.
    pub(crate) fn interval(&self) -> Duration {
        let frame_time = Duration::from_micros(self.path.frame_time.into());
        self.config.retransmit_time.max(2 * frame_time)
    }
}

/// Returns the source of a packet.
fn source<M: Message>(what: &mut Queued<M>) -> Option<IpAddr> {
    let mut front = [0; 24];
    match what.batch.as_octets().copy_to(&mut front) {
        16.. if front[0] >> 4 == 4 => {
            let host: [u8; 4] = front[12..16].try_into().ok()?;
            Some(host.into())
        }
        24.. if front[0] >> 4 == 6 => {
            let host: [u8; 16] = front[8..24].try_into().ok()?;
            Some(host.into())
        }
        _ => None,
    }
}
