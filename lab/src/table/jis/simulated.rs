//! One picture in the simulator.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::graph::{Builder, Erased, Graph, Node};
use stackwright_contract::services::Ended;
use stackwright_contract::words::Speaks;
use stackwright_contract::{Context, Duration, Handle, Instant, Protocol, Service};
use stackwright_jis::generated::HASH;
use stackwright_jis::generated::client::{Input, Output};
use stackwright_jis::jpeg::{BODY_MOST, PieceHead, pieces};
use stackwright_jis::{
    ArrivedPart, CREDIT, PictureView, Replay, STAGED_VALUES, Shelf, Stages, VALUES, requested,
    watched_client,
};
use stackwright_policies::profile::{Path, Plan};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_tailored::configurations::Fitting;
use stackwright_tailored::{Config, Named, Planned, TailoredHost, demand, layer_of};

use crate::transport::{Ground, Grounded, M};

/// How the sender chooses its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sending {
    /// The rate of the link is known.
    Dedicated,
    /// It is measured, as in the phase.
    Bbr,
    /// It follows from loss.
    Cubic,
    /// As the path turns out to be; and tables go in order, pieces in any.
    Fitted,
}

impl Sending {
    pub(super) fn name(self) -> &'static str {
        match self {
            Sending::Dedicated => "JIS, dedicated",
            Sending::Bbr => "JIS, bbr",
            Sending::Cubic => "JIS, cubic",
            Sending::Fitted => "JIS, adaptive",
        }
    }

    /// Returns the policies of the phase `image`, but for how the sender chooses its rate on this
    /// link; `None` where they change.
    fn plan(self, link: &Conditions) -> Option<Plan> {
        let rate = [link.rate.unwrap_or(u64::MAX).to_string()];
        let bbr = [String::from("bbr")];
        let cubic = [String::from("cubic")];
        let (service, argument) = match self {
            Sending::Dedicated => ("dedicated", &rate),
            Sending::Bbr => ("congestion", &bbr),
            Sending::Cubic => ("congestion", &cubic),
            Sending::Fitted => return None,
        };
        let (window, check) =
            ([VALUES.bounds.window.to_string()], ["crc32c".into(), "full".into()]);
        let services: [(&str, &[String]); 6] = [
            ("reliable", &[]),
            ("unordered", &[]),
            ("selective_retransmission", &[]),
            ("flow_control", &window),
            (service, argument),
            ("checksum", &check),
        ];
        let mut demand = demand(services).expect("they are services of this transport");
        let round_trip = 2 * link.delay.as_nanos() as u64;
        demand.path = Path { round_trip, packet: VALUES.path.packet, ..demand.path };
        Some(demand.plan().expect("they go together"))
    }
}

/// What came of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// From the opening until the first units are painted, in seconds.
    pub(super) first: f64,
    /// From there until it is whole, in seconds.
    pub(super) rest: f64,
    /// Whether it arrived whole.
    pub(super) whole: bool,
    /// How good it was when that was asked for: PSNR in decibels, with grey for what had not
    /// arrived. `None` if there is no such picture.
    pub(super) psnr: Option<f64>,
}

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
/// The longest time of a picture.
const MOST: Duration = Duration::from_secs(3600);

/// A picture as it arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// When which units arrived, since the opening.
    pub(crate) arrivals: Vec<(Duration, PieceHead)>,
    /// When it was over.
    pub(crate) done: Duration,
    /// Whether the file is the same.
    pub(crate) whole: bool,
}

/// Fetches `file` over this link, and looks at the picture at `instant` behind the opening.
pub(super) fn fetch(
    sending: Sending,
    link: &Conditions,
    file: &[u8],
    instant: Duration,
    seed: u64,
) -> Figures {
    let Arrived { arrivals, done, whole } = arrive(sending, link, file, seed);
    let first = arrivals.first().map_or(done, |(time, _)| *time);
    let replay = Replay::new(file.to_vec(), arrivals).ok();
    let psnr = replay.and_then(|replay| replay.psnr(&[instant]).ok());
    Figures {
        first: first.as_secs_f64(),
        rest: (done - first).as_secs_f64(),
        whole,
        psnr: psnr.map(|psnr| psnr[0]),
    }
}

/// Fetches `file` over this link.
pub(crate) fn arrive(sending: Sending, link: &Conditions, file: &[u8], seed: u64) -> Arrived {
    let plan = sending.plan(link);
    let mut world = World::<M>::new(seed);
    world.network_mut().set_conditions(link.clone());
    let below = |address| {
        let config = Config { protocol: HASH, ..Config::new(u128::from(seed).to_be_bytes()) };
        let network = Grounded(SimulatedDatagrams::<M>::new(address, CREDIT));
        let ground = Builder::new().protocol("network", network);
        let Some(plan) = plan.clone() else {
            let named = Named::<Fitting<M>>::new(STAGED_VALUES);
            let changing = layer_of(TailoredHost::new(named, config), seed);
            let changing = ground.protocol("changing", changing).over("network");
            return changing.protocol("transport", Stages::<M>::new()).over("changing");
        };
        let planned = Planned::<M>::new(plan, &VALUES.bounds).expect("they fit this format");
        let transport = layer_of(TailoredHost::new(planned, config), seed);
        ground.protocol("transport", transport).over("network")
    };
    let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
    let view = PictureView::default();
    let serving = stackwright_jis::server(Rc::new(One(file.to_vec())), BODY_MOST);
    let heads: Rc<RefCell<Vec<PieceHead>>> = Rc::default();
    let noted = heads.clone();
    let asking = watched_client(view.clone(), move |part: ArrivedPart<'_>| {
        if let ArrivedPart::Body(body) = part {
            let of_units = pieces(body).flatten().map(|(head, _)| head);
            noted.borrow_mut().extend(of_units.filter(PieceHead::is_of_units));
        }
    });
    let server = world.add(here, on(below(here), serving), Serving);
    let client = world.add(there, on(below(there), asking), Asking::default());
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, RoleRequest::Listen { listener: LISTENER, local });
    let awaits =
        RoleRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: CREDIT };
    world.ask(server, awaits);
    let begin = world.now();
    let open =
        RoleRequest::Open { association: ASSOCIATION, remote: local, local: None, credit: CREDIT };
    world.ask(client, open);
    let since = |end: Instant| end.since(begin);
    let mut arrivals = Vec::new();
    let ended = |world: &World<M>| {
        let now = since(world.now());
        arrivals.extend(heads.borrow_mut().drain(..).map(|head| (now, head)));
        world.application(client).done.is_some()
    };
    let _ = world.run_until(ended, MOST);
    let whole = view.fetched().is_some_and(|fetched| fetched.file == file);
    let done = since(world.application(client).done.unwrap_or(world.now()));
    Arrived { arrivals, done, whole }
}

/// Puts a role on its transport.
fn on<R>(transport: Builder<M, Ground>, role: R) -> Graph<M, Ground, R::Provides>
where
    R: Protocol<Provides: Speaks<M, Ground>>,
    Erased<R>: Node<M, Ground>,
{
    let graph = transport.protocol("role", role).over("transport").top("role");
    graph.build().expect("the plan promises enough")
}

struct One(Vec<u8>);

impl Shelf for One {
    fn file(&self, _: &str) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

/// Asks for the picture once it is open, and notes when it is over.
#[derive(Default)]
struct Asking {
    done: Option<Instant>,
}

impl<P: Protocol<Provides = Speaking<Input<M>, Output<M>>>> Application<P> for Asking {
    fn hear(&mut self, cx: &Context, told: RoleIndication<Output<M>>, asks: &mut Asks<P>) {
        match told {
            RoleIndication::Opened { association, .. } => {
                let Some(name) = requested("picture.jpg") else { return };
                let input = Input::Get { most: BODY_MOST as u16, name };
                asks.push_back(RoleRequest::Tell { association, input });
            }
            RoleIndication::Told {
                output: Output::Done | Output::Partial | Output::Denied,
                ..
            } => {
                self.done = Some(cx.now());
            }
            RoleIndication::Ended { why, .. } => {
                let _: Ended = why;
                self.done.get_or_insert(cx.now());
            }
            _ => {}
        }
    }
}

/// Serves; what a server is told is not looked at.
struct Serving;

impl<P: Protocol> Application<P> for Serving {
    fn hear(&mut self, _: &Context, _: <P::Provides as Service>::Indication, _: &mut Asks<P>) {}
}
