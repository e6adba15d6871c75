//! FTP's client and server on streams that are ordered here: files arrive whole.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use fastrand::Rng;
use stackwright_compose::{Beside, Over};
use stackwright_contract::{Handle, Participant};
use stackwright_copy::{Copy, CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::client::DataMode;
use stackwright_ftp::server::{Anonymous, Indication as ServerTold, Request as ServerAsk, Rights};
use stackwright_ftp::{Client, PORT, Server, client, server};
use stackwright_ordered::Ordered;
use stackwright_simulator::{Heard, SimulatedDisk, Tree, World, seeds};
use stackwright_wire::BufferTree;

use crate::talker::{AGES, CLIENT, SERVER, Seed, Stack, any_order, any_roomy_config, shuffled};

type M = BufferTree;
type Disk = Rc<RefCell<Tree>>;

fn streams(random: &mut Rng, address: IpAddr) -> Stack<M> {
    let (config, credit) = any_roomy_config(random);
    Over::new(Ordered::new(config), shuffled(address, credit))
}

fn content(random: &mut Rng) -> Vec<u8> {
    let mut octets = vec![0; random.usize(..100_000) >> random.u8(..17)];
    random.fill(&mut octets);
    octets
}

#[test]
fn are_copied_both_ways_whole() {
    for seed in seeds(200) {
        let _said = Seed(seed);
        let random = &mut Rng::with_seed(seed);
        let mut world = World::<M>::new(seed);
        world.network_mut().set_conditions(any_order(random));
        let (far, near): (Disk, Disk) = (Tree::shared(), Tree::shared());

        let config = server::Config::new(Box::new(Anonymous(Rights { write: true })));
        let disk = SimulatedDisk::new(far.clone());
        let stack = Over::new(Server::new(config), Beside::new(streams(random, SERVER), disk));
        let server = world.add(SERVER, stack, Heard::<ServerTold>::default());
        let door = SocketAddr::new(SERVER, PORT);
        world.ask(server, ServerAsk::Serve { local: Participant::from(door) });

        let mut config = client::Config::anonymous(door);
        config.data = if random.bool() { DataMode::Passive } else { DataMode::Active };
        config.sessions_most = random.usize(1..4);
        let far_files = Over::new(Client::new(config), streams(random, CLIENT));
        let stack =
            Over::new(Copy::default(), Beside::new(far_files, SimulatedDisk::new(near.clone())));
        let client = world.add(CLIENT, stack, Heard::<Told>::default());

        let jobs: Vec<_> = (0..random.u32(1..5))
            .map(|nth| {
                let (name, octets) = (format!("/{nth}"), content(random));
                let fetched = random.bool();
                let from = if fetched { CopySide::Left } else { CopySide::Right };
                let (source, target) = if fetched { (&far, &near) } else { (&near, &far) };
                source.borrow_mut().put(&name, octets.clone());
                let ask = Ask::Copy {
                    job: Handle { index: nth, generation: 0 },
                    from,
                    source: name.clone(),
                    target: name.clone(),
                    early: random.bool(),
                };
                world.ask(client, ask);
                (name, octets, target)
            })
            .collect();
        let copied = |told: &&Told| matches!(told, Told::Copied { .. } | Told::Failed { .. });
        let ends = |world: &World<M>| {
            world.application(client).0.iter().filter(copied).count() == jobs.len()
        };
        assert!(world.run_until(ends, AGES), "{:?}", world.application(client).0);
        for (name, octets, target) in &jobs {
            assert!(target.borrow().octets(name).as_ref() == Some(octets), "{name}: whole");
        }
        world.run_for(AGES);
        let below = &world.stack(client).lower.left.lower.upper;
        assert_eq!((below.associations(), below.names()), (0, 0), "nothing is left of the client");
        world.ask(server, ServerAsk::Stop);
        world.run_for(AGES);
        let below = &world.stack(server).lower.left.upper;
        assert_eq!((below.associations(), below.names()), (0, 0), "nothing is left of the server");
    }
}
