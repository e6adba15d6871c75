//! A scenario in the simulator.

use std::net::{IpAddr, SocketAddr};

use stackwright::compose::Over;
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Heard, StationId, World};
use stackwright_transport::words::Dropped;

use super::network::{self, address};
use super::outcome::{FlowOutcome, Outcome};
use crate::scenario::{Fault, Flow, Scenario};
use crate::transport::{Lowers, M, Woven};
use crate::workload::{Client, Request, Server, Told};

/// What one run shall keep.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keep {
    /// The trace, for its hash and its lines.
    pub(crate) trace: bool,
    /// What went wrong with which packet, to do the same again.
    pub(crate) faults: bool,
    /// A capture of what leaves this station and of what reaches it.
    pub(crate) packets: Option<usize>,
    /// Which packets were under way when.
    pub(crate) flights: bool,
}

/// A run that is over, and the world in which it was.
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) world: World<M>,
    /// The faults that happened, where they were kept.
    pub(crate) faults: Vec<Fault>,
    /// The capture, where it was kept.
    pub(crate) packets: Vec<u8>,
}

/// The port of every server.
const PORT: u16 = 7;
/// How long the rest of what is under way may take to arrive when the senders are done.
const LINGER: Duration = Duration::from_secs(5);

/// Runs a scenario. `faults`, where there are any, are all that goes wrong.
///
/// After every event the promises of all transports are looked at; one that is broken ends the run
/// where it was broken.
pub(crate) fn run(scenario: &Scenario, seed: u64, faults: Option<&[Fault]>, keep: Keep) -> Run {
    let mut world = World::new(seed);
    if keep.trace {
        world.keep_trace();
    }
    if let Some(station) = keep.packets {
        let here = |(at, flow): (usize, &Flow)| {
            [flow.from, flow.to].contains(&station).then(|| address(station, at))
        };
        let addresses: Vec<_> = scenario.flows.iter().enumerate().filter_map(here).collect();
        world.keep_packets(&addresses);
    }
    if keep.flights {
        world.network_mut().keep_flights();
    }
    world.keep_drops();
    world.network_mut().keep_traffic();
    network::lay(&mut world, scenario, faults, keep.faults);
    let flows: Vec<_> = (0..scenario.flows.len())
        .map(|at| Flowing::start(&mut world, scenario, at, seed))
        .collect();
    let end = Instant::START + scenario.time;
    let broken = |world: &World<M>| flows.iter().any(|flow| flow.broken(world));
    let done = |world: &World<M>| flows.iter().all(|flow| flow.done(world));
    let _ = world.run_until(|world| broken(world) || done(world), end.since(world.now()));
    let ended = done(&world);
    if ended && !broken(&world) {
        let linger = LINGER.min(end.since(world.now()));
        let _ = world.run_until(broken, linger);
    }
    let flows = flows.iter().map(|flow| flow.outcome(&mut world)).collect();
    let links = network::told(&world, scenario);
    let trace = keep.trace.then(|| world.trace().hash());
    let (faults, packets) = (network::faults(&world), world.take_packets());
    Run { outcome: Outcome { seed, ended, flows, links, trace }, world, faults, packets }
}

/// A workload on its transport.
type Station<U> = StationId<Over<U, Woven>, Heard<Told>>;

/// Both ends of a flow.
struct Flowing {
    client: Station<Client<M>>,
    server: Station<Server<M>>,
    addresses: [IpAddr; 2],
}

impl Flowing {
    /// Puts both ends of a flow into the world, and starts them.
    fn start(world: &mut World<M>, scenario: &Scenario, at: usize, seed: u64) -> Self {
        let flow = &scenario.flows[at];
        let (here, there) = (address(flow.from, at), address(flow.to, at));
        let start = SocketAddr::new(there, PORT);
        let below = |address, seed| {
            let graph = flow.transport.over(Lowers::Simulated(address), seed);
            (graph.facts().gives, graph)
        };
        let (given, graph) = below(there, seed);
        let server = Server::new(flow.plan.clone(), given);
        let server = world.add(there, Over::new(server, graph), Heard::default());
        world.ask(server, Request::Start(start.into()));
        let (given, graph) = below(here, !seed);
        let client = Client::new(flow.plan.clone(), given);
        let client = world.add(here, Over::new(client, graph), Heard::default());
        world.ask(client, Request::Start(start.into()));
        Flowing { client, server, addresses: [here, there] }
    }

    fn done(&self, world: &World<M>) -> bool {
        world.stack(self.client).upper.done()
    }

    fn broken(&self, world: &World<M>) -> bool {
        let back = world.stack(self.client).upper.replies.broken.is_some();
        back || world.stack(self.server).upper.promises.broken.is_some()
    }

    fn outcome(&self, world: &mut World<M>) -> FlowOutcome {
        let dropped = Dropped::Duplicate.reason();
        let duplicates =
            world.drops(self.client).of(dropped) + world.drops(self.server).of(dropped);
        let [here, there] = self.addresses;
        let traffic = [(here, there), (there, here)];
        let traffic = traffic.map(|(from, to)| world.network().traffic(from, to));
        let client = &world.stack(self.client).upper;
        let (account, back) = (client.account.clone(), client.replies.broken.clone());
        let began = client.began;
        let ends: Vec<_> = client.ends().collect();
        let server = &mut world.stack_mut(self.server).upper;
        server.concluded(&ends);
        FlowOutcome {
            account,
            ends: ends.iter().collect(),
            reliable: server.promises.reliable(),
            counts: server.promises.counts,
            took: server.last.zip(began).map(|(last, began)| last.since(began)),
            under_way: Some(server.under_way),
            duplicates,
            traffic: Some(traffic),
            broken: server.promises.broken.clone().or(back),
        }
    }
}
