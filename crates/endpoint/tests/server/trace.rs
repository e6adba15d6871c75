//! A seeded script has the same trace in a library and through a server: what is told, in which
//! order, when, and each packet.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Duration, Handle, Protocol};
use stackwright_drivers::ipc::Wall;
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_wire::{BufferTree, Message as _};

type M = BufferTree;
type T = Datagrams<M>;
type Transport = Over<artp::Layer<M>, SimulatedDatagrams<M>>;

/// Sends as far as there is credit, gives credit back, closes and aborts, by chance.
struct Script {
    chance: fastrand::Rng,
    heard: Vec<String>,
    /// How many messages it still sends.
    left: u32,
    open: Vec<(Handle, Credit)>,
}

impl<P: Protocol<Provides = T>> Application<P> for Script {
    fn hear(&mut self, cx: &Context, word: DatagramsIndication<M>, asks: &mut Asks<P>) {
        let mut octets = Vec::new();
        if let DatagramsIndication::Delivered { batch, .. } = &word {
            batch.as_octets().append_to(&mut octets);
        }
        let properties = match &word {
            DatagramsIndication::Delivered { properties, .. } => format!("{properties:?}"),
            other => format!("{other:?}"),
        };
        self.heard.push(format!("{:?} {:?} {properties} {octets:?}", cx.now(), word.name()));
        match word {
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Opened { association, credit, .. } => {
                self.open.push((association, credit));
            }
            DatagramsIndication::Credit { association, credit: more } => {
                let open = self.open.iter_mut().filter(|(open, _)| *open == association);
                open.for_each(|(_, credit)| *credit += more);
            }
            DatagramsIndication::Ended { name, .. } => self.open.retain(|(open, _)| *open != name),
            _ => {}
        }
        for (association, credit) in &mut self.open {
            let association = *association;
            let octets = vec![self.left as u8; self.chance.usize(0..9000)];
            let cost = Credit { octets: octets.len(), messages: 1 };
            if self.left > 0 && credit.covers(cost) {
                self.left -= 1;
                *credit -= cost;
                let (batch, properties) =
                    (M::with_headroom(64, &octets).into(), Default::default());
                asks.push_back(DatagramsRequest::Send { association, batch, properties });
            }
        }
        if self.chance.u32(0..40) == 0
            && let Some((name, _)) = self.open.pop()
        {
            asks.push_back(match self.chance.bool() {
                true => DatagramsRequest::Close { name },
                false => DatagramsRequest::Abort { association: name, code: 7 },
            });
        }
    }
}

/// What two stations were told, and all packets between them.
fn run<S: Protocol<Provides = T> + 'static>(
    seed: u64,
    wall: impl Fn(Transport) -> S,
) -> [Vec<String>; 3]
where
    S::Uses: stackwright_simulator::Lanes<M>,
{
    let mut world = World::<M>::new(seed);
    let lossy = Conditions { loss: 0.05.into(), ..Conditions::IDEAL };
    world.network_mut().set_conditions(lossy);
    world.keep_trace();
    let hosts = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let [one, other] = hosts.map(|host| {
        let config = artp::Config::new([host.octets()[3]; 16]);
        let below = SimulatedDatagrams::new(IpAddr::from(host), Credit::ROOM);
        let stack = Over::new(artp::layer(config, seed), below);
        let chance = fastrand::Rng::with_seed(seed + u64::from(host.octets()[3]));
        let script = Script { chance, heard: Vec::new(), left: 200, open: Vec::new() };
        world.add(IpAddr::from(host), wall(stack), script)
    });
    let name = |index| Handle { index, generation: 0 };
    let (remote, credit) = (SocketAddr::from((hosts[0], 4330)).into(), Credit::ROOM);
    world.ask(one, DatagramsRequest::Listen { listener: name(0), local: remote });
    for association in (1..8).map(name) {
        world.ask(one, DatagramsRequest::Await { listener: name(0), association, credit });
        world.ask(other, DatagramsRequest::Open { association, remote, local: None, credit });
    }
    world.run_for(Duration::from_secs(100));
    let [one, other] = [one, other].map(|station| world.application(station).heard.clone());
    // What layers drop is noted, too: a word on a name that has ended, by another one there.
    let lines = world.trace().lines().iter().map(ToString::to_string).collect::<Vec<_>>();
    [one, other, lines.into_iter().filter(|line| line.contains(" > ")).collect()]
}

#[test]
fn a_script_has_the_same_trace_in_a_library_and_through_a_server() {
    let mut words = 0;
    for seed in 0..30 {
        let (library, server) = (run(seed, |stack| stack), run(seed, Wall::around));
        words += library.iter().map(Vec::len).sum::<usize>();
        for (one, other) in library.iter().flatten().zip(server.iter().flatten()) {
            assert_eq!(one, other, "seed {seed}");
        }
        assert!(library.each_ref().map(Vec::len) == server.each_ref().map(Vec::len));
    }
    assert!(words > 10_000, "{words} words are compared");
}
