//! Listeners, and the arrival of peers.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stackwright_contract::services::{Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Outlet, Participant};
use stackwright_wire::Message;

use super::{By, End, Flow, NAME, Named, Receiving, Sending, SimulatedStreams, Stage, opened};
use crate::SegmentWord;

#[derive(Debug)]
pub(super) struct Listening {
    pub(super) port: u16,
    /// Names that wait for arrivals, with the initial credit upward.
    pub(super) awaited: VecDeque<(Handle, usize)>,
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
                let listening = Listening {
                    port: local.port(),
                    awaited: VecDeque::new(),
                    nameless: VecDeque::new(),
                };
                self.names.insert(name, Named::Listener(listening));
                out.indicate(StreamsIndication::Listening { listener: name, local: local.into() });
            }
            None => self.last_word(name, Ended::Unavailable, out),
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
        let listens =
            |named: &Named| matches!(named, Named::Listener(listening) if listening.port == port);
        self.names.iter().find(|(_, named)| listens(named)).map(|(name, _)| name)
    }

    /// Lets the next arrival take the name `association`.
    pub(super) fn expect(
        &mut self,
        listener: Handle,
        association: Handle,
        credit: usize,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(association);
        if !self.ledger.lives(listener) {
            return self.last_word(association, Ended::Unlistened, out);
        }
        let Some(Named::Listener(listening)) = self.names.get_mut(listener) else {
            panic!("{NAME}: an Await at {listener:?}, which is not a listener")
        };
        listening.awaited.push_back((association, credit));
        self.names.insert(association, Named::Awaited { listener });
        self.introduce(listener, out);
    }

    /// Handles a peer's request for an association. As in the kernel, the answer does not wait for
    /// a name.
    pub(super) fn asked(&mut self, end: End, window: usize, out: &mut dyn Outlet<Self>) {
        let listener = self.listener_at(end.local.port());
        let listening = listener.and_then(|listener| match self.names.get_mut(listener) {
            Some(Named::Listener(listening)) => Some((listener, listening)),
            _ => None,
        });
        match listening {
            Some((listener, listening))
                if listening.nameless.len() < self.habits.backlog.max(1) =>
            {
                listening.nameless.push_back(end);
                let Self { habits, .. } = self;
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
        let Some(Named::Listener(listening)) = self.names.get_mut(listener) else { return };
        if listening.awaited.is_empty() || listening.nameless.is_empty() {
            return;
        }
        let pair = listening.awaited.pop_front().zip(listening.nameless.pop_front());
        let ((association, credit), end) = pair.expect("seen above that neither is empty");
        self.names.remove(association);
        self.names.insert(association, Named::Flow(end));
        let flow = self.flows.get_mut(&end).expect("who waits for a name is there");
        flow.stage = Stage::Open { association };
        if credit > 0 {
            flow.receiving.give(credit);
        }
        self.due.insert(end);
        let has_ended = flow.receiving.has_ended();
        out.indicate(opened(association, end, flow.sending.credit));
        if has_ended {
            out.indicate(StreamsIndication::Ending { association });
        }
    }

    pub(super) fn unlisten(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if !self.ledger.lives(name) {
            return cx.dropped(NAME, "a word for a listener that is over");
        }
        let Some(Named::Listener(listening)) = self.names.get_mut(name) else {
            panic!("{NAME}: a Close on {name:?}, which is not a listener")
        };
        let nameless = std::mem::take(&mut listening.nameless);
        for (awaited, _) in std::mem::take(&mut listening.awaited) {
            self.last_word(awaited, Ended::Unlistened, out);
        }
        for end in nameless {
            self.end(end, Ended::Unlistened, By::Us(0), out);
        }
        self.last_word(name, Ended::Unlistened, out);
    }
}
