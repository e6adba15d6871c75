//! One protocol, three ways to run it: as a static stack over the kernel's UDP, as a graph over the
//! same, and in the simulator over a link that loses a third. The protocol is
//! `protocols/stop-and-wait`; how it was written stands in `docs/a-protocol-in-sixty-lines.md`.
//!
//! ```text
//! cargo run --release -p stackwright-examples --bin stop-and-wait
//! ```

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright::compose::graph::{Builder, Graph};
use stackwright::compose::{Over, stack};
use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright::contract::{Context, Handle, Outlet, Participant, Protocol};
use stackwright::stop_and_wait::{Rules, StopAndWait};
use stackwright::wire::{BufferTree, Leaf, Message, Pool};
use stackwright_drivers::udp::Udp;
use stackwright_drivers::{Driver, Lanes, Readiness};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};

type M = BufferTree;
type Failure = Box<dyn Error + Send + Sync>;

stack! {
    /// The equation of the example.
    Static = StopAndWait<M> over Udp<M>
}

/// The same, put together while the program runs.
type Woven = Graph<M, Readiness, Datagrams<M>>;

const MESSAGES: u32 = 1000;
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 16, messages: 64 };

fn main() -> Result<(), Failure> {
    println!("static stack over UDP    {}", over_udp(static_stack)?);
    println!("the same as a graph      {}", over_udp(graph)?);
    println!("simulated, a third lost  {}", simulated());
    Ok(())
}

/// Sends numbers as room allows, or hears them; says what the stack shall be asked next.
#[derive(Default)]
struct Talker {
    to_send: u32,
    sent: u32,
    local: Option<Participant>,
    heard: Vec<u32>,
    ended: Option<Ended>,
}

impl Talker {
    fn hear(
        &mut self,
        indication: DatagramsIndication<M>,
        mut ask: impl FnMut(DatagramsRequest<M>),
    ) {
        match indication {
            DatagramsIndication::Listening { local, .. } => self.local = Some(local),
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                for _ in 0..credit.messages.min((self.to_send - self.sent) as usize) {
                    let message = M::with_headroom(64, &self.sent.to_be_bytes());
                    ask(DatagramsRequest::Send {
                        association: ASSOCIATION,
                        batch: message.into(),
                        properties: MessageProperties::default(),
                    });
                    self.sent += 1;
                    if self.sent == self.to_send {
                        ask(DatagramsRequest::Close { name: ASSOCIATION });
                    }
                }
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                for message in messages {
                    ask(DatagramsRequest::Credit { association, credit: self.delivered(&message) });
                }
            }
            DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            DatagramsIndication::Ended { .. } => {}
        }
    }

    /// Gives the room that the message took.
    fn delivered(&mut self, message: &M) -> Credit {
        if let Some(Leaf::Octets(octets)) = message.leaves().next() {
            self.heard.extend(octets.try_into().map(u32::from_be_bytes));
        }
        Credit { octets: message.len(), messages: 1 }
    }

    fn verdict(&self) -> &'static str {
        if self.heard.iter().copied().eq(0..MESSAGES) {
            "each once, in order"
        } else {
            "NOT as they were sent"
        }
    }
}

/// An application keeps what it wants to ask until the stack is silent.
#[derive(Default)]
struct Ears {
    talker: Talker,
    asks: Vec<DatagramsRequest<M>>,
}

impl<P: Protocol<Provides = Datagrams<M>>> Outlet<P> for Ears {
    fn indicate(&mut self, indication: DatagramsIndication<M>) {
        self.talker.hear(indication, |request| self.asks.push(request));
    }

    fn request(&mut self, _nothing_is_below: <P::Uses as stackwright::contract::Service>::Request) {
    }
}

type Make<P> = fn(&Driver) -> Result<P, Failure>;

fn adapter(driver: &Driver) -> Result<Udp<M>, Failure> {
    Ok(Udp::new(driver.registry(), 0, Arc::new(Pool::new(64 << 10, 64))))
}

fn static_stack(driver: &Driver) -> Result<Static, Failure> {
    Ok(Over::new(StopAndWait::new(Rules::default(), 1), adapter(driver)?))
}

fn graph(driver: &Driver) -> Result<Woven, Failure> {
    let upper = StopAndWait::<M>::new(Rules::default(), 1);
    let builder = Builder::new().protocol("stop-and-wait", upper).over("udp");
    Ok(builder.protocol("udp", adapter(driver)?).top("stop-and-wait").build()?)
}

/// Runs a stack until `done`.
fn run<P>(
    make: Make<P>,
    first: Vec<DatagramsRequest<M>>,
    mut ears: Ears,
    mut done: impl FnMut(&Talker) -> bool,
) -> Result<Talker, Failure>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes>,
{
    let mut driver = Driver::new(1)?;
    let mut stack = make(&driver)?;
    ears.asks = first;
    while !done(&ears.talker) {
        for request in std::mem::take(&mut ears.asks) {
            driver.request(&mut stack, request, &mut ears);
        }
        let idle = if ears.asks.is_empty() { Duration::from_millis(20) } else { Duration::ZERO };
        driver.turn(&mut stack, &mut ears, Some(idle))?;
    }
    Ok(ears.talker)
}

/// A server on a thread of its own, a client here, and the kernel between them.
fn over_udp<P>(make: Make<P>) -> Result<String, Failure>
where
    P: Protocol<Provides = Datagrams<M>, Uses: Lanes> + 'static,
{
    let (tell, place) = mpsc::channel();
    let server = thread::spawn(move || {
        let listen = DatagramsRequest::Listen {
            listener: LISTENER,
            local: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
        };
        let awaits =
            DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM };
        run(make, vec![listen, awaits], Ears::default(), |talker| {
            if let Some(local) = talker.local {
                let _ = tell.send(local); // more than once is no harm
            }
            talker.heard.len() == MESSAGES as usize
        })
    });
    let remote = place.recv()?;
    let open =
        DatagramsRequest::Open { association: ASSOCIATION, remote, credit: ROOM, local: None };
    let ears =
        Ears { talker: Talker { to_send: MESSAGES, ..Talker::default() }, ..Ears::default() };
    let begin = Instant::now();
    // The last acknowledgement may be lost with the server that has heard enough: who waits for it
    // gives up.
    run(make, vec![open], ears, |talker| talker.sent == MESSAGES && server.is_finished())?;
    let heard = server.join().map_err(|_| "the server stopped")??;
    Ok(format!(
        "{MESSAGES} messages in {:.1} ms, {}",
        begin.elapsed().as_secs_f64() * 1e3,
        heard.verdict()
    ))
}

impl<P: Protocol<Provides = Datagrams<M>>> Application<P> for Talker {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<P>) {
        Talker::hear(self, indication, |request| asks.push_back(request));
    }
}

/// The same protocol where time and loss are arguments.
fn simulated() -> String {
    let [server, client] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let mut world = World::new(7);
    world.network_mut().set_conditions(Conditions {
        delay: Duration::from_millis(20),
        loss: (1.0 / 3.0).into(),
        ..Conditions::IDEAL
    });
    let stack = |address| {
        Over::new(
            StopAndWait::new(Rules::default(), 1),
            SimulatedDatagrams::<M>::new(address, ROOM),
        )
    };
    let local = SocketAddr::new(server, 7).into();
    let server = world.add(server, stack(server), Talker::default());
    let client =
        world.add(client, stack(client), Talker { to_send: MESSAGES, ..Talker::default() });
    world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
    world.ask(
        server,
        DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM },
    );
    world.ask(
        client,
        DatagramsRequest::Open {
            association: ASSOCIATION,
            remote: local,
            credit: ROOM,
            local: None,
        },
    );
    let ended = world
        .run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(86_400));
    let verdict = if ended { world.application(server).verdict() } else { "NOT at an end" };
    format!(
        "{MESSAGES} messages in {:.0} s of the simulator's time, {verdict}",
        world.now().nanoseconds() as f64 / 1e9
    )
}
