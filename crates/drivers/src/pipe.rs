//! A pipe of the operating system as [`Octets`]: two descriptors, one to read and one to write.
//!
//! They may be the ends of two pipes, a socket pair, standard input and output, or a pseudo
//! terminal. The line is up from the start, and down for good when the other end hangs up: at the
//! end of its input, or where it takes no more output.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use mio::Interest;
use mio::unix::SourceFd;
use stackwright_contract::services::{Octets, OctetsIndication, OctetsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Outlet, Protocol};
use stackwright_wire::{Message, Pool};

use crate::flow::{Flow, HungUp};
use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;

pub use crate::flow::SEND_ROOM;

const NAME: &str = "pipe";

/// The pipe adapter.
pub struct Pipe<M: Message> {
    input: File,
    output: File,
    flow: Flow<M>,
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
            flow: Flow::new(pool),
            due: true,
            state: State::Untold,
        })
    }

    fn send(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        match self.flow.write(cx, NAME, &self.output) {
            Ok(0) => {}
            Ok(credit) => out.indicate(OctetsIndication::Credit { credit }),
            Err(HungUp) => self.hang_up(cx, out),
        }
    }

    fn receive(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let deliver = |message| out.indicate(OctetsIndication::Delivered { message });
        if let Err(HungUp) = self.flow.read(&self.input, deliver) {
            self.hang_up(cx, out);
        }
    }

    /// Closes the pipe: the other end is gone, and what was not written with it.
    fn hang_up(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::replace(&mut self.state, State::Down) == State::Up {
            cx.event(NAME, format_args!("the other end is gone"));
            out.indicate(OctetsIndication::State { up: false });
        }
        self.flow.reset();
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
            OctetsRequest::Send { message } => self.flow.push(message),
            OctetsRequest::Credit { credit } => self.flow.credit += credit,
        }
        self.due = true;
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        if self.state == State::Down {
            return;
        }
        self.flow.readable |= ready.name == INPUT && ready.readable;
        self.flow.writable |= ready.name == OUTPUT && ready.writable;
        self.receive(cx, out);
        self.due |= !self.flow.is_sent();
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
