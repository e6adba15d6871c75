//! What an association takes that says nothing: there are thousands of them in one process.

#[path = "../../compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only what is held is counted")]
mod count;

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, System};
use stackwright_wire::BufferTree;

type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

/// At each end, in octets, with its share of all tables; right after an exchange, when no queue has
/// been given back. With what an allocator adds, and what a process has once, it has to stay below
/// 4.25 KB. It is 4215, of which 440 are for slow start by the round trip, and for what a spurious
/// timeout undoes; and 285 for what finds a peer at another address, tells that it has lost the
/// association, and finds paths below 1200 octets; and about 200 for what undoes losses that were
/// none, finds a path wide again, and tells that ECN is mangled.
const MOST: usize = 4352;

/// Nearly as many as tables of 256 places have room for, and not more: no table is half empty, and
/// none grows for the last.
const MANY: usize = 112;

fn make(system: &System) -> Artp {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    Over::new(artp::layer(config, system.seed()), system.udp())
}

/// An association of an endpoint with itself, and a message there and back.
fn talk(endpoint: &Endpoint<Artp>) -> [Association<Artp>; 2] {
    let one = endpoint.connect(endpoint.local().unwrap()).unwrap();
    let other = endpoint.accept().unwrap();
    exchange(&one, &other);
    [one, other]
}

fn exchange(one: &Association<Artp>, other: &Association<Artp>) {
    one.send(b"is anybody there?").unwrap();
    other.receive().unwrap();
    other.send(b"yes").unwrap();
    assert_eq!(one.receive().unwrap().0, b"yes");
}

// One test only: allocations of another one would be counted.
#[test]
fn an_idle_association_takes_little() {
    let endpoint = Endpoint::bind(
        "127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap(),
        Config::default(),
        make,
    )
    .unwrap();
    let mut associations = Vec::with_capacity(MANY);
    // Blocks for datagrams are the endpoint's, and so is memory that is used again.
    let [one, other] = talk(&endpoint);
    (0..100).for_each(|_| exchange(&one, &other));
    associations.push([one, other]);
    let ((), held) = count::held(|| (1..MANY).for_each(|_| associations.push(talk(&endpoint))));
    let each = held / (2 * (MANY - 1));
    assert!(each < MOST, "{each} octets");
}
