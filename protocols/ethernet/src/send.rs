//! From above, to the device.

use stackwright_contract::services::{
    Batch, Credit, CreditBack, DatagramsIndication, FramesRequest, MessageProperties, QueuedBatch,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Header, Message, internet};

use crate::header::TAGGED;
use crate::{EthernetDatagrams, NAME, Out, PORT, Station, Tag};

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
        let reason = if !self.ready {
            "a message while the link is down"
        } else if batch.longest() > self.path().longest as usize {
            "a message longer than a frame"
        } else {
            self.frame_each(association, open.station, batch);
            return self.speak(out);
        };
        cx.dropped(NAME, reason);
        self.refund(Some((association, batch.cost())), out);
    }

    /// Puts the header before each message: into the gaps between them, where they have gaps.
    fn frame_each(&mut self, name: Handle, (destination, kind): Station, batch: Batch<M>) {
        let mut octets = [0; internet::Ethernet::LENGTH + Tag::LENGTH];
        let ether_type = if self.config.lan.is_some() { TAGGED } else { kind };
        let source = self.config.address;
        internet::Ethernet { destination, source, ether_type }.encode(&mut octets);
        if let Some(lan) = self.config.lan {
            let tag = Tag { priority: 0, drop_eligible: false, lan, ether_type: kind };
            tag.encode(&mut octets[internet::Ethernet::LENGTH..]);
        }
        let header = &octets[..self.config.header_length()];
        let (cost, size) = (batch.cost(), batch.longest());
        let properties = MessageProperties::default();
        let mut octets = batch.into_octets();
        if cost.messages > 1 && octets.push_each(size, header) {
            let batch = Batch::new(octets, size + header.len());
            self.gate.wait(QueuedBatch { batch, properties, back: Some((name, cost)) });
            return;
        }
        let messages = if cost.messages > 1 { Batch::new(octets, size) } else { octets.into() };
        for mut message in messages {
            let back = Some((name, Credit { octets: message.len(), messages: 1 }));
            message.push_front(header.len()).copy_from_slice(header);
            self.gate.wait(QueuedBatch { batch: message.into(), properties, back });
        }
    }

    /// Gives credit back for what has left, or is lost.
    pub(crate) fn refund(&self, back: CreditBack, out: Out<'_, M>) {
        if let Some((association, credit)) = back.filter(|(above, _)| self.names.lives(*above)) {
            out.indicate(DatagramsIndication::Credit { association, credit });
        }
    }

    /// Hands on what the port has credit for.
    pub(crate) fn speak(&mut self, out: Out<'_, M>) {
        while let Some(QueuedBatch { batch, back, .. }) = self.gate.next_ready() {
            out.request(FramesRequest::Send { port: PORT, batch, mark: None });
            self.refund(back, out);
        }
    }
}
