//! One command of an FTP session: from the line that arrives to the reply that leaves, and the room
//! given both ways.

use stackwright_contract::services::{Credit, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Context, Either, Handle, IndicationTo, Instant, Outlet, PathLimits, Protocol, RequestOf,
};
use stackwright_ftp::server::{Anonymous, Config, Indication, Request, Rights, Server};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_wire::{Message, SingleBuffer};

const ROUNDS: u64 = 256;
/// Octets that a client takes before it gives room again.
const ROOM: usize = 4096;

type Ftp = Server<SingleBuffer>;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("ftp/NOOP", ROUNDS, || Session::new("NOOP\r\n", "200 ")));
    figures.push(Figure::new("ftp/PWD", ROUNDS, || Session::new("PWD\r\n", "257 ")));
}

/// What is below the server: it keeps the names that the server gave, and the reply.
#[derive(Default)]
struct Below {
    door: Option<Handle>,
    awaited: Option<Handle>,
    reply: Option<SingleBuffer>,
    /// Octets that the server is ready for again.
    credit: usize,
}

impl Outlet<Ftp> for Below {
    fn indicate(&mut self, _: Indication) {}

    fn request(&mut self, request: RequestOf<Ftp>) {
        match request {
            Either::Left(StreamsRequest::Listen { listener, .. }) => self.door = Some(listener),
            Either::Left(StreamsRequest::Await { association, .. }) => {
                self.awaited.get_or_insert(association);
            }
            Either::Left(StreamsRequest::Send { batch, .. }) => {
                self.reply = Some(batch.into_octets())
            }
            Either::Left(StreamsRequest::Credit {
                credit: Credit { octets: credit, .. }, ..
            }) => self.credit += credit,
            _ => unreachable!("no command here opens, closes or asks for a file"),
        }
    }
}

/// A client that has logged in, and says one command again and again.
struct Session {
    server: Ftp,
    cx: Context,
    below: Below,
    association: Handle,
    command: &'static str,
    reply: &'static str,
    now: u64,
}

impl Session {
    fn new(command: &'static str, reply: &'static str) -> Self {
        let cx = Context::new(1);
        let mut below = Below::default();
        let mut server = Ftp::new(Config::new(Box::new(Anonymous(Rights { write: false }))));
        let local = std::net::SocketAddr::from(([10, 0, 0, 1], 21)).into();
        let remote = std::net::SocketAddr::from(([10, 0, 0, 2], 40_000)).into();
        server.handle_request(&cx, Request::Serve { local }, &mut below);
        let listener = below.door.expect("a server listens");
        server.handle_indication(
            &cx,
            Either::Left(StreamsIndication::Listening { listener, local }),
            &mut below,
        );
        let association = below.awaited.expect("a server that listens awaits clients");
        let opened = StreamsIndication::Opened {
            association,
            local,
            remote,
            credit: Credit::of_octets(ROOM),
            path: PathLimits::UNBOUNDED,
        };
        server.handle_indication(&cx, Either::Left(opened), &mut below);
        server.flush(&cx, &mut below);
        let mut session = Session { server, cx, below, association, command, reply, now: 0 };
        assert!(session.below.reply.take().is_some(), "a server greets");
        session.say("USER anonymous\r\n", "331 ");
        session.say("PASS guest\r\n", "230 ");
        session
    }

    fn hear(&mut self, indication: StreamsIndication<SingleBuffer>) {
        let indication: IndicationTo<Ftp> = Either::Left(indication);
        self.server.handle_indication(&self.cx, indication, &mut self.below);
        self.server.flush(&self.cx, &mut self.below);
    }

    /// Says a line, and expects a reply that begins so; gives the octets of the reply.
    fn say(&mut self, line: &str, expected: &str) -> usize {
        let association = self.association;
        self.now += 1_000_000;
        self.cx.set_now(Instant::from_nanoseconds(self.now));
        let message = SingleBuffer::with_headroom(0, line.as_bytes());
        self.hear(StreamsIndication::Delivered {
            association,
            batch: message.into(),
            properties: Default::default(),
        });
        let reply = self.below.reply.take().expect("every line is answered at once");
        assert!(reply.octets().starts_with(expected.as_bytes()), "{line:?} is not refused");
        let credit = reply.len();
        self.hear(StreamsIndication::Credit { association, credit: Credit::of_octets(credit) });
        assert_eq!(
            std::mem::take(&mut self.below.credit),
            line.len(),
            "a line that was obeyed gives its room back"
        );
        credit
    }
}

impl Subject for Session {
    fn work(&mut self) -> u64 {
        (0..ROUNDS).map(|_| self.say(self.command, self.reply) as u64).sum()
    }
}
