//! Whole frames, as they are heard and sent.

use stackwright_ax25::{Ax25, Config};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, FramesIndication, FramesRequest,
};
use stackwright_contract::{
    Address, Context, Either, Handle, IndicationOf, Outlet, Participant, Protocol as _, RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Ax25<M>;

const LARGE: Credit = Credit { octets: 1 << 14, messages: 64 };
const RAW: Handle = Handle { index: 0, generation: 0 };
const UI: Handle = Handle { index: 1, generation: 0 };

/// A UI frame from N0CCC to CQ.
const HEARD: &[u8] = b"\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x86\x86\x86\x40\x61\x03\xf0heard";
/// The same from N0AAA.
const OWN: &[u8] = b"\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x82\x82\x82\x40\x61\x03\xf0sent";

#[derive(Default)]
struct Said {
    delivered: Vec<Vec<u8>>,
    credit: Credit,
    ended: Option<Ended>,
    frames: Vec<(u8, Vec<u8>)>,
}

fn octets(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

impl Outlet<Stack> for Said {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        match word {
            Either::Right(DatagramsIndication::Opened { credit, association: RAW, .. }) => {
                self.credit = credit;
            }
            Either::Right(DatagramsIndication::Delivered { association: RAW, batch, .. }) => {
                self.delivered.push(octets(batch.as_octets()));
            }
            Either::Right(DatagramsIndication::Credit { association: RAW, credit }) => {
                self.credit += credit;
            }
            Either::Right(DatagramsIndication::Ended { name: RAW, why }) => self.ended = Some(why),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { port, batch, .. } = request {
            self.frames.push((port, octets(batch.as_octets())));
        }
    }
}

struct Scene {
    stack: Stack,
    cx: Context,
    said: Said,
}

impl Scene {
    fn new(credit: Credit) -> Self {
        let stack = Stack::new(Config::new("N0AAA".parse().expect("a call sign")));
        let mut scene = Scene { stack, cx: Context::new(1), said: Said::default() };
        for port in [0, 1] {
            scene.tnc(FramesIndication::State { port, up: true });
            scene.tnc(FramesIndication::Credit { port, credit: LARGE });
        }
        let remote = Participant::OTHER_END.through(1);
        scene.ask(DatagramsRequest::Open { association: RAW, remote, local: None, credit });
        scene
    }

    fn tnc(&mut self, word: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.said);
    }

    fn ask(&mut self, request: DatagramsRequest<M>) {
        self.stack.handle_request(&self.cx, Either::Right(request), &mut self.said);
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.said);
        }
    }

    fn hear(&mut self, port: u8, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        self.tnc(FramesIndication::Delivered { port, batch });
    }

    fn send(&mut self, frame: &[u8]) {
        let (association, properties) = (RAW, Default::default());
        self.said.credit -= Credit { octets: frame.len(), messages: 1 };
        let batch = M::with_headroom(0, frame).into();
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }
}

/// What is malformed is heard, too: it was on the air.
#[test]
fn every_frame_of_its_port_is_heard_within_the_credit() {
    let credit = Credit { octets: 1000, messages: 3 };
    let mut scene = Scene::new(credit);
    scene.hear(0, HEARD);
    for frame in [HEARD, b"\xff", &HEARD[..9], HEARD] {
        scene.hear(1, frame);
    }
    assert_eq!(scene.said.delivered, [HEARD, b"\xff", &HEARD[..9]], "the fourth has no credit");
    scene.ask(DatagramsRequest::Credit { association: RAW, credit });
    scene.hear(1, HEARD);
    assert_eq!(scene.said.delivered.len(), 4);
}

/// It hears what others of this station send, and so what it sends itself.
#[test]
fn what_is_sent_is_heard() {
    let mut scene = Scene::new(LARGE);
    let whole = scene.said.credit;
    scene.send(OWN);
    assert_eq!(
        (&scene.said.frames[..], &scene.said.delivered[..]),
        (&[(1, OWN.to_vec())][..], &[OWN.to_vec()][..])
    );
    assert_eq!(scene.said.credit, whole, "it comes back");
    scene.said.delivered.clear();
    let call = "CQ".parse().expect("a call sign");
    // Route 0 is port 0.
    let remote = Address::Station { call, pid: 0xf0, route: 0 }.into();
    scene.ask(DatagramsRequest::Open { association: UI, remote, local: None, credit: LARGE });
    let (batch, properties) = (M::with_headroom(0, b"sent").into(), Default::default());
    scene.ask(DatagramsRequest::Send { association: UI, batch, properties });
    assert_eq!(scene.said.frames.len(), 2);
    assert!(scene.said.delivered.is_empty(), "of port 0");
}

#[test]
fn what_is_no_frame_is_not_sent() {
    let mut scene = Scene::new(LARGE);
    let whole = scene.said.credit;
    for frame in [&b""[..], b"\xff", &OWN[..13], &OWN[..14], &[OWN, &[0; 400]].concat()] {
        scene.send(frame);
        assert!(scene.said.frames.is_empty(), "{frame:x?}");
        assert_eq!(scene.said.credit, whole);
    }
}

#[test]
fn it_ends_with_its_name() {
    let mut scene = Scene::new(LARGE);
    scene.ask(DatagramsRequest::Close { name: RAW });
    assert_eq!(scene.said.ended, Some(Ended::Finished));
    scene.hear(1, HEARD);
    assert!(scene.said.delivered.is_empty());
    let remote = Participant::OTHER_END.through(16);
    scene.ask(DatagramsRequest::Open { association: RAW, remote, local: None, credit: LARGE });
    assert_eq!(scene.said.ended, Some(Ended::Unreachable), "KISS has 16 ports");
}
