//! Clients that all speak in one instant: each is answered in full, the work of one turn is
//! bounded, and whoever else is served notices nothing.

use std::net::{IpAddr, Ipv4Addr};

use fastrand::Rng;
use stackwright_contract::services::{Credit, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Context, Duration, Either, Handle, IndicationOf, Outlet, Participant, PathLimits, Protocol,
    RequestOf,
};
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::Server;
use stackwright_ftp::server::Request as ServerAsk;
use stackwright_simulator::{Conditions, Habits, Tree, World};
use stackwright_wire::Message;

use crate::simulated::graphs::woven_server;
use crate::simulated::lines::{answers, line};
use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, Disk, M, Seed, add_client, add_server, client_config, content, door, job,
    last_words, server_config,
};

const CROWD: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));

/// As many empty lines as there is room for on a control association.
const LINES: usize = 2048;

type AddServer = fn(&mut World<M>, &Disk);

fn static_server(world: &mut World<M>, disk: &Disk) {
    add_server(world, server_config(), Habits::default(), disk);
}

fn graph_server(world: &mut World<M>, disk: &Disk) {
    woven_server(world, Habits::default(), disk);
}

/// A crowd of open sessions, which have heard the greeting and said nothing yet.
fn arrive(world: &mut World<M>, clients: usize) -> (Raw, Vec<Handle>) {
    let mut raw = Raw::add(world, CROWD);
    let sessions: Vec<Handle> = (0..clients).map(|_| raw.open(world, door())).collect();
    let greeted =
        |world: &World<M>| sessions.iter().all(|session| raw.codes(world, *session) == [220]);
    assert!(world.run_until(greeted, AGES), "all of {clients} are greeted");
    (raw, sessions)
}

/// Every client of the crowd says all its empty lines in one instant, while another fetches a file.
fn empty_lines(clients: usize, server: AddServer) {
    let mut world = World::new(clients as u64);
    let delay = Duration::from_millis(1);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let (far, near) = (Tree::shared(), Tree::shared());
    server(&mut world, &far);
    far.borrow_mut().put("a", content(2_000_000, 1));
    let (raw, sessions) = arrive(&mut world, clients);

    let other = add_client(&mut world, client_config(), Habits::default(), &near);
    let ask = Ask::Copy {
        job: job(0),
        from: CopySide::Left,
        source: "a".into(),
        target: "b".into(),
        early: false,
    };
    world.ask(other, ask);
    let begun = |_: &World<M>| near.borrow().written() > 0;
    assert!(world.run_until(begun, AGES), "the transfer has begun");
    assert_eq!(last_words(&world.application(other).0), [], "and goes on");

    for session in &sessions {
        raw.say(&mut world, *session, &[b'\n'; LINES]);
    }
    world.run_for(Duration::from_secs(10));
    for session in &sessions {
        let codes = raw.codes(&world, *session);
        assert_eq!(codes.len(), 1 + LINES, "every line is answered");
        assert!(codes[1..].iter().all(|code| *code == 500));
    }
    let heard = last_words(&world.application(other).0);
    assert!(matches!(heard[..], [Told::Copied { .. }]), "{heard:?}");
    assert!(near.borrow().octets("b") == far.borrow().octets("a"), "octet for octet");
}

#[test]
fn a_few_with_nothing_but_empty_lines_are_answered() {
    empty_lines(5, static_server);
    empty_lines(5, graph_server);
}

#[test]
fn a_crowd_with_nothing_but_empty_lines_is_answered() {
    empty_lines(64, static_server);
    empty_lines(64, graph_server);
}

/// Any lines of any clients in one instant: each has its reply, in order.
fn any_lines(seed: u64, server: AddServer) {
    let mut random = Rng::with_seed(seed);
    let mut world = World::new(seed);
    let disk = Tree::shared();
    disk.borrow_mut().put("a", content(random.usize(..30_000), 1));
    disk.borrow_mut().put("folder/b", content(10, 1));
    server(&mut world, &disk);
    let clients = random.usize(2..40);
    let (raw, sessions) = arrive(&mut world, clients);
    let crowd: Vec<_> = sessions
        .iter()
        .map(|session| {
            let (mut octets, mut said) = (Vec::new(), Vec::new());
            // Often the same line again and again: the most work for the fewest octets.
            let mut again = line(&mut random);
            for _ in 0..random.usize(1..400) {
                if random.u8(..50) == 0 {
                    again = line(&mut random);
                }
                let (text, codes) =
                    if random.bool() { again.clone() } else { (Vec::new(), &[500][..]) };
                octets.extend(text);
                octets.push(b'\n');
                said.push(codes);
            }
            octets.extend(b"QUIT\n");
            said.push(&[221]);
            (*session, octets, said)
        })
        .collect();
    for (session, octets, _) in &crowd {
        raw.say(&mut world, *session, octets);
    }
    let over =
        |world: &World<M>| sessions.iter().all(|session| raw.heard(world, *session).finished);
    assert!(world.run_until(over, Duration::from_secs(100_000)), "every session ends");
    for (session, _, said) in &crowd {
        answers(&raw.codes(&world, *session), said, false);
    }
}

#[test]
fn any_lines_of_a_crowd_are_answered_once_and_in_order() {
    for seed in 0..25 {
        let _said = Seed(seed);
        any_lines(seed, static_server);
        any_lines(seed, graph_server);
    }
}

/// What a server asks of the streams.
#[derive(Default)]
struct Asked(Vec<StreamsRequest<M>>);

impl Outlet<Server<M>> for Asked {
    fn indicate(&mut self, _: IndicationOf<Server<M>>) {}

    fn request(&mut self, request: RequestOf<Server<M>>) {
        if let Either::Left(request) = request {
            self.0.push(request);
        }
    }
}

/// The replies of one turn are one message, a turn is a few commands, and all room comes back.
#[test]
fn a_turn_is_bounded_and_its_replies_are_one_message() {
    /// More turns than are allowed.
    const TURNS: usize = 200;
    let (cx, mut asked) = (Context::new(1), Asked::default());
    let mut server = Server::<M>::new(server_config());
    let local = Participant::from(door());
    server.handle_request(&cx, ServerAsk::Serve { local }, &mut asked);
    let Some(StreamsRequest::Listen { listener, .. }) = asked.0.pop() else { panic!("it listens") };
    server.handle_indication(
        &cx,
        Either::Left(StreamsIndication::Listening { listener, local }),
        &mut asked,
    );
    let Some(StreamsRequest::Await { association, .. }) = asked.0.pop() else {
        panic!("it awaits")
    };
    let remote = Participant::from(std::net::SocketAddr::new(CLIENT, 2000));
    let opened = StreamsIndication::Opened {
        association,
        local,
        remote,
        credit: Credit::of_octets(1 << 20),
        path: PathLimits::UNBOUNDED,
    };
    server.handle_indication(&cx, Either::Left(opened), &mut asked);
    let message = M::with_headroom(0, &[b'\n'; LINES]);
    let delivered = StreamsIndication::Delivered {
        association,
        batch: message.into(),
        properties: Default::default(),
    };
    server.handle_indication(&cx, Either::Left(delivered), &mut asked);

    let (mut room_back, mut messages, mut octets, mut turns) = (0, 0, 0, 0);
    while server.wants_flush() {
        server.flush(&cx, &mut asked);
        let (mut sent, mut left) = (0, 0);
        for request in asked.0.drain(..) {
            match request {
                StreamsRequest::Credit { credit: Credit { octets: credit, .. }, .. } => {
                    room_back += credit
                }
                StreamsRequest::Send { batch, .. } => {
                    let message = batch.into_octets();
                    sent += 1;
                    (octets, left) = (octets + message.len(), message.len());
                    assert!(message.len() < 8192, "{} octets at once", message.len());
                }
                _ => {}
            }
        }
        assert!(sent <= 1, "{sent} messages in one turn");
        if left > 0 {
            let credit = Credit::of_octets(left);
            let more = StreamsIndication::Credit { association, credit };
            server.handle_indication(&cx, Either::Left(more), &mut asked);
        }
        (messages, turns) = (messages + sent, turns + 1);
        assert!(turns < TURNS, "it comes to an end");
    }
    assert_eq!(room_back, LINES);
    assert!(octets > 28 * LINES);
    assert!((LINES / 64..TURNS).contains(&messages), "{messages} messages in {turns} turns");
}
