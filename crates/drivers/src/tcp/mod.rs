//! The kernel's TCP as the lowest protocol: sockets seen as [`Streams`].
//!
//! | file | what |
//! | --- | --- |
//! | `close.rs` | ends: at once, or in good order within a time |
//! | `listen.rs` | arrivals: none is accepted without a name |
//! | `connect.rs` | connection attempts and the options of a socket |
//! | `ends.rs` | which peer ended first |
//! | `gather.rs` | many octets a wake-up, where none is read here |
//! | `receive.rs` | socket → octets, or a pipe of the kernel, upward, within the credit of the layer above |
//! | `send.rs` | octets and regions of files → socket, 1 MiB a turn |
//!
//! Readiness is a turn of its association: a fair share is read. Requests only mark it as due; its
//! next turn is the flush, so that everything said in a batch leaves together. A turn that ends
//! before all is done leaves the association due, so that none keeps the others waiting.

mod close;
pub(crate) mod connect;
mod ends;
mod gather;
mod listen;
mod receive;
mod send;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use mio::net::TcpStream;
use stackwright_contract::ask::{Ask, Longest, Peer, Question, RoundTrip};
use stackwright_contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Arrivals, Command, Context, Facts, Guarantees, Handle, Instant, Outlet, PathLimits, Protocol,
    earliest,
};
use stackwright_wire::{Message, Pool};

use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;
use crate::splice::Pipes;
use close::Closing;
use connect::SocketOptions;
use ends::Ends;
use gather::{Found, LOOK};
use listen::Listening;
use receive::Receiving;
use send::{Sending, Sent};

/// Octets of one association that may wait for the socket: the first credit downward.
pub const SEND_ROOM: usize = 1 << 20;

/// Octets that one association may send before the next has its turn.
const SEND_TURN: usize = 1 << 20;
/// Octets that it may receive. Less, because what is received is handled when the turn is over, and
/// should still be in the cache of the processor then.
const RECEIVE_TURN: usize = 256 << 10;

pub use close::CLOSE_TIMEOUT;
pub use connect::has_congestion;
pub(crate) use listen::listening;

const NAME: &str = "tcp";

/// The adapter. One of them serves thousands of associations on one thread.
pub struct Tcp<M: Message> {
    registry: Arc<Registry>,
    lane: usize,
    options: SocketOptions,
    pool: Arc<Pool<M>>,
    pipes: Pipes,
    sockets: Arrivals<Listening, Box<Streaming<M>>>,
    due: Vec<Handle>,
    /// The list that was due in the last turn, kept for its memory.
    done: Vec<Handle>,
    /// Listeners that could not accept for want of descriptors; tried again when one is free.
    starved: Vec<Handle>,
    /// Associations whose octets are gathered, and when it is checked next whether that is worth
    /// it.
    gather: Vec<Handle>,
    look_at: Instant,
    closing: Closing,
    ends: Option<Ends>,
}

struct Streaming<M> {
    stream: TcpStream,
    opened: bool,
    due: bool,
    receiving: Receiving,
    sending: Sending<M>,
    /// `Close` was requested, and this is when the peer is reset.
    closes: Option<Instant>,
    /// The upper was told that the peer's end has arrived.
    ending: bool,
}

/// What a turn left behind.
enum Turn {
    /// There is more to do at once.
    More,
    /// Nothing until the socket or the upper layer says so.
    Idle,
    Over(Ended),
}

impl<M: Message> Tcp<M> {
    /// Creates an adapter that registers its sockets with `registry` in `lane` and takes its blocks
    /// from `pool`.
    pub fn new(registry: Arc<Registry>, lane: usize, pool: Arc<Pool<M>>) -> Self {
        Tcp {
            registry,
            lane,
            options: SocketOptions::default(),
            pool,
            pipes: Pipes::default(),
            sockets: Arrivals::new(),
            due: Vec::new(),
            done: Vec::new(),
            starved: Vec::new(),
            gather: Vec::new(),
            look_at: Instant::START,
            closing: Closing::default(),
            ends: None,
        }
    }

    /// Tells when the end of what a peer sends has arrived (`Ending`), before the octets in front
    /// of it are read, and of all associations in the order in which these ends arrived. Without
    /// it, ends are told as they are read alone.
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn ordering_ends(self) -> io::Result<Self> {
        Ok(Tcp { ends: Some(Ends::new()?), ..self })
    }

    /// Resets the peer of a closed association when that has made no progress for `timeout`, in
    /// place of [`CLOSE_TIMEOUT`].
    #[must_use]
    pub fn closing_within(mut self, timeout: Duration) -> Self {
        self.closing.timeout = timeout;
        self
    }

    /// Sets the congestion control of all sockets, such as `cubic`, in place of the system's choice
    /// (`TCP_CONGESTION`, tcp(7)). An association ends at once where the system does not
    /// [have](has_congestion) it.
    #[must_use]
    pub fn with_congestion(self, name: &'static str) -> Self {
        let options = SocketOptions { congestion: Some(name), ..self.options };
        Tcp { options, ..self }
    }

    /// Has the system probe whether the peer is there when an association was silent for `idle`,
    /// and as often again until it ends (`SO_KEEPALIVE`, RFC 1122 §4.2.3.6). That also keeps
    /// translators of addresses on the path from forgetting it.
    #[must_use]
    pub fn with_keepalive(self, idle: Duration) -> Self {
        let options = SocketOptions { keepalive: Some(idle), ..self.options };
        Tcp { options, ..self }
    }

    /// Delivers what the layer above said to be [unread](Command::Unread) as regions, once an
    /// association is worth it: in pipes of the kernel (at most eight of 1 MiB), from which a
    /// [`Disk`](crate::files::Disk) writes without a copy into this program. Use it only where a
    /// disk receives them, and every layer in between passes payload unread. Where the system has
    /// no pipes to give, octets are delivered.
    #[must_use]
    pub fn splicing(self) -> Self {
        Tcp { pipes: if M::HOLDS_REGIONS { Pipes::on_demand() } else { Pipes::default() }, ..self }
    }

    fn mark(&mut self, name: Handle) {
        if self.is_due(name).is_some_and(|due| !mem::replace(due, true)) {
            self.due.push(name);
        }
    }

    /// Returns whether a socket is among those that are due.
    fn is_due(&mut self, name: Handle) -> Option<&mut bool> {
        if self.sockets.listener(name).is_some() {
            return self.sockets.listener_mut(name).map(|listening| &mut listening.due);
        }
        self.sockets.get_mut(name).map(|streaming| &mut streaming.due)
    }

    /// Takes over a socket; `ends` are its addresses, local and remote, where it is open already.
    fn start(
        &mut self,
        name: Handle,
        mut stream: TcpStream,
        ends: Option<(SocketAddr, SocketAddr)>,
        credit: usize,
    ) -> Result<(), Ended> {
        connect::set_options(&stream, self.options).map_err(|_| Ended::Reset(0))?;
        // A process that is killed has finished nothing: what it sent must not look whole.
        connect::reset_on_close(&stream);
        self.registry
            .register(&mut stream, token(self.lane, name), connect::INTEREST)
            .map_err(|_| Ended::Reset(0))?;
        let mut sending = Sending::default();
        if let Some((local, remote)) = ends {
            sending.begin(&stream, local, remote);
            self.watch_end(&stream, name);
        }
        let streaming = Streaming {
            stream,
            opened: ends.is_some(),
            due: false,
            receiving: Receiving::new(credit),
            sending,
            closes: None,
            ending: false,
        };
        self.sockets.open(name, Box::new(streaming));
        Ok(())
    }

    fn watch_end(&self, stream: &TcpStream, name: Handle) {
        if let Some(ends) = &self.ends {
            // Where it fails, the end is told when the socket reports it.
            let _ = ends.watch(stream, name);
        }
    }

    /// Tells the ends that have arrived, in their order; the one that a socket `reported` is among
    /// them, or was the last.
    fn tell_ends(&mut self, reported: Option<Handle>, out: &mut dyn Outlet<Self>) {
        let Some(ends) = &self.ends else { return };
        let sockets = &mut self.sockets;
        let mut tell = |name: Handle| {
            if let Some(streaming) = sockets.get_mut(name)
                && streaming.opened
                && streaming.closes.is_none()
                && !streaming.receiving.finished
                && !mem::replace(&mut streaming.ending, true)
            {
                out.indicate(StreamsIndication::Ending { association: name });
            }
        };
        ends.each(&mut tell);
        reported.into_iter().for_each(tell);
    }

    /// Ends a name. Only `Finished` is a clean end: any other reaches the peer as a reset, never as
    /// an end of octets.
    fn end(&mut self, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        if let Some(streaming) = self.sockets.get(name) {
            if why != Ended::Finished {
                connect::reset_on_close(&streaming.stream);
            }
            if let Some(deadline) = streaming.closes {
                self.closing.remove(deadline, name);
            }
        }
        let last_words = self.sockets.end(name, why);
        self.pipes.close_free();
        for listener in mem::take(&mut self.starved) {
            self.mark(listener);
        }
        last_words.for_each(|word| out.indicate(word));
    }

    fn turn(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Some(streaming) = self.sockets.get_mut(name) else {
            return self.accept(cx, name, out);
        };
        streaming.due = false;
        let was_open = streaming.opened;
        let had_finished = streaming.receiving.finished;
        let turn = match streaming.closes {
            None => streaming.turn(name, &self.pool, &mut self.pipes, out),
            Some(_) => streaming.turn_closing(cx, name, &self.pool, &mut self.closing),
        };
        if streaming.gathers() {
            if self.gather.is_empty() {
                self.look_at = cx.now() + LOOK;
            }
            self.gather.push(name);
        }
        if let (false, true, Some(ends)) = (was_open, streaming.opened, &self.ends) {
            let _ = ends.watch(&streaming.stream, name);
        }
        let finishes = streaming.closes.is_none() && streaming.receiving.finished && !had_finished;
        // An end may be read before the socket reports it: others were before that one.
        if finishes || matches!(turn, Turn::Over(_)) {
            self.tell_ends(None, out);
        }
        if finishes {
            out.indicate(StreamsIndication::Finished { association: name });
        }
        match turn {
            Turn::More => self.mark(name),
            Turn::Idle => {}
            Turn::Over(why) => self.end(name, why, out),
        }
    }

    /// Checks the associations whose octets are gathered.
    fn look(&mut self, cx: &Context) {
        self.look_at = cx.now() + LOOK;
        let mut gather = mem::take(&mut self.gather);
        gather.retain(|name| {
            let Some(streaming) = self.sockets.get_mut(*name) else { return false };
            let found = streaming.receiving.look(&streaming.stream);
            if found != Found::Flow {
                self.mark(*name);
            }
            found != Found::Rest
        });
        self.gather = gather;
    }

    fn streaming(&mut self, cx: &Context, association: Handle) -> Option<&mut Streaming<M>> {
        match self.sockets.get_mut(association) {
            Some(streaming) if streaming.closes.is_none() => Some(streaming),
            _ => {
                cx.dropped(NAME, "no such association");
                None
            }
        }
    }
}

impl<M: Message> Streaming<M> {
    /// One fair share of work.
    fn turn(
        &mut self,
        association: Handle,
        pool: &Pool<M>,
        pipes: &mut Pipes,
        out: &mut dyn Outlet<Tcp<M>>,
    ) -> Turn {
        if !self.opened {
            if !self.sending.writable {
                return Turn::Idle;
            }
            let Some((local, remote)) = connect::outcome(&self.stream) else {
                return Turn::Over(Ended::Unreachable);
            };
            self.opened = true;
            self.sending.begin(&self.stream, local, remote);
            let (local, remote) = (local.into(), remote.into());
            out.indicate(StreamsIndication::Opened {
                association,
                local,
                remote,
                credit: Credit::of_octets(SEND_ROOM),
                path: PathLimits::UNBOUNDED,
            });
        }
        let Sent { octets, more: more_to_send } = match self.sending.turn(&mut self.stream, pool) {
            Ok(sent) => sent,
            Err(why) => return Turn::Over(why),
        };
        if octets > 0 {
            out.indicate(StreamsIndication::Credit {
                association,
                credit: Credit::of_octets(octets),
            });
        }
        if let Some(broken) = self.sending.broken() {
            self.receiving.breaks(broken);
        }
        let more_to_read =
            match self.receiving.turn(&mut self.stream, association, pool, pipes, out) {
                Ok(more) => more,
                Err(why) => return Turn::Over(why),
            };
        if self.receiving.finished && self.sending.finished() {
            return Turn::Over(Ended::Finished);
        }
        if self.sending.broken().is_some() {
            if self.receiving.has_read_all() {
                return Turn::Over(Ended::Reset(0));
            }
            // The upper may wait for credit before it gives some for what is left to read.
            let octets = self.sending.take_discarded();
            if octets > 0 {
                let credit = Credit::of_octets(octets);
                out.indicate(StreamsIndication::Credit { association, credit });
            }
        }
        if more_to_send || more_to_read { Turn::More } else { Turn::Idle }
    }

    /// Begins to gather what arrives; returns whether it did. From this machine octets arrive while
    /// they are in the cache of the processor.
    fn gathers(&mut self) -> bool {
        !self.sending.near && self.receiving.gathers(&self.stream)
    }
}

impl<M: Message> Protocol for Tcp<M> {
    const FACTS: Facts = Facts {
        gives: {
            let always = Guarantees::RELIABLE
                .and(Guarantees::ORDERED)
                .and(Guarantees::ONCE)
                .and(Guarantees::CHECKED)
                .and(Guarantees::EXPEDITED);
            if M::HOLDS_REGIONS { always.and(Guarantees::REGIONS) } else { always }
        },
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
            StreamsRequest::Listen { listener, local } => self.listen(listener, local, out),
            StreamsRequest::Await { listener, association, credit } => {
                let refused = self.sockets.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
                self.mark(listener);
            }
            StreamsRequest::Close { name } => self.close(cx, name, out),
            StreamsRequest::Open {
                association,
                remote,
                local,
                credit: Credit { octets: credit, .. },
            } => {
                let opened = connect::attempt(remote, local)
                    .and_then(|stream| self.start(association, stream, None, credit));
                if let Err(why) = opened {
                    out.indicate(StreamsIndication::Ended { name: association, why });
                }
            }
            StreamsRequest::Send { association, batch, properties } => {
                if let Some(streaming) = self.streaming(cx, association) {
                    streaming.sending.queue(batch.into_octets(), properties.expedited);
                    self.mark(association);
                }
            }
            StreamsRequest::Credit { association, credit: Credit { octets: credit, .. } } => {
                if let Some(streaming) = self.streaming(cx, association) {
                    streaming.receiving.credit += credit;
                    self.mark(association);
                }
            }
            StreamsRequest::Control { association, command } => {
                let Some(streaming) = self.streaming(cx, association) else { return };
                out.indicate(if command == Command::Unread {
                    streaming.receiving.unread = true;
                    StreamsIndication::Controlled { association, outcome: Ok(0) }
                } else {
                    StreamsIndication::unknown_command(association)
                });
            }
            StreamsRequest::Finish { association } => {
                if let Some(streaming) = self.streaming(cx, association) {
                    streaming.sending.finish();
                    self.mark(association);
                }
            }
            StreamsRequest::Abort { association, .. } => self.abort(cx, association, out),
        }
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        if let Some(streaming) = self.sockets.get_mut(ready.name) {
            streaming.receiving.ready(&ready);
            streaming.sending.writable |= ready.writable;
        }
        let Some(due) = self.is_due(ready.name).copied() else { return };
        if ready.ending {
            self.tell_ends(Some(ready.name), out);
        }
        // What is due has its turn at the end of the batch.
        if !due {
            self.turn(cx, ready.name, out);
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if !self.gather.is_empty() && self.look_at <= cx.now() {
            self.look(cx);
        }
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest((!self.gather.is_empty()).then_some(self.look_at), self.closing.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let mut due = mem::replace(&mut self.due, mem::take(&mut self.done));
        for name in due.drain(..) {
            self.turn(cx, name, out);
        }
        self.done = due;
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, _below: &dyn Ask<Readiness>) {
        if let Some(streaming) = self.sockets.get(about) {
            let stream = &streaming.stream;
            question
                .answer::<Longest>(|_| Some(usize::MAX))
                .answer::<Peer>(|_| stream.peer_addr().ok().map(Into::into))
                .answer::<RoundTrip>(|_| connect::round_trip(stream));
        }
    }
}
