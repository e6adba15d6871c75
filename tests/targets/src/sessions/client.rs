//! What a client knows of its associations, and how it goes on.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Context, Handle};
use stackwright_simulator::{Application, Asks};
use stackwright_wire::Message;

use super::Streams;
use crate::lower::M;

/// What a client knows of an association.
#[derive(Default)]
pub(super) struct Known {
    pub(super) open: bool,
    /// Whether it gives no credit back.
    pub(super) deaf: bool,
    pub(super) octets: Vec<u8>,
    pub(super) room: usize,
    pub(super) unsent: Vec<u8>,
    pub(super) finishes: bool,
    /// The outcome of `Secure`.
    pub(super) secured: Option<bool>,
    /// Its last request was said: `Finish`, `Abort`.
    pub(super) said_all: bool,
    pub(super) ended: Option<Ended>,
}

#[derive(Default)]
pub(super) struct Client {
    pub(super) names: BTreeMap<Handle, Known>,
    pub(super) listens: BTreeMap<Handle, SocketAddr>,
}

impl Application<Streams> for Client {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<Streams>) {
        let name = told.name();
        if let Told::Listening { local, .. } = told {
            self.listens.insert(name, local.internet().expect("an Internet address"));
            return;
        }
        let known = self.names.entry(name).or_default();
        assert!(known.ended.is_none(), "the last word was said: {told:?}");
        match told {
            Told::Opened { credit, .. } => (known.open, known.room) = (true, credit.octets),
            Told::Credit { credit, .. } => known.room += credit.octets,
            Told::Delivered { batch, .. } => {
                let octets = batch.octets();
                let start = known.octets.len();
                known.octets.resize(start + octets, 0);
                batch.into_octets().copy_to(&mut known.octets[start..]);
                if !known.deaf {
                    let credit = Credit::of_octets(octets);
                    asks.push_back(Ask::Credit { association: name, credit });
                }
            }
            Told::Controlled { outcome, .. } => known.secured = Some(outcome.is_ok()),
            Told::Ended { why, .. } => {
                known.ended = Some(why);
                self.listens.remove(&name);
                return;
            }
            Told::Reported { .. }
            | Told::Ending { .. }
            | Told::Finished { .. }
            | Told::Listening { .. }
            | Told::Changed { .. } => {}
        }
        known.go_on(name, asks);
    }
}

impl Known {
    pub(super) fn go_on(&mut self, name: Handle, asks: &mut Asks<Streams>) {
        if !self.open || self.ended.is_some() || self.said_all {
            return;
        }
        let octets = self.unsent.len().min(self.room);
        if octets > 0 {
            self.room -= octets;
            let message = M::with_headroom(0, &self.unsent[..octets]);
            self.unsent.drain(..octets);
            let properties = StreamProperties::default();
            asks.push_back(Ask::Send { association: name, batch: message.into(), properties });
        }
        if self.finishes && self.unsent.is_empty() {
            self.said_all = true;
            asks.push_back(Ask::Finish { association: name });
        }
    }
}
