//! Several streams on one association below: what a program says beside its data costs no other
//! opening, and no round trip.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the layout of chunks |
//! | `state.rs` | associations below, and the streams inside |
//! | `send.rs` | words from above |
//! | `receive.rs` | words from below |
//! | `chunks.rs` | what a peer says |
//! | `turns.rs` | what leaves at the end of a batch, and what ends |
//! | `config.rs`, `described.rs` | the settings, and how a file describes them |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod chunks;
mod config;
mod described;
mod header;
mod receive;
mod send;
mod state;
mod turns;

pub use config::Config;
pub use described::described;
pub use header::{CHUNK_MOST, ChunkHeader, ChunkKind, ChunkNumber, OpenChunk};
pub use state::CREDIT_FIRST;

use alloc::vec::Vec;

use stackwright_contract::ask::{Ask, PathStatistics, Peer, Question};
use stackwright_contract::services::{Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Arrivals, Context, Facts, Guarantees, Handle, Instant, Names, Outlet, Protocol,
};
use stackwright_wire::{Header as _, Message};

use state::{Below, Carrier, Door};

const NAME: &str = "merged";

/// Streams over streams, several in one.
pub struct Merged<M> {
    config: Config,
    /// An open name is a stream of a carrier.
    above: Arrivals<Door, (Handle, u16)>,
    below: Names<Below>,
    carriers: Names<Carrier<M>>,
    /// The listener below.
    shared: Option<Handle>,
    /// How many names wait there.
    awaited: usize,
    /// Carriers that the end of the batch looks at.
    due: Vec<Handle>,
    /// The time before which no stream is waited for in vain.
    next: Option<Instant>,
}

type Out<'a, M> = &'a mut dyn Outlet<Merged<M>>;

impl<M: Message> Merged<M> {
    /// Creates the layer, without any stream.
    pub fn new(config: Config) -> Self {
        Merged {
            config,
            above: Arrivals::default(),
            below: Names::new(),
            carriers: Names::new(),
            shared: None,
            awaited: 0,
            due: Vec::new(),
            next: None,
        }
    }

    /// Returns how many associations there are below, or were and still hold octets of streams.
    pub fn associations(&self) -> usize {
        self.carriers.len()
    }
}

impl<M: Message> Protocol for Merged<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        header_room: ChunkHeader::LENGTH,
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Streams<M>;
    type Uses = Streams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: StreamsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.asked(cx, request, out);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: StreamsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.told(cx, indication, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.next
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.send_gathered(cx, out);
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    /// Every stream is over, and so the peers of all associations were told their end.
    fn may_exit(&self) -> bool {
        let opened = |carrier: &Carrier<M>| carrier.opened_here && !carrier.streams.is_empty();
        !self.carriers.iter().any(|(_, carrier)| opened(carrier) || carrier.waiting() > 0)
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Streams<M>>) {
        let Some((carrier, number)) = self.above.get(about) else { return };
        let Some(carrier) = self.carriers.get(*carrier) else { return };
        let Some(stream) = carrier.streams.get(number) else { return };
        question.answer::<Peer>(|_| Some(state::with_port(carrier.remote, stream.peer_port)));
        if let Some(name) = carrier.below {
            below.ask(name, question);
            let waiting = stream.queue.as_ref().map_or(0, M::len) + carrier.waiting();
            question.alter_answer::<PathStatistics>(|path| path.waiting += waiting as u64);
        }
    }
}
