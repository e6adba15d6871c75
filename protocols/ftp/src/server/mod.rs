//! The server: many sessions, each obeying one command after the other.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs`, `words.rs` | the configuration, requests and indications |
//! | `state.rs` | the state of its sessions |
//! | `receive.rs` | from below: lines, data, the disk's answers |
//! | `arrivals.rs` | clients that arrive, and how many there may be |
//! | `commands/` | the commands, a group a file |
//! | `question.rs` | what they ask of the disk |
//! | `data.rs` | the opening and the end of data associations |
//! | `transfer.rs`, `ending.rs` | the beginning and the end of transfers |
//! | `moving.rs` | octets between a data association and a file |
//! | `recital.rs` | listings in the reply to STAT |
//! | `failures.rs` | wrong passwords, by address |
//! | `secure.rs` | where TLS begins |
//! | `send.rs` | replies, downward |
//! | `timers.rs` | every timer, and why |

mod arrivals;
mod commands;
mod config;
mod data;
mod ending;
mod failures;
mod moving;
mod question;
mod receive;
mod recital;
mod secure;
mod send;
mod state;
mod timers;
mod transfer;
mod words;

pub use config::{Accounts, Anonymous, Config, Rights, SecurityLevel, SessionReuse};
pub use words::{Indication, Request, Serving, TransferDirection, Trouble};

use alloc::vec::Vec;

use stackwright_base::Base;
use stackwright_contract::services::{Files, FilesRequest, Streams, StreamsRequest};
use stackwright_contract::{
    Both, Context, Either, Facts, Guarantees, Handle, IndicationTo, Instant, Names, Outlet,
    Participant, Protocol, earliest,
};
use stackwright_wire::Message;

use arrivals::Crowd;
use failures::Failures;
use state::{Arrives, FileUse, FtpBase, Sessions, Stream};

/// An FTP server, over streams and beside a disk.
pub struct Server<M: Message> {
    config: Config,
    sessions: Base<FtpBase<M>, Sessions<M>>,
    streams: Names<Stream>,
    files: Names<FileUse>,
    /// How many digests the disk computes.
    digests: usize,
    failures: Failures,
    crowd: Crowd,
    /// How many associations linger.
    lingering: usize,
    /// How many clients that were refused are still connected.
    refused: usize,
    /// The time before which no lingering association is due.
    next: Option<Instant>,
    stopping: bool,
    /// Sessions with something to send, or to obey, at the end of the batch.
    due: Vec<Handle>,
}

type Out<'a, M> = &'a mut dyn Outlet<Server<M>>;

impl<M: Message> Server<M> {
    /// Creates a server, which is idle until it receives [`Serve`](Request::Serve).
    pub fn new(config: Config) -> Self {
        Server {
            config,
            sessions: Base::new(0), // its keys are handles of this server: no peer chooses them
            streams: Names::default(),
            files: Names::default(),
            digests: 0,
            failures: Failures::default(),
            crowd: Crowd::default(),
            lingering: 0,
            refused: 0,
            next: None,
            stopping: false,
            due: Vec::new(),
        }
    }

    /// Returns how many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns how many handles it has given to associations, listeners and files that have not
    /// ended yet.
    pub fn names(&self) -> usize {
        self.streams.len() + self.files.len()
    }

    fn serve(&mut self, local: Participant, arrives: Arrives, out: Out<'_, M>) {
        self.stopping = false;
        let listener = self.streams.name(Stream::Listener { awaited: 0, arrives });
        out.request(Either::Left(StreamsRequest::Listen { listener, local }));
    }

    fn stop(&mut self, out: Out<'_, M>) {
        self.stopping = true;
        let named: Vec<_> = self.streams.iter().map(|(name, stream)| (name, *stream)).collect();
        for (name, stream) in named {
            match stream {
                Stream::Listener { .. } => {
                    out.request(Either::Left(StreamsRequest::Close { name }))
                }
                Stream::Control { .. } => {
                    out.request(Either::Left(StreamsRequest::Abort { association: name, code: 0 }))
                }
                // Arrivals end with their listener; the rest ends with its session.
                _ => {}
            }
        }
    }

    /// Returns the seconds since 1970, where they are known.
    fn since_1970(&self, cx: &Context) -> Option<u64> {
        self.config.epoch.map(|epoch| epoch + cx.now().nanoseconds() / 1_000_000_000)
    }

    /// Returns whether the user of a session may change files.
    fn writable(&self, session: Handle) -> bool {
        let rights = self.sessions.get(session).and_then(|state| state.rights());
        rights.is_some_and(|rights| rights.write)
    }

    fn ask_streams(out: Out<'_, M>, request: StreamsRequest<M>) {
        out.request(Either::Left(request));
    }

    fn ask_files(out: Out<'_, M>, request: FilesRequest<M>) {
        out.request(Either::Right(request));
    }
}

impl<M: Message> Protocol for Server<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        ..Facts::named("ftp server")
    };
    type Provides = Serving;
    type Uses = Both<Streams<M>, Files<M>>;

    fn handle_request(&mut self, _cx: &Context, request: Request, out: &mut impl Outlet<Self>) {
        match request {
            Request::Serve { local } => self.serve(local, Arrives::Client, out),
            Request::ServeSecurely { local } => self.serve(local, Arrives::SecureClient, out),
            Request::Stop => self.stop(out),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            Either::Left(indication) => self.on_streams(cx, indication, out),
            Either::Right(indication) => self.on_files(cx, indication, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.expire(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.sessions.next_deadline(), self.next)
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.send_gathered(cx, out);
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty()
    }
}
