//! Two stations on a channel without faults; the programs, and the streams to them, are the test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use stackwright_agw::{Agw, AgwHeader, Config};
use stackwright_ax25::{Ax25, Config as LinkConfig, Route, header::DigipeaterPath};
use stackwright_contract::services::{
    Credit, Ended, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    CallSign, Context, Duration, Either, Handle, IndicationOf, Instant, Listener, Outlet,
    PathLimits, Protocol, RequestOf, earliest,
};
use stackwright_wire::{BufferTree, Header, Message};

pub(crate) type M = BufferTree;

#[derive(Default)]
struct ServerSaid(VecDeque<RequestOf<Agw<M>>>);

impl Outlet<Agw<M>> for ServerSaid {
    fn indicate(&mut self, never: std::convert::Infallible) {
        match never {}
    }

    fn request(&mut self, request: RequestOf<Agw<M>>) {
        self.0.push_back(request);
    }
}

#[derive(Default)]
struct LinksSaid {
    up: VecDeque<IndicationOf<Ax25<M>>>,
    down: VecDeque<FramesRequest<M>>,
}

impl Outlet<Ax25<M>> for LinksSaid {
    fn indicate(&mut self, indication: IndicationOf<Ax25<M>>) {
        self.up.push_back(indication);
    }

    fn request(&mut self, request: FramesRequest<M>) {
        self.down.push_back(request);
    }
}

/// A program at its end of the stream.
#[derive(Default)]
struct Program {
    came: Vec<u8>,
    reads: bool,
    /// What its stream holds, which it did not read.
    unread: Vec<u8>,
    may_send: usize,
    ended: bool,
}

pub(crate) struct Station {
    pub(crate) cx: Context,
    pub(crate) agw: Agw<M>,
    pub(crate) links: Ax25<M>,
    server_said: ServerSaid,
    links_said: LinksSaid,
    listener: Option<Handle>,
    awaited: Option<(Handle, usize)>,
    programs: Vec<(Handle, Program)>,
    pub(crate) frames: usize,
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) struct Rig {
    pub(crate) stations: Vec<Station>,
    pub(crate) now: Instant,
    /// Whether frames arrive.
    pub(crate) is_clear: bool,
}

/// What an operator is told.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("one thread"))
    }
}

impl Listener for Notes {
    fn dropped(&mut self, _now: Instant, _protocol: &'static str, _reason: &'static str) {}

    fn event(&mut self, _: Instant, _: &'static str, what: std::fmt::Arguments<'_>) {
        self.0.lock().expect("one thread").push(what.to_string());
    }
}

/// A program at a station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) usize, pub(crate) Handle);

/// A frame that a program received: its kind, between which call signs, its data.
pub(crate) type Frame = (char, String, String, Vec<u8>);

pub(crate) fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

pub(crate) fn octets(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

pub(crate) fn text(text: &str) -> [u8; 10] {
    let mut octets = [0; 10];
    octets[..text.len()].copy_from_slice(text.as_bytes());
    octets
}

/// Returns a frame as a program sends it.
pub(crate) fn frame(kind: u8, from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let (from, to, length) = (text(from), text(to), data.len() as u32);
    let header = AgwHeader { from, to, length, pid: 0xf0, ..AgwHeader::of(kind) };
    let mut octets = vec![0; AgwHeader::LENGTH];
    header.encode(&mut octets);
    [&octets, data].concat()
}

const LARGE: Credit = Credit { octets: 1 << 14, messages: 64 };
/// What the stream to a program holds.
pub(crate) const STREAM: usize = 8192;

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8000))
}

impl Station {
    fn new(own: &str, also: &str, change: &impl Fn(&mut Config)) -> Self {
        let path = DigipeaterPath::through(&[call("RELAY")]).expect("it is short");
        let links = LinkConfig {
            aliases: vec![call(also)],
            rate: 1_000_000,
            routes: vec![Route { port: 0, path }],
            timeout: Duration::from_millis(500),
            ..LinkConfig::new(call(own))
        };
        let mut config = Config::at(local(), call(own));
        config.calls.push(call(also));
        change(&mut config);
        let mut station = Station {
            cx: Context::new(1),
            agw: Agw::new(config),
            links: Ax25::new(links),
            server_said: ServerSaid::default(),
            links_said: LinksSaid::default(),
            listener: None,
            awaited: None,
            programs: Vec::new(),
            frames: 0,
            sent: Vec::new(),
        };
        station.agw.flush(&station.cx, &mut station.server_said);
        let up = FramesIndication::State { port: 0, up: true };
        station.frames_say(up);
        station.frames_say(FramesIndication::Credit { port: 0, credit: LARGE });
        station
    }

    fn frames_say(&mut self, word: FramesIndication<M>) {
        self.links.handle_indication(&self.cx, word, &mut self.links_said);
    }

    fn programs_say(&mut self, word: StreamsIndication<M>) {
        self.agw.handle_indication(&self.cx, Either::Left(word), &mut self.server_said);
    }

    fn program(&mut self, name: Handle) -> &mut Program {
        let found = self.programs.iter_mut().find(|(there, _)| *there == name);
        &mut found.expect("it has connected").1
    }

    fn obey(&mut self, request: RequestOf<Agw<M>>) {
        match request {
            Either::Right(request) => {
                self.links.handle_request(&self.cx, request, &mut self.links_said);
            }
            Either::Left(StreamsRequest::Listen { listener, local: there }) => {
                assert_eq!(there, local().into());
                self.listener = Some(listener);
                self.programs_say(StreamsIndication::Listening { listener, local: there });
            }
            Either::Left(StreamsRequest::Await { association, credit, .. }) => {
                assert!(self.awaited.is_none(), "one name is enough");
                self.awaited = Some((association, credit.octets));
            }
            Either::Left(StreamsRequest::Send { association, batch, .. }) => {
                let octets = octets(batch.as_octets());
                let program = self.program(association);
                program.unread.extend_from_slice(&octets);
                assert!(program.unread.len() <= STREAM, "within the credit");
                if program.reads {
                    self.read(association);
                }
            }
            Either::Left(StreamsRequest::Credit { association, credit }) => {
                self.program(association).may_send += credit.octets;
            }
            Either::Left(StreamsRequest::Close { name }) => self.end(name, Ended::Finished),
            Either::Left(StreamsRequest::Abort { association, .. }) => {
                self.end(association, Ended::Aborted);
            }
            Either::Left(other) => panic!("{other:?}"),
        }
    }

    fn read(&mut self, association: Handle) {
        let program = self.program(association);
        let octets = std::mem::take(&mut program.unread);
        program.came.extend_from_slice(&octets);
        if !octets.is_empty() && !program.ended {
            let credit = Credit::of_octets(octets.len());
            self.programs_say(StreamsIndication::Credit { association, credit });
        }
    }

    fn end(&mut self, name: Handle, why: Ended) {
        if !std::mem::replace(&mut self.program(name).ended, true) {
            self.programs_say(StreamsIndication::Ended { name, why });
        }
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl Fn(&mut Config)) -> Self {
        let stations = vec![
            Station::new("N0AAA", "N0AAA-7", &change),
            Station::new("N0BBB", "N0BBB-7", &change),
        ];
        let mut rig = Rig { stations, now: Instant::START, is_clear: true };
        rig.settle();
        assert!(matches!(rig.stations[0].agw.listening(), Some(Ok(_))));
        rig
    }

    /// Does all that can be done now.
    fn settle(&mut self) {
        loop {
            let mut idle = true;
            for here in 0..self.stations.len() {
                let station = &mut self.stations[here];
                while let Some(request) = station.server_said.0.pop_front() {
                    idle = false;
                    station.obey(request);
                }
                while let Some(word) = station.links_said.up.pop_front() {
                    idle = false;
                    let word = Either::Right(word);
                    station.agw.handle_indication(&station.cx, word, &mut station.server_said);
                }
                if station.links.wants_flush() {
                    idle = false;
                    station.links.flush(&station.cx, &mut station.links_said);
                }
                while let Some(request) = self.stations[here].links_said.down.pop_front() {
                    idle = false;
                    let FramesRequest::Send { port, batch, mark } = request else { continue };
                    let frame = octets(batch.as_octets());
                    let station = &mut self.stations[here];
                    station.frames += 1;
                    station.sent.push(frame.clone());
                    station.frames_say(FramesIndication::Credit { port, credit: batch.cost() });
                    if let Some(mark) = mark {
                        station.frames_say(FramesIndication::Left { port, mark });
                    }
                    if self.is_clear {
                        let batch = M::with_headroom(0, &frame).into();
                        let there = &mut self.stations[1 - here];
                        there.frames_say(FramesIndication::Delivered { port, batch });
                    }
                }
            }
            if idle {
                return;
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.settle();
            let next = self.stations.iter().fold(None, |next, station| {
                earliest(next, earliest(station.agw.next_deadline(), station.links.next_deadline()))
            });
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = next.max(self.now);
            for station in &mut self.stations {
                station.cx.set_now(self.now);
                station.links.handle_timeout(&station.cx, &mut station.links_said);
                station.agw.handle_timeout(&station.cx, &mut station.server_said);
            }
        }
        self.now = until;
        self.stations.iter().for_each(|station| station.cx.set_now(until));
    }

    /// A program connects.
    pub(crate) fn connect(&mut self, station: usize) -> At {
        let there = &mut self.stations[station];
        let (association, may_send) = there.awaited.take().expect("one is awaited");
        let program = Program { reads: true, may_send, ..Program::default() };
        there.programs.retain(|(name, _)| *name != association);
        there.programs.push((association, program));
        there.programs_say(StreamsIndication::Opened {
            association,
            local: local().into(),
            remote: local().into(),
            credit: Credit::of_octets(STREAM),
            path: PathLimits::UNBOUNDED,
        });
        self.settle();
        At(station, association)
    }

    /// A program sends, as far as it may; returns how much.
    pub(crate) fn say(&mut self, At(station, association): At, octets: &[u8]) -> usize {
        let there = &mut self.stations[station];
        let program = there.program(association);
        let length = octets.len().min(program.may_send);
        if length > 0 && !program.ended {
            program.may_send -= length;
            let batch = M::with_headroom(0, &octets[..length]).into();
            let properties = Default::default();
            there.programs_say(StreamsIndication::Delivered { association, batch, properties });
            self.settle();
        }
        length
    }

    /// A program sends a whole frame.
    pub(crate) fn ask(&mut self, at: At, kind: u8, from: &str, to: &str, data: &[u8]) {
        let frame = frame(kind, from, to, data);
        assert_eq!(self.say(at, &frame), frame.len(), "it is read");
    }

    /// Returns the frames that a program received since.
    pub(crate) fn told(&mut self, At(station, name): At) -> Vec<Frame> {
        let came = std::mem::take(&mut self.stations[station].program(name).came);
        let mut rest = &came[..];
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let header = AgwHeader::decode(rest).expect("whole headers");
            let (data, behind) = rest[AgwHeader::LENGTH..].split_at(header.length as usize);
            let name = |octets: [u8; 10]| {
                let end = octets.iter().position(|octet| *octet == 0).expect("its end");
                String::from_utf8(octets[..end].to_vec()).expect("text")
            };
            let kind = char::from(header.kind);
            frames.push((kind, name(header.from), name(header.to), data.to_vec()));
            rest = behind;
        }
        frames
    }

    /// Returns the kinds of the frames that it received, and the data of those of a link together.
    pub(crate) fn heard(&mut self, at: At) -> (String, Vec<u8>) {
        let (mut kinds, mut data) = (String::new(), Vec::new());
        for (kind, _, _, octets) in self.told(at) {
            if kind == 'D' {
                data.extend(octets);
            } else {
                kinds.push(kind);
            }
        }
        (kinds, data)
    }

    pub(crate) fn set_reads(&mut self, At(station, name): At, reads: bool) {
        self.stations[station].program(name).reads = reads;
        if reads {
            self.stations[station].read(name);
            self.settle();
        }
    }

    /// A program is killed.
    pub(crate) fn kill(&mut self, At(station, name): At) {
        self.stations[station].end(name, Ended::Reset(0));
        self.settle();
    }

    pub(crate) fn is_ended(&mut self, At(station, name): At) -> bool {
        self.stations[station].program(name).ended
    }

    /// A station hears a frame, of a third one.
    pub(crate) fn hears(&mut self, station: usize, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        self.stations[station].frames_say(FramesIndication::Delivered { port: 0, batch });
        self.settle();
    }

    /// Notes what a station tells its operator.
    pub(crate) fn notes(&mut self, station: usize) -> Notes {
        let notes = Notes::default();
        self.stations[station].cx.listen(Box::new(notes.clone()));
        notes
    }

    /// A program that has registered this call sign.
    pub(crate) fn registered(&mut self, station: usize, own: &str) -> At {
        let program = self.connect(station);
        self.ask(program, b'X', own, "", b"");
        assert_eq!(self.told(program), [('X', own.into(), String::new(), vec![1])]);
        program
    }

    /// Two programs with a link between them.
    pub(crate) fn linked(&mut self) -> [At; 2] {
        let [one, other] = [self.registered(0, "N0AAA"), self.registered(1, "N0BBB")];
        self.ask(one, b'C', "N0AAA", "N0BBB", b"");
        self.pass(Duration::from_secs(1));
        assert_eq!((self.heard(one).0, self.heard(other).0), ("C".into(), "C".into()));
        [one, other]
    }
}
