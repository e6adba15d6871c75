//! Associations through a proxy that this test plays.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Ended, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Duration, Handle, Participant};
use stackwright_proxy::{Config, Kind, Proxy};
use stackwright_simulator::{Conditions, Habits, Heard, SimulatedStreams, StationId, World};
use stackwright_wire::{BufferTree, Leaf, Message};

type M = BufferTree;
type Near = StationId<Over<Proxy<M>, SimulatedStreams<M>>, Heard<Told<M>>>;
type Far = StationId<SimulatedStreams<M>, Heard<Told<M>>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

fn peer() -> Participant {
    SocketAddr::from(([192, 0, 2, 7], 21)).into()
}

struct Scene {
    world: World<M>,
    near: Near,
    far: Far,
}

impl Scene {
    /// A client that asks a proxy of this kind for the peer, with so much credit.
    fn new(kind: Kind, credit: usize) -> Self {
        let mut world = World::new(1);
        let delay = Duration::from_millis(10);
        world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
        let config = Config::new(kind, SocketAddr::new(THERE, 1080));
        let streams = |address| SimulatedStreams::with_habits(address, Habits::default());
        let near = world.add(HERE, Over::new(Proxy::new(config), streams(HERE)), Heard::default());
        let far = world.add(THERE, streams(THERE), Heard::default());
        let local = SocketAddr::new(THERE, 1080).into();
        let much = Credit::of_octets(1 << 20);
        world.ask(far, Ask::Listen { listener: LISTENER, local });
        world.ask(far, Ask::Await { listener: LISTENER, association: NAME, credit: much });
        let credit = Credit::of_octets(credit);
        world.ask(near, Ask::Open { association: NAME, remote: peer(), local: None, credit });
        let mut scene = Scene { world, near, far };
        scene.run();
        scene
    }

    fn run(&mut self) {
        self.world.run_for(Duration::from_secs(1));
    }

    fn proxy_says(&mut self, octets: &[u8]) {
        let batch = M::with_headroom(0, octets).into();
        let said = Ask::Send { association: NAME, batch, properties: Default::default() };
        self.world.ask(self.far, said);
        self.run();
    }

    fn proxy_hears(&mut self) -> Vec<u8> {
        let heard = std::mem::take(&mut self.world.application_mut(self.far).0);
        delivered(&heard)
    }

    fn heard(&mut self) -> Vec<Told<M>> {
        std::mem::take(&mut self.world.application_mut(self.near).0)
    }
}

fn delivered(heard: &[Told<M>]) -> Vec<u8> {
    let batches = heard.iter().filter_map(|told| match told {
        Told::Delivered { batch, .. } => Some(batch),
        _ => None,
    });
    let leaves = batches.flat_map(|batch| batch.as_octets().leaves());
    leaves
        .flat_map(|leaf| if let Leaf::Octets(octets) = leaf { octets } else { &[] })
        .copied()
        .collect()
}

fn opened(heard: &[Told<M>]) -> Option<Participant> {
    heard.iter().find_map(|told| match told {
        Told::Opened { remote, .. } => Some(*remote),
        _ => None,
    })
}

fn ended(heard: &[Told<M>]) -> Option<Ended> {
    heard.iter().find_map(|told| match told {
        Told::Ended { name: NAME, why } => Some(*why),
        _ => None,
    })
}

#[test]
fn the_peer_is_asked_for_and_then_all_passes() {
    let mut scene = Scene::new(Kind::HttpConnect, 1 << 20);
    let asked = scene.proxy_hears();
    assert!(asked.starts_with(b"CONNECT 192.0.2.7:21 HTTP/1.1\r\n"), "{asked:?}");
    assert!(scene.heard().is_empty(), "it is not open yet");
    // In two pieces, and the peer's first octets come with the end of the answer.
    scene.proxy_says(&ESTABLISHED[..20]);
    scene.proxy_says(&[&ESTABLISHED[20..], b"220 ready\r\n"].concat());
    let heard = scene.heard();
    assert_eq!((opened(&heard), delivered(&heard)), (Some(peer()), b"220 ready\r\n".to_vec()));
    let batch = M::with_headroom(0, b"QUIT\r\n").into();
    let sent = Ask::Send { association: NAME, batch, properties: Default::default() };
    scene.world.ask(scene.near, sent);
    scene.world.ask(scene.near, Ask::Finish { association: NAME });
    scene.run();
    assert_eq!(scene.proxy_hears(), b"QUIT\r\n");
    scene.world.ask(scene.far, Ask::Finish { association: NAME });
    scene.run();
    assert_eq!(ended(&scene.heard()), Some(Ended::Finished));
}

#[test]
fn socks_answers_and_the_peers_octets_may_come_at_once() {
    let mut scene = Scene::new(Kind::Socks5, 4096);
    assert_eq!(scene.proxy_hears(), [5, 1, 0]);
    scene.proxy_says(&[5, 0]);
    assert_eq!(scene.proxy_hears(), [5, 1, 0, 1, 192, 0, 2, 7, 0, 21]);
    let mut said = vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    said.extend_from_slice(&[7; 3000]);
    scene.proxy_says(&said);
    let heard = scene.heard();
    assert_eq!((opened(&heard), delivered(&heard)), (Some(peer()), vec![7; 3000]));
}

#[test]
fn no_more_is_delivered_than_there_is_credit_for_and_nothing_is_lost_at_the_end() {
    let mut scene = Scene::new(Kind::HttpConnect, 100);
    scene.proxy_says(&[ESTABLISHED, &[1; 500]].concat());
    scene.proxy_says(&[2; 300]);
    scene.world.ask(scene.far, Ask::Finish { association: NAME });
    scene.world.ask(scene.near, Ask::Finish { association: NAME });
    scene.run();
    let heard = scene.heard();
    assert_eq!((delivered(&heard), ended(&heard)), (vec![1; 100], None));
    let mut rest = Vec::new();
    for _ in 0..7 {
        let credit = Credit::of_octets(100);
        scene.world.ask(scene.near, Ask::Credit { association: NAME, credit });
        scene.run();
        let heard = scene.heard();
        rest.extend(delivered(&heard));
        assert_eq!(ended(&heard).is_some(), rest.len() == 700, "{}", rest.len());
    }
    assert_eq!(rest, [vec![1; 400], vec![2; 300]].concat());
}

#[test]
fn refusals_and_silence_are_told() {
    for (answer, why) in [
        (&b"HTTP/1.1 403 Forbidden\r\n\r\n"[..], Ended::Refused(0)),
        (b"HTTP/1.1 502 Bad gateway\r\n\r\n", Ended::Unreachable),
        (b"SSH-2.0-x\r\n\r\n", Ended::Reset(0)),
        (&[b'x'; 20 << 10], Ended::Reset(0)),
    ] {
        let mut scene = Scene::new(Kind::HttpConnect, 100);
        scene.proxy_says(answer);
        assert_eq!(ended(&scene.heard()), Some(why), "{answer:?}");
    }
    let mut scene = Scene::new(Kind::Socks5, 100);
    scene.world.run_for(Duration::from_secs(40));
    assert_eq!(ended(&scene.heard()), Some(Ended::Expired));
    let mut scene = Scene::new(Kind::Socks5, 100);
    scene.world.ask(scene.far, Ask::Close { name: NAME });
    scene.run();
    assert_eq!(ended(&scene.heard()), Some(Ended::Reset(0)));
    let mut scene = Scene::new(Kind::Socks5, 100);
    scene.world.ask(scene.near, Ask::Close { name: NAME });
    scene.run();
    assert_eq!(ended(&scene.heard()), Some(Ended::Finished));
}

#[test]
fn a_proxy_does_not_listen() {
    let mut scene = Scene::new(Kind::Socks5, 100);
    let listener = Handle { index: 5, generation: 0 };
    scene.world.ask(scene.near, Ask::Listen { listener, local: peer() });
    scene.run();
    let told = scene.heard();
    assert!(
        matches!(told[..], [Told::Ended { name, why: Ended::Unavailable }] if name == listener),
        "{told:?}"
    );
}

#[test]
fn without_a_proxy_every_word_passes() {
    let mut world = World::new(1);
    let streams = |address| SimulatedStreams::with_habits(address, Habits::default());
    let direct = |address| Over::new(Proxy::new(None), streams(address));
    let near: Near = world.add(HERE, direct(HERE), Heard::default());
    let far: Near = world.add(THERE, direct(THERE), Heard::default());
    let (local, credit) = (SocketAddr::new(THERE, 21).into(), Credit::of_octets(1 << 20));
    world.ask(far, Ask::Listen { listener: LISTENER, local });
    world.ask(far, Ask::Await { listener: LISTENER, association: NAME, credit });
    world.ask(near, Ask::Open { association: NAME, remote: local, local: None, credit });
    world.run_for(Duration::from_secs(1));
    let batch = M::with_headroom(0, b"220 ready\r\n").into();
    world.ask(far, Ask::Send { association: NAME, batch, properties: Default::default() });
    for end in [near, far] {
        world.ask(end, Ask::Finish { association: NAME });
    }
    world.run_for(Duration::from_secs(1));
    let heard = &world.application(near).0;
    assert_eq!((opened(heard), delivered(heard)), (Some(local), b"220 ready\r\n".to_vec()));
    assert_eq!(ended(heard), Some(Ended::Finished));
}
