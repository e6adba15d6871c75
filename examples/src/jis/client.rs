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

/// Fetches a picture several times, as the command line says: the server's address, the picture's
/// name, how often (once), and the most octets of an ADU's body. Prints the octets, the seconds
/// from the opening until all is painted, and those until the first units are, as sums.
///
/// # Errors
/// If a picture does not arrive.
pub fn fetch<S>(make: impl Fn(&Driver, PictureView) -> io::Result<(S, usize)>) -> Result<(), Wrong>
where
    S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>, Uses: Lanes>,
{
    let mut arguments = env::args().skip(1);
    let usage = "usage: ADDRESS:PORT NAME [TIMES [OCTETS]]";
    let server: SocketAddr = arguments.next().ok_or(usage)?.parse()?;
    let name = arguments.next().ok_or(usage)?;
    let times: u32 = arguments.next().map_or(Ok(1), |times| times.parse())?;
    let most: Option<usize> = arguments.next().map(|octets| octets.parse()).transpose()?;
    let (mut octets, mut whole, mut first) = (0, Duration::ZERO, Duration::ZERO);
    for _ in 0..times {
        let (view, mut told) = (PictureView::default(), Told::default());
        let mut driver = Driver::new(fastrand::u64(..))?;
        let (mut stack, carried) = make(&driver, view.clone())?;
        let begin = Instant::now();
        let (remote, association) = (server.into(), ASSOCIATION);
        let open = RoleRequest::Open { association, remote, local: None, credit: CREDIT };
        driver.request(&mut stack, open, &mut told);
        let mut name = Some(requested(&name).ok_or("the name is too long")?);
        let (mut painted, mut done) = (None, None);
        while told.ended.is_none() && begin.elapsed() < PATIENCE {
            if let Some(name) = name.take_if(|_| told.open) {
                let most = most.unwrap_or(carried).min(carried) as u16;
                let input = Input::Get { most, name };
                driver.request(&mut stack, RoleRequest::Tell { association, input }, &mut told);
            }
            driver.turn(&mut stack, &mut told, Some(Duration::from_millis(100)))?;
            let units = view.progress().map_or(0, |progress| progress.units);
            if painted.is_none() && units > 0 {
                painted = Some(begin.elapsed());
            }
            if done.is_none() && told.done {
                done = Some(begin.elapsed());
            }
        }
        let fetched = view.fetched().ok_or_else(|| match told.ended {
            Some(why) => why.to_string(),
            None => "nothing answers".into(),
        })?;
        octets += fetched.file.len();
        whole += done.unwrap_or_else(|| begin.elapsed());
        first += painted.unwrap_or_else(|| begin.elapsed());
    }
    println!("{octets} {} {}", whole.as_secs_f64(), first.as_secs_f64());
    Ok(())
}
