//! Two ports, each a TNC of its own: what happens to one is nothing to the other.

use stackwright_ax25::header::{Addresses, ControlField, DigipeaterPath, Head, Modulus, Role};
use stackwright_ax25::header::{Unnumbered, pid};
use stackwright_ax25::{Ax25, Config, LinkState, LinkVersion, Route};
use stackwright_contract::services::{
    Credit, DatagramsRequest, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant,
    Protocol as _, RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Ax25<M>;

const LARGE: Credit = Credit { octets: 1 << 14, messages: 64 };

/// Returns the name of the link on a port.
const fn link(port: u8) -> Handle {
    Handle { index: port as u32, generation: 0 }
}

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

fn station(call: CallSign, port: u8) -> Participant {
    Address::Station { call, pid: pid::NONE, route: u16::from(port) + 1 }.into()
}

#[derive(Default)]
struct Said {
    up: Vec<StreamsIndication<M>>,
    /// Ports of frames, and their octets.
    frames: Vec<(u8, Vec<u8>)>,
}

impl Outlet<Stack> for Said {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        if let Either::Left(word) = word {
            self.up.push(word);
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { port, batch, .. } = request {
            let mut octets = vec![0; batch.octets()];
            batch.as_octets().copy_to(&mut octets);
            self.frames.push((port, octets));
        }
    }
}

struct Scene {
    stack: Stack,
    cx: Context,
    said: Said,
}

impl Scene {
    fn new() -> Self {
        let route = |port| Route { port, path: DigipeaterPath::DIRECT };
        let config = Config {
            version: LinkVersion::V20,
            routes: vec![route(0), route(1)],
            rate: 1200,
            rates: vec![1200, 9600],
            tries: 3,
            ..Config::new(call("N0AAA"))
        };
        let (cx, said) = (Context::new(1), Said::default());
        Scene { stack: Stack::new(config), cx, said }
    }

    fn state(&mut self, port: u8, up: bool) {
        self.tnc(FramesIndication::State { port, up });
    }

    fn up(&mut self, port: u8, credit: Credit) {
        self.state(port, true);
        self.tnc(FramesIndication::Credit { port, credit });
    }

    fn tnc(&mut self, word: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.said);
        self.settle();
    }

    fn ask(&mut self, request: StreamsRequest<M>) {
        self.stack.handle_request(&self.cx, Either::Left(request), &mut self.said);
        self.settle();
    }

    fn settle(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.said);
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.cx.now() + time;
        while let Some(at) = self.stack.next_deadline().filter(|at| *at <= until) {
            self.cx.set_now(at.max(self.cx.now()));
            self.stack.handle_timeout(&self.cx, &mut self.said);
            self.settle();
        }
        self.cx.set_now(until);
    }

    /// The peer says something on a port.
    fn hear(&mut self, port: u8, kind: Unnumbered, role: Role) {
        let (destination, source) = (call("N0AAA"), call("N0BBB"));
        let addresses = Addresses { destination, source, role, path: DigipeaterPath::DIRECT };
        let control = ControlField::unnumbered(kind, true);
        let head = Head::new(&addresses, control, Modulus::Eight, None);
        let batch = M::with_headroom(0, head.as_octets()).into();
        self.tnc(FramesIndication::Delivered { port, batch });
    }

    /// Opens a link to the same peer on each port.
    fn linked() -> Self {
        let mut scene = Scene::new();
        for port in [0, 1] {
            scene.up(port, LARGE);
            let remote = station(call("N0BBB"), port);
            let (association, local, credit) = (link(port), None, LARGE);
            scene.ask(StreamsRequest::Open { association, remote, local, credit });
            scene.hear(port, Unnumbered::Ua, Role::Response);
        }
        scene.said.frames.clear();
        scene.said.up.clear();
        scene
    }

    fn send(&mut self, port: u8) {
        let batch = M::with_headroom(0, &[port; 10]).into();
        let (association, properties) = (link(port), Default::default());
        self.ask(StreamsRequest::Send { association, batch, properties });
    }

    /// Takes the ports on which frames left.
    fn ports(&mut self) -> Vec<u8> {
        self.said.frames.drain(..).map(|(port, _)| port).collect()
    }

    fn states(&self) -> Vec<LinkState> {
        self.stack.links().map(|link| link.state).collect()
    }
}

#[test]
fn links_of_two_call_signs_on_two_ports_are_two() {
    let mut scene = Scene::linked();
    assert_eq!(scene.states(), [LinkState::Connected; 2]);
    for port in [1, 0] {
        scene.send(port);
        assert_eq!(scene.ports(), [port]);
    }
    scene.hear(1, Unnumbered::Disc, Role::Command);
    assert_eq!(scene.ports(), [1], "UA on the port of DISC");
    let ended = scene.said.up.iter().find_map(|word| match word {
        StreamsIndication::Ended { name, .. } => Some(*name),
        _ => None,
    });
    assert_eq!(ended, Some(link(1)));
    assert_eq!(scene.states(), [LinkState::Connected], "the other one stays");
}

/// Without its TNC, nothing of a link is late; the link of the other goes on.
#[test]
fn the_tnc_of_one_port_is_gone() {
    let mut scene = Scene::linked();
    scene.send(1);
    scene.state(1, false);
    scene.ports();
    scene.pass(Duration::from_secs(3600));
    assert!(scene.ports().iter().all(|port| *port == 0), "nothing is sent on the dead port");
    let mut scene = Scene::linked();
    scene.state(1, false);
    // What waits for the port that is gone is in no other's way.
    scene.send(1);
    scene.hear(1, Unnumbered::Xid, Role::Command);
    scene.send(0);
    assert_eq!(scene.ports(), [0]);
    scene.up(1, LARGE);
    assert_eq!(scene.ports(), [1], "what was sent meanwhile");
    assert_eq!(scene.states().len(), 2);
}

/// One whose channel is busy takes no frames for long.
#[test]
fn a_port_without_credit_blocks_no_other() {
    let mut scene = Scene::new();
    scene.up(0, Credit { octets: 10, messages: 1 });
    scene.up(1, LARGE);
    for port in [0, 1] {
        let remote = station(call("N0BBB"), port);
        let (association, local, credit) = (link(port), None, LARGE);
        scene.ask(StreamsRequest::Open { association, remote, local, credit });
        let open = DatagramsRequest::Open {
            association: link(port),
            remote: station(call("QST"), port),
            local: None,
            credit: LARGE,
        };
        scene.stack.handle_request(&scene.cx, Either::Right(open), &mut scene.said);
        let batch = M::with_headroom(0, b"to all").into();
        let (association, properties) = (link(port), Default::default());
        let send = DatagramsRequest::Send { association, batch, properties };
        scene.stack.handle_request(&scene.cx, Either::Right(send), &mut scene.said);
        scene.settle();
    }
    assert_eq!(scene.ports(), [1, 1], "SABM and UI");
    scene.tnc(FramesIndication::Credit { port: 0, credit: LARGE });
    assert_eq!(scene.ports(), [0, 0]);
}

/// How long a frame is on the air is a matter of its port.
#[test]
fn each_port_has_its_rate() {
    let mut scene = Scene::new();
    let times = [0, 1].map(|port| {
        scene.up(port, LARGE);
        let remote = station(call("N0BBB"), port);
        let (association, local, credit) = (link(port), None, LARGE);
        scene.ask(StreamsRequest::Open { association, remote, local, credit });
        scene.hear(port, Unnumbered::Ua, Role::Response);
        let opened = scene.said.up.drain(..).find_map(|word| match word {
            StreamsIndication::Opened { path, .. } => Some(path.frame_time),
            _ => None,
        });
        opened.expect("it is open")
    });
    assert!(times[0] > 7 * times[1] && times[0] < 9 * times[1], "{times:?}");
}
