//! One side of a scenario on real sockets: a process that `lab run --real` starts at each end of
//! the wire.
//!
//! The server says when it listens, and hears on its input how the client's conversations ended;
//! then it says what arrived. The client says what it did. Both say it in one line of JSON.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::compose::Over;
use stackwright::wire::Pool;
use stackwright_contract::services::Ended;
use stackwright_contract::{Listener, Outlet, Protocol, Service};
use stackwright_drivers::Driver;
use stackwright_results::Problem;
use stackwright_transport::words::Dropped;

use crate::scenario::{Flow, Scenario};
use crate::transport::{Lowers, M, Woven};
use crate::workload::{Account, Broken, Client, Counts, End, Promises, Request, Server, Told};

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
    pub(super) ends: Vec<End>,
    pub(super) broken: Option<Broken>,
    pub(super) duplicates: u64,
    /// When it asked for its first association, by the machine's clock.
    pub(super) began: Option<Duration>,
}

/// What a server has to tell of a flow.
#[derive(Serialize, Deserialize)]
pub(super) struct ServerSays {
    pub(super) counts: Counts,
    pub(super) reliable: bool,
    /// When the last message arrived, by the machine's clock.
    pub(super) last: Option<Duration>,
    pub(super) duplicates: u64,
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
                    scope.spawn(move || run_client(flow, self.seed, remote, limit))
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
                    let told = run_server(flow, self.seed, local, &tell, over);
                    told.map(|served| served.conclude(theirs.recv().unwrap_or_default()))
                }));
            }
            drop(tell);
            let deaf = listening.iter().take(threads.len()).find_map(Result::err);
            if deaf.is_none() {
                say(&"listening")?;
            }
            let ends: Vec<Vec<End>> = hear(&mut io::stdin().lock()).unwrap_or_default();
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

/// A server that has stopped, when the last message arrived, by the machine's clock, and how many
/// packets its stack dropped as duplicates.
struct Served {
    server: Server<M>,
    last: Option<Duration>,
    duplicates: u64,
}

impl Served {
    fn conclude(self, ends: Vec<End>) -> ServerSays {
        let Served { mut server, last, duplicates } = self;
        server.concluded(&ends);
        let reliable = server.promises.reliable();
        let Promises { counts, broken, .. } = server.promises;
        ServerSays { counts, reliable, last, duplicates, broken }
    }
}

/// Returns a time of `driver` by the machine's clock, which both ends share: each driver counts
/// from its own start.
fn by_the_machine(driver: &Driver, time: stackwright_contract::Instant) -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither part is ever negative.
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    now.saturating_sub(driver.now().since(time))
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

/// Returns a driver, and the transport of a flow on its sockets.
fn on_sockets(flow: &Flow, seed: u64) -> io::Result<(Driver, Woven)> {
    let driver = Driver::new(seed)?;
    let lowers =
        Lowers::Real { registry: driver.registry(), pool: Arc::new(Pool::new(64 << 10, 64)) };
    let graph = flow.transport.over(lowers, seed);
    Ok((driver, graph))
}

/// Counts the packets that a stack drops because it had received them before.
struct Duplicates(Arc<AtomicU64>);

impl Duplicates {
    /// Counts those of all stacks on `driver` from now on.
    fn count(driver: &Driver) -> Arc<AtomicU64> {
        let counted = Arc::default();
        driver.context().listen(Box::new(Duplicates(Arc::clone(&counted))));
        counted
    }
}

impl Listener for Duplicates {
    fn dropped(
        &mut self,
        _now: stackwright_contract::Instant,
        _protocol: &'static str,
        reason: &'static str,
    ) {
        let more = u64::from(reason == Dropped::Duplicate.reason());
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn event(
        &mut self,
        _now: stackwright_contract::Instant,
        _protocol: &'static str,
        _what: fmt::Arguments<'_>,
    ) {
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

/// Runs the client of a flow, until it is done or `limit`.
fn run_client(
    flow: &Flow,
    seed: u64,
    remote: SocketAddr,
    limit: Instant,
) -> io::Result<ClientSays> {
    let (mut driver, graph) = on_sockets(flow, seed)?;
    let duplicates = Duplicates::count(&driver);
    let mut stack = Over::new(Client::new(flow.plan.clone(), graph.facts().gives), graph);
    let mut ears = Ears::default();
    driver.request(&mut stack, Request::Start(remote.into()), &mut ears);
    while !stack.upper.done() && Instant::now() < limit {
        driver.turn(&mut stack, &mut ears, Some(LOOK))?;
    }
    let Client { account, replies, .. } = &stack.upper;
    let (account, broken) = (account.clone(), replies.broken.clone());
    let began = stack.upper.began.map(|began| by_the_machine(&driver, began));
    Ok(ClientSays {
        account,
        ends: stack.upper.ends().collect(),
        broken,
        duplicates: duplicates.load(Ordering::Relaxed),
        began,
    })
}

/// Runs the server of a flow, until it is `over`.
fn run_server(
    flow: &Flow,
    seed: u64,
    local: SocketAddr,
    tell: &Sender<Result<(), Ended>>,
    over: &AtomicBool,
) -> io::Result<Served> {
    let (mut driver, graph) = on_sockets(flow, seed)?;
    let duplicates = Duplicates::count(&driver);
    let mut stack = Over::new(Server::new(flow.plan.clone(), graph.facts().gives), graph);
    let mut ears = Ears::default();
    driver.request(&mut stack, Request::Start(local.into()), &mut ears);
    while !over.load(Ordering::Relaxed) {
        for told in ears.0.drain(..) {
            let _ = match told {
                Told::Listening => tell.send(Ok(())),
                Told::Deaf(why) => tell.send(Err(why)),
                Told::Done => Ok(()),
            };
        }
        driver.turn(&mut stack, &mut ears, Some(LOOK))?;
    }
    let last = stack.upper.last.map(|last| by_the_machine(&driver, last));
    Ok(Served { server: stack.upper, last, duplicates: duplicates.load(Ordering::Relaxed) })
}
