//! A scenario in the simulator.

use std::net::{IpAddr, SocketAddr};

use stackwright::compose::Over;
use stackwright::contract::services::Datagrams;
use stackwright_contract::{Duration, Guarantees, Instant, Protocol};
use stackwright_simulator::{Heard, Lanes, Segments, StationId, World};
use stackwright_transport::words::Dropped;

use super::network::{self, address};
use super::outcome::{FlowOutcome, Outcome};
use crate::scenario::{Fault, Flow, Scenario};
use crate::transport::{M, Simulated, Stacked, Woven};
use crate::workload::{Client, Request, Server, Told, Working};

/// What one run shall keep.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keep {
    /// The trace, for its hash and its lines.
    pub(crate) trace: bool,
    /// What went wrong with which packet, to do the same again.
    pub(crate) faults: bool,
    /// A capture of what leaves this station and of what reaches it.
    pub(crate) packets: Option<usize>,
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
    let (faults, packets) = (network::faults(&world, scenario), world.take_packets());
    Run { outcome: Outcome { seed, ended, flows, links, trace }, world, faults, packets }
}

/// Both ends of a flow.
struct Flowing {
    client: Box<dyn End<Client<M>>>,
    server: Box<dyn End<Server<M>>>,
    addresses: [IpAddr; 2],
}

impl Flowing {
    /// Puts both ends of a flow into the world, and starts them.
    fn start(world: &mut World<M>, scenario: &Scenario, at: usize, seed: u64) -> Self {
        let flow = &scenario.flows[at];
        let (here, there) = (address(flow.from, at), address(flow.to, at));
        let start = SocketAddr::new(there, PORT);
        let plan = || flow.plan.clone();
        let server =
            Here { world, address: there, start, upper: |given| Server::new(plan(), given) };
        let server = flow.transport.over(Simulated(there), seed, server);
        let client =
            Here { world, address: here, start, upper: |given| Client::new(plan(), given) };
        let client = flow.transport.over(Simulated(here), !seed, client);
        Flowing { client, server, addresses: [here, there] }
    }

    fn done(&self, world: &World<M>) -> bool {
        self.client.upper(world).done()
    }

    fn broken(&self, world: &World<M>) -> bool {
        let back = self.client.upper(world).replies.broken.is_some();
        back || self.server.upper(world).promises.broken.is_some()
    }

    fn outcome(&self, world: &mut World<M>) -> FlowOutcome {
        let duplicates = self.client.duplicates(world) + self.server.duplicates(world);
        let [here, there] = self.addresses;
        let traffic = [(here, there), (there, here)];
        let traffic = traffic.map(|(from, to)| world.network().traffic(from, to));
        let client = self.client.upper(world);
        let (account, back) = (client.account.clone(), client.replies.broken.clone());
        let began = client.began;
        let ends: Vec<_> = client.ends().collect();
        let server = self.server.upper_mut(world);
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

/// A workload of one kind in the world, on whichever stack.
trait End<U> {
    fn upper<'a>(&self, world: &'a World<M>) -> &'a U;
    fn upper_mut<'a>(&self, world: &'a mut World<M>) -> &'a mut U;
    /// How many packets it has dropped because it had received them before.
    fn duplicates(&self, world: &World<M>) -> u64;
}

impl<U, P> End<U> for StationId<Over<U, P>, Heard<Told>>
where
    U: Protocol<Provides = Working, Uses = Datagrams<M>> + 'static,
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    fn upper<'a>(&self, world: &'a World<M>) -> &'a U {
        &world.stack(*self).upper
    }

    fn upper_mut<'a>(&self, world: &'a mut World<M>) -> &'a mut U {
        &mut world.stack_mut(*self).upper
    }

    fn duplicates(&self, world: &World<M>) -> u64 {
        world.drops(*self).of(Dropped::Duplicate.reason())
    }
}

/// Where a workload is put on its stack: its address, where it starts, and how it is made for what
/// the stack promises.
struct Here<'a, F> {
    world: &'a mut World<M>,
    address: IpAddr,
    start: SocketAddr,
    upper: F,
}

impl<F> Here<'_, F> {
    fn place<U, P>(self, stack: P, given: Guarantees) -> Box<dyn End<U>>
    where
        F: FnOnce(Guarantees) -> U,
        U: Protocol<Provides = Working, Uses = Datagrams<M>> + 'static,
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
    {
        let stack = Over::new((self.upper)(given), stack);
        let station = self.world.add(self.address, stack, Heard::default());
        self.world.ask(station, Request::Start(self.start.into()));
        Box::new(station)
    }
}

impl<F, U> Stacked<Segments<M>> for Here<'_, F>
where
    F: FnOnce(Guarantees) -> U,
    U: Protocol<Provides = Working, Uses = Datagrams<M>> + 'static,
{
    type Done = Box<dyn End<U>>;

    fn stacked<P>(self, stack: P, given: Guarantees) -> Self::Done
    where
        P: Protocol<Provides = Datagrams<M>, Uses = Segments<M>> + 'static,
    {
        self.place(stack, given)
    }

    fn woven(self, graph: Woven<Segments<M>>) -> Self::Done {
        let given = graph.facts().gives;
        self.place(graph, given)
    }
}
