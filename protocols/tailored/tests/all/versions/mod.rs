//! Two versions of a protocol, generated from their texts: the newer one accepts the older one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_generated::contract::{meter_1 as old, meter_2 as new};
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_role::{RoleIndication, RoleLayer, RolePart, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_spec::{Conclusion, compile, explore_mixed, hash};
use stackwright_tailored::configurations::AnyOrder;
use stackwright_tailored::header::ReasonCode;
use stackwright_tailored::{Config, Layer, Named, layer};
use stackwright_wire::SingleBuffer;

type M = SingleBuffer;
type Below = Over<Layer<Named<AnyOrder<M>>>, SimulatedDatagrams<M>>;
type Stack<P> = Over<RoleLayer<M, P, fn() -> P>, Below>;

const VALUES: PolicyValues =
    PolicyValues { bounds: Bounds { window: 16, ..Bounds::DEFAULT }, ..PolicyValues::RELIABLE };
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const ROOM: Credit = Credit { octets: 4096, messages: 16 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };

/// What an end says of its protocol.
#[derive(Clone, Copy)]
struct Spoken {
    hash: u64,
    accepts: &'static [u64],
}

const OLD: Spoken = Spoken { hash: old::HASH, accepts: old::ACCEPTS };
const NEW: Spoken = Spoken { hash: new::HASH, accepts: new::ACCEPTS };

fn stack<P: RolePart<M> + 'static>(address: IpAddr, spoken: Spoken, make: fn() -> P) -> Stack<P> {
    let Spoken { hash, accepts } = spoken;
    let config = Config { protocol: hash, accepts, ..Config::new([7; 16]) };
    let datagrams = SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 1024 });
    Over::new(RoleLayer::new(make), Over::new(layer(Named::new(VALUES), config, 1), datagrams))
}

/// Reads a value when it is open, and closes when it is known.
struct Reader<I, O> {
    reads: Option<I>,
    known: Option<O>,
    ended: Option<Ended>,
}

impl<I, O> Reader<I, O> {
    fn of(reads: Option<I>) -> Self {
        Reader { reads, known: None, ended: None }
    }
}

impl<I: 'static, O: 'static, P> Application<Stack<P>> for Reader<I, O>
where
    P: RolePart<M, Input = I, Output = O> + 'static,
{
    fn hear(&mut self, _: &Context, told: RoleIndication<O>, asks: &mut Asks<Stack<P>>) {
        match told {
            RoleIndication::Opened { association, .. } => {
                if let Some(input) = self.reads.take() {
                    asks.push_back(RoleRequest::Tell { association, input });
                }
            }
            RoleIndication::Told { association, output } => {
                self.known = Some(output);
                asks.push_back(RoleRequest::Close { name: association });
            }
            RoleIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// A client speaks with a server: what it knows, how it ended, and what the server noted.
fn meets<C, S>(client: (Spoken, fn() -> C, C::Input), server: (Spoken, fn() -> S)) -> Met<C::Output>
where
    C: RolePart<M> + 'static,
    S: RolePart<M> + 'static,
    C::Input: 'static,
    C::Output: Clone + 'static,
    S::Input: 'static,
    S::Output: 'static,
{
    let mut world = World::<M>::new(1);
    world.keep_trace();
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let there = stack(SERVER, server.0, server.1);
    let there = world.add(SERVER, there, Reader::<S::Input, S::Output>::of(None));
    let here = stack(CLIENT, client.0, client.1);
    let here = world.add(CLIENT, here, Reader::<C::Input, C::Output>::of(Some(client.2)));
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(there, RoleRequest::Listen { listener: LISTENER, local });
    let awaits = RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM };
    world.ask(there, awaits);
    let (association, remote) = (ASSOCIATION, local);
    world.ask(here, RoleRequest::Open { association, remote, local: None, credit: ROOM });
    let over =
        world.run_until(|world| world.application(here).ended.is_some(), Duration::from_secs(60));
    assert!(over, "it ends for the client");
    let of_client = world.application(here);
    let trace = world.trace();
    let notes = trace.lines().iter().filter(|line| line.station == Some(SERVER));
    Met {
        known: of_client.known.clone(),
        ended: of_client.ended,
        noted: notes
            .map(|line| line.what.clone())
            .filter(|what| what.contains("refused"))
            .collect(),
    }
}

struct Met<O> {
    known: Option<O>,
    ended: Option<Ended>,
    noted: Vec<String>,
}

#[test]
fn an_older_client_is_taken_by_a_server_that_accepts_its_version() {
    let read = old::client::Input::Read { value: 42 };
    let client = (OLD, (|| old::client::Part::new(())) as fn() -> _, read);
    let met = meets(client, (NEW, || new::server::Part::new(())));
    assert!(matches!(met.known, Some(old::client::Output::Known { value: 42 })));
    assert_eq!(met.ended, Some(Ended::Finished));
    assert_eq!(met.noted, [""; 0]);
}

#[test]
fn a_newer_client_is_refused_by_a_server_that_does_not_and_both_hashes_are_told() {
    let read = new::client::Input::Read { value: 42 };
    let client = (NEW, (|| new::client::Part::new(())) as fn() -> _, read);
    let met = meets(client, (OLD, || old::server::Part::new(())));
    assert!(met.known.is_none());
    assert_eq!(met.ended, Some(Ended::Refused(ReasonCode::ANOTHER_PROTOCOL)));
    let says = format!("its protocol has the hash {:016x}, ours {:016x}", new::HASH, old::HASH);
    assert!(!met.noted.is_empty() && met.noted.iter().all(|what| what.contains(&says)));
}

const TEXTS: [&str; 2] = [
    include_str!("../../../../../crates/spec/tests/sources/meter-1.protocol"),
    include_str!("../../../../../crates/spec/tests/sources/meter-2.protocol"),
];

/// As `spec check meter-2.protocol --with meter-1.protocol` does.
#[test]
fn what_is_accepted_is_understood() {
    let [old, new] = TEXTS.map(|text| compile(text).expect("it compiles"));
    assert_eq!(new.program.accepts, [hash(&old.program, &old.automata)]);
    let found = explore_mixed(&new, &old).expect("it is small");
    assert!(!found.is_empty() && found.iter().all(|one| one.conclusion == Conclusion::Holds));
}
