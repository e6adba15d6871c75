//! An IPv6 address that is valid on one link only has a scope, which the addresses of data
//! associations keep (RFC 4007 §11.2).

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use stackwright_contract::services::{
    Credit, FilesIndication, FilesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Command, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant, PathLimits,
    Protocol, RequestOf, SessionGroup,
};
use stackwright_ftp::Server;
use stackwright_ftp::server::{Config, Request as ServerAsk};
use stackwright_wire::{Leaf, Message};

use crate::simulated::setting::{M, server_config};

#[derive(Default)]
pub(crate) struct Asked(
    Vec<RequestOf<Server<M>>>,
    /// What it tells.
    pub(crate) Vec<IndicationOf<Server<M>>>,
);

impl Outlet<Server<M>> for Asked {
    fn indicate(&mut self, told: IndicationOf<Server<M>>) {
        self.1.push(told);
    }

    fn request(&mut self, request: RequestOf<Server<M>>) {
        self.0.push(request);
    }
}

impl Asked {
    pub(crate) fn has_aborted(&self, name: Handle) -> bool {
        self.0.iter().any(|request| match request {
            Either::Left(StreamsRequest::Abort { association, .. }) => *association == name,
            _ => false,
        })
    }

    pub(crate) fn has_closed(&self, name: Handle) -> bool {
        self.0.iter().any(|request| match request {
            Either::Left(StreamsRequest::Close { name: closed }) => *closed == name,
            _ => false,
        })
    }

    /// Which associations were commanded to be secure, in which group.
    pub(crate) fn secures(&self) -> Vec<(Handle, SessionGroup)> {
        let secures = |request: &Either<StreamsRequest<M>, FilesRequest<M>>| match request {
            Either::Left(StreamsRequest::Control {
                association,
                command: Command::Secure(secure),
            }) => Some((*association, secure.sessions)),
            _ => None,
        };
        self.0.iter().filter_map(secures).collect()
    }

    /// Nothing was sent, and nothing was read from the disk.
    pub(crate) fn is_quiet(&self) {
        assert!(self.0.iter().all(|request| !matches!(
            request,
            Either::Left(StreamsRequest::Send { .. }) | Either::Right(FilesRequest::Read { .. })
        )));
    }

    pub(crate) fn files<T>(&mut self, mut which: impl FnMut(&FilesRequest<M>) -> Option<T>) -> T {
        let found = self.0.iter().find_map(|request| match request {
            Either::Right(request) => which(request),
            Either::Left(_) => None,
        });
        self.0.clear();
        found.expect("that was asked")
    }

    pub(crate) fn streams<T>(
        &mut self,
        mut which: impl FnMut(&StreamsRequest<M>) -> Option<T>,
    ) -> T {
        let found = self.0.iter().find_map(|request| match request {
            Either::Left(request) => which(request),
            Either::Right(_) => None,
        });
        self.0.clear();
        found.expect("that was asked")
    }
}

fn link_local(last: u16, port: u16) -> SocketAddr {
    let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last);
    SocketAddr::V6(SocketAddrV6::new(address, port, 0, 4))
}

pub(crate) struct Session {
    cx: Context,
    pub(crate) server: Server<M>,
    pub(crate) asked: Asked,
    pub(crate) control: Handle,
}

impl Session {
    fn new() -> Self {
        let mut session = Self::with(server_config());
        session.say("USER ftp\r\nPASS x\r\n");
        session
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.cx.set_now(self.cx.now() + time);
        self.server.handle_timeout(&self.cx, &mut self.asked);
    }

    /// A client has come, and heard the greeting.
    pub(crate) fn with(config: Config) -> Self {
        Self::at(config, |local| ServerAsk::Serve { local })
    }

    /// A client has come where the server was asked to serve.
    pub(crate) fn at(config: Config, serve: fn(Participant) -> ServerAsk) -> Self {
        let (cx, mut asked) = (Context::new(1), Asked::default());
        let mut server = Server::<M>::new(config);
        let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 21).into();
        server.handle_request(&cx, serve(any), &mut asked);
        let listener = asked.streams(|request| match request {
            StreamsRequest::Listen { listener, .. } => Some(*listener),
            _ => None,
        });
        let listening = StreamsIndication::Listening { listener, local: any };
        server.handle_indication(&cx, Either::Left(listening), &mut asked);
        let control = asked.streams(|request| match request {
            StreamsRequest::Await { association, .. } => Some(*association),
            _ => None,
        });
        let mut session = Session { cx, server, asked, control };
        session.hear(StreamsIndication::Opened {
            association: control,
            local: link_local(1, 21).into(),
            remote: link_local(2, 40_000).into(),
            credit: Credit::of_octets(1 << 20),
            path: PathLimits::UNBOUNDED,
        });
        session
    }

    pub(crate) fn hear(&mut self, told: StreamsIndication<M>) {
        self.server.handle_indication(&self.cx, Either::Left(told), &mut self.asked);
    }

    pub(crate) fn hear_files(&mut self, told: FilesIndication<M>) {
        self.server.handle_indication(&self.cx, Either::Right(told), &mut self.asked);
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.asked.0.clear();
        let message = M::with_headroom(0, line.as_bytes());
        self.hear(StreamsIndication::Delivered {
            association: self.control,
            batch: message.into(),
            properties: Default::default(),
        });
    }
}

impl Session {
    /// The end of a batch: everything that the server sends then, as text.
    pub(crate) fn flush(&mut self) -> String {
        self.server.flush(&self.cx, &mut self.asked);
        let mut text = Vec::new();
        for request in std::mem::take(&mut self.asked.0) {
            match request {
                Either::Left(StreamsRequest::Send { batch, .. }) => {
                    for leaf in batch.into_octets().leaves() {
                        if let Leaf::Octets(octets) = leaf {
                            text.extend_from_slice(octets);
                        }
                    }
                }
                request => self.asked.0.push(request),
            }
        }
        String::from_utf8(text).expect("text")
    }
}

/// A session that is busy takes a few long lines, and no more credit is given then.
#[test]
fn what_waits_in_a_busy_session_is_bounded_in_octets() {
    let mut session = Session::new();
    session.flush();
    session.say("MDTM a\r\n"); // the disk does not answer
    let line = format!("SIZE {}\r\n", "x".repeat(4000));
    let mut octets = line.as_bytes().iter().copied().cycle();
    let (mut credit, mut accepted) = (2048 - "MDTM a\r\n".len(), 0);
    while credit > 0 {
        let some: Vec<u8> = octets.by_ref().take(credit).collect();
        accepted += some.len();
        assert!(accepted <= 2 * 4112 + 2048, "{accepted} octets wait");
        session.say(std::str::from_utf8(&some).expect("text"));
        session.flush();
        credit = session.asked.0.iter().fold(0, |sum, request| match request {
            Either::Left(StreamsRequest::Credit { credit, .. }) => sum + credit.octets,
            _ => sum,
        });
    }
    assert!(accepted > 4112, "a line longer than the credit is taken whole");
}

#[test]
fn epsv_listens_on_the_link_that_the_client_came_by() {
    let mut session = Session::new();
    session.say("EPSV\r\n");
    let local = session.asked.streams(|request| match request {
        StreamsRequest::Listen { local, .. } => Some(*local),
        _ => None,
    });
    assert_eq!(local, Participant::from(link_local(1, 0)));
}

#[test]
fn eprt_connects_on_the_link_that_the_client_came_by() {
    let mut session = Session::new();
    session.say("EPRT |2|fe80::2|2000|\r\nLIST\r\n");
    // The disk says that it is a folder, and opens it.
    let token = session.asked.0.iter().find_map(|request| match request {
        Either::Right(stackwright_contract::services::FilesRequest::Stat { token, .. }) => {
            Some(*token)
        }
        _ => None,
    });
    use stackwright_contract::services::{FileKind, FilesIndication, FilesRequest, Status};
    let stated = FilesIndication::Stated {
        token: token.expect("asked for"),
        result: Ok(Status::new(FileKind::Folder, 0)),
    };
    session.asked.0.clear();
    session.server.handle_indication(&session.cx, Either::Right(stated), &mut session.asked);
    let file = session.asked.0.iter().find_map(|request| match request {
        Either::Right(FilesRequest::Open { file, .. }) => Some(*file),
        _ => None,
    });
    let opened = FilesIndication::Opened {
        file: file.expect("opened"),
        size: None,
        modified: None,
        version: None,
    };
    session.asked.0.clear();
    session.server.handle_indication(&session.cx, Either::Right(opened), &mut session.asked);
    let ends = session.asked.streams(|request| match request {
        StreamsRequest::Open { remote, local, .. } => Some((*local, *remote)),
        _ => None,
    });
    let expected = (Some(link_local(1, 0).into()), link_local(2, 2000).into());
    assert_eq!(ends, expected);
}
