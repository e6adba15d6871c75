//! One picture in the simulator.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::services::Ended;
use stackwright_contract::{Context, Duration, Handle, Instant, Protocol, Service};
use stackwright_jis::generated::HASH;
use stackwright_jis::generated::client::{Input, Output};
use stackwright_jis::jpeg::{BODY_MOST, PieceHead, pieces};
use stackwright_jis::{
    ArrivedPart, CREDIT, PictureView, Replay, Shelf, VALUES, requested, watched_client,
};
use stackwright_policies::profile::{FixedRate, Path, PolicyValues};
use stackwright_policies::{congestion, rate};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_tailored::configurations::Selective;
use stackwright_tailored::{Config, Named, TailoredHost, Tailoring, layer_of};
use stackwright_transport::configuration;
use stackwright_wire::SingleBuffer;

type M = SingleBuffer;

configuration! {
    /// The phase of JIS with `dedicated(rate)`.
    pub(super) Dedicated<M> like Selective {
        Congestion: congestion::Absent,
        Rate: rate::Paced,
    }
}

configuration! {
    /// The phase of JIS with `congestion(cubic)`.
    pub(super) LossBased<M> like Selective {
        Congestion: congestion::Cubic,
    }
}

/// How the sender chooses its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sending {
    /// The rate of the link is known.
    Dedicated,
    /// It is measured, as in the phase.
    Bbr,
    /// It follows from loss.
    Cubic,
}

impl Sending {
    pub(super) fn name(self) -> &'static str {
        match self {
            Sending::Dedicated => "JIS, dedicated",
            Sending::Bbr => "JIS, bbr",
            Sending::Cubic => "JIS, cubic",
        }
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

/// Fetches `file` over this link, and looks at the picture at `instant` behind the opening.
pub(super) fn fetch(
    sending: Sending,
    link: &Conditions,
    file: &[u8],
    instant: Duration,
    seed: u64,
) -> Figures {
    let rate = link.rate.and_then(NonZeroU64::new);
    let rate = rate.map(|octets| FixedRate { octets, burst: 0 });
    let round_trip = 2 * link.delay.as_nanos() as u64;
    let values = PolicyValues { path: Path { round_trip, ..VALUES.path }, ..VALUES };
    match sending {
        Sending::Bbr => {
            over::<Named<Selective<M>>>(|| Named::new(values), link, file, instant, seed)
        }
        Sending::Cubic => {
            over::<Named<LossBased<M>>>(|| Named::new(values), link, file, instant, seed)
        }
        Sending::Dedicated => {
            let values = PolicyValues { rate, ..values };
            over::<Named<Dedicated<M>>>(|| Named::new(values), link, file, instant, seed)
        }
    }
}

fn over<T: Tailoring<Message = M>>(
    tailoring: impl Fn() -> T,
    link: &Conditions,
    file: &[u8],
    instant: Duration,
    seed: u64,
) -> Figures {
    let mut world = World::<M>::new(seed);
    world.network_mut().set_conditions(link.clone());
    let below = |address| {
        let config = Config { protocol: HASH, ..Config::new(u128::from(seed).to_be_bytes()) };
        let host = TailoredHost::new(tailoring(), config);
        Over::new(layer_of(host, seed), SimulatedDatagrams::new(address, CREDIT))
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
    let server = world.add(here, Over::new(serving, below(here)), Serving);
    let client = world.add(there, Over::new(asking, below(there)), Asking::default());
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
