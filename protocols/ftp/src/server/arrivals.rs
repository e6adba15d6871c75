//! Clients that arrive: how many sessions there may be, in all and of one address.
//!
//! A client beyond is told so, and costs no session. In a flood of them, most are reset instead:
//! those that are told hold a descriptor until they have read it.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use super::failures::network;
use super::secure::secure_control;
use super::state::{
    ARRIVALS, Arrives, CONTROL_CREDIT, Control, EARLY_CREDIT, REFUSED_MOST, Session, Stream, Work,
};
use super::timers::LINGER;
use super::{Indication, Out, Server};
use crate::{NAME, reply};

/// How many sessions each address has.
#[derive(Debug, Default)]
pub(super) struct Crowd(BTreeMap<IpAddr, usize>);

impl Crowd {
    pub(super) fn of(&self, address: IpAddr) -> usize {
        self.0.get(&network(address)).copied().unwrap_or(0)
    }

    pub(super) fn enter(&mut self, address: IpAddr) {
        *self.0.entry(network(address)).or_default() += 1;
    }

    pub(super) fn leave(&mut self, address: IpAddr) {
        let address = network(address);
        if let Some(sessions) = self.0.get_mut(&address) {
            *sessions -= 1;
            if *sessions == 0 {
                self.0.remove(&address);
            }
        }
    }
}

impl<M: Message> Server<M> {
    /// Handles a listener that is ready. Where clients arrive, their data arrive beside.
    pub(super) fn listens(
        &mut self,
        listener: Handle,
        arrives: Arrives,
        local: Participant,
        out: Out<'_, M>,
    ) {
        if arrives != Arrives::Data {
            out.indicate(Indication::Serving { local });
        }
        self.await_clients(listener, out);
        let beside = local.internet().filter(|_| self.config.merged && arrives == Arrives::Client);
        if let Some(mut beside) = beside {
            beside.set_port(beside.port().saturating_sub(1));
            self.serve(beside.into(), Arrives::Data, out);
        }
    }

    /// Keeps some handles ready for clients that may arrive at `listener`.
    pub(super) fn await_clients(&mut self, listener: Handle, out: Out<'_, M>) {
        if self.stopping {
            return;
        }
        while let Some(Stream::Listener { awaited, arrives }) = self.streams.get_mut(listener)
            && *awaited < ARRIVALS
        {
            *awaited += 1;
            let arrives = *arrives;
            let credit = if arrives == Arrives::Data { EARLY_CREDIT } else { CONTROL_CREDIT };
            let association = self.streams.name(Stream::Arrival { listener });
            Self::ask_streams(
                out,
                StreamsRequest::Await { listener, association, credit: Credit::of_octets(credit) },
            );
            if arrives == Arrives::SecureClient {
                secure_control(association, out);
            }
        }
    }

    pub(super) fn one_less_awaited(&mut self, listener: Handle) {
        if let Some(Stream::Listener { awaited, .. }) = self.streams.get_mut(listener) {
            *awaited -= 1;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an arrival is told with all of this")]
    pub(super) fn arrived(
        &mut self,
        cx: &Context,
        listener: Handle,
        name: Handle,
        local: Participant,
        remote: Participant,
        credit: usize,
        out: Out<'_, M>,
    ) {
        self.one_less_awaited(listener);
        self.await_clients(listener, out);
        let (Some(mut local), Some(mut peer)) = (local.internet(), remote.internet()) else {
            return self.reset(cx, name, out);
        };
        // A client that came by IPv4 to a listener for both is an IPv4 client.
        local.set_ip(local.ip().to_canonical());
        peer.set_ip(peer.ip().to_canonical());
        let arrives = match self.streams.get(listener) {
            Some(Stream::Listener { arrives, .. }) => *arrives,
            _ => return self.reset(cx, name, out),
        };
        if arrives == Arrives::Data {
            return self.data_came_beside(cx, name, peer, credit, out);
        }
        if self.sessions.len() >= self.config.sessions_most {
            let text = "Too many connections, come again later; this one is closed.";
            return self.refuse_client(cx, name, text, credit, out);
        }
        if self.crowd.of(peer.ip()) >= self.config.sessions_per_address {
            let text =
                "Too many connections from your address, come again later; this one is closed.";
            return self.refuse_client(cx, name, text, credit, out);
        }
        self.crowd.enter(peer.ip());
        let control = Control::new(name, local, peer, credit);
        let mut session = Session::new(control, cx.now(), &self.config);
        let from_start = arrives == Arrives::SecureClient;
        if from_start {
            session.protection.from_start = true;
            session.work = Work::Securing;
        }
        let Ok(session) = self.sessions.open(name, session) else {
            unreachable!("a name lives once, and has one session")
        };
        if let Some(stream) = self.streams.get_mut(name) {
            *stream = Stream::Control { session };
        }
        self.touch(cx, session);
        out.indicate(Indication::Arrived { peer: peer.into() });
        if !from_start {
            self.greet(cx, session);
        }
    }

    pub(super) fn greet(&mut self, cx: &Context, session: Handle) {
        let greeting = self.config.greeting.clone();
        self.reply(cx, session, 220, &greeting);
    }

    /// Tells a client that there is no session for it.
    fn refuse_client(
        &mut self,
        cx: &Context,
        association: Handle,
        text: &str,
        credit: usize,
        out: Out<'_, M>,
    ) {
        cx.dropped(NAME, "a client too many");
        let line = reply::line(421, text);
        if self.refused >= REFUSED_MOST || line.len() > credit {
            return self.reset(cx, association, out);
        }
        self.refused += 1;
        let until = cx.now() + LINGER;
        if let Some(stream) = self.streams.get_mut(association) {
            *stream = Stream::Refused { until };
            self.watch(until);
        }
        let batch = M::with_headroom(0, line.as_bytes()).into();
        let properties = Default::default();
        Self::ask_streams(out, StreamsRequest::Send { association, batch, properties });
        Self::ask_streams(out, StreamsRequest::Close { name: association });
    }
}
