//! Frames to and from peers.

use std::collections::VecDeque;

use stackwright_axudp::{Axudp, AxudpPeer, Config, PORT};
use stackwright_contract::ax25::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered,
};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, FramesIndication, FramesRequest,
};
use stackwright_contract::{
    CallSign, Context, Duration, Handle, IndicationOf, Outlet, Participant, PathLimits,
    Protocol as _, RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type Stack = Axudp<BufferTree>;

/// A UI frame to CQ, and its check.
const FRAME: &[u8] = &[
    0x86, 0xa2, 0x40, 0x40, 0x40, 0x40, 0xe0, 0x9c, 0x60, 0x86, 0x82, 0x98, 0x98, 0x6f, 0x03, 0xf0,
    0x48, 0x69,
];
const CHECK: &[u8] = &[0xe7, 0xee];

#[derive(Default)]
struct Words {
    up: Vec<FramesIndication<BufferTree>>,
    down: VecDeque<DatagramsRequest<BufferTree>>,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        self.down.push_back(request);
    }
}

fn peer(number: u8) -> Participant {
    Participant::from((std::net::IpAddr::from([192, 0, 2, number]), PORT))
}

fn octets(message: &BufferTree) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

struct Scene {
    stack: Stack,
    cx: Context,
    words: Words,
}

impl Scene {
    fn new(peers: u8) -> Self {
        Self::with((1..=peers).map(|number| peer(number).into()).collect())
    }

    fn with(peers: Vec<AxudpPeer>) -> Self {
        let stack = Stack::new(Config { local: Some(peer(9)), peers });
        let mut scene = Scene { stack, cx: Context::new(1), words: Words::default() };
        assert!(scene.stack.wants_flush());
        scene.stack.flush(&scene.cx, &mut scene.words);
        assert!(matches!(scene.words.up[..], [FramesIndication::State { port: 0, up: false }]));
        scene.words.up.clear();
        scene
    }

    fn indicate(&mut self, indication: DatagramsIndication<BufferTree>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
    }

    /// Opens what was asked for, and returns the names.
    fn opened(&mut self) -> Vec<Handle> {
        let mut names = Vec::new();
        while let Some(request) = self.words.down.pop_front() {
            let DatagramsRequest::Open { association, remote, local, .. } = request else {
                panic!("{request:?}")
            };
            assert_eq!(local, Some(peer(9)));
            let credit = Credit { octets: 3000, messages: 10 };
            let path = PathLimits::UNBOUNDED;
            let local = peer(9);
            self.indicate(DatagramsIndication::Opened { association, local, remote, credit, path });
            names.push(association);
        }
        names
    }

    fn deliver(&mut self, association: Handle, octets: &[u8]) {
        let batch = BufferTree::with_headroom(0, octets).into();
        let properties = Default::default();
        self.indicate(DatagramsIndication::Delivered { association, batch, properties });
    }

    fn send(&mut self, octets: &[u8], mark: Option<u16>) {
        let batch = BufferTree::with_headroom(0, octets).into();
        let send = FramesRequest::Send { port: 0, batch, mark };
        self.stack.handle_request(&self.cx, send, &mut self.words);
    }

    fn sent(&mut self) -> Vec<(Handle, Vec<u8>)> {
        let sent = self.words.down.drain(..).filter_map(|request| match request {
            DatagramsRequest::Send { association, batch, .. } => {
                Some((association, octets(batch.as_octets())))
            }
            _ => None,
        });
        sent.collect()
    }
}

#[test]
fn a_frame_goes_to_all_peers_with_its_check() {
    let mut scene = Scene::new(2);
    let names = scene.opened();
    assert!(matches!(
        scene.words.up[..],
        [FramesIndication::State { port: 0, up: true }, FramesIndication::Credit { port: 0, .. }]
    ));
    scene.words.up.clear();
    scene.send(FRAME, Some(7));
    let expected = [FRAME, CHECK].concat();
    let all: Vec<_> = names.iter().map(|name| (*name, expected.clone())).collect();
    assert_eq!(scene.sent(), all);
    assert!(matches!(
        scene.words.up[..],
        [
            FramesIndication::Credit { credit: Credit { octets: 18, messages: 1 }, .. },
            FramesIndication::Left { port: 0, mark: 7 }
        ]
    ));
    // Each peer has credit for ten; what is beyond is lost, as on the air.
    (0..20).for_each(|_| scene.send(FRAME, None));
    assert_eq!(scene.sent().len(), 2 * 9);
}

/// To the peer of the next digipeater, else of the destination; else by the default route. What is
/// for nobody in particular goes to all.
#[test]
fn a_table_says_which_peer_a_frame_goes_to() {
    let behind = |number, call: &str| AxudpPeer { call: call.parse().ok(), ..peer(number).into() };
    let table = [behind(1, "N0AAA"), behind(2, "N0AAA-7"), behind(3, "RELAY-1"), peer(4).into()];
    let sabm = ControlField::unnumbered(Unnumbered::Sabm, true);
    let ui = ControlField::unnumbered(Unnumbered::Ui, false);
    for (default, destination, via, control, expected) in [
        (true, "N0AAA", "", sabm, &[1][..]),
        (true, "N0AAA-3", "", sabm, &[1]),
        (true, "N0AAA-7", "", sabm, &[2]),
        (true, "N0AAA", "RELAY-1", sabm, &[3]),
        (true, "RELAY", "", sabm, &[4]),
        (true, "N0ZZZ", "", sabm, &[4]),
        (true, "N0AAA", "", ui, &[1]),
        (true, "BEACON", "", ui, &[1, 2, 3, 4]),
        (false, "BEACON", "", ui, &[1, 2, 3]),
        (false, "N0ZZZ", "", sabm, &[]),
    ] {
        let mut scene = Scene::with(table[..3 + usize::from(default)].to_vec());
        let names = scene.opened();
        let call = |text: &str| text.parse::<CallSign>().expect("a call sign");
        let path: Vec<_> = via.split(',').filter(|via| !via.is_empty()).map(call).collect();
        let path = DigipeaterPath::through(&path).expect("at most eight");
        let (destination, source) = (call(destination), call("N0BBB"));
        let addresses = Addresses { destination, source, role: Role::Command, path };
        let head = Head::new(&addresses, control, Modulus::Eight, None);
        scene.send(head.as_octets(), None);
        let reached: Vec<_> = scene.sent().into_iter().map(|(name, _)| name).collect();
        let all: Vec<_> = expected.iter().map(|number| names[number - 1]).collect();
        assert_eq!(reached, all, "{destination} {via} {default}");
    }
    // One that has repeated the frame is not asked again.
    let mut scene = Scene::with(table.to_vec());
    let names = scene.opened();
    let mut path = DigipeaterPath::through(&["RELAY-1".parse().unwrap()]).unwrap();
    path.repeat();
    let [destination, source] = ["N0AAA", "N0BBB"].map(|call| call.parse().unwrap());
    let addresses = Addresses { destination, source, role: Role::Command, path };
    scene.send(Head::new(&addresses, sabm, Modulus::Eight, None).as_octets(), None);
    assert_eq!(scene.sent()[0].0, names[0]);
}

#[test]
fn a_frame_is_delivered_if_its_check_agrees() {
    let mut scene = Scene::new(1);
    let names = scene.opened();
    scene.words.up.clear();
    let credit = Credit { octets: 100, messages: 2 };
    scene.stack.handle_request(&scene.cx, FramesRequest::Credit { credit }, &mut scene.words);
    let good = [FRAME, CHECK].concat();
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        scene.deliver(names[0], &bad);
    }
    for short in 0..good.len() {
        scene.deliver(names[0], &good[..short]);
    }
    assert!(scene.words.up.is_empty());
    (0..3).for_each(|_| scene.deliver(names[0], &good));
    let delivered = scene.words.up.iter().map(|told| match told {
        FramesIndication::Delivered { port: 0, batch } => octets(batch.as_octets()),
        other => panic!("{other:?}"),
    });
    assert_eq!(delivered.collect::<Vec<_>>(), [FRAME, FRAME], "the third has no credit");
    // The credit below comes back each time.
    let given =
        scene.words.down.iter().filter(|word| matches!(word, DatagramsRequest::Credit { .. }));
    assert_eq!(given.count(), 8 * good.len() + good.len() + 3);
}

#[test]
fn one_that_cannot_be_opened_is_tried_again() {
    let mut scene = Scene::new(1);
    let DatagramsRequest::Open { association: mut name, .. } = scene.words.down.remove(0).unwrap()
    else {
        panic!("it is opened")
    };
    for delay in [1, 2, 4, 8, 16, 30, 30] {
        scene.indicate(DatagramsIndication::Ended { name, why: Ended::Unavailable });
        assert!(scene.words.up.is_empty(), "it is still down");
        let expected = scene.cx.now() + Duration::from_secs(delay);
        assert_eq!(scene.stack.next_deadline(), Some(expected));
        scene.stack.handle_timeout(&scene.cx, &mut scene.words);
        assert!(scene.words.down.is_empty(), "not yet");
        scene.cx.set_now(expected);
        scene.stack.handle_timeout(&scene.cx, &mut scene.words);
        let Some(DatagramsRequest::Open { association, .. }) = scene.words.down.pop_front() else {
            panic!("it is opened again")
        };
        name = association;
        assert_eq!(scene.stack.next_deadline(), None);
    }
}

/// A peer that refuses is one whose transmitter is off: its frames are lost, and it is heard as
/// soon as it is there.
#[test]
fn a_peer_that_refuses_is_silent_and_the_line_stays_up() {
    let mut scene = Scene::new(1);
    let name = scene.opened()[0];
    scene.words.up.clear();
    scene.indicate(DatagramsIndication::Ended { name, why: Ended::Unreachable });
    assert!(scene.words.up.is_empty(), "it stays up");
    scene.send(FRAME, Some(3));
    assert!(scene.sent().is_empty(), "it is lost");
    assert!(matches!(
        scene.words.up[..],
        [FramesIndication::Credit { .. }, FramesIndication::Left { port: 0, mark: 3 }]
    ));
    assert_eq!(scene.stack.next_deadline(), Some(scene.cx.now()), "at once");
    scene.stack.handle_timeout(&scene.cx, &mut scene.words);
    let name = scene.opened()[0];
    scene.words.up.clear();
    scene.send(FRAME, None);
    assert_eq!(scene.sent().len(), 1);
    // Where it cannot be opened any more, that is told.
    scene.indicate(DatagramsIndication::Ended { name, why: Ended::Unreachable });
    scene.stack.handle_timeout(&scene.cx, &mut scene.words);
    let Some(DatagramsRequest::Open { association: name, .. }) = scene.words.down.pop_front()
    else {
        panic!("it is opened again")
    };
    scene.words.up.clear();
    scene.indicate(DatagramsIndication::Ended { name, why: Ended::Unavailable });
    assert!(matches!(scene.words.up[..], [FramesIndication::State { port: 0, up: false }]));
}
