//! Both ends in one process: for who only wants to see that it works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::arguments::{Run, Tuning};
use super::bulk;
use super::outcome::Outcome;
use super::place::Place;
use super::serve::{attend, unheard};
use super::transport::{Endpoint, Make, endpoint};
use crate::placement::Placement;
use crate::problem::Problem;

/// Measures bulk for so long, to a server on a thread of its own at any free port of this machine.
pub(crate) fn alone(scheme: &str, time: Duration) -> Result<Outcome, Problem> {
    let place = Place::parse(&format!("{scheme}://127.0.0.1:0"))?;
    let tuning = Tuning::default();
    let make = Make::new(&place, &tuning, &Placement::Library)?;
    let (address, config) = (place.address, endpoint(&tuning));
    let (say, hear) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let there = {
        let (make, stop) = (make.clone(), Arc::clone(&stop));
        move || -> Result<(), Problem> {
            let bound = Endpoint::bind(address, config, make.stacks())
                .map_err(|error| unheard(address, error));
            match bound {
                Ok(endpoint) => {
                    let _ = say.send(Ok(endpoint.local().unwrap_or(address)));
                    attend(&endpoint, None, &stop).map(drop)
                }
                Err(problem) => {
                    let _ = say.send(Err(problem));
                    Ok(())
                }
            }
        }
    };
    let server = thread::spawn(there);
    let address = hear.recv().map_err(std::io::Error::other)??;
    let place = Place { address, ..place.clone() };
    let run = Run {
        url: place.url(),
        size: None,
        time,
        octets: None,
        associations: None,
        repeat: 1,
        requests: false,
        hold: None,
        copies: false,
        members: 0,
        tuning,
        placement: Placement::Library,
        // Nobody watches second by second.
        json: true,
    };
    let outcome = bulk::measure(&run, &place, &make);
    stop.store(true, Ordering::Relaxed);
    // It has nothing to tell that the outcome does not.
    let _ = server.join();
    outcome
}
