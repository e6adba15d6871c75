//! What each end is told of an end, over links that lose and reorder.

use std::net::{IpAddr, SocketAddr};

use stackwright_artp::{Config, Layer, layer};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Protocol as _};
use stackwright_simulator::{
    Application, Asks, Conditions, Deed, Event, Reorder, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{BufferTree, Message as _};

type M = BufferTree;
type Stack = Over<Layer<M>, SimulatedDatagrams<M>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };
const CREDIT: Credit = Credit { octets: 1 << 16, messages: 16 };

/// What it does with the association.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Replies with as many messages to the first that comes.
    Replies(usize),
    /// Requests, and closes behind the last reply.
    Closes(usize),
    /// Requests, and aborts with this code behind the first reply.
    Aborts(u32),
}

pub(crate) struct End {
    role: Role,
    pub(crate) received: usize,
    pub(crate) ended: Option<Ended>,
}

fn send(asks: &mut Asks<Stack>, octets: &[u8]) {
    asks.push_back(DatagramsRequest::Send {
        association: NAME,
        batch: M::with_headroom(64, octets).into(),
        properties: MessageProperties::default(),
    });
}

impl Application<Stack> for End {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        match indication {
            DatagramsIndication::Opened { .. } if !matches!(self.role, Role::Replies(_)) => {
                send(asks, b"request");
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                self.received += 1;
                asks.push_back(DatagramsRequest::Credit { association, credit: batch.cost() });
                match self.role {
                    Role::Replies(replies) => (0..replies).for_each(|_| send(asks, &[7; 900])),
                    Role::Closes(replies) if self.received == replies => {
                        asks.push_back(DatagramsRequest::Close { name: NAME });
                    }
                    Role::Closes(_) => {}
                    Role::Aborts(code) => {
                        asks.push_back(DatagramsRequest::Abort { association: NAME, code });
                    }
                }
            }
            DatagramsIndication::Ended { name: NAME, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

struct Pair {
    world: World<M>,
    server: StationId<Stack, End>,
    client: StationId<Stack, End>,
}

impl Pair {
    fn new(seed: u64, conditions: Conditions, roles: [Role; 2]) -> Self {
        let configs = [0, 1].map(|nth| Config::new([1 + nth; 16]));
        Self::configured(seed, conditions, roles, configs)
    }

    fn configured(
        seed: u64,
        conditions: Conditions,
        roles: [Role; 2],
        configs: [Config; 2],
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        let [server, client] = [0, 1].map(|nth| {
            let address = IpAddr::from([10, 0, 0, 1 + nth as u8]);
            let credit = Credit { octets: 1 << 20, messages: 512 };
            let below = SimulatedDatagrams::new(address, credit);
            let end = End { role: roles[nth], received: 0, ended: None };
            world.add(address, Over::new(layer(configs[nth], seed), below), end)
        });
        let local = SocketAddr::from(([10, 0, 0, 1], 7)).into();
        world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
        let awaits =
            DatagramsRequest::Await { listener: LISTENER, association: NAME, credit: CREDIT };
        world.ask(server, awaits);
        let opens = DatagramsRequest::Open {
            association: NAME,
            remote: local,
            local: None,
            credit: CREDIT,
        };
        world.ask(client, opens);
        Pair { world, server, client }
    }

    /// Returns how it ended for the server and for the client.
    fn ends(&mut self) -> [Option<Ended>; 2] {
        let (server, client) = (self.server, self.client);
        let _ = self.world.run_until(
            |world| [server, client].iter().all(|end| world.application(*end).ended.is_some()),
            Duration::from_secs(300),
        );
        [server, client].map(|end| self.world.application(end).ended)
    }
}

/// The program exits one way after all that it sent was acknowledged: the end has left, and its
/// answer finds nobody.
#[test]
fn a_program_may_exit_once_its_end_has_left() {
    let delay = Duration::from_millis(100);
    let conditions = Conditions { delay, ..Conditions::IDEAL };
    let mut pair = Pair::new(1, conditions, [Role::Replies(1), Role::Closes(1)]);
    let (server, client) = (pair.server, pair.client);
    let limit = Duration::from_secs(10);
    pair.world.run_for(5 * delay / 2);
    assert!(!pair.world.stack(client).may_exit(), "the request was not acknowledged");
    assert!(pair.world.run_until(|world| world.stack(client).may_exit(), limit));
    assert_eq!(pair.world.application(client).received, 1);
    assert_eq!(pair.world.application(client).ended, None, "before the answer");
    let since = pair.world.now();
    let gone = Event { nth: 0, deed: Deed::Lose };
    let gone = (0..100).map(|nth| Event { nth, ..gone }).collect();
    pair.world.network_mut().script([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), gone);
    assert!(pair.world.run_until(|world| world.application(server).ended.is_some(), limit));
    assert_eq!(pair.world.application(server).ended, Some(Ended::Finished));
    assert!(pair.world.now().since(since) <= delay + Duration::from_millis(1));
}

fn lossy(seed: u64) -> Conditions {
    Conditions {
        delay: Duration::from_millis(1 + seed % 40),
        jitter: Duration::from_micros(100),
        loss: 0.05.into(),
        reorder: Reorder { probability: 0.2, by: Duration::from_millis(30) },
        ..Conditions::IDEAL
    }
}

#[test]
fn a_close_behind_the_last_reply_is_never_told_as_a_reset() {
    for seed in 0..1000 {
        let replies = 1 + seed as usize % 5;
        let roles = [Role::Replies(replies), Role::Closes(replies)];
        let mut pair = Pair::new(seed, lossy(seed), roles);
        assert_eq!(pair.ends(), [Some(Ended::Finished); 2], "seed {seed}");
    }
}

#[test]
fn an_abort_carries_its_code() {
    for seed in 0..200 {
        let mut pair = Pair::new(seed, lossy(seed), [Role::Replies(3), Role::Aborts(42)]);
        let ends = [Ended::Reset(42), Ended::Aborted].map(Some);
        assert_eq!(pair.ends(), ends, "seed {seed}");
    }
}

/// All packets to the client are lost from when the server has received something: it gives up, and
/// its peer, which waits for nothing, is told.
#[test]
fn a_passive_receiver_is_told_that_its_peer_gave_up() {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    let mut pair = Pair::new(1, conditions, [Role::Replies(0), Role::Closes(1)]);
    let (server, client, limit) = (pair.server, pair.client, Duration::from_secs(120));
    assert!(pair.world.run_until(|world| world.application(server).received == 1, limit));
    let [here, there] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let lost = (0..1000).map(|nth| Event { nth, deed: Deed::Lose }).collect();
    pair.world.network_mut().script(here, there, lost);
    assert!(pair.world.run_until(|world| world.application(client).ended.is_some(), limit));
    pair.world.run_for(Duration::from_millis(100));
    let ended = [server, client].map(|end| pair.world.application(end).ended);
    assert_eq!(ended, [Some(Ended::Expired); 2]);
}

/// Nothing passes from one moment on, and nothing is in flight: both notice within the time that
/// the configuration documents, and not before.
#[test]
fn a_silence_is_noticed_after_the_idle_timeout() {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    let gone = Conditions { loss: 1.0.into(), ..conditions.clone() };
    let mut pair = Pair::new(1, conditions, [Role::Replies(1), Role::Closes(2)]);
    // An hour of silence that is none.
    pair.world.run_for(Duration::from_secs(3600));
    pair.world.network_mut().set_conditions(gone);
    let (server, client) = (pair.server, pair.client);
    let ended = |world: &World<M>| [server, client].map(|end| world.application(end).ended);
    assert_eq!(ended(&pair.world), [None; 2]);
    pair.world.run_for(Duration::from_secs(79));
    assert_eq!(ended(&pair.world), [None; 2], "the last packet may be 10 s old");
    pair.world.run_for(Duration::from_secs(12));
    assert_eq!(ended(&pair.world), [Some(Ended::Expired); 2]);
}

/// One exchange and its end take round trips, and wait for no delayed acknowledgement.
#[test]
fn a_session_of_one_exchange_takes_round_trips_alone() {
    let delay = Duration::from_micros(20);
    let conditions = Conditions { delay, ..Conditions::IDEAL };
    for seed in 0..20 {
        let mut pair = Pair::new(seed, conditions.clone(), [Role::Replies(1), Role::Closes(1)]);
        let client = pair.client;
        let limit = Duration::from_micros(500);
        let ends = |world: &World<M>| world.application(client).ended.is_some();
        assert!(pair.world.run_until(ends, limit), "seed {seed}: it waits");
        assert_eq!(pair.world.application(client).ended, Some(Ended::Finished));
    }
}

/// Nothing passes for a while in the midst of a transfer. What one end bears, both do, whichever
/// sends: the longer limit is agreed at the opening.
#[test]
fn an_outage_that_one_end_bears_ends_nothing() {
    const REPLIES: usize = 60;
    const SECOND: u64 = 1_000_000_000;
    let [usual, other] = [1, 2].map(|secret| Config::new([secret; 16]));
    let patient = |config: Config| Config { idle: Some(300 * SECOND), ..config };
    for (configs, outage) in [
        ([usual, other], 35),
        ([usual, other], 60),
        ([usual, other], 45),
        ([patient(usual), other], 250),
        ([usual, patient(other)], 250),
    ] {
        for seed in 0..5 {
            let delay = Duration::from_millis(20);
            let conditions = Conditions { delay, ..Conditions::IDEAL };
            let gone = Conditions { loss: 1.0.into(), ..conditions.clone() };
            let roles = [Role::Replies(REPLIES), Role::Closes(REPLIES)];
            let mut pair = Pair::configured(seed, conditions.clone(), roles, configs);
            let (client, limit) = (pair.client, Duration::from_secs(600));
            let half = 12 + 5 * seed as usize;
            let has_half = |world: &World<M>| world.application(client).received >= half;
            assert!(pair.world.run_until(has_half, limit));
            pair.world.network_mut().set_conditions(gone);
            pair.world.run_for(Duration::from_secs(outage));
            pair.world.network_mut().set_conditions(conditions);
            assert_eq!(pair.ends(), [Some(Ended::Finished); 2], "{outage} s, seed {seed}");
            assert_eq!(pair.world.application(client).received, REPLIES);
        }
    }
}
