//! A client, whatever its protocol is made of.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use std::{env, io};

use stackwright::contract::services::{Credit, Ended};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::drivers::{Driver, Lanes};
use stackwright_jis::generated::client::{Input, Output};
use stackwright_jis::{PictureView, requested};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};

use super::{Picture, Wrong};

const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const CREDIT: Credit = Credit { octets: 256 * 1500, messages: 256 };
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Told {
    open: bool,
    done: bool,
    ended: Option<Ended>,
}

impl<S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>>> Outlet<S> for Told {
    fn indicate(&mut self, indication: RoleIndication<Output<Picture>>) {
        match indication {
            RoleIndication::Opened { .. } => self.open = true,
            RoleIndication::Told { output: Output::Done, .. } => self.done = true,
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

/// When a picture was asked for, had its first units, and had all.
pub(super) struct Watch {
    begin: Instant,
    painted: Option<Duration>,
    done: Option<Duration>,
}

impl Watch {
    pub(super) fn start() -> Self {
        Watch { begin: Instant::now(), painted: None, done: None }
    }

    pub(super) fn see(&mut self, view: &PictureView, done: bool) {
        let units = view.progress().map_or(0, |progress| progress.units);
        if units > 0 && self.painted.is_none() {
            self.painted = Some(self.begin.elapsed());
        }
        if done && self.done.is_none() {
            self.done = Some(self.begin.elapsed());
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.begin.elapsed() > PATIENCE
    }
}

/// Sums over all pictures.
#[derive(Default)]
pub(super) struct Sums {
    octets: usize,
    whole: Duration,
    first: Duration,
}

impl Sums {
    pub(super) fn add(&mut self, view: &PictureView, watch: &Watch) -> Result<(), Wrong> {
        self.octets += view.fetched().ok_or("the picture is not whole")?.file.len();
        self.whole += watch.done.unwrap_or_else(|| watch.begin.elapsed());
        self.first += watch.painted.unwrap_or_else(|| watch.begin.elapsed());
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
pub fn fetch<S>(make: impl Fn(&Driver, PictureView) -> io::Result<(S, usize)>) -> Result<(), Wrong>
where
    S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>, Uses: Lanes>,
{
    let (asked, mut sums) = (Asked::read()?, Sums::default());
    for _ in 0..asked.times {
        let (view, mut told) = (PictureView::default(), Told::default());
        let mut driver = Driver::new(fastrand::u64(..))?;
        let (mut stack, carried) = make(&driver, view.clone())?;
        let mut watch = Watch::start();
        let (remote, association) = (asked.server.into(), ASSOCIATION);
        let open = RoleRequest::Open { association, remote, local: None, credit: CREDIT };
        driver.request(&mut stack, open, &mut told);
        let mut name = Some(requested(&asked.name).ok_or("the name is too long")?);
        while told.ended.is_none() && !watch.is_over() {
            if let Some(name) = name.take_if(|_| told.open) {
                let input = Input::Get { most: asked.most(carried), name };
                driver.request(&mut stack, RoleRequest::Tell { association, input }, &mut told);
            }
            driver.turn(&mut stack, &mut told, Some(Duration::from_millis(100)))?;
            watch.see(&view, told.done);
        }
        sums.add(&view, &watch)?;
    }
    sums.print();
    Ok(())
}
