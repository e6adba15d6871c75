//! Transport Layer Security over any stream: TLS 1.2 and 1.3 by rustls, as a layer whose
//! associations are plain until one is told to be secure.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs` | [`Config`]: expected servers, own identities, time limits |
//! | `identity.rs`, `verify.rs` | a certificate with its key; whom a client trusts |
//! | `sessions.rs` | sessions that may be resumed, at the client and at the server |
//! | `connection.rs` | rustls' connection, in either role |
//! | `state.rs`, `stage.rs` | the state of an association, and how it changes |
//! | `receive.rs` | upward: records become octets |
//! | `send.rs` | downward: octets become records |
//! | `timers.rs` | what takes too long |
//! | `ask.rs` | what was negotiated |
//!
//! # Plain, then secure
//!
//! An association is plain at first: every word passes untouched, with regions of files and
//! [`Command::Unread`](stackwright_contract::Command::Unread), and nothing is copied. The command
//! [`Secure`](stackwright_contract::Command::Secure) makes it secure, or [`Config::from_start`]
//! does, for all associations. The command may be given before the association is open.
//!
//! At the switch, each layer answers for what it has seen (CVE-2011-1575):
//!
//! * What was sent before the command leaves as plaintext: the reply that announces TLS.
//! * What is sent behind it waits for the handshake, and leaves encrypted.
//! * What was delivered before it was plaintext. The layer above has it, and has to discard or
//!   refuse what it has not handled yet: FTP, the lines behind `AUTH TLS`.
//! * What arrives behind it goes to TLS, which accepts a handshake and nothing else. Plaintext
//!   there ends the association as [`NotTls`](stackwright_contract::SecurityError::NotTls).
//!
//! # Regions of files
//!
//! A secure association reads payload, so no region of a file may be sent on it: then it ends as
//! [`Unreadable`](stackwright_contract::SecurityError::Unreadable). None is delivered.
//!
//! ```
//! use stackwright_contract::{Secure, SessionGroup, TlsRole};
//! use stackwright_tls::{Config, ExpectedServer, Tls, Trust};
//! use stackwright_wire::BufferTree;
//! let pin = "9b".repeat(32).parse().expect("64 digits");
//! let server = ExpectedServer::new("files.example", Trust::Pinned(pin)).expect("a name");
//! let client = Secure {
//!     role: TlsRole::Client,
//!     identity: 0,
//!     sessions: SessionGroup::Begins(0),
//! };
//! let config =
//!     Config { servers: vec![server], from_start: Some(client), ..Config::at(1_790_000_000) };
//! let tls = Tls::<BufferTree>::new(config);
//! # drop(tls);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
// A store of sessions has to be `Sync`: rustls requires it, and `core` has no lock.
extern crate std;

mod ask;
mod config;
mod connection;
mod identity;
mod receive;
mod send;
mod sessions;
mod stage;
mod state;
mod timers;
mod verify;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_base::events::{Expires as _, Simple};
use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Instant, Mirror, Outlet, Protocol};
use stackwright_wire::{Message, Pool};

pub use ask::{Security, SecurityFacts};
pub use config::{Config, ExpectedServer, TlsVersions};
pub use identity::{BadIdentity, ServerIdentity};
/// The library that does TLS: roots, names and certificates are its types.
pub use rustls;
pub use verify::{NoAuthorities, Trust};

use config::{Client, Server};
use state::{Association, Stage};

const NAME: &str = "tls";

/// The protocol: secure associations over streams.
pub struct Tls<M: Message> {
    limits: config::Limits,
    clients: Vec<Client>,
    servers: Vec<Server>,
    clock: Arc<config::WallClock>,
    /// Where blocks come from and go to.
    pool: Option<Arc<Pool<M>>>,
    associations: Mirror<Association<M>>,
    /// Associations that have something to send at the end of the batch.
    due: VecDeque<Handle>,
    timers: Simple<Handle>,
    /// The number of the last session that a server has begun.
    lineages: u64,
    /// The session with which each group of a server began.
    groups: BTreeMap<u64, u64>,
}

type Out<'a, M> = &'a mut dyn Outlet<Tls<M>>;

impl<M: Message> Tls<M> {
    /// Makes the layer.
    pub fn new(config: Config) -> Self {
        let (limits, clients, servers, clock) = config.prepare();
        Tls {
            limits,
            clients,
            servers,
            clock,
            pool: None,
            associations: Mirror::new(),
            due: VecDeque::new(),
            timers: Simple::default(),
            lineages: 0,
            groups: BTreeMap::new(),
        }
    }

    /// Takes blocks for payload from the pool of the adapters, and returns theirs.
    #[must_use]
    pub fn with_pool(self, pool: Arc<Pool<M>>) -> Self {
        Tls { pool: Some(pool), ..self }
    }
}

impl<M: Message> Protocol for Tls<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED),
        // Of plain associations everything holds that holds below. A layer that secures one sends
        // no regions and no expedited octets on it.
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
        match request {
            StreamsRequest::Await { association, credit, .. }
            | StreamsRequest::Open { association, credit, .. } => {
                self.begin(association, credit.octets);
                out.request(request);
            }
            StreamsRequest::Send { association, batch, properties } => {
                self.send(cx, association, batch, properties, out);
            }
            StreamsRequest::Credit { association, credit } => {
                self.give(cx, association, credit, out);
            }
            StreamsRequest::Control { association, command } => {
                self.control(cx, association, command, out);
            }
            StreamsRequest::Finish { association } => self.finish(association, out),
            StreamsRequest::Abort { association, code } => self.abort(association, code, out),
            StreamsRequest::Close { name } => self.close(cx, name, out),
            StreamsRequest::Listen { .. } => out.request(request),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: StreamsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            StreamsIndication::Opened { association, credit, .. } => {
                out.indicate(indication);
                self.opened(cx, association, credit.octets, out);
            }
            StreamsIndication::Delivered { association, batch, properties } => {
                self.delivered(cx, association, batch, properties, out);
            }
            StreamsIndication::Credit { association, credit } => {
                self.room(association, credit, out);
            }
            StreamsIndication::Controlled { association, outcome } => {
                self.controlled(association, outcome, out);
            }
            StreamsIndication::Finished { association } => {
                self.finished(cx, association, out);
            }
            StreamsIndication::Ended { name, why } => self.ended(name, why, out),
            StreamsIndication::Listening { .. }
            | StreamsIndication::Changed { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {
                out.indicate(indication);
            }
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(name) = self.timers.expire(cx.now()) {
            self.expired(cx, name, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        // What becomes due meanwhile leaves with the next flush.
        for _ in 0..self.due.len() {
            if let Some(name) = self.due.pop_front() {
                self.pump(cx, name, out);
            }
        }
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }

    /// What was sent has left, down to the announcement of the end.
    fn may_exit(&self) -> bool {
        self.associations.iter().all(|(_, association)| match &association.stage {
            Stage::Secure(secured) => secured.has_left(),
            Stage::Plain | Stage::Asked(_) | Stage::Over(_) => true,
        })
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Streams<M>>) {
        self.answer(about, question);
        below.ask(about, question);
    }
}
