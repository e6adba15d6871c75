//! A specification with `binding adaptive`, in the simulator: five phases by rules on which the two
//! ends agree as they go, over a path whose loss changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::ask::{ChangeReason, HowItSends, SendingPart};
use stackwright_contract::services::Credit;
use stackwright_contract::{Context, Duration, Handle, Instant};
use stackwright_generated::contract::survey::{
    HASH, HintHead, MarkHead, PlanHead, TileHead, TotalHead, archive, surveyor,
};
use stackwright_policies::profile::PolicyValues;
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt, switching,
};
use stackwright_role::{RoleIndication, RoleLayer, RolePart, RoleRequest};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World, seeds};
use stackwright_spec::compile;
use stackwright_tailored::{Config, Demand, Layer, Named, TailoredFormat, demand, layer};
use stackwright_transport::{Configuration as _, SLOTS, configuration};
use stackwright_wire::{Message as _, SingleBuffer};

type M = SingleBuffer;
type Below = Over<Layer<Named<SurveyPolicies<M>>>, SimulatedDatagrams<M>>;
type Stack<P, N> = Over<RoleLayer<M, P, N>, Below>;

const TEXT: &str = include_str!("../../../../crates/spec/tests/sources/survey.protocol");

configuration! {
    /// What `spec gen --transport` writes of the text.
    SurveyPolicies<M> {
        Format: TailoredFormat<M>,
        Ordering: ordering::ByEpoch<M>,
        Framing: framing::Fragments<M>,
        Integrity: integrity::Crc32c,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::AckRanges,
        Inquiry: inquiry::KeepAlive<inquiry::TailProbe>,
        Recovery: recovery::LimitedRetransmissions<recovery::RackTlp>,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Fitted,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Absent,
    } switching [switching::Negotiated]
}

const SURVEYOR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const ARCHIVE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const ROOM: Credit = Credit { octets: 1 << 18, messages: 256 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };

/// What the policies need to know beyond their types.
fn planned() -> PolicyValues {
    let program = compile(TEXT).expect("it compiles").program;
    let each = program.phases.iter().map(|phase| {
        let services =
            phase.services.iter().map(|(name, arguments)| (name.as_str(), &arguments[..]));
        (demand(services).expect("there are such services"), phase.fenced)
    });
    let demand = Demand::negotiated(&each.collect::<Vec<_>>()).expect("they go together");
    let plan = demand.plan().expect("it can be met");
    let selected = SLOTS.iter().chain(&["switching"]).zip(SurveyPolicies::<M>::PARTS).skip(1);
    for (slot, part) in selected {
        let choice = plan.choices().find(|choice| choice.slot == *slot).expect("each has one");
        assert_eq!(choice.name, part.name);
    }
    plan.values(&demand.bounds)
}

/// Sends rounds until it is told to stop.
#[derive(Clone, Default)]
struct Field(Rc<RefCell<bool>>);

impl surveyor::Functions<M> for Field {
    fn goes_on(&self) -> bool {
        !*self.0.borrow()
    }

    fn body(&self) -> M {
        M::with_headroom(64, &[7; 900])
    }
}

/// What has arrived of a round: the next plan, which tiles, and whether its mark and total came.
#[derive(Clone, Copy, Default)]
struct Round {
    plans: u8,
    tiles: u64,
    hints: u8,
    mark: bool,
    total: bool,
}

/// All rounds, each by the rules of its kinds of data.
#[derive(Clone, Default)]
struct Shelf(Rc<RefCell<BTreeMap<u16, Round>>>);

impl Shelf {
    fn round(&self, round: u16, see: impl FnOnce(&mut Round)) {
        see(self.0.borrow_mut().entry(round).or_default());
    }
}

impl archive::Functions<M> for Shelf {
    fn plan(&mut self, plan: PlanHead, _: &M) {
        self.round(plan.round, |round| {
            assert_eq!(round.plans, plan.number, "plans come in order, once each");
            round.plans += 1;
        });
    }

    fn tile(&mut self, tile: TileHead, _: &M) {
        self.round(tile.round, |round| {
            assert_eq!(round.plans, 3, "a tile came through its fence");
            assert_eq!(round.tiles & 1 << tile.number, 0, "a tile came twice");
            round.tiles |= 1 << tile.number;
        });
    }

    fn hint(&mut self, hint: HintHead, _: &M) {
        self.round(hint.round, |round| {
            assert_eq!(round.hints & 1 << hint.number, 0, "a hint came twice");
            round.hints |= 1 << hint.number;
        });
    }

    fn mark(&mut self, mark: MarkHead) {
        self.round(mark.round, |round| assert!(!std::mem::replace(&mut round.mark, true)));
    }

    fn total(&mut self, total: TotalHead) {
        self.round(total.round, |round| {
            assert!(round.plans == 3 && round.tiles == (1 << 40) - 1, "it came through its fence");
            assert!(!std::mem::replace(&mut round.total, true));
        });
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
        // Rules change while what was sent before them waits.
        config.send.messages = 48;
    }
    let below = layer(Named::new(planned()), config, seed);
    Over::new(RoleLayer::new(make), Over::new(below, SimulatedDatagrams::new(address, ROOM)))
}

/// A path of 50 ms there and back, and 10 Mb/s.
fn path(loss: f64) -> Conditions {
    let delay = Duration::from_millis(25);
    Conditions { delay, rate: Some(10_000_000), loss: loss.into(), ..Conditions::IDEAL }
}

/// The phases go by their own rules whatever the path does, and congestion control fits it.
#[test]
fn phases_by_negotiated_rules_over_a_path_whose_loss_changes() {
    for seed in seeds(4) {
        let mut world = World::<M>::new(seed);
        world.network_mut().set_conditions(path(0.0));
        let (field, shelf) = (Field::default(), Shelf::default());
        let (sends, keeps) = (field.clone(), shelf.clone());
        let there = stack(SURVEYOR, move || surveyor::Part::new(sends.clone()), seed);
        let there = world.add(SURVEYOR, there, Telling(None));
        let here = stack(ARCHIVE, move || archive::Part::new(keeps.clone()), seed + 1);
        let here = world.add(ARCHIVE, here, Telling(Some(archive::Input::Start)));
        let local = SocketAddr::from((SURVEYOR, 7)).into();
        let (association, credit) = (ASSOCIATION, ROOM);
        world.ask(there, RoleRequest::Listen { listener: LISTENER, local });
        world.ask(there, RoleRequest::Await { listener: LISTENER, association, credit });
        let open = RoleRequest::Open { association, remote: local, local: None, credit };
        world.ask(here, open);
        world.run_for(Duration::from_secs(4));
        world.network_mut().set_conditions(path(0.05));
        let lossy = world.now();
        world.run_for(Duration::from_secs(10));
        world.network_mut().set_conditions(path(0.0));
        let clean = world.now();
        world.run_for(Duration::from_secs(40));
        let report = world.question(there, ASSOCIATION, HowItSends).expect("it changes");
        *field.0.borrow_mut() = true;
        world.run_for(Duration::from_secs(20));
        let rounds = shelf.0.borrow();
        assert!(rounds.len() > 100, "seed {seed}: {} rounds", rounds.len());
        let whole = |round: &Round| round.tiles == (1 << 40) - 1 && round.total;
        assert!(rounds.values().all(whole), "seed {seed}: a round is not whole");
        let mut fitted: Vec<(&str, Instant)> = Vec::new();
        for change in &report.changes {
            match (change.to, change.why) {
                (SendingPart::Congestion(name), ChangeReason::Path { .. }) => {
                    fitted.push((name, change.at));
                }
                (SendingPart::Rule(_), why) => assert_eq!(why, ChangeReason::Required),
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        let limit = Duration::from_secs(10);
        let [("BBR", first), ("CUBIC", second)] = fitted[..] else {
            panic!("seed {seed}: {fitted:?}");
        };
        assert!(first > lossy && first < lossy + limit, "seed {seed}: {fitted:?}");
        assert!(second > clean && second < clean + limit, "seed {seed}: {fitted:?}");
    }
}
