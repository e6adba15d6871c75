//! Listeners, and the arrival of peers.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stackwright_contract::services::{Credit, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Outlet, Participant};
use stackwright_wire::Message;

use super::{By, End, Flow, NAME, Receiving, Sending, SimulatedStreams, Stage, opened};
use crate::SegmentWord;

#[derive(Debug)]
pub(super) struct Listening {
    pub(super) port: u16,
    /// Arrivals that wait for names.
    pub(super) nameless: VecDeque<End>,
}

impl<M: Message> SimulatedStreams<M> {
    pub(super) fn listen(
        &mut self,
        cx: &Context,
        name: Handle,
        local: Participant,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(name);
        match self.place(cx, local) {
            Some(local) => {
                let listening = Listening { port: local.port(), nameless: VecDeque::new() };
                self.names.listen(name, listening);
                out.indicate(StreamsIndication::Listening { listener: name, local: local.into() });
            }
            None => self.refuse(name, Ended::Unavailable, out),
        }
    }

    /// Returns the address that a listener gets, if it may have it.
    fn place(&self, cx: &Context, local: Participant) -> Option<SocketAddr> {
        let local = local.internet()?;
        if !self.is_ours(local.ip()) {
            return None;
        }
        match local.port() {
            0 => Some(SocketAddr::new(local.ip(), self.fresh_port(cx)?)),
            port => self.listener_at(port).is_none().then_some(local),
        }
    }

    pub(super) fn listener_at(&self, port: u16) -> Option<Handle> {
        self.names.listeners().find(|(_, at)| at.port == port).map(|(name, _)| name)
    }

    /// Lets the next arrival take the name `association`.
    pub(super) fn expect(
        &mut self,
        listener: Handle,
        association: Handle,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(association);
        let refused = self.names.expect(listener, association, credit);
        assert!(
            refused.is_none() || !self.ledger.lives(listener),
            "{NAME}: an Await at {listener:?}, which is not a listener"
        );
        refused.into_iter().for_each(|word| self.last_word(word, out));
        self.introduce(listener, out);
    }

    /// Handles a peer's request for an association. As in the kernel, the answer does not wait for
    /// a name.
    pub(super) fn asked(&mut self, end: End, window: usize, out: &mut dyn Outlet<Self>) {
        let listener = self.listener_at(end.local.port());
        let Self { names, habits, .. } = self;
        let has_room = |at: &&mut Listening| at.nameless.len() < habits.backlog.max(1);
        let listening = listener.and_then(|name| names.listener_mut(name)).filter(has_room);
        match listener.zip(listening) {
            Some((listener, listening)) => {
                listening.nameless.push_back(end);
                let flow = Flow {
                    stage: Stage::Nameless { listener },
                    sending: Sending::new(habits.credit, window),
                    receiving: Receiving::new(0, habits.buffer, habits.pace),
                    reset: None,
                    discarded: 0,
                };
                out.request(end.segment(SegmentWord::Answer { window: habits.buffer }));
                self.flows.insert(end, flow);
                self.introduce(listener, out);
            }
            _ => out.request(end.segment(SegmentWord::Reset { code: 0 })),
        }
    }

    /// Gives names to arrivals, as long as there are both.
    fn introduce(&mut self, listener: Handle, out: &mut dyn Outlet<Self>) {
        let awaited = self.names.awaited(listener);
        let listening = self.names.listener_mut(listener).filter(|_| awaited > 0);
        let Some(end) = listening.and_then(|at| at.nameless.pop_front()) else { return };
        let Some((association, credit)) = self.names.arrive(listener) else { return };
        self.names.open(association, end);
        let flow = self.flows.get_mut(&end).expect("who waits for a name is there");
        flow.stage = Stage::Open { association };
        if credit.octets > 0 {
            flow.receiving.give(credit.octets);
        }
        self.due.insert(end);
        let has_ended = flow.receiving.has_ended();
        out.indicate(opened(association, end, flow.sending.credit));
        if has_ended {
            out.indicate(StreamsIndication::Ending { association });
        }
    }

    pub(super) fn unlisten(&mut self, name: Handle, out: &mut dyn Outlet<Self>) {
        let listening = self.names.listener_mut(name);
        let nameless = listening.map(|at| std::mem::take(&mut at.nameless));
        for end in nameless.into_iter().flatten() {
            self.end(end, Ended::Unlistened, By::Us(0), out);
        }
        self.end_name(name, Ended::Finished, out);
    }
}
