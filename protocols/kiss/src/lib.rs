//! KISS: frames to and from a TNC, over a line of octets (M. Chepponis, P. Karn: The KISS TNC,
//! 1987), and a hub through which several programs share one.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the type of a frame, and what may follow |
//! | `escape.rs` | where frames begin and end |
//! | `check.rs`, `frame.rs` | the checks of XKISS, SMACK and FlexNet; what a frame says |
//! | `receive.rs` | from the line, upward |
//! | `send.rs` | from above, to the line |
//! | `timers.rs` | when a frame has left the antenna |
//! | `state.rs` | what is kept of frames on their way |
//! | `hub/` | several programs share one TNC |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod check;
mod config;
mod described;
mod escape;
mod frame;
mod header;
mod hub;
mod receive;
mod send;
mod state;
mod timers;

pub use config::{ChannelAccess, Config, LONGEST_MOST, PORTS_MOST};
pub use described::described;
pub use header::{KissAcknowledgement, KissParameter, KissType, SYNTAX};
pub use hub::{CLIENT_ROOM, CLIENTS_MOST, Hub, HubConfig};

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use stackwright_contract::ask::{Ask, FrameTime, Longest, Question};
use stackwright_contract::services::{Credit, Frames, FramesRequest, Octets, OctetsIndication};
use stackwright_contract::{Context, Facts, Guarantees, Instant, Outlet, Protocol};
use stackwright_wire::{Message, Pool};

use escape::Deframer;
use frame::OVERHEAD;
use state::{Memory, Outgoing, Port};
use timers::Asking;

const NAME: &str = "kiss";

/// How many octets of the line may wait to be taken apart.
const LINE_ROOM: usize = 4096;

/// The protocol: frames over a line.
pub struct Kiss<M: Message> {
    config: Config,
    memory: Memory<M>,
    is_up: bool,
    /// The frame that is coming, or that waits for credit above: its port and where its data is.
    deframer: Deframer,
    waiting: Option<(u8, Range<usize>)>,
    /// Octets of the line behind the frame that waits.
    incoming: Option<M>,
    /// Credit of the layer above.
    credit: Credit,
    /// Credit of the line, and what waits for it.
    line: usize,
    queue: VecDeque<Outgoing<M>>,
    /// When the TNC will have come into KISS.
    entered_at: Option<Instant>,
    ports: Vec<Port>,
    asking: Asking,
}

impl<M: Message> Default for Kiss<M> {
    fn default() -> Self {
        Kiss::new(Config::default())
    }
}

impl<M: Message> Kiss<M> {
    /// Makes the protocol, with memory of its own.
    ///
    /// # Panics
    /// Where a value of `config` is out of its range.
    pub fn new(config: Config) -> Self {
        let pool = Pool::new(0, 0);
        Kiss::sharing(config, Arc::new(pool))
    }

    /// Makes the protocol with the pool of the line below: each uses the blocks again that the
    /// other has released, and no frame needs an allocation.
    ///
    /// # Panics
    /// Where a value of `config` is out of its range.
    pub fn sharing(config: Config, pool: Arc<Pool<M>>) -> Self {
        config.check();
        let ports = (0..config.ports).map(|_| Port::default()).collect();
        Kiss {
            deframer: Deframer::new(config.longest + OVERHEAD),
            config,
            memory: Memory::new(pool),
            is_up: false,
            waiting: None,
            incoming: None,
            credit: Credit::NONE,
            line: 0,
            queue: VecDeque::new(),
            entered_at: None,
            ports,
            asking: Asking::default(),
        }
    }

    /// Takes the TNC out of KISS, behind all frames that were sent: what the configuration says to
    /// be sent for that leaves with the next flush.
    pub fn leave(&mut self) {
        if self.is_up && !self.config.leave.is_empty() {
            let leave = mem::take(&mut self.config.leave);
            self.command(&leave);
            self.config.leave = leave;
        }
    }

    /// Returns how many octets are held, in both directions together: frames that wait for the
    /// layer above, and those that wait for the line, as they are there.
    pub fn held(&self) -> usize {
        let waiting = self.waiting.as_ref().map_or(0, |(_, data)| data.len());
        let queue: usize = self.queue.iter().map(|outgoing| outgoing.octets.len()).sum();
        waiting + self.incoming.as_ref().map_or(0, M::len) + queue
    }

    /// Forgets all that the line voids when it goes down.
    fn reset(&mut self) {
        self.is_up = false;
        self.deframer.reset();
        self.waiting = None;
        let octets = self.queue.drain(..).map(|outgoing| outgoing.octets);
        octets.chain(self.incoming.take()).for_each(|octets| self.memory.reclaim(octets));
        (self.credit, self.line) = (Credit::NONE, 0);
        self.entered_at = None;
        self.ports.iter_mut().for_each(|port| *port = Port::default());
        self.asking = Asking::default();
    }
}

impl<M: Message> Protocol for Kiss<M> {
    /// The TNC puts a check behind each frame on the air, but none on the line to it.
    const FACTS: Facts = Facts {
        needs: Guarantees::ORDERED,
        passes: Guarantees::ORDERED.and(Guarantees::ONCE).and(Guarantees::CHECKED),
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Frames<M>;
    type Uses = Octets<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => {
                self.frame(cx, port, batch.into_single(), mark, out);
            }
            FramesRequest::Credit { .. } if !self.is_up => {}
            FramesRequest::Credit { credit } => {
                self.credit += credit;
                self.deliver(cx, out);
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: OctetsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            OctetsIndication::State { up: true } => self.up(cx, out),
            OctetsIndication::State { up: false } => self.down(cx, out),
            OctetsIndication::Credit { credit } => self.line += credit,
            OctetsIndication::Delivered { message } => self.delivered(cx, message, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.speak(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.may_speak()
    }

    /// What was sent is on the line.
    fn may_exit(&self) -> bool {
        self.queue.is_empty()
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, below: &dyn Ask<Octets<M>>) {
        let Config { longest, .. } = self.config;
        question
            .answer::<Longest>(|_| Some(longest))
            .answer::<FrameTime>(|_| Some(self.config.air_time(longest)));
        below.ask((), question);
    }
}
