//! Connection attempts, addresses and ports.

use std::net::{IpAddr, SocketAddr};

use stackwright_contract::services::Ended;
use stackwright_contract::{Context, Duration, Handle, Outlet, Participant};
use stackwright_wire::Message;

use super::{End, Flow, Receiving, Sending, SimulatedStreams, Stage};
use crate::SegmentWord;

/// How long an attempt waits for an answer: what Linux does by default.
const PATIENCE: Duration = Duration::from_secs(127);

/// The first of the ephemeral ports.
const FRESH_FIRST: u16 = 49_152;

impl<M: Message> SimulatedStreams<M> {
    pub(super) fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: usize,
        out: &mut dyn Outlet<Self>,
    ) {
        self.ledger.given(name);
        match self.both_ends(cx, remote, local) {
            Ok((local, remote)) => {
                let end = End { local, remote, number: cx.random(u64::MAX) };
                let expires = cx.now() + PATIENCE;
                let flow = Flow {
                    stage: Stage::Asked { association: name, expires },
                    sending: Sending::new(self.habits.credit, 0),
                    receiving: Receiving::new(credit, self.habits.buffer, self.habits.pace),
                    reset: None,
                    discarded: 0,
                };
                self.flows.insert(end, flow);
                self.timers.insert((expires, end));
                self.names.open(name, end);
                out.request(end.segment(SegmentWord::Ask { window: self.habits.buffer }));
            }
            Err(why) => self.refuse(name, why, out),
        }
    }

    fn both_ends(
        &self,
        cx: &Context,
        remote: Participant,
        local: Option<Participant>,
    ) -> Result<(SocketAddr, SocketAddr), Ended> {
        let remote = remote.internet().ok_or(Ended::Unreachable)?;
        if remote.port() == 0 || remote.ip().is_unspecified() {
            return Err(Ended::Unreachable);
        }
        let port = match local {
            None => 0,
            Some(local) => {
                let local = local.internet().ok_or(Ended::Unavailable)?;
                if !self.is_ours(local.ip()) {
                    return Err(Ended::Unavailable);
                }
                local.port()
            }
        };
        let port = if port == 0 { self.fresh_port(cx).ok_or(Ended::Unavailable)? } else { port };
        let local = SocketAddr::new(self.address, port);
        if self.flows.keys().any(|end| (end.local, end.remote) == (local, remote)) {
            return Err(Ended::Unavailable);
        }
        Ok((local, remote))
    }

    /// Whether this is the adapter's address, or any.
    pub(super) fn is_ours(&self, address: IpAddr) -> bool {
        address == self.address
            || (address.is_unspecified() && address.is_ipv4() == self.address.is_ipv4())
    }

    /// Returns a random port that is not in use here; `None` if there is none.
    pub(super) fn fresh_port(&self, cx: &Context) -> Option<u16> {
        let count = u16::MAX - FRESH_FIRST;
        let first = cx.random(u64::from(count) + 1) as u16;
        (0..=count)
            .map(|step| {
                FRESH_FIRST + ((u32::from(first) + u32::from(step)) % (u32::from(count) + 1)) as u16
            })
            .find(|port| {
                self.listener_at(*port).is_none()
                    && self.flows.keys().all(|end| end.local.port() != *port)
            })
    }
}
