//! Words from above.

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use stackwright_contract::services::{Code, Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle, Participant, earliest};
use stackwright_wire::Message;

use crate::header::{ChunkKind, OpenChunk};
use crate::state::{
    Below, CREDIT_FIRST, Carrier, Door, Half, Owner, Phase, Stream, append, host, port, with_port,
};
use crate::{Merged, NAME, Out};

/// Credit of a stream downward, in octets: what it may have waiting here. The association below
/// has a queue of its own, and an application sees how much has left by what is taken.
const STREAM_QUEUE: usize = 8 << 10;
/// Credit of an association below: what arrives is taken at once.
pub(crate) const CREDIT_BELOW: Credit = Credit::of_octets(1 << 20);
/// The ports for which nobody asks (RFC 6335 §6).
const ANY_PORT: u16 = 49152;

impl<M: Message> Merged<M> {
    pub(crate) fn asked(&mut self, cx: &Context, request: StreamsRequest<M>, out: Out<'_, M>) {
        match request {
            StreamsRequest::Listen { listener, local } => self.listen(cx, listener, local, out),
            StreamsRequest::Await { listener, association: name, credit } => {
                if let Some(ended) = self.above.expect(listener, name, credit) {
                    out.indicate(ended);
                }
                self.admit(listener, out);
            }
            StreamsRequest::Open { association, remote, local, credit } => {
                self.open(cx, association, remote, local, credit.octets, out);
            }
            StreamsRequest::Send { association: name, batch, .. } => {
                match self.stream(name).filter(|stream| stream.half == Half::Open) {
                    Some(stream) => append(&mut stream.queue, batch.into_octets()),
                    None => return cx.dropped(NAME, "octets for a stream that has ended"),
                }
                self.mark_of(name);
            }
            StreamsRequest::Credit { association: name, credit } => {
                if let Some(stream) = self.stream(name) {
                    stream.up += credit.octets;
                    self.deliver(name, out);
                }
            }
            StreamsRequest::Control { association: name, .. } => {
                if self.above.lives(name) {
                    out.indicate(StreamsIndication::unknown_command(name));
                }
            }
            StreamsRequest::Finish { association: name } => {
                if let Some(stream) = self.stream(name).filter(|it| it.half == Half::Open) {
                    stream.half = Half::Ending;
                    self.mark_of(name);
                }
            }
            StreamsRequest::Abort { association: name, code } => self.abort(name, code, out),
            StreamsRequest::Close { name } => self.close(cx, name, out),
        }
    }

    pub(crate) fn stream(&mut self, name: Handle) -> Option<&mut Stream<M>> {
        let (carrier, number) = *self.above.get(name)?;
        self.carriers.get_mut(carrier)?.streams.get_mut(&number)
    }

    fn mark_of(&mut self, name: Handle) {
        if let Some(&(carrier, _)) = self.above.get(name) {
            self.mark(carrier);
        }
    }

    pub(crate) fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        self.above.end(name, why).for_each(|ended| out.indicate(ended));
    }

    /// The first listener listens below, too: associations arrive there. All others hear of the
    /// streams inside alone.
    fn listen(&mut self, cx: &Context, name: Handle, local: Participant, out: Out<'_, M>) {
        let door = Door { local, below: None, early: VecDeque::new() };
        let Some(address) = local.internet() else {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
        };
        if self.shared.is_none() {
            let listener = self.below.name(Below::Listener { above: name });
            self.shared = Some(listener);
            self.above.listen(name, Door { below: Some(listener), ..door });
            return out.request(StreamsRequest::Listen { listener, local });
        }
        let local = match address.port() {
            0 => with_port(local, self.free_port(cx)),
            _ => local,
        };
        let is_taken =
            local.internet().is_some_and(|local| self.listener_at(local, true).is_some());
        if is_taken {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
        }
        self.above.listen(name, Door { local, ..door });
        out.indicate(StreamsIndication::Listening { listener: name, local });
    }

    /// Returns the listener at an address; where that is to be free, also one at all addresses.
    pub(crate) fn listener_at(&self, address: SocketAddr, any: bool) -> Option<Handle> {
        let ip = address.ip().to_canonical();
        let hears = |at: &Door| {
            at.local.internet().is_some_and(|local| {
                let is_any = local.ip().is_unspecified() || any && ip.is_unspecified();
                local.port() == address.port() && (is_any || local.ip().to_canonical() == ip)
            })
        };
        self.above.listeners().find(|(_, at)| hears(at)).map(|(name, _)| name)
    }

    /// Returns a port that no listener has and no stream, at a place that nobody can guess.
    fn free_port(&self, cx: &Context) -> u16 {
        let count = u16::MAX - ANY_PORT;
        let first = cx.random(count.into()) as u16;
        let is_taken = |wanted: u16| {
            let mut streams = self.carriers.iter().flat_map(|(_, it)| it.streams.values());
            streams.any(|stream| stream.port == wanted)
                || self.above.listeners().any(|(_, at)| port(at.local) == wanted)
        };
        let ports = (0..count).map(|nth| ANY_PORT + (first + nth % count) % count);
        ports.clone().find(|port| !is_taken(*port)).unwrap_or(ANY_PORT)
    }

    /// Opens a stream inside the association with that host, or inside a new one.
    fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: usize,
        out: Out<'_, M>,
    ) {
        let Some(address) = remote.internet() else {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
        };
        let serves = |carrier: &Carrier<M>| {
            let is_it = carrier.remote.internet().map(host) == Some(host(address));
            is_it && carrier.phase != Phase::Over && carrier.next <= u16::MAX.into()
        };
        let found = self.carriers.iter().find(|(_, it)| serves(it)).map(|(carrier, _)| carrier);
        let carrier = found.unwrap_or_else(|| self.carry(remote, local, out));
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        let number = state.next as u16;
        state.next += 2;
        let ports = (local.map_or(0, port), address.port());
        state.streams.insert(number, Stream::new(Owner::Name(name), ports, credit));
        self.above.open(name, (carrier, number));
        self.begin(cx, carrier, number, out);
    }

    /// Opens an association below.
    fn carry(
        &mut self,
        remote: Participant,
        local: Option<Participant>,
        out: Out<'_, M>,
    ) -> Handle {
        let unnamed = Handle { index: 0, generation: 0 };
        let carrier = self.carriers.name(Carrier::new(unnamed, remote, true));
        let association = self.below.name(Below::Carrier(carrier));
        if let Some(state) = self.carriers.get_mut(carrier) {
            state.below = Some(association);
        }
        out.request(StreamsRequest::Open { association, remote, local, credit: CREDIT_BELOW });
        carrier
    }

    /// Opens a stream of an association that is open. Its peer need not answer: it refuses, or
    /// takes the first octets.
    pub(crate) fn begin(&mut self, cx: &Context, carrier: Handle, number: u16, out: Out<'_, M>) {
        let any_port = self.free_port(cx);
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        if state.phase != Phase::Open {
            return;
        }
        let Some(stream) = state.streams.get_mut(&number) else { return };
        if stream.port == 0 {
            // The first has the port that the association has.
            let is_first = number == 0 && port(state.local) != 0;
            stream.port = if is_first { port(state.local) } else { any_port };
        }
        stream.told = stream.up.clamp(CREDIT_FIRST, u32::MAX as usize);
        stream.window = stream.told;
        let open = OpenChunk {
            source_port: stream.port,
            destination_port: stream.peer_port,
            credit: stream.told as u32,
        };
        if let Some(opened) = opened(state, number) {
            out.indicate(opened);
        }
        state.push_open(number, &open);
        self.mark(carrier);
    }

    /// Gives streams that came early to names that wait.
    pub(crate) fn admit(&mut self, listener: Handle, out: Out<'_, M>) {
        while let Some(door) = self.above.listener_mut(listener)
            && let Some(&(carrier, number)) = door.early.front()
            && let Some((name, credit)) = self.above.arrive(listener)
        {
            if let Some(door) = self.above.listener_mut(listener) {
                door.early.pop_front();
            }
            self.above.open(name, (carrier, number));
            let Some(state) = self.carriers.get_mut(carrier) else { continue };
            if let Some(stream) = state.streams.get_mut(&number) {
                (stream.owner, stream.up) = (Owner::Name(name), credit.octets);
            }
            if let Some(opened) = opened(state, number) {
                out.indicate(opened);
            }
            self.deliver(name, out);
        }
    }

    fn abort(&mut self, name: Handle, code: Code, out: Out<'_, M>) {
        let Some(&(carrier, number)) = self.above.get(name) else {
            return self.end_listening(name, Ended::Aborted, out);
        };
        self.cut(carrier, number, ChunkKind::Abort, code);
        self.end(name, Ended::Aborted, out);
        self.rest(carrier, out);
    }

    fn close(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(&(carrier, number)) = self.above.get(name) else {
            return self.end_listening(name, Ended::Finished, out);
        };
        let until = cx.now() + self.config.close_wait;
        let Some(state) = self.carriers.get_mut(carrier) else { return };
        let opens = state.phase == Phase::Opening;
        let Some(stream) = state.streams.get_mut(&number) else { return };
        if opens {
            state.streams.remove(&number);
            self.end(name, Ended::Finished, out);
            return self.rest(carrier, out);
        }
        stream.closes = Some(until);
        stream.arrived = None;
        if stream.half == Half::Open {
            stream.half = Half::Ending;
        }
        self.next = earliest(self.next, Some(until));
        self.deliver(name, out);
    }

    /// Ends a listener, or a name that waits at one.
    fn end_listening(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        if let Some(door) = self.above.listener_mut(name) {
            let (below, early) = (door.below, core::mem::take(&mut door.early));
            for (carrier, number) in early {
                self.cut(carrier, number, ChunkKind::Refuse, 0);
            }
            if let Some(name) = below {
                self.shared = None;
                out.request(StreamsRequest::Close { name });
            }
        }
        self.end(name, why, out);
    }
}

/// Returns what is told of a stream that is open.
fn opened<M: Message>(carrier: &Carrier<M>, number: u16) -> Option<StreamsIndication<M>> {
    let stream = carrier.streams.get(&number)?;
    Some(StreamsIndication::Opened {
        association: stream.name()?,
        local: with_port(carrier.local, stream.port),
        remote: with_port(carrier.remote, stream.peer_port),
        credit: Credit::of_octets(STREAM_QUEUE),
        path: stackwright_contract::PathLimits::UNBOUNDED,
    })
}
