//! A program at a server of AGW, above links that do at once what they are asked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;

use stackwright::agw::{Agw, AgwHeader, AgwRoute, Config, DATA_MOST, LINK_ROOM};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Command, Context, Duration, Either, Handle, Outlet, Participant, PathLimits,
    Protocol, RequestOf,
};
use stackwright_wire::{BufferTree, Header, Message};

use crate::Input;

type M = BufferTree;
type Server = Agw<M>;

/// The first credit of a program: the longest frame.
const WINDOW: usize = AgwHeader::LENGTH + DATA_MOST;
/// What one link takes at once.
const LINK: usize = 2000;

/// A program is told whole frames, of kinds that there are; when it is gone, nothing is held, and
/// every name below has ended. What it is told depends on how fast it sends.
pub fn agw(octets: &[u8]) {
    let mut input = Input(octets);
    let pieces = input.octet();
    for told in [told(input.clone().pieces(pieces)), told([input.0].into_iter())] {
        let mut rest = &told[..];
        while !rest.is_empty() {
            let header = AgwHeader::decode(rest).expect("whole headers");
            assert!(b"RGgXCDdHYyKUIST".contains(&header.kind), "{header:?}");
            rest = &rest[AgwHeader::LENGTH + header.length as usize..];
        }
    }
}

#[derive(Default)]
struct Said(VecDeque<RequestOf<Server>>);

impl Outlet<Server> for Said {
    fn indicate(&mut self, never: Infallible) {
        match never {}
    }

    fn request(&mut self, request: RequestOf<Server>) {
        self.0.push_back(request);
    }
}

/// What a name of a link stands for.
enum Name {
    Listener {
        arrived: bool,
    },
    Awaited {
        listener: Handle,
    },
    /// It echoes, within the credit upward.
    Link {
        credit: usize,
        waiting: Vec<u8>,
    },
}

struct Below {
    cx: Context,
    server: Server,
    said: Said,
    program: Option<Handle>,
    given: usize,
    told: Vec<u8>,
    is_over: bool,
    names: BTreeMap<Handle, Name>,
    unproto: BTreeSet<Handle>,
    /// Those of them that hear what is sent.
    raw: BTreeSet<Handle>,
}

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

fn station(text: &str) -> Participant {
    Address::Station { call: call(text), pid: 0xf0, route: 0 }.into()
}

fn octets_of(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

impl Below {
    fn programs(&mut self, word: StreamsIndication<M>) {
        self.server.handle_indication(&self.cx, Either::Left(word), &mut self.said);
    }

    fn links(&mut self, word: StreamsIndication<M>) {
        let word = Either::Right(Either::Left(word));
        self.server.handle_indication(&self.cx, word, &mut self.said);
    }

    fn datagrams(&mut self, word: DatagramsIndication<M>) {
        let word = Either::Right(Either::Right(word));
        self.server.handle_indication(&self.cx, word, &mut self.said);
    }

    fn settle(&mut self) {
        while let Some(request) = self.said.0.pop_front() {
            match request {
                Either::Left(request) => self.of_program(request),
                Either::Right(Either::Left(request)) => self.of_link(request),
                Either::Right(Either::Right(request)) => self.of_unproto(request),
            }
        }
    }

    fn of_program(&mut self, request: StreamsRequest<M>) {
        match request {
            StreamsRequest::Await { association, .. } => {
                self.program.get_or_insert(association);
            }
            StreamsRequest::Send { association, batch, .. } => {
                let octets = octets_of(batch.as_octets());
                let credit = Credit::of_octets(octets.len());
                self.told.extend(octets);
                self.programs(StreamsIndication::Credit { association, credit });
            }
            StreamsRequest::Credit { credit, .. } => self.given += credit.octets,
            StreamsRequest::Abort { association: name, .. } | StreamsRequest::Close { name } => {
                assert!(!std::mem::replace(&mut self.is_over, true), "it ends once");
                self.programs(StreamsIndication::Ended { name, why: Ended::Aborted });
            }
            StreamsRequest::Listen { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    fn opened(&mut self, association: Handle, local: &str, remote: &str, credit: usize) {
        self.names.insert(association, Name::Link { credit, waiting: Vec::new() });
        self.links(StreamsIndication::Opened {
            association,
            local: station(local),
            remote: station(remote),
            credit: Credit::of_octets(LINK),
            path: PathLimits::UNBOUNDED,
        });
    }

    fn of_link(&mut self, request: StreamsRequest<M>) {
        match request {
            StreamsRequest::Listen { listener, local } => {
                let named = self.names.insert(listener, Name::Listener { arrived: false });
                assert!(named.is_none(), "a name lives until its last word");
                self.links(StreamsIndication::Listening { listener, local });
            }
            StreamsRequest::Await { listener, association, credit } => {
                // One call arrives at each.
                let arrives = match self.names.get_mut(&listener) {
                    Some(Name::Listener { arrived }) => !std::mem::replace(arrived, true),
                    _ => false,
                };
                if arrives {
                    self.opened(association, "N0AAA", "N0CCC", credit.octets);
                } else {
                    self.names.insert(association, Name::Awaited { listener });
                }
            }
            StreamsRequest::Open { association, remote, credit, .. } => {
                let Address::Station { call, .. } = remote.address else { panic!("{remote}") };
                if call.ssid() % 2 == 0 {
                    let remote = call.to_string();
                    self.opened(association, "N0AAA", &remote, credit.octets);
                } else {
                    let why = Ended::Unreachable;
                    self.links(StreamsIndication::Ended { name: association, why });
                }
            }
            StreamsRequest::Send { association, batch, .. } => {
                let octets = octets_of(batch.as_octets());
                assert!(octets.len() <= LINK, "within the credit");
                let credit = Credit::of_octets(octets.len());
                if let Some(Name::Link { waiting, .. }) = self.names.get_mut(&association) {
                    waiting.extend(octets);
                }
                self.links(StreamsIndication::Credit { association, credit });
                self.echo(association);
            }
            StreamsRequest::Credit { association, credit: more } => {
                if let Some(Name::Link { credit, .. }) = self.names.get_mut(&association) {
                    *credit += more.octets;
                }
                self.echo(association);
            }
            StreamsRequest::Control { association, command } => {
                let outcome = match command {
                    Command::Own { name: "route end", .. } => Ok(2),
                    _ => Ok(0),
                };
                if self.names.contains_key(&association) {
                    self.links(StreamsIndication::Controlled { association, outcome });
                }
            }
            StreamsRequest::Close { name } => self.end(name, Ended::Finished),
            StreamsRequest::Abort { association, .. } => self.end(association, Ended::Aborted),
            other => panic!("{other:?}"),
        }
    }

    fn echo(&mut self, association: Handle) {
        let Some(Name::Link { credit, waiting }) = self.names.get_mut(&association) else { return };
        let length = waiting.len().min(*credit);
        if length == 0 {
            return;
        }
        *credit -= length;
        let octets: Vec<u8> = waiting.drain(..length).collect();
        let (batch, properties) = (M::with_headroom(0, &octets).into(), Default::default());
        self.links(StreamsIndication::Delivered { association, batch, properties });
    }

    /// A word for a name that has ended is one that crossed its end.
    fn end(&mut self, name: Handle, why: Ended) {
        let Some(ended) = self.names.remove(&name) else { return };
        if let Name::Listener { .. } = ended {
            let is_its =
                |there: &Name| matches!(there, Name::Awaited { listener } if *listener == name);
            let awaited = self.names.iter().filter(|(_, there)| is_its(there));
            let awaited: Vec<Handle> = awaited.map(|(name, _)| *name).collect();
            awaited.into_iter().for_each(|name| self.end(name, Ended::Unlistened));
        }
        self.links(StreamsIndication::Ended { name, why });
    }

    fn of_unproto(&mut self, request: DatagramsRequest<M>) {
        match request {
            DatagramsRequest::Open { association, remote, credit, .. } => {
                self.unproto.insert(association);
                if credit != Credit::NONE {
                    self.raw.insert(association);
                }
                self.datagrams(DatagramsIndication::Opened {
                    association,
                    local: station("N0AAA"),
                    remote,
                    credit: Credit { octets: 256, messages: 1 },
                    path: PathLimits::of_longest(256),
                });
            }
            DatagramsRequest::Send { association, batch, .. } => {
                assert!(batch.octets() <= 256, "within the credit");
                let credit = batch.cost();
                self.datagrams(DatagramsIndication::Credit { association, credit });
                for association in self.raw.clone() {
                    let (batch, properties) =
                        (batch.as_octets().share().into(), Default::default());
                    self.datagrams(DatagramsIndication::Delivered {
                        association,
                        batch,
                        properties,
                    });
                }
            }
            DatagramsRequest::Credit { association, .. } => {
                assert!(self.raw.contains(&association), "it gives back what it was given");
            }
            DatagramsRequest::Close { name } => {
                assert!(self.unproto.remove(&name), "it ends once");
                self.raw.remove(&name);
                let why = Ended::Finished;
                self.datagrams(DatagramsIndication::Ended { name, why });
            }
            other => panic!("{other:?}"),
        }
    }
}

/// What a program that sends these pieces is told.
fn told<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let local = SocketAddr::from(([127, 0, 0, 1], 8000));
    let mut config = Config::at(local, call("N0AAA"));
    config.calls.push(call("N0AAA-7"));
    config.routes.push(AgwRoute { port: 0, path: vec![call("RELAY")], number: 1 });
    let mut below = Below {
        cx: Context::new(1),
        server: Agw::new(config),
        said: Said::default(),
        program: None,
        given: WINDOW,
        told: Vec::new(),
        is_over: false,
        names: BTreeMap::new(),
        unproto: BTreeSet::new(),
        raw: BTreeSet::new(),
    };
    below.server.flush(&below.cx, &mut below.said);
    below.settle();
    let association = below.program.expect("it awaits a program");
    below.programs(StreamsIndication::Opened {
        association,
        local: local.into(),
        remote: local.into(),
        credit: Credit::of_octets(1 << 16),
        path: PathLimits::UNBOUNDED,
    });
    below.settle();
    for mut piece in pieces {
        while !piece.is_empty() && below.given > 0 && !below.is_over {
            let (now, later) = piece.split_at(piece.len().min(below.given));
            below.given -= now.len();
            let (batch, properties) = (M::with_headroom(0, now).into(), Default::default());
            let word = StreamsIndication::Delivered { association, batch, properties };
            below.programs(word);
            below.settle();
            assert!(below.server.held() <= WINDOW + LINK_ROOM, "{}", below.server.held());
            piece = later;
        }
    }
    if !below.is_over {
        below.is_over = true;
        let why = Ended::Reset(0);
        below.programs(StreamsIndication::Ended { name: association, why });
        below.settle();
    }
    below.cx.set_now(below.cx.now() + Duration::from_secs(11));
    below.server.handle_timeout(&below.cx, &mut below.said);
    below.settle();
    let Below { server, names, unproto, told, .. } = below;
    assert_eq!((server.programs(), server.links(), server.held()), (0, 0, 0));
    // The port is heard all the time.
    assert!(names.is_empty() && unproto.len() <= 1, "every other name ends");
    told
}
