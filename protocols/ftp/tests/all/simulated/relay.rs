//! A server whose disk is a client of another server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::{Beside, Over};
use stackwright_contract::Participant;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::server::{Indication as ServerTold, Request as ServerAsk};
use stackwright_ftp::{Client, PORT, Server, client};
use stackwright_simulator::{
    Chunks, Conditions, Fault, Habits, Heard, StationId, Tree, Which, World,
};

use crate::simulated::setting::{
    AGES, ClientStation, Disk, M, PlacedStreams, ServerStation, add_client, add_server,
    client_config, content, job, last_words, placed, server_config, server_is_empty,
};

type RelayStack = Over<Server<M>, Beside<PlacedStreams, Over<Client<M>, PlacedStreams>>>;

/// Both addresses of the relay: to its clients, and to the server behind it.
const RELAY: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2))];

struct Three {
    world: World<M>,
    server: ServerStation,
    relay: StationId<RelayStack, Heard<ServerTold>>,
    client: ClientStation,
    far: Disk,
    near: Disk,
}

impl Three {
    fn new(seed: u64, habits: Habits) -> Self {
        let mut world = World::new(seed);
        let (far, near) = (Tree::shared(), Tree::shared());
        let server = add_server(&mut world, server_config(), habits, &far);
        let streams = RELAY.map(|address| placed(address, habits));
        let [clients, servers] = streams;
        let behind = Over::new(Client::new(client_config()), servers);
        let stack = Over::new(Server::new(server_config()), Beside::new(clients, behind));
        let relay = world.add_at(&RELAY, stack, Heard::default());
        let local = Participant::from(SocketAddr::new(RELAY[0], PORT));
        world.ask(relay, ServerAsk::Serve { local });
        let config = client::Config::anonymous(SocketAddr::new(RELAY[0], PORT));
        let client = add_client(&mut world, config, habits, &near);
        Three { world, server, relay, client, far, near }
    }

    fn run_to(&mut self, count: usize) -> Vec<Told> {
        let client = self.client;
        let ended = self
            .world
            .run_until(|world| last_words(&world.application(client).0).len() >= count, AGES);
        assert!(ended, "{count} last words");
        last_words(&self.world.application(client).0)
    }

    fn copy(&mut self, nth: usize, from: CopySide, path: &str) {
        let (source, target) = (path.into(), path.into());
        self.world
            .ask(self.client, Ask::Copy { job: job(nth), from, source, target, early: false });
    }

    fn settle(mut self) {
        self.world.run_for(AGES);
        let stack = self.world.stack(self.relay);
        assert_eq!(stack.upper.sessions(), 0);
        assert_eq!(stack.lower.right.upper.names(), 0);
        assert_eq!(
            (stack.lower.left.associations(), stack.lower.right.lower.associations()),
            (0, 0)
        );
        self.world.ask(self.relay, ServerAsk::Stop);
        assert_eq!(self.world.stack(self.relay).upper.names(), 0);
        assert_eq!(self.world.stack(self.client).upper.names(), 0);
        server_is_empty(&mut self.world, self.server);
    }
}

#[test]
fn files_pass_both_ways_and_folders_are_listed() {
    for (seed, habits) in [
        (1, Habits::default()),
        (2, Habits { credit: 700, buffer: 500, chunks: Chunks::Mixed, ..Habits::default() }),
    ] {
        let mut three = Three::new(seed, habits);
        let [fetched, stored] = [content(300_000, 1), content(400_001, 2)];
        three.far.borrow_mut().put("fetched", fetched.clone());
        three.far.borrow_mut().put("folder/inner", "x");
        three.near.borrow_mut().put("stored", stored.clone());
        three.copy(0, CopySide::Left, "fetched");
        three.copy(1, CopySide::Right, "stored");
        let words = three.run_to(2);
        assert!(words.iter().all(|told| matches!(told, Told::Copied { .. })), "{words:?}");
        assert!(three.near.borrow().octets("fetched") == Some(fetched));
        assert!(three.far.borrow().octets("stored") == Some(stored));
        for (nth, (path, expected)) in
            [("/", vec!["fetched", "folder", "stored"]), ("/folder", vec!["inner"])]
                .into_iter()
                .enumerate()
        {
            three
                .world
                .application_mut(three.client)
                .0
                .retain(|told| !matches!(told, Told::Entries { .. }));
            three.world.ask(
                three.client,
                Ask::List { job: job(2), side: CopySide::Left, path: path.into() },
            );
            assert_eq!(three.run_to(3 + nth).last(), Some(&Told::Listed { job: job(2) }));
            let mut names: Vec<String> = Vec::new();
            for told in &three.world.application(three.client).0 {
                if let Told::Entries { entries, .. } = told {
                    names.extend(entries.iter().map(|entry| entry.name.clone()));
                }
            }
            names.sort();
            assert_eq!(names, expected);
        }
        three.settle();
    }
}

#[test]
fn what_is_not_behind_the_relay_is_not_there() {
    let mut three = Three::new(1, Habits::default());
    three.copy(0, CopySide::Left, "nothing");
    three.world.ask(
        three.client,
        Ask::List { job: job(1), side: CopySide::Left, path: "/nowhere".into() },
    );
    let words = three.run_to(2);
    assert!(
        words.iter().all(|told| matches!(told, Told::Failed { side: CopySide::Left, .. })),
        "{words:?}"
    );
    three.settle();
}

#[test]
fn an_association_cut_anywhere_ends_both_halves() {
    for nth in 0..4 {
        for after in [0, 1, 30, 100, 200, 1000, 20_000] {
            let from = if after % 2 == 0 { CopySide::Left } else { CopySide::Right };
            let mut three = Three::new(after, Habits::default());
            let delay = std::time::Duration::from_millis(3);
            three.world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
            three.world.network_mut().fail(Which::Nth(nth), Fault::Cut { after });
            let (source, target) = if from == CopySide::Left {
                (&three.far, &three.near)
            } else {
                (&three.near, &three.far)
            };
            source.borrow_mut().put("a", content(50_000, 1));
            let target = target.clone();
            three.copy(0, from, "a");
            let words = three.run_to(1);
            three.settle();
            let now = target.borrow().octets("a");
            assert!(now.is_none() || now == Some(content(50_000, 1)), "whole or not at all");
            if let [Told::Copied { .. }] = words[..] {
                assert!(now.is_some(), "association {nth} cut after {after}");
            }
        }
    }
}
