//! Receives: from the socket upward, within the credit of the layer above.

use std::array;
use std::collections::HashSet;
use std::mem;

use rustix::io::Errno;
use stackwright_contract::services::{Credit, DatagramsIndication, MessageProperties};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::{Message, Pool};

use super::coalesced::{Coalesced, Spent};
use super::fill::{Came, fill};
use super::{
    ALONE, Associations, BLOCKS, Ends, LENT_MOST, Peers, RECEIVE_TURN, Socket, Udp, connect, less,
};

impl<M: Message> Udp<M> {
    /// Delivers up to a fair share.
    ///
    /// Requests of the upper layer in reply to a datagram, above all further credit, are handled
    /// when the turn is over, and those of an application when the batch is. So datagrams for which
    /// a batch has used up the credit are held until the next; if there is still none, they are
    /// dropped.
    pub(super) fn receive(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { registry, sockets, names, pool, lent, came, connected, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        if !socket.readable
            || !socket.held.is_empty() && !socket.deliver_held(cx, name, names, pool, out)
        {
            return;
        }
        let mut share = RECEIVE_TURN;
        while socket.readable && socket.held.is_empty() && share.octets > 0 && share.messages > 0 {
            let asks = if socket.alone < ALONE { BLOCKS } else { 2 };
            // Blocks that were lent and have no slice left are filled first.
            (0..asks).take_while(|_| pool.regain(lent)).for_each(drop);
            // The sender of datagrams to a connected socket is known, once nothing is left from
            // before it was connected.
            let asks_who = !socket.is_connected() || socket.strangers;
            let came = &mut came[..asks];
            let filled = match pool
                .write_next(asks, |blocks| fill(&socket.socket, blocks, came, asks_who))
            {
                Ok(filled) => filled,
                Err(Errno::AGAIN) => {
                    (socket.readable, socket.strangers) = (false, false);
                    break;
                }
                Err(error) => {
                    socket.hear_of_error(cx, error);
                    share.messages -= 1;
                    continue;
                }
            };
            // Fewer than requested: nothing is left, and what arrives from now on causes a new
            // event. So does an error that arrived in between.
            if filled < asks {
                (socket.readable, socket.strangers) = (false, false);
            }
            socket.alone = if filled > 1 { 0 } else { socket.alone.saturating_add(1) };
            // All of them, before other layers take some.
            let blocks: [_; BLOCKS] = array::from_fn(|at| (at < filled).then(|| pool.take()));
            for (came, block) in came.iter().zip(blocks.into_iter().flatten()) {
                let header = socket.network.header(socket.local.is_ipv4(), &block[..came.octets]);
                let (Some(header), false) = (header, came.cut_off) else {
                    cx.dropped(socket.network.name(), "a datagram that was cut off");
                    pool.give(block);
                    continue;
                };
                if socket.hears_twice(came, connected) {
                    pool.give(block);
                    continue;
                }
                let lends = lent.len() < LENT_MOST;
                let (mut coalesced, spent) = Coalesced::new(came, block, header, lends, pool);
                coalesced.from = socket.sender(coalesced.from);
                if let Some(to) = &mut coalesced.to {
                    to.set_port(socket.local.port());
                }
                match spent {
                    Spent::Lent(whole) => lent.push(whole),
                    Spent::Free(block) => pool.give(block),
                    Spent::Gone => {}
                }
                share.octets = share.octets.saturating_sub(came.octets);
                share.messages = share.messages.saturating_sub(coalesced.count);
                if !socket.held.is_empty() {
                    socket.held.push_back(coalesced);
                } else if socket.deliver(cx, name, &mut coalesced, names, pool, out) {
                    coalesced.reclaim(pool);
                } else {
                    (socket.held_since, socket.readable) = (cx.now(), true);
                    socket.held.push_back(coalesced);
                }
            }
        }
        if socket.roomy {
            registry.on_received(RECEIVE_TURN.octets - share.octets);
        }
    }
}

impl<M: Message> Socket<M> {
    /// Delivers the datagrams that were held. Returns whether none is left.
    #[cold]
    #[inline(never)]
    fn deliver_held(
        &mut self,
        cx: &Context,
        itself: Handle,
        names: &mut Associations,
        pool: &Pool<M>,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> bool {
        let mut delivered = false;
        while let Some(mut coalesced) = self.held.pop_front() {
            let count = coalesced.count;
            if !self.deliver(cx, itself, &mut coalesced, names, pool, out) {
                delivered |= coalesced.count < count;
                if delivered || self.held_since == cx.now() {
                    self.held_since = cx.now();
                    self.held.push_front(coalesced);
                    return false;
                }
                (0..coalesced.count).for_each(|_| {
                    cx.dropped(self.network.name(), "a datagram for which there is no room")
                });
            }
            coalesced.reclaim(pool);
            delivered = true;
        }
        true
    }

    /// Records that the network has reported an error. It is reported once: what the peer sent
    /// before is still in the buffer, and is delivered before the error is judged.
    #[cold]
    #[inline(never)]
    fn hear_of_error(&mut self, cx: &Context, error: Errno) {
        if connect::unreachable(error) && self.is_connected() {
            self.broken = true;
        } else {
            cx.dropped(self.network.name(), "receive: the network reports an error");
        }
    }

    /// Returns whether another socket receives the same datagram: raw sockets all do, but what is
    /// sent to a group reaches only its own.
    #[inline]
    fn hears_twice(&self, came: &Came, connected: &HashSet<Ends>) -> bool {
        if connected.is_empty() || self.is_connected() || self.local.ip().is_multicast() {
            return false;
        }
        let local = Some(came.to.map_or(self.local, |to| self.network.identity(to)));
        let remote = came.from.map(|from| self.network.identity(from));
        remote.is_some_and(|remote| connected.contains(&Ends { remote, local }))
    }

    pub(super) fn is_connected(&self) -> bool {
        matches!(self.peers, Peers::One(_))
    }

    /// Delivers datagrams as far as there is credit. Returns whether that is all of them. Datagrams
    /// without a recipient are dropped.
    fn deliver(
        &mut self,
        cx: &Context,
        itself: Handle,
        coalesced: &mut Coalesced<M>,
        names: &mut Associations,
        pool: &Pool<M>,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> bool {
        let open = match self.recipient(itself, coalesced.from, coalesced.to, names, out) {
            Err(reason) => Err(reason),
            Ok(association) => match names.get_mut(association) {
                Some(open) if open.closing => {
                    Err("a datagram for an association that is being closed")
                }
                Some(open) if coalesced.from.is_some_and(|from| from != open.ends.remote) => {
                    Err("a datagram of somebody else, from before the socket was connected")
                }
                Some(open) => Ok((association, open)),
                None => unreachable!("a socket forgets an association when it ends"),
            },
        };
        match open {
            Ok((association, open)) => {
                open.heard = true;
                let properties =
                    MessageProperties { ecn: coalesced.ecn, ..MessageProperties::default() };
                if let Some(up) = less(open.up, coalesced.room())
                    && let Some(messages) = coalesced.take_all()
                {
                    open.up = up;
                    out.indicate(DatagramsIndication::Delivered {
                        association,
                        batch: messages,
                        properties,
                    });
                }
                while coalesced.count > 0 {
                    let next = Credit { octets: coalesced.next_octets(), messages: 1 };
                    let Some(up) = less(open.up, next) else { return false };
                    open.up = up;
                    let messages = coalesced.take(pool).into();
                    out.indicate(DatagramsIndication::Delivered {
                        association,
                        batch: messages,
                        properties,
                    });
                }
            }
            Err(reason) => (0..mem::take(&mut coalesced.count))
                .for_each(|_| cx.dropped(self.network.name(), reason)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::UdpSocket;
    use std::sync::Arc;

    use mio::Poll;
    use rustix::net::connect;
    use stackwright_contract::services::DatagramsRequest;
    use stackwright_contract::{Names, Protocol};
    use stackwright_wire::BufferTree;

    use super::*;
    use crate::coalescing::Traffic;
    use crate::readiness::Ready;
    use crate::registry::Registry;

    type M = BufferTree;

    /// The octets of what was delivered.
    #[derive(Default)]
    struct Heard(Vec<Vec<u8>>);

    impl Outlet<Udp<M>> for Heard {
        fn indicate(&mut self, told: DatagramsIndication<M>) {
            if let DatagramsIndication::Delivered { batch: messages, .. } = told {
                self.0.extend(
                    messages.pieces().map(|pieces| pieces.flatten().copied().collect::<Vec<u8>>()),
                );
            }
        }

        fn request(&mut self, never: Infallible) {
            match never {}
        }
    }

    /// A socket that is its own peer answers at once; the answer is of a later batch all the same.
    #[test]
    fn a_round_trip_takes_time() {
        let registry = Registry::from(Poll::new().unwrap().registry().try_clone().unwrap());
        let mut udp = Udp::<M>::new(Arc::new(registry), 0, Arc::new(Pool::new(64 << 10, 8)));
        let (cx, mut heard) = (Context::new(1), Heard::default());
        let here = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().into();
        let (association, credit) = (Names::new().name(()), Credit { octets: 1000, messages: 10 });
        let open = DatagramsRequest::Open { association, remote: here, credit, local: Some(here) };
        udp.handle_request(&cx, open, &mut heard);
        let name = udp.sockets.iter().next().expect("it has a socket").0;
        let send = DatagramsRequest::Send {
            association,
            batch: M::with_headroom(0, b"echo").into(),
            properties: MessageProperties::default(),
        };
        udp.handle_request(&cx, send, &mut heard);
        let ready = Ready { name, readable: true, ending: false, urgent: false, writable: false };
        udp.handle_indication(&cx, ready, &mut heard);
        udp.flush(&cx, &mut heard);
        assert!(heard.0.is_empty(), "it has left in this batch");
        udp.handle_indication(&cx, ready, &mut heard);
        udp.flush(&cx, &mut heard);
        assert_eq!(heard.0, [b"echo"]);
    }

    #[test]
    fn what_a_stranger_sent_before_the_socket_was_connected_is_not_the_peers() {
        let registry = Registry::from(Poll::new().unwrap().registry().try_clone().unwrap());
        let mut udp = Udp::<M>::new(Arc::new(registry), 0, Arc::new(Pool::new(64 << 10, 8)));
        let (cx, mut heard) = (Context::new(1), Heard::default());
        let [peer, stranger] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let (association, credit) = (Names::new().name(()), Credit { octets: 1000, messages: 10 });
        let there = peer.local_addr().unwrap();
        let open =
            DatagramsRequest::Open { association, remote: there.into(), credit, local: None };
        udp.handle_request(&cx, open, &mut heard);
        let (name, socket) = udp.sockets.iter().next().expect("it has a socket");
        let (here, socket) = (socket.local, Arc::clone(&socket.socket));
        connect(&socket, &stranger.local_addr().unwrap()).unwrap();
        stranger.send_to(b"forged", here).unwrap();
        connect(&socket, &there).unwrap();
        let ready = Ready { name, readable: true, ending: false, urgent: false, writable: false };
        for said in [&b"first"[..], b"second"] {
            peer.send_to(said, here).unwrap();
            udp.handle_indication(&cx, ready, &mut heard);
        }
        assert_eq!(heard.0, [&b"first"[..], b"second"]);
        let received =
            if udp.sockets.get(name).unwrap().roomy { "forgedfirstsecond".len() } else { 0 };
        assert_eq!(udp.registry.take_traffic(), Traffic { received, sent: 0 });
        assert_eq!(udp.registry.take_traffic(), Traffic::default(), "it was taken just now");
        assert_eq!(cx.dropped_count(), 1);
        assert!(!udp.sockets.get(name).unwrap().strangers, "who sends is not asked any more");
    }
}
