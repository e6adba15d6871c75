//! A hub: several programs, and the layer above, share one TNC. Each program connects and speaks
//! KISS, as if it had the TNC alone.
//!
//! ```text
//!    the layer above        programs
//!          │ Frames            │ │ │ KISS over streams
//!          └───────── hub ─────┴─┴─┘
//!                      │ Frames
//!                     TNC
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `client.rs` | one program |
//! | `receive.rs` | from the TNC, upward and to every program; from the programs |
//! | `send.rs` | to the TNC |
//! | `config.rs` | the configuration |
//!
//! What one sends goes to the TNC and not to the others, as with Direwolf, unless `echo` is set. A
//! program that stops reading loses frames, which are counted, and delays nobody; one that sends
//! more than the TNC takes is read no further. A program that numbers its frames (ACKMODE) is told
//! when each has left, also where the TNC does not know ACKMODE; one that asks `TXBUF:` is answered
//! here. Parameters that a program sets are not passed on: the TNC's are those of its owner, who
//! may [read](Hub::access) them.

mod client;
mod config;
mod receive;
mod send;

pub use config::{CLIENT_ROOM, CLIENTS_MOST, HubConfig};

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::ask::{Ask, Longest, Question};
use stackwright_contract::services::{
    Credit, Ended, Frames, FramesIndication, FramesRequest, Streams, StreamsIndication,
};
use stackwright_contract::{
    Arrivals, Both, Context, Either, Facts, Guarantees, Handle, Names, Outlet, Participant,
    Protocol,
};
use stackwright_wire::{Message, Pool};

use crate::ChannelAccess;
use crate::state::Memory;
use client::Client;
use send::{Outstanding, Queued};

const NAME: &str = "kiss hub";

type Out<'a, M> = &'a mut dyn Outlet<Hub<M>>;

/// The hub.
pub struct Hub<M: Message> {
    config: HubConfig,
    memory: Memory<M>,
    /// The names below: the listener, one that waits, the programs.
    clients: Arrivals<(), Client<M>, Names<()>>,
    listener: Option<Handle>,
    listening: Option<Result<Participant, Ended>>,
    /// Whether it was started.
    begun: bool,
    /// Credit of the layer above, and whether it ever gave any.
    credit: Credit,
    hears: bool,
    /// It is told what programs send.
    shows_programs: bool,
    ports: Vec<Port<M>>,
    outstanding: VecDeque<Outstanding>,
    next_mark: u16,
}

/// A port of the TNC.
struct Port<M> {
    is_up: bool,
    /// Credit of the TNC, and frames that wait for it.
    credit: Credit,
    queue: VecDeque<Queued<M>>,
    /// Octets that the TNC was handed and that have not left.
    handed: usize,
    /// What the layer above may send.
    above: Credit,
    /// How programs want the channel to be accessed.
    access: ChannelAccess,
}

impl<M: Message> Port<M> {
    /// Returns how many octets wait for the credit of the TNC.
    fn waiting(&self) -> usize {
        self.queue.iter().map(|queued| queued.frame.len()).sum()
    }
}

impl<M: Message> Hub<M> {
    /// Makes a hub, which listens from its first flush on. It shares the pool of its neighbours.
    ///
    /// # Panics
    /// Where a value of `config` is out of its range.
    pub fn new(config: HubConfig, pool: Arc<Pool<M>>) -> Self {
        config.check();
        let port = |_| Port {
            is_up: false,
            credit: Credit::NONE,
            queue: VecDeque::new(),
            handed: 0,
            above: Credit::NONE,
            access: ChannelAccess::default(),
        };
        Hub {
            config,
            memory: Memory::new(pool),
            clients: Arrivals::default(),
            listener: None,
            listening: None,
            begun: false,
            credit: Credit::NONE,
            hears: false,
            shows_programs: false,
            ports: (0..config.ports).map(port).collect(),
            outstanding: VecDeque::new(),
            next_mark: 0,
        }
    }

    /// Has the layer above receive what programs send, too, as if it were heard: for one that shows
    /// all that is on the air. It knows which call signs are those of programs.
    #[must_use]
    pub fn showing_programs(self) -> Self {
        Hub { shows_programs: true, ..self }
    }

    /// Returns where it listens, or why it does not; `None`: it was not told yet.
    pub const fn listening(&self) -> Option<Result<Participant, Ended>> {
        self.listening
    }

    /// Returns how many programs are there.
    pub fn clients(&self) -> usize {
        self.clients.iter().filter(|(_, client)| !client.ends).count()
    }

    /// Returns how programs want a port to access the channel, the last that said so of each
    /// parameter; nothing for a port that is not shared.
    pub fn access(&self, port: u8) -> ChannelAccess {
        self.ports.get(usize::from(port)).map_or_else(ChannelAccess::default, |port| port.access)
    }

    /// Returns how many octets are held, of all programs together and in both directions.
    pub fn held(&self) -> usize {
        let clients = self.clients.iter().map(|(_, client)| client.held());
        clients.sum::<usize>() + self.ports.iter().map(Port::waiting).sum::<usize>()
    }
}

impl<M: Message> Protocol for Hub<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::ORDERED,
        passes: Guarantees::ORDERED.and(Guarantees::ONCE),
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Frames<M>;
    type Uses = Both<Streams<M>, Frames<M>>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => {
                self.on_frame(cx, port, batch.into_single(), mark, out);
            }
            FramesRequest::Credit { credit } => {
                self.credit += credit;
                self.hears = true;
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: Either<StreamsIndication<M>, FramesIndication<M>>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            Either::Left(word) => self.on_programs(cx, word, out),
            Either::Right(word) => self.on_tnc(cx, word, out),
        }
    }

    fn flush(&mut self, _cx: &Context, out: &mut impl Outlet<Self>) {
        if !core::mem::replace(&mut self.begun, true) {
            self.listen(out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.begun
    }

    fn ask(
        &self,
        port: u8,
        question: &mut Question<'_>,
        below: &dyn Ask<Both<Streams<M>, Frames<M>>>,
    ) {
        question.answer::<Longest>(|_| Some(self.config.longest));
        below.ask(Either::Right(port), question);
    }
}
