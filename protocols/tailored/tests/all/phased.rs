//! A specification with `binding phased`, in the simulator: tables in order, and behind a fence
//! blocks in any order.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::services::Credit;
use stackwright_contract::{Context, Duration, Handle};
use stackwright_generated::contract::picture::{
    AskHead, BlockHead, HASH, TableHead, gallery, viewer,
};
use stackwright_policies::profile::PolicyValues;
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt, switching,
};
use stackwright_role::{RoleIndication, RoleLayer, RolePart, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World, seeds};
use stackwright_spec::{Compiled, compile};
use stackwright_tailored::header::{TailoredHeader, TailoredKind};
use stackwright_tailored::{Config, Demand, Layer, Named, TailoredFormat, demand, layer};
use stackwright_transport::{Configuration as _, SLOTS, configuration};
use stackwright_wire::{Header as _, Message as _, SingleBuffer};

type M = SingleBuffer;
type Below = Over<Layer<Named<PicturePolicies<M>>>, SimulatedDatagrams<M>>;
type Stack<P, N> = Over<RoleLayer<M, P, N>, Below>;

const TEXT: &str = include_str!("../../../../crates/spec/tests/sources/picture.protocol");

configuration! {
    /// What `spec gen --transport` writes of the text.
    PicturePolicies<M> {
        Format: TailoredFormat<M>,
        Ordering: ordering::ByEpoch<M>,
        Framing: framing::Fragments<M>,
        Integrity: integrity::Crc32c,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::AckRanges,
        Inquiry: inquiry::KeepAlive<inquiry::TailProbe>,
        Recovery: recovery::RackTlp,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Cubic,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Absent,
    } switching [switching::InPhases]
}

const GALLERY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const VIEWER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const ROOM: Credit = Credit { octets: 1 << 17, messages: 64 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const TABLES: u8 = 20;
const BLOCKS: u16 = 200;

fn compiled() -> Compiled {
    compile(TEXT).expect("it compiles")
}

/// What the phases demand of one association.
fn planned(compiled: &Compiled) -> (Demand, PolicyValues) {
    let each = compiled.program.phases.iter().map(|phase| {
        let services =
            phase.services.iter().map(|(name, arguments)| (name.as_str(), &arguments[..]));
        (demand(services).expect("there are such services"), phase.fenced)
    });
    let demand = Demand::in_phases(&each.collect::<Vec<_>>()).expect("they go together");
    let plan = demand.plan().expect("it can be met");
    for choice in plan.choices().filter(|choice| choice.slot != "switching") {
        let place = SLOTS.iter().position(|slot| *slot == choice.slot).expect("a slot");
        assert_eq!(PicturePolicies::<M>::PARTS[place].name, choice.name);
    }
    (demand, plan.values(&demand.bounds))
}

struct Shelf;

impl gallery::Functions<M> for Shelf {
    fn find(&mut self, _: AskHead) {}

    fn tables(&self) -> u8 {
        TABLES
    }

    fn blocks(&self) -> u16 {
        BLOCKS
    }

    fn table(&self, number: u8) -> M {
        M::with_headroom(64, &[number; 700])
    }

    fn block(&self, number: u16) -> M {
        M::with_headroom(64, &[number as u8; 700])
    }
}

/// What has arrived, in the order in which it did.
#[derive(Clone, Default)]
struct View(Rc<RefCell<(Vec<u8>, Vec<u16>)>>);

impl viewer::Functions<M> for View {
    fn set(&mut self, table: TableHead, _: &M) {
        let (tables, blocks) = &mut *self.0.borrow_mut();
        assert!(blocks.is_empty(), "a block came through its fence");
        tables.push(table.number);
    }

    fn paint(&mut self, block: BlockHead, _: &M) {
        self.0.borrow_mut().1.push(block.number);
    }

    fn covered(&self) -> bool {
        self.0.borrow().1.len() == usize::from(BLOCKS)
    }
}

/// Tells its role one thing once it is open.
struct Telling<I>(Option<I>);

impl<P, N> Application<Stack<P, N>> for Telling<P::Input>
where
    P: RolePart<M> + 'static,
    N: FnMut() -> P + 'static,
{
    fn hear(&mut self, _: &Context, told: RoleIndication<P::Output>, asks: &mut Asks<Stack<P, N>>) {
        if let (RoleIndication::Opened { association, .. }, Some(input)) = (told, self.0.take()) {
            asks.push_back(RoleRequest::Tell { association, input });
        }
    }
}

fn stack<P: RolePart<M>, N: FnMut() -> P>(address: IpAddr, make: N, seed: u64) -> Stack<P, N> {
    let mut config = Config { protocol: HASH, ..Config::new(u128::from(seed).to_be_bytes()) };
    if seed.is_multiple_of(2) {
        // The first block waits behind the last table, in its own phase.
        config.send.messages = 1;
    }
    let below = layer(Named::new(planned(&compiled()).1), config, seed);
    Over::new(RoleLayer::new(make), Over::new(below, SimulatedDatagrams::new(address, ROOM)))
}

/// The phase of each packet with a unit in a capture of what left a station.
fn phases(mut capture: &[u8]) -> Vec<(u32, usize)> {
    let mut phases = Vec::new();
    let word = |at: usize, of: &[u8]| u32::from_le_bytes(of[at..at + 4].try_into().expect("four"));
    while !capture.is_empty() {
        let (kind, length) = (word(0, capture), word(4, capture) as usize);
        // An enhanced packet block: IPv4 and UDP precede what is ours.
        if kind == 6 {
            let packet = &capture[28..28 + word(20, capture) as usize];
            let header = TailoredHeader::decode(&packet[28..]).expect("a header");
            if header.kind == TailoredKind::Unit {
                phases.push((header.number, usize::from(header.epoch % 4)));
            }
        }
        capture = &capture[length..];
    }
    phases
}

#[test]
fn tables_come_in_order_and_blocks_in_any_order_behind_them() {
    let mut overtaken = 0;
    for seed in seeds(20) {
        let mut world = World::<M>::new(seed);
        let delay = Duration::from_millis(10);
        let loss = 0.05.into();
        world.network_mut().set_conditions(Conditions { delay, loss, ..Conditions::IDEAL });
        let view = View::default();
        let shown = view.clone();
        let there = stack(GALLERY, || gallery::Part::new(Shelf), seed);
        let there = world.add(GALLERY, there, Telling(None));
        let here = stack(VIEWER, move || viewer::Part::new(shown.clone()), seed + 1);
        let here = world.add(VIEWER, here, Telling(Some(viewer::Input::Show { number: 7 })));
        world.keep_packets(&[GALLERY]);
        let local = SocketAddr::from((GALLERY, 7)).into();
        world.ask(there, RoleRequest::Listen { listener: LISTENER, local });
        let (association, credit) = (ASSOCIATION, ROOM);
        world.ask(there, RoleRequest::Await { listener: LISTENER, association, credit });
        let open = RoleRequest::Open { association, remote: local, local: None, credit };
        world.ask(here, open);
        let whole = |_: &World<M>| viewer::Functions::<M>::covered(&view);
        assert!(world.run_until(whole, Duration::from_secs(60)), "seed {seed}: it stands still");
        let (tables, blocks) = &*view.0.borrow();
        assert!(tables.iter().copied().eq(0..TABLES), "seed {seed}: {tables:?}");
        overtaken += blocks.windows(2).filter(|pair| pair[1] < pair[0]).count();
        // Tables have the first numbers of the gallery; a packet says its phase when it is sent
        // again, too.
        let phases = phases(&world.take_packets());
        assert!(phases.len() > usize::from(TABLES) + usize::from(BLOCKS));
        for (number, phase) in phases {
            assert_eq!(phase, usize::from(number >= u32::from(TABLES)), "number {number}");
        }
    }
    assert!(overtaken > 0, "no block overtook another");
}

/// Whatever `spec check` passes, this transport has.
#[test]
fn what_does_not_change_with_the_phase_is_refused() {
    let (whole, values) = planned(&compiled());
    assert_eq!(values.phases.iter().flatten().count(), 2);
    let other = demand([("reliable", &[][..]), ("checksum", &["internet"])]).expect("services");
    let refused = Demand::in_phases(&[(whole, false), (other, false)]);
    assert!(refused.is_err_and(|why| why.to_string().starts_with("services that do not change")));
    assert!(Demand::in_phases(&[(other, false); 5]).is_err(), "four phases are told apart");
    assert!(Demand::in_phases(&[]).is_err());
}
