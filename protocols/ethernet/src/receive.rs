//! From the device, upward: frames, credit, and the state of the port.

use stackwright_base::map::Map;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, FramesRequest, MessageProperties,
};
use stackwright_contract::{Context, Handle, PathLimits};
use stackwright_wire::internet::{self, is_group};
use stackwright_wire::{Header, Message};

use crate::header::TAGGED;
use crate::{AT_ONCE, EthernetDatagrams, KIND_LEAST, NAME, Out, PORT, Station, Tag};

/// The longest header of a frame, in octets.
const HEADER_MOST: usize = internet::Ethernet::LENGTH + Tag::LENGTH;

impl<M: Message> EthernetDatagrams<M> {
    pub(crate) fn delivered(&mut self, cx: &Context, port: u8, batch: Batch<M>, out: Out<'_, M>) {
        out.request(FramesRequest::Credit { credit: batch.cost() });
        if port != PORT {
            return cx.dropped(NAME, "a frame of a port that is not used");
        }
        self.frames(cx, batch, out);
    }

    /// Handles frames that came as one, which mostly have one header.
    fn frames(&mut self, cx: &Context, mut batch: Batch<M>, out: Out<'_, M>) {
        let mut front = [0; HEADER_MOST];
        let octets = batch.as_octets().copy_to(&mut front).min(batch.longest());
        if let Some((station, length)) = self.header(&front[..octets])
            && batch.strip_each(&front[..length])
        {
            return self.deliver(cx, station, batch, out);
        }
        if batch.segment_size().is_none() {
            return cx.dropped(NAME, "a frame that is not for this station, or malformed");
        }
        batch.into_iter().for_each(|frame| self.frames(cx, frame.into(), out));
    }

    /// Returns the sender of a frame for this station with its protocol, and the length of the
    /// header.
    fn header(&self, front: &[u8]) -> Option<(Station, usize)> {
        // A tag without a LAN is a priority alone: it may stand in any frame (802.1Q §6.9).
        let is_tagged = front.get(12..14) == Some(&TAGGED.to_be_bytes()[..]);
        let length = if is_tagged { HEADER_MOST } else { self.config.header_length() };
        let octets = front.get(..length)?;
        let header = internet::Ethernet::decode(octets).ok()?;
        let mut kind = header.ether_type;
        if length == HEADER_MOST {
            let tag = Tag::decode(&octets[internet::Ethernet::LENGTH..]).ok()?;
            if kind != TAGGED || tag.lan != self.config.lan.unwrap_or(0) {
                return None;
            }
            kind = tag.ether_type;
        }
        let (to, from) = (header.destination, header.source);
        let is_ours = to == self.config.address || is_group(to);
        let is_theirs = from != self.config.address && !is_group(from);
        (is_ours && is_theirs && kind >= KIND_LEAST).then_some(((from, kind), length))
    }

    fn deliver(&mut self, cx: &Context, station: Station, batch: Batch<M>, out: Out<'_, M>) {
        let Some(association) = self.association(station, out) else {
            return cx.dropped(NAME, "a frame that nobody awaits");
        };
        let Some(open) = self.names.get_mut(association) else { return };
        let cost = batch.cost();
        if !open.credit.covers(cost) {
            return cx.dropped(NAME, "a frame without credit above");
        }
        open.credit -= cost;
        let properties = MessageProperties::default();
        out.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// Returns the association with a station; one that has none arrives, if it is awaited.
    fn association(&mut self, station: Station, out: Out<'_, M>) -> Option<Handle> {
        if let Some(open) = self.stations.resolve(&station) {
            return Some(open);
        }
        let (listener, _) = self.names.listeners().find(|(_, kind)| **kind == station.1)?;
        let (name, credit) = self.names.arrive(listener)?;
        self.add(name, station, credit, out);
        Some(name)
    }

    pub(crate) fn more_credit(&mut self, more: Credit, out: Out<'_, M>) {
        self.gate.allow(more);
        if !self.ready {
            self.become_ready(out);
        }
        self.speak(out);
    }

    fn become_ready(&mut self, out: Out<'_, M>) {
        self.ready = true;
        for (name, open) in self.names.iter().filter(|(_, open)| !open.told) {
            out.indicate(self.opened(name, open.station));
        }
        self.names.iter_mut().for_each(|(_, open)| open.told = true);
    }

    pub(crate) fn changed(&mut self, path: PathLimits, out: Out<'_, M>) {
        if self.frames == path {
            return;
        }
        self.frames = path;
        let path = self.path();
        for (association, open) in self.names.iter() {
            if open.told {
                out.indicate(DatagramsIndication::Changed { association, path });
            }
        }
    }

    pub(crate) fn state(&mut self, cx: &Context, up: bool, out: Out<'_, M>) {
        self.ready = false;
        for lost in self.gate.shut() {
            cx.dropped(NAME, "a frame that waited when the link went down");
            self.refund(lost.back, out);
        }
        if up {
            out.request(FramesRequest::Credit { credit: AT_ONCE });
        }
    }
}
