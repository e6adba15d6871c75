//! The client: it provides the [`Files`] of a server.
//!
//! A job (a file that is fetched or stored, a folder that is listed, a status) is given to a
//! session that is idle, or to a new one as long as there are few; more wait. A session speaks one
//! command at a time, or several where one does not depend on the reply to another.
//!
//! Files are read and written from the first octet asked to the last, without gaps, because FTP
//! transfers are. A stored file is not whole or absent by itself: that is up to the server.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs` | the configuration |
//! | `state.rs` | sessions, jobs, and the steps of a session |
//! | `send.rs` | requests from above, and commands downward |
//! | `receive.rs` | replies and data from below |
//! | `data.rs` | the opening of data associations |
//! | `secure.rs` | where TLS begins |
//! | `ahead.rs` | commands that are sent ahead of their turn |
//! | `features.rs` | what the server offers |
//! | `job.rs` | a job from its beginning to its end |
//! | `read.rs`, `create.rs`, `list.rs` | octets between a data association and the application |
//! | `stat.rs`, `deed.rs` | jobs without data |
//! | `timers.rs` | every timer, and why |

mod ahead;
mod config;
mod create;
mod data;
mod deed;
mod features;
mod job;
mod list;
mod read;
mod receive;
mod secure;
mod send;
mod stat;
mod state;
mod timers;

pub use config::{Config, DataMode, TlsMode};

use alloc::collections::VecDeque;

use stackwright_contract::ask::{Ask, PathStatistics, Question};
use stackwright_contract::services::{Files, FilesRequest, Streams, StreamsIndication};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, Instant, Mirror, Names, Outlet, Protocol,
};
use stackwright_wire::Message;

use state::{Job, Read, Session, Step, Stream, What};

/// The event that a server did not confirm the end of a file, which is complete by its size.
pub const UNCONFIRMED: &str =
    "the server did not confirm the end; the file is complete by its size";

/// An FTP client, over streams.
pub struct Client<M> {
    config: Config,
    sessions: Names<Session>,
    streams: Names<Stream>,
    jobs: Mirror<Job<M>>,
    /// Jobs for which no session is free.
    waiting: VecDeque<Handle>,
    /// How many sessions the server accepts, as far as it has shown.
    sessions_most: usize,
    /// Whether it has refused one more.
    is_limited: bool,
    /// Whether it has accepted the user before.
    is_accepted: bool,
    /// Whether the server does not know MDTM, once it was asked.
    tells_no_times: bool,
    /// Whether EPSV is of no use with this server.
    only_pasv: bool,
    /// Whether an idle session stays because others have jobs.
    lingers: bool,
    /// Whether no more jobs come for now.
    leaves: bool,
    /// Whether a list told no times: they are asked for with the files.
    untimed: bool,
    /// The time before which no timer is due.
    next: Option<Instant>,
}

type Out<'a, M> = &'a mut dyn Outlet<Client<M>>;

impl<M: Message> Client<M> {
    /// Creates a client, which connects when the first file is requested.
    pub fn new(config: Config) -> Self {
        Client {
            sessions_most: config.sessions_most,
            is_limited: false,
            is_accepted: false,
            tells_no_times: false,
            config,
            sessions: Names::default(),
            streams: Names::default(),
            jobs: Mirror::default(),
            waiting: VecDeque::new(),
            only_pasv: false,
            lingers: false,
            leaves: false,
            untimed: false,
            next: None,
        }
    }

    /// Returns how many sessions with the server there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns how many handles it has given to associations and listeners that have not ended yet.
    pub fn names(&self) -> usize {
        self.streams.len()
    }
}

impl<M: Message> Protocol for Client<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        ..Facts::named("ftp client")
    };
    type Provides = Files<M>;
    type Uses = Streams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FilesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.asked(cx, request, out);
        self.touch_idle(cx);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: StreamsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.hear(cx, indication, out);
        self.touch_idle(cx);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if self.next.is_some_and(|next| next <= cx.now()) {
            self.expire(cx, out);
            self.touch_idle(cx);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Every session has sent QUIT and its end. Whether a layer that secures it has sent them, too,
    /// that layer says.
    fn may_exit(&self) -> bool {
        self.sessions.iter().all(|(_, session)| {
            let has_left =
                session.credit == session.credit_most || self.secures() || !self.config.quits;
            session.step == Step::Quitting && session.finished && has_left
        })
    }

    /// A question about a file is one about its data association.
    fn ask(&self, file: Handle, question: &mut Question<'_>, below: &dyn Ask<Streams<M>>) {
        let Some(job) = self.jobs.get(file) else { return };
        let session = job.session.and_then(|session| self.sessions.get(session));
        if let Some(association) = session.and_then(|session| session.data.association()) {
            below.ask(association, question);
        }
        if let What::Read(Read { gathered: Some(gathered), .. }) = &job.what {
            question.alter_answer::<PathStatistics>(|path| path.held += gathered.len() as u64);
        }
    }
}
