//! From above, to the device.

use stackwright_contract::services::{Batch, Credit, DatagramsIndication, FramesRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Header, Message, internet};

use crate::header::TAGGED;
use crate::{EthernetDatagrams, NAME, Out, PORT, Station, Tag, Waiting};

impl<M: Message> EthernetDatagrams<M> {
    pub(crate) fn send(
        &mut self,
        cx: &Context,
        association: Handle,
        batch: Batch<M>,
        out: Out<'_, M>,
    ) {
        let Some(open) = self.names.get(association) else {
            return cx.dropped(NAME, "a message for a name that has ended");
        };
        let station = open.station;
        let reason = if !self.ready {
            "a message while the link is down"
        } else if batch.longest() > self.path().longest as usize {
            "a message longer than a frame"
        } else {
            self.waiting.push_back(Waiting { association, station, batch });
            return self.speak(out);
        };
        cx.dropped(NAME, reason);
        self.refund(association, batch.cost(), out);
    }

    pub(crate) fn refund(&self, association: Handle, credit: Credit, out: Out<'_, M>) {
        if self.names.lives(association) {
            out.indicate(DatagramsIndication::Credit { association, credit });
        }
    }

    /// Hands on what the port has credit for: whole batches, else their first messages.
    pub(crate) fn speak(&mut self, out: Out<'_, M>) {
        while let Some(Waiting { association, station, batch }) = self.waiting.front_mut() {
            let (association, station) = (*association, *station);
            let header = self.config.header_length();
            let with_header = |Credit { octets, messages }: Credit| Credit {
                octets: octets + messages * header,
                messages,
            };
            let first = Credit { octets: batch.longest(), messages: 1 };
            let ready = if self.credit.covers(with_header(batch.cost())) {
                self.waiting.pop_front().map(|waiting| waiting.batch)
            } else if self.credit.covers(with_header(first)) {
                batch.split_first().map(Batch::from)
            } else {
                None
            };
            let Some(batch) = ready else { return };
            let credit = batch.cost();
            self.credit -= with_header(credit);
            self.transmit(station, batch, out);
            self.refund(association, credit, out);
        }
    }

    fn transmit(&self, (destination, kind): Station, batch: Batch<M>, out: Out<'_, M>) {
        let mut octets = [0; internet::Ethernet::LENGTH + Tag::LENGTH];
        let ether_type = if self.config.lan.is_some() { TAGGED } else { kind };
        let source = self.config.address;
        internet::Ethernet { destination, source, ether_type }.encode(&mut octets);
        if let Some(lan) = self.config.lan {
            let tag = Tag { priority: 0, drop_eligible: false, lan, ether_type: kind };
            tag.encode(&mut octets[internet::Ethernet::LENGTH..]);
        }
        let header = &octets[..self.config.header_length()];
        let send = |batch| FramesRequest::Send { port: PORT, batch, mark: None };
        let Some(size) = batch.segment_size() else {
            let mut message = batch.into_single();
            message.push_front(header.len()).copy_from_slice(header);
            return out.request(send(message.into()));
        };
        let size = size.get() as usize;
        let mut octets = batch.into_octets();
        if octets.push_each(size, header) {
            return out.request(send(Batch::new(octets, size + header.len())));
        }
        for mut message in Batch::new(octets, size) {
            message.push_front(header.len()).copy_from_slice(header);
            out.request(send(message.into()));
        }
    }
}
