//! A seeded script has the same trace in a library and through a server: what is told, in which
//! order, when, and each packet.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Batches, Context, Duration, Either, Facts, Guarantees, Handle, IndicationOf, IndicationTo,
    Instant, Outlet, Participant, PathLimits, Protocol, RequestOf,
};
use stackwright_drivers::ipc::{Near, Quota, StackHost};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_wire::{BufferTree, Message as _};

type M = BufferTree;
type T = Datagrams<M>;
type Transport = Over<artp::Layer<M>, SimulatedDatagrams<M>>;

/// A stack behind the wall, without a socket in it: what one side sends, the other is delivered.
struct Walled<S> {
    near: Near<T>,
    host: StackHost<T>,
    stack: S,
    /// The names of the line, of the application and of the host.
    lines: [Option<Handle>; 2],
    to_near: VecDeque<StreamsIndication<M>>,
    to_host: VecDeque<Either<DatagramsIndication<M>, StreamsIndication<M>>>,
    to_stack: VecDeque<DatagramsRequest<M>>,
}

/// What a part says: up, and down.
struct Said<P: Protocol>(Vec<IndicationOf<P>>, Vec<RequestOf<P>>);

impl<P: Protocol> Outlet<P> for Said<P> {
    fn indicate(&mut self, indication: IndicationOf<P>) {
        self.0.push(indication);
    }

    fn request(&mut self, request: RequestOf<P>) {
        self.1.push(request);
    }
}

const HERE: Participant = Participant::OTHER_END;

impl<S: Protocol<Provides = T>> Walled<S> {
    fn new(stack: S) -> Self {
        let (near, host) = (Near::default(), StackHost::new(Guarantees::ABSENT, Quota::default()));
        let (to_near, to_host, to_stack) = Default::default();
        Walled { near, host, stack, lines: [None; 2], to_near, to_host, to_stack }
    }

    fn near(
        &mut self,
        out: &mut impl Outlet<Self>,
        act: impl FnOnce(&mut Near<T>, &mut Said<Near<T>>),
    ) {
        let mut said = Said(Vec::new(), Vec::new());
        act(&mut self.near, &mut said);
        said.0.into_iter().for_each(|word| out.indicate(word));
        for request in said.1 {
            if let StreamsRequest::Open { association, .. } = request {
                self.lines[0] = Some(association);
                let [near, host] = self.lines.map(|line| line.expect("both are there"));
                self.to_near.push_back(opened(near));
                self.to_host.push_back(Either::Right(opened(host)));
            } else {
                let word = across(request, self.lines[1]).map(Either::Right);
                self.to_host.extend(word);
            }
        }
    }

    fn host(&mut self, act: impl FnOnce(&mut StackHost<T>, &mut Said<StackHost<T>>)) {
        let mut said = Said(Vec::new(), Vec::new());
        act(&mut self.host, &mut said);
        for request in said.1 {
            match request {
                Either::Left(request) => self.to_stack.push_back(request),
                Either::Right(StreamsRequest::Listen { listener, .. }) => {
                    let word = StreamsIndication::Listening { listener, local: HERE };
                    self.to_host.push_back(Either::Right(word));
                }
                Either::Right(StreamsRequest::Await { association, .. }) => {
                    self.lines[1].get_or_insert(association);
                }
                Either::Right(request) => self.to_near.extend(across(request, self.lines[0])),
            }
        }
    }

    fn stack(&mut self, out: &mut impl Outlet<Self>, act: impl FnOnce(&mut S, &mut Said<S>))
    where
        Self: Protocol<Uses = S::Uses>,
    {
        let mut said = Said(Vec::new(), Vec::new());
        act(&mut self.stack, &mut said);
        self.to_host.extend(said.0.into_iter().map(Either::Left));
        said.1.into_iter().for_each(|request| out.request(request));
    }

    /// Has everything cross that was said.
    fn settle(&mut self, cx: &Context, out: &mut impl Outlet<Self>)
    where
        Self: Protocol<Uses = S::Uses>,
    {
        loop {
            if let Some(word) = self.to_stack.pop_front() {
                self.stack(out, |stack, said| stack.handle_request(cx, word, said));
            } else if let Some(word) = self.to_host.pop_front() {
                self.host(|host, said| host.handle_indication(cx, word, said));
            } else if let Some(word) = self.to_near.pop_front() {
                self.near(out, |near, said| near.handle_indication(cx, word, said));
            } else if self.host.wants_flush() {
                self.host(|host, said| host.flush(cx, said));
            } else if self.near.wants_flush() {
                self.near(out, |near, said| near.flush(cx, said));
            } else {
                return;
            }
        }
    }
}

fn opened(association: Handle) -> StreamsIndication<M> {
    let (local, remote, credit) = (HERE, HERE, Credit::of_octets(100_000));
    let path = PathLimits::UNBOUNDED;
    StreamsIndication::Opened { association, local, remote, credit, path }
}

/// What the other end of the line is told.
fn across(request: StreamsRequest<M>, there: Option<Handle>) -> Option<StreamsIndication<M>> {
    let association = there?;
    match request {
        StreamsRequest::Send { batch, properties, .. } => {
            Some(StreamsIndication::Delivered { association, batch, properties })
        }
        StreamsRequest::Credit { credit, .. } => {
            Some(StreamsIndication::Credit { association, credit })
        }
        other => panic!("{other:?}"),
    }
}

impl<S: Protocol<Provides = T>> Protocol for Walled<S> {
    const FACTS: Facts = Facts::named("walled");
    const BATCHES: Batches = S::BATCHES;
    type Provides = T;
    type Uses = S::Uses;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        self.settle(cx, out);
        self.near(out, |near, said| near.handle_request(cx, request, said));
        self.settle(cx, out);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.stack(out, |stack, said| stack.handle_indication(cx, word, said));
        self.settle(cx, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.stack(out, |stack, said| stack.handle_timeout(cx, said));
        self.settle(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.stack.next_deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.stack(out, |stack, said| stack.flush(cx, said));
        self.settle(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.stack.wants_flush()
    }
}

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
        let (library, server) = (run(seed, |stack| stack), run(seed, Walled::new));
        words += library.iter().map(Vec::len).sum::<usize>();
        for (one, other) in library.iter().flatten().zip(server.iter().flatten()) {
            assert_eq!(one, other, "seed {seed}");
        }
        assert!(library.each_ref().map(Vec::len) == server.each_ref().map(Vec::len));
    }
    assert!(words > 10_000, "{words} words are compared");
}
