//! Streams through a proxy: each association is opened to the proxy, which is asked for the peer.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs` | which proxy |
//! | `dialogue.rs` | what is said to a proxy, in whichever protocol |
//! | `socks.rs` | SOCKS 5 (RFC 1928, 1929) |
//! | `http.rs` | CONNECT of HTTP/1.1 (RFC 9110 §9.3.6) |
//! | `server.rs` | the other side of it: what a proxy hears and says |
//! | `receive.rs`, `send.rs` | words from below, and from above |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod dialogue;
mod http;
mod receive;
mod send;
mod server;
mod socks;

pub use config::{Config, Kind, Login};
pub use server::{SocksServer, SocksStep, SocksTarget};

use alloc::vec::Vec;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Command, Context, Facts, Guarantees, Handle, Instant, Mirror, Outlet, Participant, PathLimits,
    Protocol,
};
use stackwright_wire::Message;

use dialogue::Dialogue;

const NAME: &str = "proxy";

/// Streams over streams, each through the proxy; without one, every word passes untouched.
///
/// Only the opening is looked at: what an open association carries passes as it is.
pub struct Proxy<M> {
    config: Option<Config>,
    associations: Mirror<Association<M>>,
    /// The time before which no opening is due.
    next: Option<Instant>,
}

/// An association that is being opened, or still has credit of the proxy's answer.
struct Association<M> {
    /// The peer that the application asked for.
    remote: Participant,
    /// The credit that the application has given, and of which nothing was used.
    up: usize,
    /// The credit of the stream below, of which nothing was used.
    ahead: usize,
    /// Commands that wait: as long as what arrives is looked at, it has to be octets.
    commands: Vec<Command>,
    state: State<M>,
}

enum State<M> {
    Opening(Opening),
    /// It is not opened: this is told when it has ended below.
    Failed(Ended),
    /// It is open. The stream below has more credit than the application gave: what arrived with
    /// it waits.
    Open {
        arrived: Option<M>,
        finished: bool,
        ended: bool,
    },
}

/// A talk with the proxy.
struct Opening {
    dialogue: Dialogue,
    /// What the stream below has told, once it is open to the proxy.
    below: Option<(Participant, PathLimits)>,
    /// What is to be said, as soon as there is credit downward.
    unsaid: Vec<u8>,
    /// The credit downward.
    down: usize,
    deadline: Instant,
}

type Out<'a, M> = &'a mut dyn Outlet<Proxy<M>>;

impl<M: Message> Proxy<M> {
    /// Makes the layer. `None` is no proxy.
    pub fn new(config: impl Into<Option<Config>>) -> Self {
        Proxy { config: config.into(), associations: Mirror::new(), next: None }
    }
}

impl<M: Message> Protocol for Proxy<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: Guarantees::ALL,
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
        if self.next.is_none_or(|next| next > cx.now()) {
            return;
        }
        let due = |association: &Association<M>| match &association.state {
            State::Opening(Opening { deadline, .. }) => Some(*deadline),
            _ => None,
        };
        let late: Vec<Handle> = self
            .associations
            .iter()
            .filter(|(_, association)| due(association).is_some_and(|due| due <= cx.now()))
            .map(|(name, _)| name)
            .collect();
        for name in late {
            self.fail(name, Ended::Expired, out);
        }
        self.next = self.associations.iter().filter_map(|(_, association)| due(association)).min();
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.next
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Streams<M>>) {
        below.ask(about, question);
    }
}
