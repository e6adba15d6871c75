//! Sends a payload and checks what comes back, octet for octet.

use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_simulator::{Application, Asks, SimulatedStreams};
use stackwright_wire::{Leaf, Message};

pub(crate) const NAME: Handle = Handle { index: 0, generation: 0 };

pub(crate) struct Client {
    pub(crate) payload: Vec<u8>,
    pub(crate) sent: usize,
    pub(crate) heard: usize,
    pub(crate) finished: bool,
    pub(crate) ended: Vec<Ended>,
    room: usize,
    /// How many octets it may be sent yet.
    pub(crate) credit: usize,
}

impl Client {
    pub(crate) fn new(payload: Vec<u8>, credit: usize) -> Self {
        Client { payload, sent: 0, heard: 0, finished: false, ended: Vec::new(), room: 0, credit }
    }

    fn send<M: Message>(&mut self, cx: &Context, asks: &mut Asks<SimulatedStreams<M>>) {
        let before = self.sent;
        while self.room > 0 && self.sent < self.payload.len() {
            let most = self.room.min(self.payload.len() - self.sent);
            let octets = 1 + cx.random(most as u64) as usize;
            let message = M::with_headroom(0, &self.payload[self.sent..self.sent + octets]);
            asks.push_back(StreamsRequest::Send {
                association: NAME,
                batch: message.into(),
                properties: Default::default(),
            });
            self.sent += octets;
            self.room -= octets;
        }
        if self.sent == self.payload.len() && (before < self.sent || before == 0) {
            asks.push_back(StreamsRequest::Finish { association: NAME });
        }
    }
}

impl<M: Message> Application<SimulatedStreams<M>> for Client {
    fn hear(
        &mut self,
        cx: &Context,
        indication: StreamsIndication<M>,
        asks: &mut Asks<SimulatedStreams<M>>,
    ) {
        assert!(self.ended.is_empty(), "nothing comes after the last word");
        match indication {
            StreamsIndication::Opened { credit: Credit { octets: room, .. }, .. } => {
                self.room = room;
                self.send(cx, asks);
            }
            StreamsIndication::Credit { credit: Credit { octets: room, .. }, .. } => {
                assert!(room > 0, "room is never zero");
                self.room += room;
                self.send(cx, asks);
            }
            StreamsIndication::Delivered { batch, .. } => {
                let message = batch.into_octets();
                assert!(!message.is_empty() && !self.finished);
                assert!(message.len() <= self.credit, "delivered within the room");
                let room = message.len();
                for leaf in message.leaves() {
                    let Leaf::Octets(octets) = leaf else { panic!("octets were sent") };
                    let expected = &self.payload[self.heard..self.sent];
                    assert!(
                        expected.starts_with(octets),
                        "what comes back is what was sent, in order"
                    );
                    self.heard += octets.len();
                }
                asks.push_back(StreamsRequest::Credit {
                    association: NAME,
                    credit: Credit::of_octets(room),
                });
            }
            StreamsIndication::Finished { .. } => {
                assert!(!self.finished, "an end comes once");
                self.finished = true;
            }
            StreamsIndication::Ended { why, .. } => self.ended.push(why),
            StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
            StreamsIndication::Listening { .. } => panic!("nobody asked for that"),
        }
    }
}
