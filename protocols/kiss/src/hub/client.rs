//! One program that shares the TNC.

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Backlog, Either, Handle};
use stackwright_wire::{Leaf, Message};

use super::{CLIENT_ROOM, Hub, Out};
use crate::escape::{Deframer, Found};
use crate::frame::OVERHEAD;
use crate::state::Memory;

/// How many octets of one program may wait to be taken apart: the first credit upward.
pub(super) const CLIENT_WINDOW: usize = 4096;

/// Programs for which there is no place, that were closed and have not gone: of more, one is cut
/// off.
const CLOSED_MOST: usize = 300;

/// A program.
pub(super) struct Client<M> {
    name: Handle,
    /// What came, as far as it is not taken apart.
    incoming: Option<M>,
    pub(super) deframer: Deframer,
    /// A frame of it waits for the TNC: it is not read before that has gone.
    pub(super) waits: bool,
    /// Credit of the stream, and what waits for it.
    queue: Backlog<M>,
    /// Octets that wait here or in the stream.
    held: usize,
    /// It has finished, or is closed for another reason.
    pub(super) ends: bool,
}

impl<M: Message> Client<M> {
    pub(super) fn new(name: Handle, credit: usize, longest: usize) -> Self {
        Client {
            name,
            incoming: None,
            deframer: Deframer::new(longest + OVERHEAD),
            waits: false,
            queue: Backlog::new(credit),
            held: 0,
            ends: false,
        }
    }

    pub(super) fn came(&mut self, message: M) {
        match &mut self.incoming {
            Some(incoming) => incoming.join(message),
            none => *none = Some(message),
        }
    }

    /// Takes what came apart, up to the next frame; `None`: it has none, or one waits.
    pub(super) fn next(&mut self, memory: &Memory<M>, out: Out<'_, M>) -> Option<Found> {
        let (mut taken, mut found) = (0, None);
        while !self.waits
            && found.is_none()
            && let Some(incoming) = &mut self.incoming
        {
            let Some(Leaf::Octets(mut octets)) = incoming.leaves().next() else {
                taken += incoming.len();
                self.incoming.take().into_iter().for_each(|empty| memory.reclaim(empty));
                continue;
            };
            let before = octets.len();
            found = self.deframer.take(&mut octets);
            let after = octets.len();
            incoming.advance(before - after);
            taken += before - after;
        }
        if taken > 0 && !self.ends {
            let (association, credit) = (self.name, Credit::of_octets(taken));
            out.request(Either::Left(StreamsRequest::Credit { association, credit }));
        }
        found
    }

    /// Sends octets, if there is room for all of them; returns whether there was.
    pub(super) fn send(&mut self, octets: M, out: Out<'_, M>) -> bool {
        if self.ends {
            return true; // it is not interested any more
        }
        if self.held + octets.len() > CLIENT_ROOM {
            return false;
        }
        self.held += octets.len();
        self.queue.push(octets);
        self.speak(out);
        true
    }

    /// The stream has transmitted octets.
    pub(super) fn sent(&mut self, octets: usize, out: Out<'_, M>) {
        self.queue.allow(octets);
        self.held = self.held.saturating_sub(octets);
        self.speak(out);
    }

    fn speak(&mut self, out: Out<'_, M>) {
        while let Some(part) = self.queue.next_part() {
            out.request(Either::Left(StreamsRequest::Send {
                association: self.name,
                batch: part.into(),
                properties: Default::default(),
            }));
        }
    }

    /// Returns how many octets are held, in both directions together.
    pub(super) fn held(&self) -> usize {
        self.queue.octets() + self.incoming.as_ref().map_or(0, M::len)
    }
}

impl<M: Message> Hub<M> {
    /// Listens, and awaits a program.
    pub(super) fn listen(&mut self, out: Out<'_, M>) {
        let Some(local) = self.config.local else { return };
        let listener = self.clients.listen(());
        self.listener = Some(listener);
        out.request(Either::Left(StreamsRequest::Listen { listener, local }));
        self.expect(out);
    }

    /// Awaits another program, unless one is awaited. One beyond those that may be is closed; those
    /// that do not go are bounded, too: one of them is cut off for the next.
    pub(super) fn expect(&mut self, out: Out<'_, M>) {
        let Some(listener) = self.listener else { return };
        if self.clients.awaited(listener) > 0 {
            return;
        }
        if self.clients.iter().count() >= super::CLIENTS_MOST + CLOSED_MOST {
            let closed = self.clients.iter().find(|(_, client)| client.ends);
            if let Some((association, _)) = closed {
                let abort = StreamsRequest::Abort { association, code: 0 };
                out.request(Either::Left(abort));
            }
            return; // its end is told
        }
        let credit = Credit::of_octets(CLIENT_WINDOW);
        let Some(association) = self.clients.expect(listener, credit) else { return };
        out.request(Either::Left(StreamsRequest::Await { listener, association, credit }));
    }
}
