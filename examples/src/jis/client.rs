//! A client, whatever its protocol is made of.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{env, io};

use stackwright::contract::services::Ended;
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::drivers::{Driver, Lanes};
use stackwright::wire::Message;
use stackwright_jis::generated::client::{Functions, Input, Output};
use stackwright_jis::generated::{self, BlocksHead, EndHead, RefusedHead, TableHead};
use stackwright_jis::{CREDIT, PictureView, requested};
use stackwright_role::{RoleIndication, RoleLayer, RoleRequest, Speaking};

use super::{Picture, Wrong};

const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Told {
    open: bool,
    done: Option<Instant>,
    ended: Option<Ended>,
}

impl<S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>>> Outlet<S> for Told {
    fn indicate(&mut self, indication: RoleIndication<Output<Picture>>) {
        match indication {
            RoleIndication::Opened { .. } => self.open = true,
            RoleIndication::Told { output: Output::Done, .. } => {
                self.done = Some(Instant::now());
            }
            RoleIndication::Ended { why, .. } => self.ended = Some(why),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<S>) {
        let _ = request; // nothing is asked of the system but by its adapter
    }
}

/// What the command line asks for: the server's address, the picture's name, how often (once), and
/// the most octets of an ADU's body.
pub(super) struct Asked {
    pub(super) server: SocketAddr,
    pub(super) name: String,
    pub(super) times: u32,
    pub(super) most: Option<usize>,
}

impl Asked {
    pub(super) fn read() -> Result<Self, Wrong> {
        let mut arguments = env::args().skip(1);
        let usage = "usage: ADDRESS:PORT NAME [TIMES [OCTETS]]";
        Ok(Asked {
            server: arguments.next().ok_or(usage)?.parse()?,
            name: arguments.next().ok_or(usage)?,
            times: arguments.next().map_or(Ok(1), |times| times.parse())?,
            most: arguments.next().map(|octets| octets.parse()).transpose()?,
        })
    }

    /// The most octets of a body, where the transport carries `carried` in one packet.
    pub(super) fn most(&self, carried: usize) -> u16 {
        self.most.unwrap_or(carried).min(carried) as u16
    }
}

/// A picture that arrives, and when it had its first units: noted as they are painted, since a
/// turn of the driver may bring many ADUs.
#[derive(Clone)]
pub struct TimedView {
    picture: PictureView,
    begin: Instant,
    painted: Rc<Cell<Option<Duration>>>,
}

impl TimedView {
    pub(super) fn begin() -> Self {
        TimedView { picture: PictureView::default(), begin: Instant::now(), painted: Rc::default() }
    }

    /// Returns the time since it was opened.
    pub(super) fn passed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(super) fn is_over(&self) -> bool {
        self.passed() > PATIENCE
    }
}

impl<M: Message> Functions<M> for TimedView {
    fn set(&mut self, table: TableHead, body: &M) {
        self.picture.set(table, body);
    }

    fn paint(&mut self, blocks: BlocksHead, body: &M) {
        self.picture.paint(blocks, body);
        if self.painted.get().is_none() && self.picture.progress().is_some_and(|it| it.units > 0) {
            self.painted.set(Some(self.passed()));
        }
    }

    fn total(&mut self, end: EndHead) {
        Functions::<M>::total(&mut self.picture, end);
    }

    fn deny(&mut self, refused: RefusedHead, body: &M) {
        self.picture.deny(refused, body);
    }

    fn covered(&self) -> bool {
        Functions::<M>::covered(&self.picture)
    }
}

/// Makes the generated client of a view.
pub fn client(view: TimedView) -> RoleLayer<Picture, Part, impl FnMut() -> Part> {
    RoleLayer::new(move || generated::client::Part::new(view.clone()))
}

type Part = generated::client::Part<TimedView>;

/// Sums over all pictures.
#[derive(Default)]
pub(super) struct Sums {
    octets: usize,
    whole: Duration,
    first: Duration,
}

impl Sums {
    /// Adds a picture, all of which was there `whole` after its opening.
    pub(super) fn add(&mut self, view: &TimedView, whole: Duration) -> Result<(), Wrong> {
        self.octets += view.picture.fetched().ok_or("the picture is not whole")?.file.len();
        self.whole += whole;
        self.first += view.painted.get().unwrap_or(whole);
        Ok(())
    }

    /// Prints the octets, the seconds from the opening until all is painted, and those until the
    /// first units are.
    pub(super) fn print(&self) {
        println!("{} {} {}", self.octets, self.whole.as_secs_f64(), self.first.as_secs_f64());
    }
}

/// Fetches a picture as the command line says, and prints what it took.
///
/// # Errors
/// If a picture does not arrive.
pub fn fetch<S>(make: impl Fn(&Driver, TimedView) -> io::Result<(S, usize)>) -> Result<(), Wrong>
where
    S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>, Uses: Lanes>,
{
    let (asked, mut sums) = (Asked::read()?, Sums::default());
    for _ in 0..asked.times {
        let (view, mut told) = (TimedView::begin(), Told::default());
        let mut driver = Driver::new(fastrand::u64(..))?;
        let (mut stack, carried) = make(&driver, view.clone())?;
        let (remote, association) = (asked.server.into(), ASSOCIATION);
        let open = RoleRequest::Open { association, remote, local: None, credit: CREDIT };
        driver.request(&mut stack, open, &mut told);
        let mut name = Some(requested(&asked.name).ok_or("the name is too long")?);
        while told.ended.is_none() && !view.is_over() {
            if let Some(name) = name.take_if(|_| told.open) {
                let input = Input::Get { most: asked.most(carried), name };
                driver.request(&mut stack, RoleRequest::Tell { association, input }, &mut told);
            }
            driver.turn(&mut stack, &mut told, Some(Duration::from_millis(100)))?;
        }
        let done = told.done.ok_or("the picture is not whole")?;
        sums.add(&view, done - view.begin)?;
    }
    sums.print();
    Ok(())
}
