//! A pipe of the operating system as [`Octets`]: two descriptors, one to read and one to write.
//!
//! They may be the ends of two pipes, a socket pair, standard input and output, or a pseudo
//! terminal. The line is up from the start, and down for good when the other end hangs up: at the
//! end of its input, or where it takes no more output.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use mio::Interest;
use mio::unix::SourceFd;
use stackwright_contract::services::{Octets, OctetsIndication, OctetsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Outlet, Protocol};
use stackwright_wire::{Leaf, Message, Pool};

use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;

const NAME: &str = "pipe";

/// How many octets may wait for the descriptor: the initial credit downward.
pub const SEND_ROOM: usize = 64 << 10;

/// The pipe adapter.
pub struct Pipe<M: Message> {
    input: File,
    output: File,
    pool: Arc<Pool<M>>,
    queue: VecDeque<M>,
    /// How much more the upper layer accepts.
    credit: usize,
    readable: bool,
    writable: bool,
    due: bool,
    state: State,
}

/// Whether the other end is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is open, and neither that nor the initial credit was indicated to the layer above.
    Untold,
    Up,
    Down,
}

const INPUT: Handle = Handle { index: 0, generation: 0 };
const OUTPUT: Handle = Handle { index: 1, generation: 0 };

impl<M: Message> Pipe<M> {
    /// Makes an adapter that reads from `input` and writes to `output`; both become non-blocking.
    ///
    /// # Errors
    /// If a descriptor has no readiness, as that of a regular file.
    pub fn new(
        input: OwnedFd,
        output: OwnedFd,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        for descriptor in [&input, &output] {
            rustix::io::ioctl_fionbio(descriptor, true)?;
        }
        registry.register(
            &mut SourceFd(&input.as_raw_fd()),
            token(lane, INPUT),
            Interest::READABLE,
        )?;
        registry.register(
            &mut SourceFd(&output.as_raw_fd()),
            token(lane, OUTPUT),
            Interest::WRITABLE,
        )?;
        Ok(Pipe {
            input: input.into(),
            output: output.into(),
            pool,
            queue: VecDeque::new(),
            credit: 0,
            readable: false,
            writable: false,
            due: true,
            state: State::Untold,
        })
    }

    fn send(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let mut written = 0;
        while self.writable
            && let Some(message) = self.queue.front_mut()
        {
            let Some(Leaf::Octets(octets)) = message.leaves().next() else {
                cx.dropped(NAME, "a region of a file cannot be written to a pipe");
                self.queue.pop_front();
                continue;
            };
            match self.output.write(octets) {
                Ok(octets) => {
                    written += octets;
                    message.advance(octets);
                    if message.is_empty()
                        && let Some(message) = self.queue.pop_front()
                    {
                        message.reclaim(&self.pool);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(_) => return self.hang_up(cx, out),
            }
        }
        if written > 0 {
            out.indicate(OctetsIndication::Credit { credit: written });
        }
    }

    /// Closes the pipe: the other end is gone, and what was not written with it.
    fn hang_up(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::replace(&mut self.state, State::Down) == State::Up {
            cx.event(NAME, format_args!("the other end is gone"));
            out.indicate(OctetsIndication::State { up: false });
        }
        self.queue.clear();
        (self.readable, self.writable) = (false, false);
    }

    fn receive(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while self.readable && self.credit > 0 {
            let mut block = self.pool.take();
            let limit = self.credit.min(block.len());
            match self.input.read(&mut block[..limit]) {
                Ok(0) => self.hang_up(cx, out),
                Ok(octets) => {
                    self.credit -= octets;
                    out.indicate(OctetsIndication::Delivered {
                        message: M::with_headroom(0, &block[..octets]),
                    });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                // A pseudo terminal whose other end was closed says EIO.
                Err(_) => self.hang_up(cx, out),
            }
            self.pool.give(block);
        }
    }
}

impl<M: Message> Protocol for Pipe<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        ..Facts::named(NAME)
    };
    type Provides = Octets<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: OctetsRequest<M>,
        _out: &mut impl Outlet<Self>,
    ) {
        match request {
            // It was sent before its end was known.
            _ if self.state == State::Down => return,
            OctetsRequest::Send { message } => {
                if !message.is_empty() {
                    self.queue.push_back(message);
                }
                let queued: usize = self.queue.iter().map(M::len).sum();
                assert!(queued <= SEND_ROOM, "a Send keeps within the room");
            }
            OctetsRequest::Credit { credit } => self.credit += credit,
        }
        self.due = true;
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        if self.state == State::Down {
            return;
        }
        self.readable |= ready.name == INPUT && ready.readable;
        self.writable |= ready.name == OUTPUT && ready.writable;
        self.receive(cx, out);
        self.due |= !self.queue.is_empty();
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::replace(&mut self.due, false) {
            if self.state == State::Untold {
                self.state = State::Up;
                out.indicate(OctetsIndication::State { up: true });
                out.indicate(OctetsIndication::Credit { credit: SEND_ROOM });
            }
            self.send(cx, out);
            self.receive(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.due
    }
}
