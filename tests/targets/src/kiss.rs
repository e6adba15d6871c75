//! A line from a TNC, and a program at the hub in front of one.

use std::net::SocketAddr;
use std::sync::Arc;

use stackwright::kiss::{Config, Hub, HubConfig, Kiss};
use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, OctetsIndication, OctetsRequest, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{Context, Duration, Either, Outlet, PathLimits, Protocol};
use stackwright_wire::{BufferTree, Message, Pool};

use crate::Input;

type M = BufferTree;
type Frame = (u8, Vec<u8>);

/// What is held beside a frame: the octets of a line that wait to be taken apart.
const HELD_MOST: usize = 4096;

/// The same frames come however the line is cut; each is sent again and heard again; and a hub
/// forwards the same, as far as it shares the port.
pub fn kiss(octets: &[u8]) {
    let mut input = Input(octets);
    let (which, pieces) = (input.octet(), input.octet());
    let config = Config {
        longest: 1 + usize::from(input.octet()),
        ports: 1 + (which & 15),
        checked: which & 16 != 0,
        acknowledged: which & 32 != 0,
        asks_queue: which & 64 != 0,
        ..Config::default()
    };
    let frames = heard(&config, input.clone().pieces(pieces));
    assert_eq!(frames, heard(&config, [input.0].into_iter()), "in pieces and at once");
    // A port may look like the flags of SMACK and FlexNet, and what is behind it like their checks.
    if frames.iter().all(|(port, _)| port & 0b1010 == 0) {
        let again = sent(&config, &frames);
        assert_eq!(frames, heard(&config, [&again[..]].into_iter()), "sent, and heard again");
    }
    // A hub knows no check octet.
    if !config.checked {
        let forwarded = forwarded(&config, input.0);
        let all = frames.iter().all(|frame| forwarded.contains(frame));
        assert!(all, "a program's frames are those of a TNC, and those of ACKMODE");
    }
}

struct Ends {
    frames: Vec<Frame>,
    line: Vec<u8>,
    given: usize,
}

impl Outlet<Kiss<M>> for Ends {
    fn indicate(&mut self, word: FramesIndication<M>) {
        if let FramesIndication::Delivered { port, batch } = word {
            self.frames.push((port, octets_of(batch.as_octets())));
        }
    }

    fn request(&mut self, word: OctetsRequest<M>) {
        match word {
            OctetsRequest::Send { message } => self.line.extend(octets_of(&message)),
            OctetsRequest::Credit { credit } => self.given += credit,
        }
    }
}

fn octets_of(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

fn up(cx: &Context, config: &Config) -> (Kiss<M>, Ends) {
    let mut kiss = Kiss::new(config.clone());
    let mut ends = Ends { frames: Vec::new(), line: Vec::new(), given: 0 };
    kiss.handle_indication(cx, OctetsIndication::State { up: true }, &mut ends);
    let credit = OctetsIndication::Credit { credit: usize::MAX >> 1 };
    kiss.handle_indication(cx, credit, &mut ends);
    (kiss, ends)
}

/// The frames of a line, of which some wait for credit.
fn heard<'a>(config: &Config, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Frame> {
    let cx = Context::new(1);
    let (mut kiss, mut ends) = up(&cx, config);
    let mut sent = 0;
    for mut piece in pieces {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(ends.given - sent));
            sent += now.len();
            if !now.is_empty() {
                let message = M::with_headroom(0, now);
                kiss.handle_indication(&cx, OctetsIndication::Delivered { message }, &mut ends);
            }
            assert!(kiss.held() <= HELD_MOST + config.longest, "{}", kiss.held());
            piece = later;
            // A frame at a time, now and then.
            let credit = Credit { octets: config.longest, messages: 1 };
            if piece.len() % 3 == 0 || now.is_empty() {
                kiss.handle_request(&cx, FramesRequest::Credit { credit }, &mut ends);
            }
        }
    }
    let credit = Credit { octets: usize::MAX >> 2, messages: usize::MAX >> 2 };
    kiss.handle_request(&cx, FramesRequest::Credit { credit }, &mut ends);
    kiss.flush(&cx, &mut ends);
    assert_eq!((ends.given, kiss.held()), (HELD_MOST + sent, 0), "all credit comes back");
    for (port, frame) in &ends.frames {
        assert!(*port < config.ports && (1..=config.longest).contains(&frame.len()));
    }
    ends.frames
}

/// Frames as a host sends them to a TNC; each leaves in the end.
fn sent(config: &Config, frames: &[Frame]) -> Vec<u8> {
    let cx = Context::new(1);
    let (mut kiss, mut ends) = up(&cx, config);
    for (port, frame) in frames {
        let batch = M::with_headroom(0, frame).into();
        // Without a mark none is sent in ACKMODE.
        kiss.handle_request(&cx, FramesRequest::Send { port: *port, batch, mark: None }, &mut ends);
        kiss.flush(&cx, &mut ends);
        // One at a time is within any credit.
        while let Some(deadline) = kiss.next_deadline() {
            cx.set_now(deadline.max(cx.now() + Duration::from_nanos(1)));
            kiss.handle_timeout(&cx, &mut ends);
        }
    }
    ends.line
}

struct Hubbed {
    frames: Vec<Frame>,
    requests: Vec<StreamsRequest<M>>,
    marks: Vec<(u8, u16)>,
}

impl Outlet<Hub<M>> for Hubbed {
    fn indicate(&mut self, _: FramesIndication<M>) {}

    fn request(&mut self, word: Either<StreamsRequest<M>, FramesRequest<M>>) {
        match word {
            Either::Left(word) => self.requests.push(word),
            Either::Right(FramesRequest::Send { port, batch, mark }) => {
                self.frames.push((port, octets_of(batch.as_octets())));
                self.marks.extend(mark.map(|mark| (port, mark)));
            }
            Either::Right(FramesRequest::Credit { .. }) => {}
        }
    }
}

/// What a hub hands to its TNC of a program's octets.
fn forwarded(config: &Config, octets: &[u8]) -> Vec<Frame> {
    let cx = Context::new(1);
    let local = SocketAddr::from(([127, 0, 0, 1], 8001));
    let Config { longest, ports, .. } = *config;
    let config = HubConfig { longest, ports, ..HubConfig::at(local) };
    let mut hub = Hub::new(config, Arc::new(Pool::new(0, 0)));
    let mut out = Hubbed { frames: Vec::new(), requests: Vec::new(), marks: Vec::new() };
    hub.flush(&cx, &mut out);
    let name = out.requests.iter().find_map(|request| match request {
        StreamsRequest::Await { association, .. } => Some(*association),
        _ => None,
    });
    let association = name.expect("it awaits a program");
    let hear = |hub: &mut Hub<M>, word, out: &mut Hubbed| hub.handle_indication(&cx, word, out);
    let credit = Credit { octets: usize::MAX >> 1, messages: usize::MAX >> 1 };
    for port in 0..ports {
        hear(&mut hub, Either::Right(FramesIndication::State { port, up: true }), &mut out);
        hear(&mut hub, Either::Right(FramesIndication::Credit { port, credit }), &mut out);
    }
    let opened = StreamsIndication::Opened {
        association,
        local: local.into(),
        remote: local.into(),
        credit: Credit::of_octets(1 << 16),
        path: PathLimits::UNBOUNDED,
    };
    hear(&mut hub, Either::Left(opened), &mut out);
    for piece in octets.chunks(HELD_MOST) {
        let batch = M::with_headroom(0, piece).into();
        let properties = Default::default();
        let word = StreamsIndication::Delivered { association, batch, properties };
        hear(&mut hub, Either::Left(word), &mut out);
        for (port, mark) in std::mem::take(&mut out.marks) {
            hear(&mut hub, Either::Right(FramesIndication::Left { port, mark }), &mut out);
        }
    }
    for (port, frame) in &out.frames {
        assert!(*port < ports && (1..=longest).contains(&frame.len()));
    }
    out.frames
}
