//! A scenario in the simulator.

use std::net::{IpAddr, SocketAddr};

use stackwright::compose::Over;
use stackwright::contract::services::Datagrams;
use stackwright_contract::{Duration, Guarantees, Instant, Protocol};
use stackwright_simulator::{Heard, Lanes, Segments, StationId, World};

use super::network::{self, address};
use super::outcome::{FlowOutcome, Outcome};
use crate::scenario::{Fault, Scenario};
use crate::transport::{M, Simulated, Stacked, Woven};
use crate::workload::{Client, Plan, Request, Server, Told};

/// What one run shall keep.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keep {
    /// The trace, for its hash and its lines.
    pub(crate) trace: bool,
    /// What went wrong with which packet, to do the same again.
    pub(crate) faults: bool,
    /// Every packet, for a capture.
    pub(crate) packets: bool,
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
/// After every event the promises of all transports are looked at; one that is broken ends the run where it was broken.
pub(crate) fn run(scenario: &Scenario, seed: u64, faults: Option<&[Fault]>, keep: Keep) -> Run {
    let mut world = World::new(seed);
    if keep.trace {
        world.keep_trace();
    }
    if keep.packets {
        world.keep_packets();
    }
    network::lay(&mut world, scenario, faults, keep.faults);
    let flows: Vec<_> = (0..scenario.flows.len()).map(|at| start(&mut world, scenario, at, seed)).collect();
    let end = Instant::START + scenario.time;
    let broken = |world: &World<M>| flows.iter().any(|flow| flow.broken(world));
    let done = |world: &World<M>| flows.iter().all(|flow| flow.client.done(world));
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
    client: Box<dyn ClientEnd>,
    server: Box<dyn ServerEnd>,
}

impl Flowing {
    fn broken(&self, world: &World<M>) -> bool {
        self.server.broken(world) || self.client.broken(world)
    }

    fn outcome(&self, world: &mut World<M>) -> FlowOutcome {
        self.server.outcome(world, &*self.client)
    }
}

/// The client of a flow, on whichever stack.
trait ClientEnd {
    fn client<'a>(&self, world: &'a World<M>) -> &'a Client<M>;

    fn done(&self, world: &World<M>) -> bool {
        self.client(world).done()
    }

    fn broken(&self, world: &World<M>) -> bool {
        self.client(world).replies.broken.is_some()
    }
}

/// The server of a flow, on whichever stack.
trait ServerEnd {
    fn server<'a>(&self, world: &'a World<M>) -> &'a Server<M>;
    fn server_mut<'a>(&self, world: &'a mut World<M>) -> &'a mut Server<M>;

    fn broken(&self, world: &World<M>) -> bool {
        self.server(world).promises.broken.is_some()
    }

    fn outcome(&self, world: &mut World<M>, client: &dyn ClientEnd) -> FlowOutcome {
        let theirs = client.client(world);
        let account = theirs.account.clone();
        let (ends, back) = (theirs.ends().collect::<Vec<_>>(), theirs.replies.broken.clone());
        let server = self.server_mut(world);
        server.concluded(&ends);
        FlowOutcome {
            account,
            counts: server.promises.counts,
            arriving: server.arriving(),
            under_way: Some(server.under_way),
            broken: server.promises.broken.clone().or(back),
        }
    }
}

type At<U, P> = StationId<Over<U, P>, Heard<Told>>;

impl<P> ClientEnd for At<Client<M>, P>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    fn client<'a>(&self, world: &'a World<M>) -> &'a Client<M> {
        &world.stack(*self).upper
    }
}

impl<P> ServerEnd for At<Server<M>, P>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    fn server<'a>(&self, world: &'a World<M>) -> &'a Server<M> {
        &world.stack(*self).upper
    }

    fn server_mut<'a>(&self, world: &'a mut World<M>) -> &'a mut Server<M> {
        &mut world.stack_mut(*self).upper
    }
}

/// Puts both ends of a flow into the world, and starts them.
fn start(world: &mut World<M>, scenario: &Scenario, at: usize, seed: u64) -> Flowing {
    let flow = &scenario.flows[at];
    let (here, there) = (address(flow.from, at), address(flow.to, at));
    let remote = SocketAddr::new(there, PORT);
    let server = ServerHere { world, plan: &flow.plan, address: there, local: remote };
    let server = flow.transport.over(Simulated(there), seed, server);
    let client = ClientHere { world, plan: &flow.plan, address: here, remote };
    let client = flow.transport.over(Simulated(here), !seed, client);
    Flowing { client, server }
}

struct ServerHere<'a> {
    world: &'a mut World<M>,
    plan: &'a Plan,
    address: IpAddr,
    local: SocketAddr,
}

impl Stacked<Segments<M>> for ServerHere<'_> {
    type Done = Box<dyn ServerEnd>;

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

impl ServerHere<'_> {
    fn place<P>(self, stack: P, given: Guarantees) -> Box<dyn ServerEnd>
    where
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
    {
        let server = Over::new(Server::new(self.plan.clone(), given), stack);
        let station = self.world.add(self.address, server, Heard::default());
        self.world.ask(station, Request::Start(self.local.into()));
        Box::new(station)
    }
}

struct ClientHere<'a> {
    world: &'a mut World<M>,
    plan: &'a Plan,
    address: IpAddr,
    remote: SocketAddr,
}

impl Stacked<Segments<M>> for ClientHere<'_> {
    type Done = Box<dyn ClientEnd>;

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

impl ClientHere<'_> {
    fn place<P>(self, stack: P, given: Guarantees) -> Box<dyn ClientEnd>
    where
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
    {
        let client = Over::new(Client::new(self.plan.clone(), given), stack);
        let station = self.world.add(self.address, client, Heard::default());
        self.world.ask(station, Request::Start(self.remote.into()));
        Box::new(station)
    }
}
