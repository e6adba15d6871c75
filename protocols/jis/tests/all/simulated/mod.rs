//! Client and server in the simulator, over the transport that the phase selects and a network that
//! loses.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Protocol};
use stackwright_drivers::ipc::Wall;
use stackwright_jis::generated::{HASH, ReqHead, Why, client as role, server as served};
use stackwright_jis::jpeg::BODY_MOST;
use stackwright_jis::{CREDIT, ClientPart, PictureView, Shelf, VALUES, body_most, requested};
use stackwright_policies::profile::Bounds;
use stackwright_role::{RoleIndication, RoleLayer, RoleRequest, Speaking};
use stackwright_simulator::{
    Application, Asks, Conditions, Deed, Event, SimulatedDatagrams, StationId, World, seeds,
};
use stackwright_spec::{RustForm, compile, rust};
use stackwright_tailored::configurations::Selective;
use stackwright_tailored::{Config, Layer, Named, TailoredHost, demand, layer_of};
use stackwright_transport::{Configuration, SLOTS};
use stackwright_wire::{Header, Message, SingleBuffer};

use crate::corpus::{Made, corpus, pixels};

type M = SingleBuffer;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const NAME: &str = "picture.jpg";

#[test]
fn the_module_is_that_of_the_text() {
    let compiled = compile(include_str!("../../../src/jis.protocol")).expect("it compiles");
    let written = rust(&compiled.program, &compiled.automata, RustForm::Contract);
    let written = written.expect("it is short");
    if std::env::var_os("UPDATE").is_some() {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "src", "generated.rs"].iter().collect();
        std::fs::write(path, &written).expect("it is written");
        return;
    }
    let committed = include_str!("../../../src/generated.rs");
    assert!(written == committed, "UPDATE=1 generates src/generated.rs anew");
}

/// What the phase demands is what the configuration has, and the values are those that it plans.
#[test]
fn the_transport_is_that_of_the_phase() {
    let compiled = compile(include_str!("../../../src/jis.protocol")).expect("it compiles");
    let phase = &compiled.program.phases[0];
    let services = phase.services.iter();
    let demand = demand(services.map(|(name, arguments)| (name.as_str(), &arguments[..])));
    let demand = demand.expect("there are such services");
    let plan = demand.plan().expect("it can be met");
    for choice in plan.choices() {
        let place = SLOTS.iter().position(|slot| *slot == choice.slot).expect("a slot");
        assert_eq!(<Selective<M> as Configuration>::PARTS[place].name, choice.name);
    }
    let longest = VALUES.bounds.longest;
    let planned = plan.values(&Bounds { longest, ..demand.bounds });
    assert_eq!(planned, VALUES);
}

/// A grey JPEG of noise, in the tables of T.81's annex K cut to what it needs: DC differences of
/// four bits, and blocks without other coefficients.
fn jpeg(units: u16, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut file = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    file.extend([8; 64]);
    let [high, low] = (units * 8).to_be_bytes();
    file.extend([0xff, 0xc0, 0, 11, 8, high, low, 0, 8, 1, 1, 0x11, 0]);
    // One code of one bit each: a category of 4, and the end of a block.
    let mut table = |class: u8, symbol: u8| {
        file.extend([0xff, 0xc4, 0, 20, class, 1]);
        file.extend([0; 15]);
        file.push(symbol);
    };
    table(0, 4);
    table(0x10, 0);
    file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
    let mut bits = String::new();
    for nth in 0..units {
        // Up and down, so that no value leaves its range.
        let value = random.u8(..8) + if nth % 2 == 0 { 8 } else { 0 };
        bits += &format!("0{value:04b}0");
    }
    while !bits.len().is_multiple_of(8) {
        bits.push('1');
    }
    for octet in bits.as_bytes().chunks(8) {
        let octet = octet.iter().fold(0, |octet, bit| octet << 1 | (bit - b'0'));
        file.push(octet);
        if octet == 0xff {
            file.push(0);
        }
    }
    file.extend([0xff, 0xd9]);
    // What is no picture is sent, too.
    file.extend((0..6000).map(|_| random.u8(..)));
    file
}

struct One(Vec<u8>);

impl Shelf for One {
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        (name == NAME).then(|| self.0.clone())
    }
}

/// Asks for a picture once it is open, and notes what it is told.
#[derive(Default)]
struct Asking {
    name: &'static str,
    outputs: Vec<&'static str>,
    ended: Option<Ended>,
}

impl<P> Application<P> for Asking
where
    P: Protocol<Provides = Speaking<role::Input<M>, role::Output<M>>>,
{
    fn hear(&mut self, _: &Context, told: RoleIndication<role::Output<M>>, asks: &mut Asks<P>) {
        match told {
            RoleIndication::Opened { association, .. } => {
                let name = requested(self.name).expect("it is short");
                let input = role::Input::Get { most: 1400, name };
                asks.push_back(RoleRequest::Tell { association, input });
            }
            RoleIndication::Told { output, .. } => self.outputs.push(match output {
                role::Output::Ready => "ready",
                role::Output::Done => "done",
                role::Output::Partial => "partial",
                role::Output::Denied => "denied",
                role::Output::Never(never, _) => match never {},
            }),
            RoleIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// Serves one client after the other.
#[derive(Default)]
struct Serving {
    /// How many it has served.
    served: u32,
}

impl<P> Application<P> for Serving
where
    P: Protocol<Provides = Speaking<served::Input<M>, served::Output<M>>>,
{
    fn hear(&mut self, _: &Context, told: RoleIndication<served::Output<M>>, asks: &mut Asks<P>) {
        match told {
            RoleIndication::Told { association, output: served::Output::Stalled } => {
                asks.push_back(RoleRequest::Abort { association });
            }
            RoleIndication::Ended { name, .. } => {
                self.served += 1;
                let association = Handle { generation: name.generation + 1, ..name };
                let (listener, credit) = (LISTENER, CREDIT);
                asks.push_back(RoleRequest::Await { listener, association, credit });
            }
            _ => {}
        }
    }
}

/// Opens an association, sends a request or nothing, and takes no more than its first credit.
struct Idle {
    request: Option<Vec<u8>>,
}

impl<P: Protocol<Provides = Datagrams<M>>> Application<P> for Idle {
    fn hear(&mut self, _: &Context, told: DatagramsIndication<M>, asks: &mut Asks<P>) {
        let DatagramsIndication::Opened { association, .. } = told else { return };
        let batch = self.request.iter().map(|octets| M::with_headroom(64, octets).into());
        asks.extend(batch.map(|batch| DatagramsRequest::Send {
            association,
            batch,
            properties: MessageProperties::default(),
        }));
    }
}

/// The only place of a server is free again for the next client.
#[test]
fn who_asks_for_nothing_or_takes_nothing_gives_its_place_up() {
    let name: M = requested(NAME).expect("it is short");
    let mut request = vec![0; <ReqHead as Header>::LENGTH + name.len()];
    let (head, body) = request.split_at_mut(<ReqHead as Header>::LENGTH);
    ReqHead { adu: (), most: 1400 }.encode(head);
    name.copy_to(body);
    for request in [None, Some(request)] {
        let file = jpeg(8_000, 1);
        let conditions = Conditions { delay: DELAY, ..Conditions::IDEAL };
        let mut world = World::<M>::new(1);
        world.network_mut().set_conditions(conditions);
        let [here, there, late] = [SERVER, CLIENT, [10, 0, 0, 3]].map(IpAddr::from);
        let serving = stackwright_jis::server(Rc::new(One(file.clone())), BODY_MOST);
        let server = world.add(here, Over::new(serving, below(here, 1)), Serving::default());
        let local = SocketAddr::from((SERVER, 7)).into();
        world.ask(server, RoleRequest::Listen { listener: LISTENER, local });
        let awaits =
            RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: CREDIT };
        world.ask(server, awaits);
        let idle = world.add(there, below(there, 2), Idle { request });
        let open = DatagramsRequest::Open {
            association: ASSOCIATION,
            remote: local,
            local: None,
            credit: Credit { octets: 8000, messages: 4 },
        };
        world.ask(idle, open);
        let free = world.run_until(|world| world.application(server).served > 0, MINUTES);
        assert!(free, "it holds its place");
        let view = PictureView::default();
        let asks = Asking { name: NAME, ..Asking::default() };
        let asking = stackwright_jis::client(view.clone());
        let client = world.add(late, Over::new(asking, below(late, 3)), asks);
        let (association, remote) = (ASSOCIATION, local);
        let open = RoleRequest::Open { association, remote, local: None, credit: CREDIT };
        world.ask(client, open);
        let whole = world.run_until(|_| view.fetched().is_some(), MINUTES);
        let Asking { outputs, ended, .. } = world.application(client);
        assert!(whole, "{outputs:?}, {ended:?}");
    }
}

const MINUTES: Duration = Duration::from_secs(180);

/// In the process of those that use it, or in a server: `PLACEMENT=server`.
type Below = Wall<Datagrams<M>, Over<Layer<Named<Selective<M>>>, SimulatedDatagrams<M>>>;
type ClientStack<N> = Over<RoleLayer<M, ClientPart, N>, Below>;

/// A client that asks for a picture, and the server that has it.
struct Fetching<N: FnMut() -> ClientPart + 'static> {
    world: World<M>,
    client: StationId<ClientStack<N>, Asking>,
    view: PictureView,
}

fn below(address: IpAddr, seed: u64) -> Below {
    let config = Config { protocol: HASH, ..Config::new(u128::from(seed).to_be_bytes()) };
    let host = TailoredHost::new(Named::<Selective<M>>::new(VALUES), config);
    let most = body_most(host.unit_most());
    assert_eq!(most, BODY_MOST, "the longest ADU fits a packet");
    Wall::placed(Over::new(layer_of(host, seed), SimulatedDatagrams::new(address, CREDIT)))
}

fn fetching(
    seed: u64,
    conditions: Conditions,
    name: &'static str,
    file: &[u8],
) -> Fetching<impl FnMut() -> ClientPart + 'static> {
    let mut world = World::<M>::new(seed);
    world.network_mut().set_conditions(conditions);
    let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
    let view = PictureView::default();
    let serving = stackwright_jis::server(Rc::new(One(file.to_vec())), BODY_MOST);
    let asking = stackwright_jis::client(view.clone());
    let server = world.add(here, Over::new(serving, below(here, seed)), Serving::default());
    let asks = Asking { name, ..Asking::default() };
    let client = world.add(there, Over::new(asking, below(there, seed + 1)), asks);
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, RoleRequest::Listen { listener: LISTENER, local });
    let awaits =
        RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: CREDIT };
    world.ask(server, awaits);
    let open =
        RoleRequest::Open { association: ASSOCIATION, remote: local, local: None, credit: CREDIT };
    world.ask(client, open);
    Fetching { world, client, view }
}

/// What came of a request: what the client was told, and what it has.
fn fetched(seed: u64, loss: f64, name: &'static str, file: &[u8]) -> (Asking, PictureView) {
    let delay = Duration::from_millis(10);
    let jitter = Duration::from_millis(seed % 30);
    let conditions = Conditions { delay, jitter, loss: loss.into(), ..Conditions::IDEAL };
    let Fetching { mut world, client, view } = fetching(seed, conditions, name, file);
    let ended = world
        .run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(600));
    assert!(ended, "seed {seed}: no end was said");
    (std::mem::take(world.application_mut(client)), view)
}

#[test]
fn a_picture_arrives_whole_or_its_end_is_said() {
    let (mut whole, mut said) = (0, 0);
    let seeds = seeds(100);
    for seed in seeds.clone() {
        let file = jpeg(300 + (seed % 7) as u16 * 400, seed);
        let loss = (seed % 11) as f64 / 100.0;
        let (asking, view) = fetched(seed, loss, NAME, &file);
        if asking.outputs == ["ready", "done"] {
            let fetched = view.fetched().expect("it is whole");
            assert!(fetched.exact && fetched.file == file, "seed {seed}");
            whole += 1;
        } else {
            let unclean = asking.ended != Some(Ended::Finished);
            let partial = asking.outputs.last() == Some(&"partial");
            assert!(unclean || partial, "seed {seed}: {:?}", asking.outputs);
            said += 1;
        }
    }
    println!("{whole} whole, {said} ends that were said");
    let tried = seeds.count();
    assert!(whole * 100 >= tried * 95, "{whole} of {tried}");
}

/// Pictures of libjpeg's programs, of every kind, where each twentieth packet is lost.
#[test]
fn each_picture_of_the_corpus_arrives_and_libjpeg_agrees() {
    for (nth, Made { name, file }) in corpus().unwrap_or_default().iter().enumerate() {
        let (asking, view) = fetched(nth as u64, 0.05, NAME, file);
        assert_eq!(asking.outputs, ["ready", "done"], "{name}");
        let fetched = view.fetched().unwrap_or_else(|| panic!("{name}"));
        assert!(fetched.exact && fetched.file == *file, "{name}");
        let shown = view.partial().expect("its tables are there");
        assert!(pixels(&shown) == pixels(file), "{name}");
    }
}

/// The first pieces are there after one round trip.
#[test]
fn tables_and_pieces_come_with_the_first_answer() {
    let conditions = Conditions { delay: DELAY, ..Conditions::IDEAL };
    let Fetching { mut world, view, .. } = fetching(1, conditions, NAME, &jpeg(1000, 1));
    assert!(world.run_until(|_| units(&view) > 0, DELAY + DELAY + Duration::from_millis(5)));
}

/// A lost packet holds nothing up: all else is painted before it was sent again.
#[test]
fn what_overtakes_a_lost_piece_is_painted() {
    let conditions = Conditions { delay: DELAY, ..Conditions::IDEAL };
    for nth in 6..14 {
        let Fetching { mut world, view, .. } =
            fetching(nth, conditions.clone(), NAME, &jpeg(1000, 1));
        let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
        world.network_mut().script(here, there, vec![Event { nth, deed: Deed::Lose }]);
        // A body has fewer than 200 units.
        assert!(world.run_until(|_| units(&view) > 800, Duration::from_secs(1)), "packet {nth}");
        let rest = world.run_until(|_| view.fetched().is_some(), DELAY);
        assert!(!rest, "packet {nth} arrives a round trip later");
        assert!(world.run_until(|_| view.fetched().is_some(), Duration::from_secs(1)));
    }
}

const DELAY: Duration = Duration::from_millis(50);

fn units(view: &PictureView) -> usize {
    view.progress().map_or(0, |progress| progress.units)
}

#[test]
fn refusals_say_why() {
    let (asking, view) = fetched(1, 0.05, "other.jpg", &jpeg(10, 1));
    assert_eq!(asking.outputs, ["denied"]);
    assert_eq!(view.refused().expect("it was refused").0, Why::Unknown);
    let (asking, view) = fetched(2, 0.05, NAME, b"GIF89a");
    assert_eq!(asking.outputs, ["denied"]);
    assert_eq!(view.refused(), Some((Why::Unsuitable, "it is not a JPEG".into())));
}
