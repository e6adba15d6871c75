//! Two applications that send each other octets, and check what arrives.

use stackwright_contract::services::{Credit, Ended, StreamsRequest};
use stackwright_wire::{BufferTree, Message};

use crate::simulated::air::{Air, Told, name, octets, station};

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) station: usize,
    pub(crate) index: u32,
    /// What it sends, and how much of it was sent.
    pub(crate) data: Vec<u8>,
    sent: usize,
    credit: usize,
    /// What was acknowledged by the peer.
    pub(crate) acknowledged: usize,
    pub(crate) received: Vec<u8>,
    pub(crate) opened: bool,
    /// Whether it finishes when everything was sent.
    pub(crate) finishes: bool,
    finished: bool,
    pub(crate) peer_finished: bool,
    pub(crate) ended: Option<Ended>,
    /// Octets that it takes before it gives credit again.
    pub(crate) room: usize,
    owed: usize,
}

impl End {
    pub(crate) fn new(station: usize, index: u32, data: Vec<u8>) -> Self {
        End {
            station,
            index,
            data,
            sent: 0,
            credit: 0,
            acknowledged: 0,
            received: Vec::new(),
            opened: false,
            finishes: false,
            finished: false,
            peer_finished: false,
            ended: None,
            room: 1 << 16,
            owed: 0,
        }
    }

    pub(crate) fn listen(&self, air: &mut Air, call: &str) {
        let (listener, local) = (name(1000 + self.index), station(call));
        air.ask_stream(self.station, StreamsRequest::Listen { listener, local });
        self.wait(air);
    }

    pub(crate) fn wait(&self, air: &mut Air) {
        let (listener, association) = (name(1000 + self.index), name(self.index));
        let credit = Credit::of_octets(self.room);
        air.ask_stream(self.station, StreamsRequest::Await { listener, association, credit });
    }

    pub(crate) fn open(&self, air: &mut Air, remote: stackwright_contract::Participant) {
        let (association, credit) = (name(self.index), Credit::of_octets(self.room));
        let open = StreamsRequest::Open { association, remote, local: None, credit };
        air.ask_stream(self.station, open);
    }

    /// Handles what was told of it, and goes on, until nothing more is told.
    pub(crate) fn turn(&mut self, air: &mut Air) {
        while self.take_turn(air) {}
    }

    fn take_turn(&mut self, air: &mut Air) -> bool {
        let association = name(self.index);
        let mut told = Vec::new();
        let all = &mut air.stations[self.station].told;
        let mut place = 0;
        while place < all.len() {
            if all[place].name() == association {
                told.push(all.remove(place));
            } else {
                place += 1;
            }
        }
        let heard = !told.is_empty();
        for word in told {
            assert!(self.ended.is_none(), "a word behind the last: {word:?}");
            match word {
                Told::Opened { credit, .. } => {
                    assert!(!self.opened);
                    self.opened = true;
                    self.credit = credit.octets;
                }
                Told::Delivered { batch, .. } => {
                    assert!(self.opened && !self.peer_finished);
                    let octets = octets(&batch.into_octets());
                    self.owed += octets.len();
                    self.received.extend(octets);
                }
                Told::Credit { credit, .. } => {
                    self.credit += credit.octets;
                    self.acknowledged += credit.octets;
                    assert!(self.acknowledged <= self.sent);
                }
                Told::Finished { .. } => self.peer_finished = true,
                Told::Ended { why, .. } => self.ended = Some(why),
                other => panic!("unexpected: {other:?}"),
            }
        }
        if !self.opened || self.ended.is_some() {
            return heard;
        }
        if self.owed >= self.room.div_ceil(2) {
            let credit = Credit::of_octets(std::mem::take(&mut self.owed));
            air.ask_stream(self.station, StreamsRequest::Credit { association, credit });
        }
        let more = self.credit.min(self.data.len() - self.sent);
        if more > 0 {
            let octets = &self.data[self.sent..self.sent + more];
            let batch = BufferTree::with_headroom(0, octets).into();
            self.sent += more;
            self.credit -= more;
            let properties = Default::default();
            let send = StreamsRequest::Send { association, batch, properties };
            air.ask_stream(self.station, send);
        }
        if self.finishes && !self.finished && self.sent == self.data.len() {
            self.finished = true;
            air.ask_stream(self.station, StreamsRequest::Finish { association });
        }
        heard
    }
}

/// Data that show where they are from.
pub(crate) fn data(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|place| (place as u8).wrapping_mul(31) ^ (place >> 8) as u8 ^ seed).collect()
}

/// What arrived is the beginning of what was sent, and what was said to be acknowledged arrived.
pub(crate) fn check(from: &End, to: &End) {
    assert!(to.received.len() <= from.data.len());
    assert_eq!(to.received, from.data[..to.received.len()], "octets in order, once");
}
