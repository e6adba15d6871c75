//! Sockets of this machine (unix(7)) as [`Streams`]: one path, where it listens or connects to.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, mem};

use mio::net::{UnixListener, UnixStream};
use mio::{Interest, Token};
use rustix::net::UCred;
use stackwright_contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Address, Arrivals, Context, Facts, Guarantees, Handle, Outlet, Participant, PathLimits,
    Protocol,
};
use stackwright_wire::{Message, Pool};

use crate::flow::{Flow, HungUp, Quiet, SEND_ROOM};
use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;
use crate::unopened::unbound;

const NAME: &str = "unix";

/// The adapter. It has no addresses but [`Participant::OTHER_END`], and no half closes; a peer is
/// the [program](Address::Program) at the other end.
pub struct UnixStreams<M: Message> {
    path: PathBuf,
    /// The socket where it listens.
    bound: Option<OwnedFd>,
    /// Whether it accepts arrivals.
    accepts: bool,
    registry: Arc<Registry>,
    lane: usize,
    pool: Arc<Pool<M>>,
    sockets: Arrivals<UnixListener, Box<Socket<M>>>,
    due: Vec<Handle>,
    /// Listeners that could not accept for want of descriptors; tried again when one is free.
    starved: Vec<Handle>,
}

struct Socket<M: Message> {
    stream: UnixStream,
    flow: Flow<M>,
    due: bool,
    /// It ends when all that waits is written.
    closes: bool,
}

type Out<'a, M> = &'a mut dyn Outlet<UnixStreams<M>>;

impl<M: Message> UnixStreams<M> {
    /// Makes an adapter that connects to `path`, registers its sockets with `registry` in `lane`,
    /// and takes its blocks from `pool`.
    pub fn new(path: PathBuf, registry: Arc<Registry>, lane: usize, pool: Arc<Pool<M>>) -> Self {
        let (sockets, due, starved) = (Arrivals::new(), Vec::new(), Vec::new());
        let (bound, accepts) = (None, true);
        UnixStreams { path, bound, accepts, registry, lane, pool, sockets, due, starved }
    }

    /// Listens at a socket that is [bound](bind) to a path, which stays there when this is
    /// dropped. Where others may connect, the layer above asks [who](Address::Program) they are.
    #[must_use]
    pub fn listening_at(mut self, bound: OwnedFd) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Accepts no more arrivals, or accepts them again: they wait at the socket, or another process
    /// that has it accepts them.
    pub fn set_accepting(&mut self, accepts: bool) {
        self.accepts = accepts;
        self.due.extend(self.sockets.listeners().map(|(name, _)| name));
    }

    fn token(&self, name: Handle) -> Token {
        token(self.lane, name)
    }

    fn listen(&mut self, name: Handle, out: Out<'_, M>) {
        let bound = self.bound.as_ref().ok_or(ErrorKind::NotFound.into());
        let listening = bound.and_then(OwnedFd::try_clone).and_then(|bound| {
            let mut listener = UnixListener::from_std(bound.into());
            self.registry.register(&mut listener, self.token(name), Interest::READABLE)?;
            Ok(listener)
        });
        match listening {
            Ok(listener) => {
                self.sockets.listen(name, listener);
                let local = Participant::OTHER_END;
                out.indicate(StreamsIndication::Listening { listener: name, local });
            }
            Err(error) => {
                let why = unbound(error, false);
                out.indicate(StreamsIndication::Ended { name, why });
            }
        }
    }

    /// Accepts arrivals, as long as there are names for them.
    fn accept(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        while self.accepts
            && self.sockets.awaited(listener) > 0
            && let Some(socket) = self.sockets.listener(listener)
        {
            match socket.accept() {
                Ok((stream, _)) => {
                    let Some((name, credit)) = self.sockets.arrive(listener) else { return };
                    self.start(name, stream, credit, out);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(_) => {
                    cx.dropped(NAME, "accept: no descriptor is free");
                    return self.starved.push(listener);
                }
            }
        }
    }

    /// Takes over a socket that is open.
    fn start(&mut self, name: Handle, mut stream: UnixStream, credit: Credit, out: Out<'_, M>) {
        let Ok(remote) = rustix::net::sockopt::socket_peercred(&stream).map(program) else {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unreachable });
        };
        let interest = Interest::READABLE.add(Interest::WRITABLE);
        if let Err(error) = self.registry.register(&mut stream, self.token(name), interest) {
            let why = unbound(error, false);
            return out.indicate(StreamsIndication::Ended { name, why });
        }
        let mut flow = Flow::new(Arc::clone(&self.pool));
        (flow.credit, flow.readable, flow.writable) = (credit.octets, true, true);
        self.sockets.open(name, Box::new(Socket { stream, flow, due: false, closes: false }));
        self.mark(name);
        out.indicate(StreamsIndication::Opened {
            association: name,
            local: Participant::OTHER_END,
            remote,
            credit: Credit::of_octets(SEND_ROOM),
            path: PathLimits::UNBOUNDED,
        });
    }

    #[inline(never)]
    fn mark(&mut self, name: Handle) {
        if let Some(socket) = self.sockets.get_mut(name)
            && !mem::replace(&mut socket.due, true)
        {
            self.due.push(name);
        }
    }

    /// Writes and reads what one socket can.
    fn turn(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(socket) = self.sockets.get_mut(name) else { return };
        socket.due = false;
        let Socket { stream, flow, .. } = &mut **socket;
        let written = flow.write(cx, NAME, Quiet(stream)).map(|octets| {
            let credit = Credit::of_octets(octets);
            if octets > 0 {
                out.indicate(StreamsIndication::Credit { association: name, credit });
            }
        });
        let read = flow.read(&mut *stream, |message: M| {
            let (batch, properties) = (message.into(), Default::default());
            out.indicate(StreamsIndication::Delivered { association: name, batch, properties });
        });
        match (written.and(read), flow.is_sent() && socket.closes) {
            (Ok(()), true) => self.end(name, Ended::Finished, out),
            (Ok(()), false) => {}
            (Err(HungUp), _) => self.end(name, Ended::Reset(0), out),
        }
    }

    fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        let last_words = self.sockets.end(name, why);
        self.due.append(&mut self.starved);
        last_words.for_each(|word| out.indicate(word));
    }
}

/// Listens at a path. A socket that a process left behind when it was killed is replaced.
///
/// # Errors
/// The operating system's: another process listens there, or the folder is closed.
pub fn bind(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            match std::os::unix::net::UnixStream::connect(path) {
                Err(there) if there.kind() == ErrorKind::ConnectionRefused => {
                    fs::remove_file(path)?;
                    UnixListener::bind(path)
                }
                _ => Err(error),
            }
        }
        other => other,
    }?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(listener.into())
}

/// Returns the participant that the kernel says.
fn program(peer: UCred) -> Participant {
    Address::Program { user: peer.uid.as_raw(), group: peer.gid.as_raw() }.into()
}

impl<M: Message> Protocol for UnixStreams<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Streams<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: StreamsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            StreamsRequest::Listen { listener, .. } => self.listen(listener, out),
            StreamsRequest::Open { association: name, credit, .. } => {
                match UnixStream::connect(&self.path) {
                    Ok(stream) => self.start(name, stream, credit, out),
                    Err(_) => {
                        cx.event(NAME, format_args!("connect failed"));
                        let why = Ended::Unreachable;
                        out.indicate(StreamsIndication::Ended { name, why });
                    }
                }
            }
            StreamsRequest::Send { association, batch, .. } => {
                if let Some(socket) = self.sockets.get_mut(association) {
                    socket.flow.push(batch.into_octets());
                    self.mark(association);
                }
            }
            StreamsRequest::Close { name } if self.sockets.get(name).is_some() => {
                self.sockets.get_mut(name).into_iter().for_each(|socket| socket.closes = true);
                self.mark(name);
            }
            StreamsRequest::Credit { association, credit } => {
                if let Some(socket) = self.sockets.get_mut(association) {
                    socket.flow.credit += credit.octets;
                    self.mark(association);
                }
            }
            StreamsRequest::Await { listener, association, credit } => {
                let refused = self.sockets.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
                self.accept(cx, listener, out);
            }
            StreamsRequest::Control { association, .. } if self.sockets.lives(association) => {
                out.indicate(StreamsIndication::unknown_command(association));
            }
            StreamsRequest::Abort { association, .. } => self.end(association, Ended::Aborted, out),
            StreamsRequest::Close { name } => self.end(name, Ended::Finished, out),
            _ => {}
        }
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        if self.sockets.listener(ready.name).is_some() {
            return self.accept(cx, ready.name, out);
        }
        if let Some(socket) = self.sockets.get_mut(ready.name) {
            socket.flow.readable |= ready.readable;
            socket.flow.writable |= ready.writable;
            self.turn(cx, ready.name, out);
        }
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for name in mem::take(&mut self.due) {
            if self.sockets.listener(name).is_some() {
                self.accept(cx, name, out);
            }
            self.turn(cx, name, out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    fn may_exit(&self) -> bool {
        self.sockets.iter().all(|(_, socket)| socket.flow.is_sent())
    }
}
