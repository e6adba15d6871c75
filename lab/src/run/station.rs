//! One side of a scenario on real sockets: a process that `lab run --real` starts at each end of
//! the wire.
//!
//! The server says when it listens, and hears on its input how the client's conversations ended;
//! then it says what arrived. The client says what it did. Both say it in one line of JSON.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::compose::Over;
use stackwright::wire::Pool;
use stackwright_contract::services::{Datagrams, Ended};
use stackwright_contract::{Guarantees, Outlet, Protocol, Service};
use stackwright_drivers::{Driver, Lanes, Readiness};

use crate::problem::Problem;
use crate::scenario::{Flow, Scenario};
use crate::transport::{M, Real, Stacked, Woven};
use crate::workload::{Account, Broken, Client, Counts, Request, Server, Told};

/// One side of a scenario on real sockets.
#[derive(Args, Debug)]
pub(crate) struct Station {
    scenario: PathBuf,
    #[arg(long)]
    set: Vec<String>,
    #[arg(long)]
    role: Role,
    /// Where the server is.
    #[arg(long)]
    address: IpAddr,
    #[arg(long)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Role {
    Client,
    Server,
}

/// What a client has to tell of a flow.
#[derive(Serialize, Deserialize)]
pub(super) struct ClientSays {
    pub(super) account: Account,
    pub(super) ends: Vec<Option<bool>>,
    pub(super) broken: Option<Broken>,
}

/// What a server has to tell of a flow.
#[derive(Serialize, Deserialize)]
pub(super) struct ServerSays {
    pub(super) counts: Counts,
    pub(super) arriving: Option<Duration>,
    pub(super) broken: Option<Broken>,
}

/// The first of the ports.
const PORT: u16 = 7000;
/// How long a loop waits for the network before it looks whether it shall end.
const LOOK: Duration = Duration::from_millis(20);

impl Station {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let scenario = Scenario::load(&self.scenario, &self.set)?;
        match self.role {
            Role::Client => self.client(&scenario),
            Role::Server => self.server(&scenario),
        }
    }

    /// Where the server of a flow listens: each has as many ports as associations.
    fn at(&self, scenario: &Scenario, flow: usize) -> SocketAddr {
        let before: usize =
            scenario.flows[..flow].iter().map(|flow| flow.plan.associations()).sum();
        SocketAddr::new(
            self.address,
            PORT.saturating_add(u16::try_from(before).unwrap_or(u16::MAX)),
        )
    }

    fn client(&self, scenario: &Scenario) -> Result<(), Problem> {
        let limit = Instant::now() + scenario.time;
        let said: Vec<_> = thread::scope(|scope| {
            let flows = scenario.flows.iter().enumerate();
            let threads: Vec<_> = flows
                .map(|(at, flow)| {
                    let remote = self.at(scenario, at);
                    scope.spawn(move || {
                        on_sockets(flow, self.seed, ClientThere { flow, remote, limit })
                    })
                })
                .collect();
            threads.into_iter().map(finished).collect::<Result<_, _>>()
        })?;
        say(&said)
    }

    fn server(&self, scenario: &Scenario) -> Result<(), Problem> {
        let over = AtomicBool::new(false);
        let said: Vec<_> = thread::scope(|scope| {
            let (tell, listening) = mpsc::channel();
            let (mut threads, mut tells) = (Vec::new(), Vec::new());
            for (at, flow) in scenario.flows.iter().enumerate() {
                let (ends, theirs) = mpsc::channel();
                tells.push(ends);
                let (local, tell, over) = (self.at(scenario, at), tell.clone(), &over);
                threads.push(scope.spawn(move || {
                    let told = on_sockets(flow, self.seed, ServerThere { flow, local, tell, over });
                    told.map(|server| conclude(server, theirs.recv().unwrap_or_default()))
                }));
            }
            drop(tell);
            let deaf = listening.iter().take(threads.len()).find_map(Result::err);
            if deaf.is_none() {
                say(&"listening")?;
            }
            let ends: Vec<Vec<Option<bool>>> = hear(&mut io::stdin().lock()).unwrap_or_default();
            over.store(true, Ordering::Relaxed);
            for (tell, ends) in tells.into_iter().zip(ends) {
                let _ = tell.send(ends);
            }
            match deaf {
                Some(why) => Err(Problem::new(format!("the server cannot listen: {why}"))),
                None => threads.into_iter().map(finished).collect::<Result<_, _>>(),
            }
        })?;
        say(&said)
    }
}

fn conclude(mut server: Server<M>, ends: Vec<Option<bool>>) -> ServerSays {
    server.concluded(&ends);
    let (counts, arriving, broken) =
        (server.promises.counts, server.arriving(), server.promises.broken.clone());
    ServerSays { counts, arriving, broken }
}

fn finished<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> Result<T, Problem> {
    match thread.join() {
        Ok(done) => done.map_err(Problem::new),
        Err(_) => Err(Problem::new("a flow stopped unexpectedly")),
    }
}

/// Says something in one line.
fn say(what: &impl Serialize) -> Result<(), Problem> {
    println!("{}", serde_json::to_string(what).map_err(Problem::new)?);
    Ok(())
}

/// Hears a line.
pub(super) fn hear<T: DeserializeOwned>(from: &mut impl io::BufRead) -> Option<T> {
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// What is done on the stack of a flow, once there is a driver.
struct Driven<'a, D> {
    driver: &'a mut Driver,
    then: D,
}

fn on_sockets<D>(flow: &Flow, seed: u64, then: D) -> io::Result<D::Done>
where
    D: OnStack,
{
    let mut driver = Driver::new(seed)?;
    let kernel = Real { registry: driver.registry(), pool: Arc::new(Pool::new(64 << 10, 64)) };
    flow.transport.over(kernel, seed, Driven { driver: &mut driver, then })
}

/// What one side does on its stack.
trait OnStack {
    type Done;
    fn run<P>(self, driver: &mut Driver, stack: P, given: Guarantees) -> io::Result<Self::Done>
    where
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes> + 'static;
}

impl<D: OnStack> Stacked<Readiness> for Driven<'_, D> {
    type Done = io::Result<D::Done>;

    fn stacked<P>(self, stack: P, given: Guarantees) -> Self::Done
    where
        P: Protocol<Provides = Datagrams<M>, Uses = Readiness> + 'static,
    {
        self.then.run(self.driver, stack, given)
    }

    fn woven(self, graph: Woven<Readiness>) -> Self::Done {
        let given = graph.facts().gives;
        self.then.run(self.driver, graph, given)
    }
}

/// Hears what a workload tells.
#[derive(Default)]
struct Ears(Vec<Told>);

impl<P> Outlet<P> for Ears
where
    P: Protocol<Provides: Service<Indication = Told>>,
{
    fn indicate(&mut self, told: Told) {
        self.0.push(told);
    }

    fn request(&mut self, _nothing_is_below: <P::Uses as Service>::Request) {}
}

struct ClientThere<'a> {
    flow: &'a Flow,
    remote: SocketAddr,
    limit: Instant,
}

impl OnStack for ClientThere<'_> {
    type Done = ClientSays;

    fn run<P>(self, driver: &mut Driver, stack: P, given: Guarantees) -> io::Result<ClientSays>
    where
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes> + 'static,
    {
        let mut stack = Over::new(Client::new(self.flow.plan.clone(), given), stack);
        let mut ears = Ears::default();
        driver.request(&mut stack, Request::Start(self.remote.into()), &mut ears);
        while !stack.upper.done() && Instant::now() < self.limit {
            driver.turn(&mut stack, &mut ears, Some(LOOK))?;
        }
        let Client { account, replies, .. } = &stack.upper;
        let (account, broken) = (account.clone(), replies.broken.clone());
        Ok(ClientSays { account, ends: stack.upper.ends().collect(), broken })
    }
}

struct ServerThere<'a> {
    flow: &'a Flow,
    local: SocketAddr,
    tell: Sender<Result<(), Ended>>,
    over: &'a AtomicBool,
}

impl OnStack for ServerThere<'_> {
    type Done = Server<M>;

    fn run<P>(self, driver: &mut Driver, stack: P, given: Guarantees) -> io::Result<Server<M>>
    where
        P: Protocol<Provides = Datagrams<M>, Uses: Lanes> + 'static,
    {
        let mut stack = Over::new(Server::new(self.flow.plan.clone(), given), stack);
        let mut ears = Ears::default();
        driver.request(&mut stack, Request::Start(self.local.into()), &mut ears);
        while !self.over.load(Ordering::Relaxed) {
            for told in ears.0.drain(..) {
                let _ = match told {
                    Told::Listening => self.tell.send(Ok(())),
                    Told::Deaf(why) => self.tell.send(Err(why)),
                    Told::Done => Ok(()),
                };
            }
            driver.turn(&mut stack, &mut ears, Some(LOOK))?;
        }
        Ok(stack.upper)
    }
}
