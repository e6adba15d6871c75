//! Sends: from the upper layer into the socket.

use std::io::IoSlice;
use std::mem;
use std::os::fd::AsRawFd;

use mio::Token;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use rustix::io::Errno;
use stackwright_contract::services::{Batch, Credit, DatagramsIndication, Ecn, Ended};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::{Message, Pool};

use super::burst::{Burst, Waiting};
use super::source::Source;
use super::{Ends, LONGEST, Peers, SEND_ROOM, SEND_TURN, Socket, Udp, connect, less};
use crate::readiness::token;
use crate::registry::Registry;

/// How many datagrams in a row are passed with a codepoint of their own before the socket is set to
/// it. Associations that are being opened send a few, between those of others.
const DIFFERING_MOST: u32 = 2;

impl<M: Message> Udp<M> {
    /// Queues datagrams to be sent.
    #[inline]
    pub(super) fn queue(&mut self, cx: &Context, name: Handle, messages: Batch<M>, ecn: Ecn) {
        assert!(messages.longest() <= LONGEST, "a datagram has at most {LONGEST} octets");
        let Some(open) = self.association(cx, name) else { return };
        open.down = less(open.down, messages.cost()).expect("a Send keeps within the room");
        let socket = open.socket;
        if let Some(sending) = self.sockets.get_mut(socket) {
            sending.queue.push_back(Waiting::new(name, messages, ecn));
            self.mark(socket);
        }
    }

    /// Sends up to a fair share, and returns the credit of what left.
    pub(super) fn send(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { registry, lane, sockets, names, pool, left, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        let (mut share, mut into) = (SEND_TURN, None);
        while socket.writable && share.messages > 0 && share.octets > 0 {
            let Some(first) = socket.queue.front() else { break };
            let Some(open) = names.get_mut(first.association) else {
                unreachable!("an association ends when all that was sent has left")
            };
            let most = socket.segmentation.most(first.segment_size, cx.now());
            let burst = socket.burst(first, most);
            let mut sent = socket.transmit(&open.ends, &burst, &mut into, pool);
            if let Err(error) = sent
                && connect::unreachable(error)
                && socket.is_connected()
            {
                // As a rule the error concerns an earlier datagram, and this one was not tried. The
                // turn's other half delivers what the peer sent before, and judges the error.
                (socket.broken, socket.readable) = (true, true);
                sent = socket.transmit(&open.ends, &burst, &mut into, pool);
            }
            match sent {
                Ok(()) => {}
                Err(Errno::AGAIN) => {
                    socket.hear_of_room(registry, token(*lane, name), true);
                    break;
                }
                Err(error)
                    if socket.segmentation.refused(
                        error,
                        burst.credit.messages,
                        burst.segment_size,
                        cx.now(),
                    ) =>
                {
                    continue;
                }
                // Too long for the path, forbidden here, or unreachable: datagrams are lost. To try
                // again is up to the layers above, which have timers; here it would be a busy loop.
                Err(_) => (0..burst.credit.messages).for_each(|_| {
                    cx.dropped(
                        socket.network.name(),
                        "send: the network does not take this datagram",
                    )
                }),
            }
            if open.left == Credit::default() {
                left.push(burst.association);
            }
            open.left += burst.credit;
            share.octets = share.octets.saturating_sub(burst.credit.octets);
            share.messages = share.messages.saturating_sub(burst.credit.messages);
            socket.left(&burst, pool);
        }
        if let Some(block) = into {
            pool.give(block);
        }
        registry.on_sent(SEND_TURN.octets - share.octets);
        self.give_back(out);
    }

    /// Returns credit: one indication for each association, however much of it left.
    fn give_back(&mut self, out: &mut dyn Outlet<Self>) {
        let mut left = mem::take(&mut self.left);
        for association in left.drain(..) {
            let Some(open) = self.names.get_mut(association) else { continue };
            let credit = mem::take(&mut open.left);
            open.down += credit;
            if !open.closing {
                out.indicate(DatagramsIndication::Credit { association, credit });
            } else if open.down == SEND_ROOM {
                self.end(association, Ended::Finished, out);
            }
        }
        self.left = left;
    }
}

impl<M: Message> Socket<M> {
    /// Registers a full socket for writability, or ends that when it is writable.
    pub(super) fn hear_of_room(&mut self, registry: &Registry, token: Token, full: bool) {
        // Without the registration no event would arrive: so sending is tried again with the next
        // turn.
        let told = registry.hear_of_room(&self.socket, &self.watched, token, full).is_ok();
        self.writable = !(full && told);
    }

    /// Sends a burst. Options are set on the socket when they change for good, and not passed as
    /// control messages of each call: the kernel would parse them each time, and look up the route
    /// anew.
    fn transmit(
        &mut self,
        ends: &Ends,
        burst: &Burst,
        into: &mut Option<M::Block>,
        pool: &Pool<M>,
    ) -> Result<(), Errno> {
        self.hear_of_marks(burst.ecn);
        let is_one = burst.credit.messages == 1;
        if burst.ecn == self.ecn {
            self.differing = 0;
        } else if is_one && self.differing < DIFFERING_MOST {
            self.differing += 1;
        } else {
            self.bear(burst.ecn);
        }
        // A single datagram that is no longer than a segment leaves as it is.
        if !is_one || burst.credit.octets > self.segmentation.size() {
            self.segmentation.set(&self.socket, if is_one { 0 } else { burst.segment_size })?;
        }
        match self.transmit_burst(ends, burst, into, pool) {
            // The path no longer passes datagrams of the segment size, or segmentation is not
            // supported.
            Err(Errno::INVAL | Errno::IO) if is_one && self.segmentation.size() > 0 => {
                self.segmentation.set(&self.socket, 0)?;
                self.transmit_burst(ends, burst, into, pool)
            }
            sent => sent,
        }
    }

    fn transmit_burst(
        &self,
        ends: &Ends,
        burst: &Burst,
        into: &mut Option<M::Block>,
        pool: &Pool<M>,
    ) -> Result<(), Errno> {
        let contents = if let Some(octets) = self.piece(burst) {
            octets
        } else if let Some((pieces, count)) = self.pieces(burst) {
            return self.transmit_pieces(ends, &pieces[..count], burst.ecn);
        } else {
            self.gather(burst, into.get_or_insert_with(|| pool.take()))
        };
        if burst.ecn != self.ecn || ends.local.is_some() {
            return self.transmit_pieces(ends, &[IoSlice::new(contents)], burst.ecn);
        }
        // A connected socket needs no address.
        let sent = match self.peers {
            Peers::One(_) => self.socket.send(contents),
            Peers::Many { .. } => {
                self.socket.send_to(contents, connect::address(ends.remote, self.local))
            }
        };
        sent.map(|_| ()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Sends datagrams that are in several pieces, whose boundaries are not those of the datagrams,
    /// with the given codepoint and from the local end, where the socket has others.
    fn transmit_pieces(&self, ends: &Ends, pieces: &[IoSlice<'_>], ecn: Ecn) -> Result<(), Errno> {
        let to = match self.peers {
            Peers::One(_) => None,
            Peers::Many { .. } => {
                Some(SockaddrStorage::from(connect::address(ends.remote, self.local)))
            }
        };
        let tos = ecn.bits();
        let class = i32::from(tos);
        let source = ends.local.map(Source::of);
        // As of the options, a socket for both families takes both codepoints.
        let messages = [
            source.as_ref().map(Source::message),
            (ecn != self.ecn).then_some(ControlMessage::Ipv4Tos(&tos)),
            (ecn != self.ecn && self.local.is_ipv6()).then_some(ControlMessage::Ipv6TClass(&class)),
        ];
        let (mut said, mut count) = ([ControlMessage::Ipv4Tos(&tos); 3], 0);
        for message in messages.into_iter().flatten() {
            (said[count], count) = (message, count + 1);
        }
        let (socket, flags) = (self.socket.as_raw_fd(), MsgFlags::empty());
        let sent = sendmsg(socket, pieces, &said[..count], flags, to.as_ref());
        sent.map(|_| ()).map_err(|error| Errno::from_raw_os_error(error as i32))
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::convert::Infallible;
    use std::io;
    use std::net::UdpSocket;
    use std::sync::Arc;
    use std::time::Duration;

    use mio::{Events, Poll};
    use nix::libc;
    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::{self, SetBool};
    use stackwright_contract::Instant;
    use stackwright_contract::services::{DatagramsRequest, MessageProperties};
    use stackwright_contract::{Names, Protocol};
    use stackwright_wire::{BufferTree, Pool};

    use super::*;
    use crate::Watcher;
    use crate::readiness::{Ready, lane};

    type M = BufferTree;

    struct Unheard;

    impl Outlet<Udp<M>> for Unheard {
        fn indicate(&mut self, _told: DatagramsIndication<M>) {}

        fn request(&mut self, never: Infallible) {
            match never {}
        }
    }

    /// An adapter with one association, and the socket of its peer.
    struct Side {
        poll: Poll,
        cx: Context,
        udp: Udp<M>,
        association: Handle,
        there: UdpSocket,
    }

    /// A watcher that never reports.
    struct Silent;

    impl Watcher for Silent {
        fn watch(
            &self,
            _socket: Arc<mio::net::UdpSocket>,
            _token: Token,
        ) -> io::Result<Box<dyn Any + Send + Sync>> {
            Ok(Box::new(()))
        }
    }

    impl Side {
        fn new() -> Self {
            Self::watched_by(None)
        }

        fn watched_by(watcher: Option<&Arc<dyn Watcher>>) -> Self {
            let poll = Poll::new().unwrap();
            let registry = Arc::new(Registry::from(poll.registry().try_clone().unwrap()));
            if let Some(watcher) = watcher {
                registry.watch_by(watcher);
            }
            let mut udp = Udp::new(registry, 0, Arc::new(Pool::new(64 << 10, 8)));
            let (cx, there) = (Context::new(1), UdpSocket::bind("127.0.0.1:0").unwrap());
            let (association, credit) =
                (Names::new().name(()), Credit { octets: 1000, messages: 10 });
            let remote = there.local_addr().unwrap().into();
            udp.handle_request(
                &cx,
                DatagramsRequest::Open { association, remote, credit, local: None },
                &mut Unheard,
            );
            Side { poll, cx, udp, association, there }
        }

        fn queue(&mut self, datagrams: usize) {
            let Side { cx, udp, association, .. } = self;
            for _ in 0..datagrams {
                let (message, properties) =
                    (M::with_headroom(0, b"hello"), MessageProperties::default());
                let messages = message.into();
                let send = DatagramsRequest::Send {
                    association: *association,
                    batch: messages,
                    properties,
                };
                udp.handle_request(cx, send, &mut Unheard);
            }
        }

        fn send(&mut self) {
            self.queue(1);
            self.udp.flush(&self.cx, &mut Unheard);
        }

        /// Returns the socket's name if it was reported writable.
        fn told(&mut self) -> Option<Handle> {
            let mut events = Events::with_capacity(4);
            self.poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
            events
                .iter()
                .next()
                .filter(|event| event.is_writable())
                .map(|event| lane(event.token()).1)
        }
    }

    #[test]
    fn a_datagram_that_leaves_wakes_nobody() {
        let mut side = Side::new();
        side.send();
        side.there.recv(&mut [0; 5]).unwrap();
        assert_eq!(side.told(), None);
        assert_eq!(side.udp.registry.take_traffic().sent, 5);
    }

    #[test]
    fn whose_socket_is_full_is_told_of_room_once() {
        is_told_of_room_once(Side::new());
    }

    #[test]
    fn whose_socket_somebody_else_watches_is_told_of_room_by_the_driver() {
        let watcher: Arc<dyn Watcher> = Arc::new(Silent);
        let mut side = Side::watched_by(Some(&watcher));
        let here =
            side.udp.sockets.iter().next().expect("it has a socket").1.socket.local_addr().unwrap();
        side.there.send_to(b"heard elsewhere", here).unwrap();
        let mut events = Events::with_capacity(4);
        side.poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "the driver is told nothing of it");
        is_told_of_room_once(side);
    }

    /// On a socket without checksums the kernel refuses to segment (udp(7), `SO_NO_CHECK`), like a
    /// device that cannot.
    #[derive(Clone, Copy)]
    struct NoChecksum;

    const SO_NO_CHECK: i32 = 11;
    nix::setsockopt_impl!(NoChecksum, libc::SOL_SOCKET, SO_NO_CHECK, bool, SetBool);

    #[test]
    fn segmentation_that_was_refused_is_tried_again_after_a_minute() {
        let mut side = Side::new();
        setsockopt(&side.there, sockopt::UdpGroSegment, &true).unwrap();
        let name = side.udp.sockets.iter().next().expect("it has a socket").0;
        let mut lengths_at = |seconds: u64, no_checksum: bool| {
            side.cx.set_now(Instant::from_nanoseconds(seconds * 1_000_000_000));
            setsockopt(&side.udp.sockets.get(name).unwrap().socket, NoChecksum, &no_checksum)
                .unwrap();
            side.queue(3);
            side.udp.flush(&side.cx, &mut Unheard);
            let (mut octets, mut lengths) = ([0; 100], Vec::new());
            while lengths.iter().sum::<usize>() < 15 {
                lengths.push(side.there.recv(&mut octets).unwrap());
            }
            lengths
        };
        assert_eq!(
            lengths_at(1, false),
            [15],
            "one system call, and the receiver gets them together"
        );
        assert_eq!(lengths_at(2, true), [5, 5, 5], "each alone");
        assert_eq!(lengths_at(61, false), [5, 5, 5], "that is believed for a minute");
        assert_eq!(lengths_at(62, false), [15]);
        assert_eq!(lengths_at(63, true), [5, 5, 5]);
        assert_eq!(lengths_at(123, true), [5, 5, 5], "refused again");
        assert_eq!(lengths_at(182, false), [5, 5, 5], "and believed again");
        assert_eq!(lengths_at(183, false), [15]);
    }

    fn is_told_of_room_once(mut side: Side) {
        let Udp { registry, sockets, .. } = &mut side.udp;
        let name = sockets.iter().next().expect("it has a socket").0;
        sockets.get_mut(name).unwrap().hear_of_room(registry, token(0, name), true);
        side.send();
        assert_eq!(side.udp.sockets.get(name).unwrap().queue.len(), 1, "it waits");
        assert_eq!(side.told(), Some(name));
        let ready = Ready { name, readable: false, ending: false, urgent: false, writable: true };
        side.udp.handle_indication(&side.cx, ready, &mut Unheard);
        side.udp.flush(&side.cx, &mut Unheard);
        assert_eq!(side.there.recv(&mut [0; 5]).unwrap(), 5);
        assert_eq!(side.told(), None);
    }
}
