//! The associations of the layer below: one with each link-layer address and kind.
//!
//! Stations arrive, and are opened where we speak first. At most [`STATIONS_MOST`] are kept: the
//! one that was used least is closed for the next.

use core::net::IpAddr;

use stackwright_base::map::Map;
use stackwright_contract::services::{
    Credit, CreditBack, CreditGate, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
    MessageProperties, QueuedBatch,
};
use stackwright_contract::{Address, Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::version::{Key, Version};
use crate::{HEADROOM, NAME, Out, Resolve, radio};

/// How many associations are kept below.
const STATIONS_MOST: usize = 512;
/// How many names wait for the arrivals of one kind.
const AWAITED: usize = 16;
/// Upward, for each association below: it returns with each packet.
const AT_ONCE: Credit = Credit { octets: 4 << 20, messages: 1024 };
/// Own packets of ARP and NDP that wait for one station at most.
const OWN_WAITING_MOST: usize = 8;

/// How worthy something is to be kept: whether something was ever sent to it, and when it was used.
/// So a flood of strangers drives out itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Used {
    pub(crate) sent: bool,
    pub(crate) turn: u64,
}

/// An association below.
pub(crate) struct Station<M: Message> {
    key: Key,
    /// Downward: what waits for it to be opened, or for its credit.
    gate: CreditGate<Datagrams<M>>,
    is_open: bool,
    used: Used,
    /// Whether it is given up: its last word follows.
    left: bool,
}

/// Packets on their way down; our own give no credit back.
pub(crate) type Queued<M> = QueuedBatch<Datagrams<M>>;

impl<M: Message> Resolve<M> {
    /// Returns the participant that the layer below knows by that key.
    fn station_of(&self, key: Key) -> Participant {
        let hardware = |(address, kind)| Address::Hardware { address, kind }.into();
        self.config.call.map_or_else(|| hardware(key), |own| radio::station(key, own))
    }

    /// Listens below for one version, and opens the way to all stations: when that is open, the
    /// link is up, and what its path takes is known.
    pub(crate) fn begin(&mut self, cx: &Context, version: Version, out: Out<'_, M>) {
        if self.bases[version as usize].is_some() {
            return;
        }
        // AX.25 delivers by destination: what is for all has a listener of its own there.
        let of_all = self.config.call.map(|_| version.all().0);
        for kind in version.kinds() {
            for address in [Some([0; 6]), of_all].into_iter().flatten() {
                let listener = self.below.listen(*kind);
                let local = self.station_of((address, *kind));
                out.request(DatagramsRequest::Listen { listener, local });
                for _ in 0..AWAITED {
                    self.expect(listener, out);
                }
            }
        }
        let base = self.station(cx, version.all(), out);
        self.bases[version as usize] = Some(base);
    }

    fn expect(&mut self, listener: Handle, out: Out<'_, M>) {
        if let Some(association) = self.below.expect(listener, AT_ONCE) {
            out.request(DatagramsRequest::Await { listener, association, credit: AT_ONCE });
        }
    }

    /// Returns whether packets of that version can leave: its base is open, and the own link-layer
    /// address is known.
    pub(crate) fn is_ready(&self, version: Version) -> bool {
        let base = self.bases[version as usize].and_then(|base| self.below.get(base));
        self.hardware.is_some() && base.is_some_and(|base| base.is_open)
    }

    /// Returns the association with a station, opened where there is none.
    fn station(&mut self, cx: &Context, key: Key, out: Out<'_, M>) -> Handle {
        if let Some(station) = self.stations.resolve(&key) {
            return station;
        }
        self.make_room(cx, out);
        let used = Used { sent: true, turn: self.turn() };
        let association = self.below.open(|_| Station::new(key, used));
        self.stations.install(key, association);
        let (remote, local) = (self.station_of(key), None);
        out.request(DatagramsRequest::Open { association, remote, local, credit: AT_ONCE });
        association
    }

    /// Closes the station that was used least, where there are as many as are kept.
    fn make_room(&mut self, cx: &Context, out: Out<'_, M>) {
        if self.stations.len() < STATIONS_MOST {
            return;
        }
        let may_go = |(name, station): &(Handle, &Station<M>)| {
            !station.left && !self.bases.contains(&Some(*name))
        };
        let least = self.below.iter().filter(may_go).min_by_key(|(_, station)| station.used);
        if let Some((name, _)) = least {
            self.leave(cx, name, out);
            out.request(DatagramsRequest::Close { name });
        }
    }

    /// Uses an association no more: what waits for it is dropped.
    fn leave(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(station) = self.below.get_mut(name) else { return };
        station.left = true;
        let (key, queue) = (station.key, station.gate.shut());
        if self.stations.lookup(&key) == Some(&name) {
            self.stations.erase(&key);
        }
        for lost in queue {
            cx.dropped(NAME, "a packet that waited for a station that is given up");
            self.refund(lost.back, out);
        }
    }

    /// Sends a packet of our own to a station.
    pub(crate) fn transmit_own(&mut self, cx: &Context, key: Key, packet: &[u8], out: Out<'_, M>) {
        let batch = M::with_headroom(HEADROOM, packet).into();
        let properties = MessageProperties::default();
        self.transmit(cx, key, Queued { batch, properties, back: None }, out);
    }

    /// Sends packets to a station: at once, or when it is open and has credit.
    pub(crate) fn transmit(&mut self, cx: &Context, key: Key, what: Queued<M>, out: Out<'_, M>) {
        let name = self.station(cx, key, out);
        let used = Used { sent: true, turn: self.turn() };
        let Some(station) = self.below.get_mut(name) else { return };
        station.used = used;
        if what.back.is_none() && station.gate.waiting() >= OWN_WAITING_MOST {
            return cx.dropped(NAME, "a packet of ARP or NDP where too many wait");
        }
        station.gate.wait(what);
        self.speak(name, out);
    }

    /// Sends what a station has credit for.
    fn speak(&mut self, association: Handle, out: Out<'_, M>) {
        while let Some(station) = self.below.get_mut(association)
            && let Some(Queued { batch, properties, back }) = station.gate.next_ready()
        {
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

    /// Returns packets whose next hop does not answer, with their credit, to whom sent them.
    pub(crate) fn give_back(&mut self, cx: &Context, lost: Queued<M>, out: Out<'_, M>) {
        self.refund(lost.back, out);
        let Some((association, _)) = lost.back else { return };
        let (cost, batch) = (lost.batch.cost(), lost.batch);
        match self.above.get_mut(association) {
            Some(above) if above.credit.covers(cost) => above.credit -= cost,
            _ => return cx.dropped(NAME, "a packet to a host that does not answer"),
        }
        let properties = MessageProperties { returned: true, ..lost.properties };
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// An association below is open: one that was asked for, or an arrival.
    pub(crate) fn opened(
        &mut self,
        cx: &Context,
        name: Handle,
        remote: Participant,
        credit: Credit,
        path: PathLimits,
        out: Out<'_, M>,
    ) {
        let Some(key) = radio::key(remote) else {
            return cx.dropped(NAME, "a station that has no hardware address");
        };
        if let Some(listener) = self.below.waits_at(name) {
            self.expect(listener, out);
            let mut station = Station::new(key, Used::default());
            match self.stations.resolve(&key).and_then(|other| self.below.get_mut(other)) {
                // The station arrived while it was being opened: that name will be refused.
                Some(other) if !other.is_open => {
                    core::mem::swap(&mut station.gate, &mut other.gate);
                }
                // By radio, it may arrive once more with what is for all.
                _ => self.make_room(cx, out),
            }
            station.used = Used { sent: !station.gate.is_idle(), turn: self.turn() };
            self.below.arrived(name, || station);
            self.stations.install(key, name);
        } else if self.stations.lookup(&key) != Some(&name) {
            // It arrived before.
            return out.request(DatagramsRequest::Close { name });
        }
        if let Some(station) = self.below.get_mut(name) {
            station.is_open = true;
            station.gate.allow(credit);
        }
        self.changed(path, out);
        self.speak(name, out);
        if self.bases.contains(&Some(name)) {
            self.go_up(cx, out);
        }
    }

    pub(crate) fn more_credit(&mut self, name: Handle, more: Credit, out: Out<'_, M>) {
        if let Some(station) = self.below.get_mut(name) {
            station.gate.allow(more);
            self.speak(name, out);
        }
    }

    /// A name below has ended: a station, or a listener, without which its version has no link.
    pub(crate) fn ended_below(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        let fails = |version: &Version| match self.below.listener(name) {
            Some(kind) => version.kinds().contains(kind),
            None => self.bases[*version as usize] == Some(name),
        };
        let failed = Version::BOTH.into_iter().find(fails);
        self.leave(cx, name, out);
        self.below.forget(name);
        if let Some(version) = failed.filter(|_| why != Ended::Finished) {
            self.fail(version, why, out);
        }
    }

    /// Notes that something arrived on an association below.
    pub(crate) fn touch(&mut self, association: Handle) {
        let turn = self.turn();
        if let Some(station) = self.below.get_mut(association) {
            station.used.turn = turn;
        }
    }

    /// Returns the station with which an association below is.
    pub(crate) fn key(&self, association: Handle) -> Option<Key> {
        self.below.get(association).map(|station| station.key)
    }

    /// Returns the station that was heard from whose call sign the address of a host follows.
    pub(crate) fn heard(&self, host: IpAddr) -> Option<[u8; 6]> {
        let mut all = self.below.iter().map(|(_, station)| station.key.0);
        all.find(|address| self.config.call.is_some() && radio::is_host_of(host, *address))
    }

    /// Returns whether nothing waits for a station.
    pub(crate) fn is_idle(&self) -> bool {
        self.below.iter().all(|(_, station)| station.gate.is_idle())
    }
}

impl<M: Message> Station<M> {
    fn new(key: Key, used: Used) -> Self {
        Station { key, gate: CreditGate::default(), is_open: false, used, left: false }
    }
}
