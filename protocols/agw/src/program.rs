//! One program: what it sends, and what waits for it.

use alloc::vec::Vec;

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Backlog, Context, Either, Handle};
use stackwright_wire::{Header, Message};

use crate::header::{AgwHeader, DATA_MOST};
use crate::{Agw, Out, PROGRAMS_MOST};

/// How many octets of a program may wait to be taken apart: the longest frame. It is the first
/// credit upward.
pub(crate) const WINDOW: usize = AgwHeader::LENGTH + DATA_MOST;
/// Octets that may wait for a program before what it asks waits, and its peers do.
pub(crate) const SLOW: usize = 32 << 10;

/// The port that is taken for the first one. *Erratum*: Xastir 2.1.8 sends its positions to this
/// one, whatever its configuration says.
const UNSAID: u8 = u8::MAX;

/// Programs that were told that there is no place and have not gone: of more, one is cut off, which
/// may then miss the word.
const TOLD_MOST: usize = 300;

/// Why what a program sent is not taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// This link holds enough of it.
    Link(Handle),
    /// Its UI frames have not left.
    Unproto,
}

/// A program.
pub(crate) struct Program<M> {
    name: Handle,
    /// What came, as far as it is not taken apart.
    incoming: Option<M>,
    pub(crate) waits: Option<Waits>,
    /// Credit of the stream, and what waits for it.
    queue: Backlog<M>,
    /// Octets that wait here or in the stream.
    held: usize,
    /// It is over: what it still sends is ignored.
    pub(crate) ends: bool,
    /// It wants frames as they are (`k`), and as text (`m`).
    pub(crate) wants_raw: bool,
    pub(crate) monitors: bool,
}

/// What a program sent.
pub(crate) enum Sent {
    Frame(AgwHeader, Vec<u8>),
    /// It claims more data than any frame has.
    TooLong,
}

impl<M: Message> Program<M> {
    pub(crate) fn new(name: Handle, credit: usize) -> Self {
        Program {
            name,
            incoming: None,
            waits: None,
            queue: Backlog::new(credit),
            held: 0,
            ends: false,
            wants_raw: false,
            monitors: false,
        }
    }

    pub(crate) fn came(&mut self, message: M) {
        match &mut self.incoming {
            Some(incoming) => incoming.join(message),
            none => *none = Some(message),
        }
    }

    /// Returns whether so much waits for it that it is asked to read first.
    pub(crate) fn is_slow(&self) -> bool {
        self.held > SLOW
    }

    /// Returns the header of the next frame, if all of it is there.
    pub(crate) fn front(&mut self) -> Option<AgwHeader> {
        let incoming = self.incoming.as_mut()?;
        let mut header = AgwHeader::decode(incoming.front(AgwHeader::LENGTH)?).ok()?;
        if header.port == UNSAID {
            header.port = 0;
        }
        Some(header)
    }

    /// Takes the next frame, if all of it is there.
    pub(crate) fn next(&mut self, out: Out<'_, M>) -> Option<Sent> {
        let header = self.front()?;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        if length > DATA_MOST {
            return Some(Sent::TooLong);
        }
        let incoming = self.incoming.as_mut()?;
        if incoming.len() < AgwHeader::LENGTH + length {
            return None;
        }
        incoming.advance(AgwHeader::LENGTH);
        let taken = incoming.split_to(length);
        let mut data = alloc::vec![0; length];
        taken.copy_to(&mut data);
        if !self.ends {
            let credit = Credit::of_octets(AgwHeader::LENGTH + length);
            let request = StreamsRequest::Credit { association: self.name, credit };
            out.request(Either::Left(request));
        }
        Some(Sent::Frame(header, data))
    }

    /// Queues a frame for it.
    pub(crate) fn tell(&mut self, frame: M, out: Out<'_, M>) {
        self.held += frame.len();
        self.queue.push(frame);
        self.speak(out);
    }

    /// The stream has transmitted octets.
    pub(crate) fn sent(&mut self, octets: usize, out: Out<'_, M>) {
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

    /// Returns how many octets wait for it, here and in its stream.
    pub(crate) const fn unread(&self) -> usize {
        self.held
    }

    /// Returns how many octets are held here, in both directions together.
    pub(crate) fn held(&self) -> usize {
        self.queue.octets() + self.incoming.as_ref().map_or(0, M::len)
    }
}

impl<M: Message> Agw<M> {
    /// Listens, and awaits a program.
    pub(crate) fn listen(&mut self, out: Out<'_, M>) {
        let Some(local) = self.config.local else { return };
        let listener = self.programs.listen(());
        self.listener = Some(listener);
        out.request(Either::Left(StreamsRequest::Listen { listener, local }));
        self.expect(out);
    }

    /// Awaits another program, unless one is awaited. One beyond those that may be is told so;
    /// those that were told and do not go are bounded, too: one of them is cut off for the next.
    pub(crate) fn expect(&mut self, out: Out<'_, M>) {
        let Some(listener) = self.listener else { return };
        if self.programs.awaited(listener) > 0 {
            return;
        }
        if self.programs.iter().count() >= PROGRAMS_MOST + TOLD_MOST {
            let told = self.programs.iter().find(|(_, program)| program.ends);
            if let Some((association, _)) = told {
                let abort = StreamsRequest::Abort { association, code: 0 };
                out.request(Either::Left(abort));
            }
            return; // its end is told
        }
        let credit = Credit::of_octets(WINDOW);
        let Some(association) = self.programs.expect(listener, credit) else { return };
        out.request(Either::Left(StreamsRequest::Await { listener, association, credit }));
    }

    /// Ends all links in good order, and takes no more programs.
    pub(crate) fn end_all(&mut self, cx: &Context, out: Out<'_, M>) {
        let names: Vec<Handle> = self.programs.iter().map(|(name, _)| name).collect();
        for name in names {
            if self.leave(cx, name, out) {
                out.request(Either::Left(StreamsRequest::Close { name }));
            }
        }
        if let Some(name) = self.listener.take() {
            out.request(Either::Left(StreamsRequest::Close { name }));
        }
    }
}
