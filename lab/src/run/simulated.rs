//! A scenario in the simulator.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright::compose::Over;
use stackwright::contract::services::{Datagrams, Room};
use stackwright::stop_and_wait::{self, StopAndWait};
use stackwright::wire::SingleBuffer;
use stackwright_contract::{Duration, Guarantees, Instant, Protocol};
use stackwright_simulator::{Heard, Lanes, SimulatedDatagrams, StationId, World};

use super::outcome::{FlowOutcome, LinkOutcome, Outcome};
use crate::scenario::{Fault, Flow, Scenario};
use crate::transport::Transport;
use crate::transport::window::{self, Window};
use crate::workload::{Client, Plan, Request, Server, Told};

type M = SingleBuffer;

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
}

/// One flow in the world.
trait Flowing {
    fn done(&self, world: &World<M>) -> bool;
    fn broken(&self, world: &World<M>) -> bool;
    /// What came of it; `late` where its time is over.
    fn outcome(&self, world: &mut World<M>) -> FlowOutcome;
}

struct Ends<P: Protocol<Provides = Datagrams<M>>> {
    client: StationId<Over<Client<M>, P>, Heard<Told>>,
    server: StationId<Over<Server<M>, P>, Heard<Told>>,
}

impl<P> Flowing for Ends<P>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    fn done(&self, world: &World<M>) -> bool {
        world.stack(self.client).upper.done()
    }

    fn broken(&self, world: &World<M>) -> bool {
        let back = world.stack(self.client).upper.replies.broken.is_some();
        back || world.stack(self.server).upper.promises.broken.is_some()
    }

    fn outcome(&self, world: &mut World<M>) -> FlowOutcome {
        let client = &world.stack(self.client).upper;
        let (account, ends) = (client.account.clone(), client.ends().collect::<Vec<_>>());
        let back = client.replies.broken.clone();
        let server = &mut world.stack_mut(self.server).upper;
        server.concluded(ends.into_iter());
        FlowOutcome {
            account,
            counts: server.promises.counts,
            span: server.span,
            under_way: Some(server.under_way),
            broken: server.promises.broken.clone().or(back),
        }
    }
}

/// Where everybody is: each end of a flow has an address of its own.
fn address(station: usize, flow: usize) -> IpAddr {
    let flow = u16::try_from(flow).unwrap_or(u16::MAX).to_be_bytes();
    Ipv4Addr::new(10, u8::try_from(station + 1).unwrap_or(u8::MAX), flow[0], flow[1]).into()
}

/// The port of every server.
const PORT: u16 = 7;
/// What an adapter takes in a batch.
const ROOM: Room = Room { octets: 1 << 20, messages: 1024 };
/// How long the rest of what is under way may take to arrive when the senders are done.
const LINGER: Duration = Duration::from_secs(5);

/// Runs a scenario. `faults`, where there are any, are all that goes wrong.
pub(crate) fn run(scenario: &Scenario, seed: u64, faults: Option<&[Fault]>, keep: Keep) -> Run {
    let mut world = World::new(seed);
    if keep.trace {
        world.keep_trace();
    }
    lay(&mut world, scenario, faults, keep);
    let flows: Vec<_> = (0..).zip(&scenario.flows).map(|(at, flow)| start(&mut world, at, flow)).collect();
    let end = Instant::START + scenario.time;
    // After every event: a promise that is broken ends the run where it was broken.
    let mut ended = false;
    while world.next_event().is_some_and(|time| time <= end) {
        if flows.iter().any(|flow| flow.broken(&world)) {
            break;
        }
        if flows.iter().all(|flow| flow.done(&world)) {
            ended = true;
            break;
        }
        world.step();
    }
    ended |= flows.iter().all(|flow| flow.done(&world));
    if ended {
        let limit = LINGER.min(end.since(world.now()));
        let _ = world.run_until(|world| flows.iter().any(|flow| flow.broken(world)), limit);
    }
    let flows = flows.iter().map(|flow| flow.outcome(&mut world)).collect();
    let links = links(&world, scenario);
    let trace = keep.trace.then(|| world.trace().hash());
    Run { outcome: Outcome { seed, ended, flows, links, trace }, world }
}

/// Starts the two ends of a flow.
fn start(world: &mut World<M>, at: usize, flow: &Flow) -> Box<dyn Flowing> {
    let seed = world.now().nanoseconds() ^ at as u64;
    let udp = |address| SimulatedDatagrams::<M>::checked(address, ROOM);
    match &flow.transport {
        Transport::Udp => place(world, at, flow, udp),
        Transport::Window { octets, patience } => place(world, at, flow, |address| {
            let rules = window::Rules::new(octets.0, patience.duration());
            Over::new(Window::<M>::new(rules, seed), udp(address))
        }),
        Transport::StopAndWait { patience, tries } => place(world, at, flow, |address| {
            let rules = stop_and_wait::Rules {
                patience: patience.duration(),
                tries_most: *tries,
                ..stop_and_wait::Rules::default()
            };
            Over::new(StopAndWait::<M>::new(rules, seed), udp(address))
        }),
    }
}

/// Puts both ends of a flow into the world, on stacks that `make` makes.
pub(super) fn place<P>(
    world: &mut World<M>,
    at: usize,
    flow: &Flow,
    make: impl Fn(IpAddr) -> P,
) -> Box<dyn Flowing>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    let given: Guarantees = P::FACTS.gives;
    let (here, there) = (address(flow.from, at), address(flow.to, at));
    let plan: &Plan = &flow.plan;
    let server = Over::new(Server::new(plan.clone(), given), make(there));
    let server = world.add(there, server, Heard::default());
    let client = Over::new(Client::new(plan.clone(), given), make(here));
    let client = world.add(here, client, Heard::default());
    let local = SocketAddr::new(there, PORT).into();
    world.ask(server, Request::Start(local));
    world.ask(client, Request::Start(local));
    Box::new(Ends { client, server })
}
