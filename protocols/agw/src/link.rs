//! One link of a program.

use alloc::collections::VecDeque;

use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Backlog, CallSign, Duration, Handle, Instant};
use stackwright_wire::Message;

use crate::{Agw, LINK_ROOM, Out};

/// The protocol identifier of text.
pub(crate) const PID: u8 = 0xf0;
/// Octets of one link that may wait for its program: the first credit upward.
pub(crate) const LINK_WINDOW: usize = 4096;
/// How long a link may take to end in good order when its program is gone.
const ORPHAN_WITHIN: Duration = Duration::from_secs(10);

/// A link.
pub(crate) struct Link<M> {
    pub(crate) name: Handle,
    /// Whose it is; `None`: that program is gone.
    pub(crate) program: Option<Handle>,
    pub(crate) port: u8,
    pub(crate) local: CallSign,
    pub(crate) remote: CallSign,
    pub(crate) pid: u8,
    pub(crate) opened: bool,
    /// Credit of AX.25, and what waits for it.
    queue: Backlog<M>,
    /// Octets of each frame of the program that the peer has not acknowledged, the oldest first.
    unacknowledged: VecDeque<usize>,
    /// A frame came since the program asked how many are outstanding.
    uncounted: bool,
    /// Octets that were delivered, and whose credit was not given back.
    pub(crate) owed: usize,
    ending: Ending,
    /// When it is aborted.
    pub(crate) deadline: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Open,
    /// What waits is sent first.
    Drains,
    Closed,
}

/// What an entry of a queue is taken for, in octets.
const ENTRY: usize = 64;
/// Frames of a program that are counted one by one; more are counted with the last.
const COUNTED_MOST: usize = 1024;

impl<M: Message> Link<M> {
    pub(crate) fn new(
        name: Handle,
        program: Handle,
        ends: [CallSign; 2],
        port: u8,
        pid: u8,
    ) -> Self {
        let [local, remote] = ends;
        Link {
            name,
            program: Some(program),
            port,
            local,
            remote,
            pid,
            opened: false,
            queue: Backlog::new(0),
            unacknowledged: VecDeque::new(),
            uncounted: false,
            owed: 0,
            ending: Ending::Open,
            deadline: None,
        }
    }

    pub(crate) fn open(&mut self, credit: usize, out: Out<'_, M>) {
        self.opened = true;
        self.queue.allow(credit);
        self.pump(out);
    }

    /// Returns whether it takes `octets` more: nothing waits, or there is room for all of them.
    pub(crate) fn takes(&self, octets: usize) -> bool {
        // An entry of the queue has a price, too: frames may be short.
        let queued = self.waiting() + ENTRY * self.queue.messages();
        self.queue.is_empty() || queued + octets <= LINK_ROOM
    }

    /// Returns whether it was told to end.
    pub(crate) fn ends(&self) -> bool {
        self.ending != Ending::Open
    }

    /// Queues what the program sent.
    pub(crate) fn send(&mut self, data: &[u8], out: Out<'_, M>) {
        if self.ends() || data.is_empty() {
            return;
        }
        self.uncounted = true;
        if self.unacknowledged.len() < COUNTED_MOST {
            self.unacknowledged.push_back(data.len());
        } else if let Some(last) = self.unacknowledged.back_mut() {
            *last += data.len();
        }
        self.queue.push(M::with_headroom(0, data));
        self.pump(out);
    }

    /// The peer has acknowledged octets.
    pub(crate) fn acknowledged(&mut self, octets: usize, out: Out<'_, M>) {
        self.queue.allow(octets);
        let mut left = octets;
        while let Some(first) = self.unacknowledged.front_mut() {
            if *first > left {
                *first -= left;
                break;
            }
            left -= *first;
            self.unacknowledged.pop_front();
        }
        self.pump(out);
    }

    fn pump(&mut self, out: Out<'_, M>) {
        while let Some(part) = self.queue.next_part() {
            let (association, batch) = (self.name, part.into());
            let properties = Default::default();
            Agw::ask_links(out, StreamsRequest::Send { association, batch, properties });
        }
        // One that is not open has nothing to drain to.
        if self.ending == Ending::Drains && (self.queue.is_empty() || !self.opened) {
            self.ending = Ending::Closed;
            Agw::ask_links(out, StreamsRequest::Close { name: self.name });
        }
    }

    /// Ends it in good order, behind what waits; asked a second time, at once.
    pub(crate) fn end(&mut self, out: Out<'_, M>) {
        match self.ending {
            Ending::Open => {
                self.ending = Ending::Drains;
                self.pump(out);
            }
            Ending::Drains | Ending::Closed => self.abort(out),
        }
    }

    pub(crate) fn abort(&mut self, out: Out<'_, M>) {
        self.ending = Ending::Closed;
        self.deadline = None;
        self.queue.clear();
        Agw::ask_links(out, StreamsRequest::Abort { association: self.name, code: 0 });
    }

    /// Its program is gone: it ends in good order within a time.
    pub(crate) fn orphan(&mut self, now: Instant, out: Out<'_, M>) {
        self.program = None;
        self.deadline = Some(now + ORPHAN_WITHIN);
        if !self.ends() {
            self.end(out);
        }
        self.give_back(out);
    }

    /// Gives back the credit of what its program has read.
    pub(crate) fn give_back(&mut self, out: Out<'_, M>) {
        let credit = Credit::of_octets(core::mem::take(&mut self.owed));
        if credit.octets > 0 {
            Agw::ask_links(out, StreamsRequest::Credit { association: self.name, credit });
        }
    }

    /// Returns how many frames of the program the peer has not acknowledged.
    pub(crate) fn outstanding(&self) -> u32 {
        self.unacknowledged.len() as u32
    }

    /// Counts them for the program. The first time after a frame there is at least one: Pat waits
    /// for ever to see it, and on a fast channel the peer may have acknowledged it before.
    pub(crate) fn count_outstanding(&mut self) -> u32 {
        self.outstanding().max(core::mem::take(&mut self.uncounted).into())
    }

    /// Returns how many octets wait for AX.25.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.octets()
    }
}

impl<M: Message> Agw<M> {
    pub(crate) fn all_links(&self) -> impl Iterator<Item = &Link<M>> {
        self.links.iter().map(|(_, link)| link)
    }

    pub(crate) fn all_links_mut(&mut self) -> impl Iterator<Item = &mut Link<M>> {
        self.links.iter_mut().map(|(_, link)| link)
    }

    /// Returns the link of a program between two stations, on a port.
    pub(crate) fn find(
        &mut self,
        program: Handle,
        port: u8,
        ends: [CallSign; 2],
    ) -> Option<&mut Link<M>> {
        let is = |link: &&mut Link<M>| {
            link.program == Some(program) && (link.port, [link.local, link.remote]) == (port, ends)
        };
        self.all_links_mut().find(is)
    }

    /// Aborts links whose program is gone, and that did not end in time.
    pub(crate) fn expire(&mut self, cx: &stackwright_contract::Context, out: Out<'_, M>) {
        let now = cx.now();
        for link in self.all_links_mut() {
            if link.deadline.is_some_and(|deadline| deadline <= now) {
                link.abort(out);
            }
        }
    }
}
