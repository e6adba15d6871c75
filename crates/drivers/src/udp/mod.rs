//! The kernel's UDP (RFC 768) as the lowest protocol: sockets seen as [`Datagrams`].
//!
//! | file | what |
//! | --- | --- |
//! | `listen.rs` | arrivals: the first datagram of an unknown peer takes the next name that waits |
//! | `connect.rs` | associations that this side opens, and the canonical form of a peer's address |
//! | `group.rs` | groups: sockets that have joined one |
//! | `receive.rs` | socket → datagrams, upward, within the credit of the layer above |
//! | `fill.rs` | blocks that one system call fills |
//! | `coalesced.rs` | the datagrams of one peer in one block, as the kernel has coalesced them |
//! | `send.rs` | datagrams → socket; what left returns its credit once a turn |
//! | `burst.rs` | datagrams that leave by one system call |
//! | `segmentation.rs` | segmentation by the kernel: how many by one call, and how long not |
//! | `mark.rs` | explicit congestion notification |
//! | `source.rs` | the local address of an association, where a socket has several |
//! | `network.rs` | what the sockets carry: UDP, or [another protocol of IP](crate::ip) |
//!
//! A listener has one socket for all its peers, an association that this side opened has its own.
//! Several stacks, each with a thread of its own, may listen at one address
//! ([`Udp::sharing_port`]): then the kernel assigns peers to them. A peer that asks a listener for
//! all of the host's addresses at two of them has two associations. The upper layer names
//! associations and listeners; the adapter names its sockets, because a socket outlives its
//! listener while peers that arrived through it still use it.
//!
//! Readiness is a turn of its socket: a fair share is read. Requests only mark it as due; its next
//! turn is the flush, so that all requests of a batch leave together. A turn that ends before all
//! is done leaves the socket due, so that none keeps the others waiting.
//!
//! Datagrams for one peer that are equally long (the last may be shorter) leave by one system call
//! and are segmented behind it (`UDP_SEGMENT`): a batch without a copy, and single datagrams
//! gathered. Datagrams that arrive so share one block (`UDP_GRO`), and are delivered as one batch
//! if there is credit for all of them. If the kernel or the path does not support that, each is
//! sent and received alone, and the layers above do not notice.
//!
//! Peers cannot make the adapter grow: a peer takes a name or is forgotten, what cannot be
//! delivered is dropped and counted, and what waits to leave is within the credit of living names.

mod burst;
mod coalesced;
mod connect;
mod fill;
mod group;
mod listen;
mod mark;
mod network;
mod receive;
mod segmentation;
mod send;
mod source;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::UdpSocket;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGroSegment;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use stackwright_contract::ask::{Ask, Longest, Peer, Question};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended,
};
use stackwright_contract::{
    Arrivals, Batches, Context, Facts, Guarantees, Handle, Instant, Names, Outlet, Protocol,
};
use stackwright_wire::{Message, Pool};

use crate::readiness::{Readiness, Ready, token};
use crate::registry::{Registry, Watched};
use burst::Waiting;
use coalesced::Coalesced;
use fill::Came;
pub use group::Multicast;
pub(crate) use network::{Network, bound};
use segmentation::Segmentation;

/// How much of one association may wait for the socket: the initial credit downward.
pub const SEND_ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

/// The largest payload of UDP over IPv4, in octets: 65 535 less the headers of RFC 791 §3.1 and RFC
/// 768. It is the limit over IPv6 too, so that a protocol need not distinguish them.
pub const LONGEST: usize = 65_507;

/// How much one socket may send in one turn.
const SEND_TURN: Credit = Credit { octets: 1 << 20, messages: 512 };
/// How much one socket may receive in one turn. Less, because what is received is handled when the
/// turn is over: it should still be in the processor's cache then.
const RECEIVE_TURN: Credit = Credit { octets: 256 << 10, messages: 256 };
/// How many blocks one system call may fill.
const BLOCKS: usize = 4;
/// After this many consecutive system calls that filled at most one block, the next calls are given
/// two: one to be filled, and one that stays empty, which shows that there is no more.
const ALONE: u8 = 8;
/// The octets of a block: the most that the kernel coalesces.
pub const BLOCK: usize = 64 << 10;
/// The most blocks that may be lent. A layer that keeps one datagram of a block keeps the block:
/// beyond this limit, datagrams are copied, and hold only their own length.
const LENT_MOST: usize = 64;

/// The octets that a socket should hold unread, and unsent. The kernel's default of 208 kB holds
/// some 90 full packets, because it counts the memory that they occupy; what arrives beyond them
/// while the stack is busy is lost. It grants no more than `net.core.rmem_max` and `wmem_max`.
const HELD: usize = 4 << 20;
/// The octets that arrive in some 100 µs over the fastest of links.
const ROOMY: usize = 1 << 20;

const NAME: &str = "udp";

/// The UDP adapter. One of them serves thousands of associations on one thread.
pub struct Udp<M: Message> {
    network: Network,
    registry: Arc<Registry>,
    lane: usize,
    pool: Arc<Pool<M>>,
    names: Associations,
    sockets: Names<Socket<M>>,
    due: Vec<Handle>,
    /// The list of the last turn's due sockets: kept for its memory.
    done: Vec<Handle>,
    /// Associations of which something left in this turn: kept for its memory, empty between two
    /// turns.
    left: Vec<Handle>,
    /// Blocks of which the upper layer got slices, up to [`LENT_MOST`]. They are filled again when
    /// no slice is left.
    lent: Vec<M>,
    /// What arrived in the blocks that were filled last: kept for its memory.
    came: [Came; BLOCKS],
    /// Whether other sockets may listen where its listeners do.
    shared_port: bool,
    multicast: Multicast,
    /// The ends of raw sockets that are connected. What arrives there reaches the sockets of
    /// listeners, too.
    connected: HashSet<Ends>,
}

/// The addresses of the two ends of an association.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Ends {
    remote: SocketAddr,
    /// The address at which the peer reaches a socket that has all of this host's: answers leave
    /// from there (RFC 1122 §4.1.3.5). `None`: the socket has one address.
    local: Option<SocketAddr>,
}

/// The upper layer's names. A listener stands for its socket.
type Associations = Arrivals<Handle, Association>;

struct Association {
    socket: Handle,
    ends: Ends,
    /// How much more the upper layer accepts.
    up: Credit,
    /// How much more the upper layer may send.
    down: Credit,
    /// What left in this turn, and is not credited yet.
    left: Credit,
    /// `Close` was requested, and waits until what was sent before it has left.
    closing: bool,
    /// Whether a datagram of the peer has arrived.
    heard: bool,
}

struct Socket<M: Message> {
    /// Before the socket, since it is dropped first.
    watched: Watched,
    network: Network,
    socket: Arc<UdpSocket>,
    segmentation: Segmentation,
    local: SocketAddr,
    /// The ECN codepoint of datagrams that leave alone; also tells whether the codepoints of
    /// arriving datagrams are read.
    ecn: Ecn,
    /// How many datagrams in a row left with another one.
    differing: u32,
    hears_marks: bool,
    /// Whether its buffer is so large that nothing is lost if it is read somewhat later.
    roomy: bool,
    /// Whether members of the group that it has joined are told apart.
    apart: bool,
    peers: Peers,
    /// What waits for the socket, in the order in which it was sent.
    queue: VecDeque<Waiting<M>>,
    /// What arrived when its batch had used up the credit, and the time of the batch.
    held: VecDeque<Coalesced<M>>,
    held_since: Instant,
    readable: bool,
    /// Whether the buffer may hold datagrams of other senders, from before the socket was
    /// connected.
    strangers: bool,
    /// How many consecutive system calls filled at most one block.
    alone: u8,
    /// Whether it was not full when it was last written. Only while it is full is it registered for
    /// writability: each datagram that leaves makes space, and would end a wait.
    writable: bool,
    /// Whether the network reports that the peer cannot be reached: what arrived before is
    /// delivered, and then that is judged.
    broken: bool,
    due: bool,
    /// Whether its last turn was to send alone.
    defers: bool,
}

/// The peers that use a socket.
enum Peers {
    /// It is connected, to the peer of this association.
    One(Handle),
    /// It is a listener's. The names that were awaited bound the table.
    Many {
        listener: Option<Handle>,
        known: HashMap<Ends, Handle>,
        /// The association of the last datagram: as a rule the next belongs to it too. It may have
        /// ended.
        last: Option<Handle>,
    },
}

impl<M: Message> Udp<M> {
    /// Makes an adapter that registers its sockets with `registry` in `lane` and takes its blocks
    /// from `pool`.
    ///
    /// # Panics
    /// If its blocks are shorter than [`BLOCK`]: the kernel truncates silently what does not fit.
    pub fn new(registry: Arc<Registry>, lane: usize, pool: Arc<Pool<M>>) -> Self {
        Self::over(Network::Udp, registry, lane, pool)
    }

    /// Makes an adapter whose sockets carry what `network` says.
    pub(crate) fn over(
        network: Network,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        assert!(pool.block() >= BLOCK, "a block of the UDP adapter has {BLOCK} octets at least");
        Udp {
            network,
            registry,
            lane,
            pool,
            names: Arrivals::new(),
            sockets: Names::default(),
            due: Vec::new(),
            done: Vec::new(),
            left: Vec::new(),
            lent: Vec::new(),
            came: [Came::default(); BLOCKS],
            shared_port: false,
            multicast: Multicast::default(),
            connected: HashSet::new(),
        }
    }

    /// Lets others listen at the addresses of its listeners, if they do the same: other stacks of
    /// this program, on threads of their own, and other programs of the same user (`SO_REUSEPORT`,
    /// socket(7)). Each has a socket of its own, and the kernel assigns a peer's datagrams to one
    /// of them by the addresses and ports of both ends: always to the same, as long as no socket is
    /// opened or closed.
    ///
    /// Where one is, the kernel assigns anew, and a peer that has an association here may arrive at
    /// another socket as an unknown peer from then on. Two sockets are the exception: when one of
    /// them is closed, the peers of the other stay. So all listeners should be opened before the
    /// first peer learns the address, and closed together. A stack that has stopped listening,
    /// while peers still use its socket, is assigned its share of new peers all the same, and drops
    /// their datagrams.
    ///
    /// If the first listener at an address does not share it, no other may listen there; and a
    /// listener that shares cannot join one that does not. The same holds for associations that are
    /// opened from one local port: each receives what its peer sends.
    #[must_use]
    pub fn sharing_port(self) -> Self {
        Udp { shared_port: true, ..self }
    }

    /// Names a bound socket and registers it.
    fn start(&mut self, socket: UdpSocket, peers: Peers) -> io::Result<Handle> {
        let local = self.network.identity(socket.local_addr()?);
        if self.network.is_taken(&socket, local) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // Best effort: if one is refused, the socket is what it was.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, HELD);
        let _ = sockopt::set_socket_send_buffer_size(&socket, HELD);
        // What is longer than the path passes is fragmented, as from any socket.
        let _ = sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::WANT);
        let _ = sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::WANT);
        let _ = setsockopt(&socket, UdpGroSegment, &true);
        if matches!(peers, Peers::Many { .. }) && local.ip().is_unspecified() {
            source::ask(&socket, local);
        }
        let roomy = sockopt::socket_recv_buffer_size(&socket).is_ok_and(|octets| octets >= ROOMY);
        let name = self.sockets.name(Socket {
            watched: Watched::default(),
            network: self.network,
            segmentation: Segmentation::probe(&socket),
            socket: Arc::new(socket),
            local,
            ecn: Ecn::NotEct,
            differing: 0,
            hears_marks: false,
            roomy,
            apart: false,
            peers,
            queue: VecDeque::new(),
            held: VecDeque::new(),
            held_since: Instant::START,
            readable: false,
            strangers: true,
            alone: 0,
            // It is from the start; if not, the first datagram finds out.
            writable: true,
            broken: false,
            due: false,
            defers: false,
        });
        let socket = self.sockets.get_mut(name).expect("it was just named");
        match self.registry.register_socket(&socket.socket, token(self.lane, name)) {
            Ok(watched) => socket.watched = watched,
            Err(error) => {
                self.sockets.forget(name);
                return Err(error);
            }
        }
        Ok(name)
    }

    /// Returns whether there is an association with the peer.
    pub(crate) fn knows(&self, remote: SocketAddr) -> bool {
        self.names.iter().any(|(_, open)| open.ends.remote == remote)
    }

    fn mark(&mut self, socket: Handle) {
        if let Some(marked) = self.sockets.get_mut(socket)
            && !mem::replace(&mut marked.due, true)
        {
            self.due.push(socket);
        }
    }

    /// Returns the open association `name`, if a request for it is valid.
    fn association(&mut self, cx: &Context, name: Handle) -> Option<&mut Association> {
        match self.names.get_mut(name) {
            Some(association) if !association.closing => Some(association),
            _ => {
                cx.dropped(self.network.name(), "no such association");
                None
            }
        }
    }

    /// Does one fair share of a socket's work.
    fn turn(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Some(socket) = self.sockets.get_mut(name) else { return };
        socket.due = false;
        // In this order: the answer to what leaves now is received in a later batch, which has a
        // later time. A round trip takes some. But where much arrives, what waits leaves before
        // more is received, every other time: it may be the answer that the peer waits for.
        let sends = socket.writable && !socket.queue.is_empty();
        socket.defers = sends && socket.alone == 0 && !socket.defers;
        if !socket.defers {
            self.receive(cx, name, out);
        }
        // The end of its last association may have closed it, here and below.
        let Some(socket) = self.sockets.get(name) else { return };
        if !socket.queue.is_empty() {
            self.send(cx, name, out);
        }
        let Some(socket) = self.sockets.get(name) else { return };
        if let Peers::One(association) = socket.peers
            && socket.broken
            && !socket.readable
            && !socket.defers
        {
            self.doubt(cx, name, association, out);
        }
        let Some(socket) = self.sockets.get(name) else { return };
        let sends = socket.writable && !socket.queue.is_empty();
        let left = socket.defers && (socket.broken || !socket.held.is_empty());
        if socket.readable || sends || left {
            self.mark(name);
        }
    }

    /// Judges a report that the peer of a connected socket cannot be reached. Anyone that knows the
    /// two ports can forge it, and it may be true for a moment only. If the peer was reached
    /// before, it is a hint: the layers above judge the peer by its silence (RFC 5927 §5.2, RFC
    /// 5461 §2.2). If nothing ever arrived, nothing is lost by believing it.
    #[cold]
    fn doubt(
        &mut self,
        cx: &Context,
        name: Handle,
        association: Handle,
        out: &mut dyn Outlet<Self>,
    ) {
        if !self.names.get(association).is_some_and(|open| open.heard) {
            return self.end(association, Ended::Unreachable, out);
        }
        if let Some(socket) = self.sockets.get_mut(name) {
            socket.broken = false;
            cx.dropped(self.network.name(), "a hint that a peer who was heard cannot be reached");
        }
    }

    fn close(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if !self.names.lives(name) {
            return cx.dropped(self.network.name(), "close: that name is over");
        }
        match self.names.get_mut(name) {
            Some(association) if association.closing => {
                cx.dropped(self.network.name(), "close: it was asked before");
            }
            // What was sent before still leaves: the end waits for it.
            Some(association) if association.down != SEND_ROOM => association.closing = true,
            _ => self.end(name, Ended::Finished, out),
        }
    }

    /// Ends a name. Peers that have arrived at a listener keep their associations.
    fn end(&mut self, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        if let Some(association) = self.names.get(name) {
            let (socket, ends) = (association.socket, association.ends);
            if let Some(there) = self.sockets.get_mut(socket) {
                match &mut there.peers {
                    Peers::One(_) => {
                        let local = Some(there.local);
                        self.connected.remove(&Ends { local, ..ends });
                        drop(self.sockets.forget(socket));
                    }
                    Peers::Many { known, .. } => {
                        known.remove(&ends);
                        self.leave(socket);
                    }
                }
            }
        } else if let Some(socket) = self.names.listener(name).copied() {
            if let Some(Peers::Many { listener, .. }) = self.peers(socket) {
                *listener = None;
            }
            self.leave(socket);
        }
        self.names.end(name, why).for_each(|word| out.indicate(word));
    }

    fn peers(&mut self, socket: Handle) -> Option<&mut Peers> {
        Some(&mut self.sockets.get_mut(socket)?.peers)
    }

    /// Closes a listener's socket when it has neither a listener nor peers.
    fn leave(&mut self, socket: Handle) {
        if let Some(Peers::Many { listener: None, known, .. }) = self.peers(socket)
            && known.is_empty()
        {
            self.sockets.forget(socket);
        }
    }
}

/// Returns `credit` less `taken`; `None` if it does not suffice.
fn less(credit: Credit, taken: Credit) -> Option<Credit> {
    let octets = credit.octets.checked_sub(taken.octets)?;
    Some(Credit { octets, messages: credit.messages.checked_sub(taken.messages)? })
}

impl<M: Message> Protocol for Udp<M> {
    // The Internet checksum is optional over IPv4 (RFC 768 "Checksum"); a sender without it has
    // chosen so.
    const FACTS: Facts = Facts { gives: Guarantees::CHECKED, ..Facts::named(NAME) };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Listen { listener, local } => self.listen(listener, local, out),
            DatagramsRequest::Await { listener, association, credit } => {
                let refused = self.names.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.open(association, remote, local, credit, out)
            }
            DatagramsRequest::Send { association, batch: messages, properties } => {
                self.queue(cx, association, messages, properties.ecn);
            }
            DatagramsRequest::Credit { association, credit } => {
                if let Some(open) = self.association(cx, association) {
                    open.up += credit;
                }
            }
            // UDP has no half close.
            DatagramsRequest::Finish { .. } => {}
            DatagramsRequest::Control { association, .. } => {
                if self.association(cx, association).is_some() {
                    out.indicate(DatagramsIndication::unknown_command(association));
                }
            }
            DatagramsRequest::Abort { association: name, .. }
            | DatagramsRequest::Close { name } => {
                self.close(cx, name, out);
            }
        }
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        let Udp { registry, lane, sockets, .. } = self;
        if let Some(socket) = sockets.get_mut(ready.name) {
            socket.readable |= ready.readable;
            if ready.writable && !socket.writable {
                socket.hear_of_room(registry, token(*lane, ready.name), false);
            }
            // Writability matters only if something waits to be sent. A due socket has its turn at
            // the end of the batch.
            if !socket.due && (socket.readable || !socket.queue.is_empty()) {
                self.turn(cx, ready.name, out);
            }
        }
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.due.is_empty() {
            return;
        }
        let mut due = mem::replace(&mut self.due, mem::take(&mut self.done));
        for name in due.drain(..) {
            self.turn(cx, name, out);
        }
        self.done = due;
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    fn may_exit(&self) -> bool {
        self.sockets.iter().all(|(_, socket)| socket.queue.is_empty())
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, _below: &dyn Ask<Readiness>) {
        if let Some(open) = self.names.get(about) {
            question
                .answer::<Longest>(|_| Some(LONGEST))
                .answer::<Peer>(|_| Some(open.ends.remote.into()));
        }
    }
}
