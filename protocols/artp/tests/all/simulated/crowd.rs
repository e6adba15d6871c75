//! Two hundred associations that act in one instant: they open, speak and close at once, and the
//! station that they all speak to answers each.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use stackwright_artp::{Config, Layer, layer};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{
    Application, Asks, Conditions, SimulatedDatagrams, StationId, World, seeds,
};
use stackwright_wire::{BufferTree, Message};

use crate::simulated::scene::any_conditions;

type M = BufferTree;
type Stack = Over<Layer<M>, SimulatedDatagrams<M>>;

const CROWD: u32 = 200;
const MESSAGES: u32 = 4;
const HUB: [u8; 4] = [10, 0, 0, 1];
const LISTENER: Handle = Handle { index: CROWD, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 16, messages: 8 };
const LIMIT: Duration = Duration::from_secs(600);

/// Sends numbered messages as room allows, and notes those that come; a hub sends back what comes.
#[derive(Default)]
struct Talker {
    is_hub: bool,
    talks: BTreeMap<Handle, Talk>,
}

#[derive(Default)]
struct Talk {
    opened: bool,
    credit: usize,
    to_send: Vec<u32>,
    heard: Vec<u32>,
    ended: Option<Ended>,
}

impl Talk {
    fn go_on(&mut self, association: Handle, asks: &mut Asks<Stack>) {
        let count = self.credit.min(self.to_send.len());
        self.credit -= count;
        for number in self.to_send.drain(..count) {
            let messages = M::with_headroom(64, &number.to_be_bytes()).into();
            asks.push_back(DatagramsRequest::Send {
                association,
                batch: messages,
                properties: MessageProperties::default(),
            });
        }
    }
}

impl Application<Stack> for Talker {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        let name = match &indication {
            DatagramsIndication::Opened { association, .. }
            | DatagramsIndication::Credit { association, .. }
            | DatagramsIndication::Delivered { association, .. } => *association,
            DatagramsIndication::Ended { name, .. } => *name,
            _ => return,
        };
        let talk = self.talks.entry(name).or_default();
        assert_eq!(talk.ended, None, "nothing behind the last word");
        match indication {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                talk.opened = true;
                talk.credit += credit.messages;
            }
            DatagramsIndication::Delivered { batch: messages, .. } => {
                let mut message = messages.into_single();
                let credit = Credit { octets: message.len(), messages: 1 };
                let number = message.front(4).and_then(|four| four.try_into().ok());
                let number = u32::from_be_bytes(number.expect("four octets"));
                talk.heard.push(number);
                if self.is_hub {
                    talk.to_send.push(number);
                }
                asks.push_back(DatagramsRequest::Credit { association: name, credit });
            }
            DatagramsIndication::Ended { why, .. } => talk.ended = Some(why),
            _ => {}
        }
        talk.go_on(name, asks);
    }
}

/// A crowd, divided among some stations, and the station to which all of it speaks.
struct Scene {
    world: World<M>,
    hub: StationId<Stack, Talker>,
    crowd: Vec<(StationId<Stack, Talker>, Handle)>,
}

impl Scene {
    fn new(seed: u64, stations: u32, conditions: Conditions) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        let stack = |address, secret: u64| {
            let secret = u128::from(secret).to_be_bytes();
            // An idle side asks whether its peer is there: both are told when one gives up.
            let keepalive = Some(20_000_000_000);
            let artp = layer(Config { tries: 60, keepalive, ..Config::new(secret) }, seed);
            Over::new(
                artp,
                SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 512 }),
            )
        };
        let here = IpAddr::from(HUB);
        let hub = world.add(here, stack(here, seed), Talker { is_hub: true, ..Talker::default() });
        let local = SocketAddr::new(here, 7).into();
        world.ask(hub, DatagramsRequest::Listen { listener: LISTENER, local });
        let name = |index| Handle { index, generation: 0 };
        let awaited = |index| {
            (
                hub,
                DatagramsRequest::Await {
                    listener: LISTENER,
                    association: name(index),
                    credit: ROOM,
                },
            )
        };
        world.ask_all((0..CROWD).map(awaited));
        let places: Vec<_> = (0..stations)
            .map(|nth| {
                let address = IpAddr::from([10, 0, 1, nth as u8]);
                world.add(
                    address,
                    stack(address, seed ^ u64::from(nth + 1) << 32),
                    Talker::default(),
                )
            })
            .collect();
        let crowd: Vec<_> = (0..CROWD)
            .map(|nth| (places[(nth % stations) as usize], name(nth / stations)))
            .collect();
        let opens = crowd.iter().map(|(station, association)| {
            (
                *station,
                DatagramsRequest::Open {
                    association: *association,
                    remote: local,
                    credit: ROOM,
                    local: None,
                },
            )
        });
        world.ask_all(opens);
        Scene { world, hub, crowd }
    }

    /// Whether that becomes true of each association of the crowd that is not given up.
    fn becomes(&mut self, is: impl Fn(&Talk) -> bool) -> bool {
        let Scene { world, crowd, .. } = self;
        let talk =
            |world: &World<M>, (station, association): &(StationId<Stack, Talker>, Handle)| {
                world
                    .application(*station)
                    .talks
                    .get(association)
                    .is_some_and(|talk| talk.ended == Some(Ended::Expired) || is(talk))
            };
        world.run_until(|world| crowd.iter().all(|one| talk(world, one)), LIMIT)
    }

    /// All of the crowd asks the same in one instant.
    fn all(&mut self, ask: impl Fn(Handle) -> DatagramsRequest<M>) {
        let Scene { world, crowd, .. } = self;
        world.ask_all(crowd.iter().map(|(station, association)| (*station, ask(*association))));
    }
}

/// Returns the scene, and how many of the crowd were given up: told that the peer is silent.
fn talks(seed: u64, stations: u32, conditions: Conditions) -> (Scene, usize) {
    let mut scene = Scene::new(seed, stations, conditions);
    assert!(scene.becomes(|talk| talk.opened), "seed {seed}: all are open");
    for number in 0..MESSAGES {
        scene.all(|association| DatagramsRequest::Send {
            association,
            batch: M::with_headroom(64, &number.to_be_bytes()).into(),
            properties: MessageProperties::default(),
        });
    }
    assert!(
        scene.becomes(|talk| talk.heard.len() >= MESSAGES as usize),
        "seed {seed}: all are answered"
    );
    scene.all(|association| DatagramsRequest::Close { name: association });
    assert!(scene.becomes(|talk| talk.ended.is_some()), "seed {seed}: all have ended");
    let mut given_up = 0;
    for (station, association) in &scene.crowd {
        let talk = &scene.world.application(*station).talks[association];
        if talk.ended == Some(Ended::Expired) {
            given_up += 1;
            continue;
        }
        let mut heard = talk.heard.clone();
        heard.sort_unstable();
        assert_eq!(heard, Vec::from_iter(0..MESSAGES), "seed {seed}");
        assert_eq!(talk.ended, Some(Ended::Finished), "seed {seed}");
    }
    (scene, given_up)
}

#[test]
fn a_crowd_over_equal_links_is_one_batch_and_each_is_answered() {
    let conditions = Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL };
    for stations in [CROWD, 4, 1] {
        let (mut scene, given_up) = talks(0, stations, conditions.clone());
        assert_eq!(given_up, 0, "nothing was lost");
        scene.world.run_for(LIMIT);
        let left = scene.world.stack(scene.hub).upper.associations();
        assert_eq!(left, 0, "no farewell was lost");
    }
}

#[test]
fn a_crowd_over_any_link_is_answered() {
    let (mut given_up, mut all) = (0, 0);
    for seed in seeds(3) {
        given_up += talks(seed, [CROWD, 4, 1][(seed % 3) as usize], any_conditions(seed)).1;
        all += CROWD as usize;
    }
    // With up to a quarter lost in each direction, eight timeouts in a row are one in some
    // thousands.
    assert!(given_up <= 1 + all / 2000, "{given_up} of {all} were given up");
}
