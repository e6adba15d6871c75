//! Associations: many are opened, a message goes to and fro on each, and all are closed.

use std::time::{Duration, Instant};

use serde_json::json;
use stackwright::wire::Header as _;
use stackwright_endpoint::Error;
use stackwright_endpoint::blocking::Endpoint;

use super::arguments::Run;
use super::bulk::{ask, connect, fits, part};
use super::outcome::{Outcome, Workload};
use super::place::Place;
use super::processor;
use super::requests::{exchange, payload};
use super::shown::Intervals;
use super::transport::{Make, Stack, endpoint, failed};
use super::words::Word;
use crate::problem::Problem;
use crate::report::say;

/// So often those are looked after on which nothing is said.
const LOOK: Duration = Duration::from_millis(100);

/// Keeps the associations of an endpoint for so long, without messages. Its stack runs: what is due
/// for idle ones is done.
fn keep<S: Stack>(endpoint: &Endpoint<S>, hold: Duration) -> Result<(), Error> {
    let until = Instant::now() + hold;
    loop {
        endpoint.wait(Some(Duration::ZERO))?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK));
    }
}

pub(super) fn measure<S: Stack>(
    run: &Run,
    place: &Place,
    many: u32,
    make: impl Make<S>,
) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let payload = payload(run);
    let octets = (payload.len() + Word::LENGTH) as u64;
    let config = endpoint(&run.tuning);
    let endpoint = || Endpoint::new(config, make.clone()).map_err(wrong);
    let mut intervals = Intervals::new(run.json);
    // One more has seen all the others come and go: what the other side took since its first
    // message it took for all.
    let watching = endpoint()?;
    let mut watching = connect(&watching, place)?;
    fits(&watching, payload.len() + Word::LENGTH, place)?;
    exchange(&mut watching, 0, &payload).map_err(wrong)?;
    let endpoint = endpoint()?;
    let (before, begin) = (processor(), Instant::now());
    for round in 0..run.repeat {
        let mut open = Vec::new();
        for number in 0..many {
            let mut association = connect(&endpoint, place)?;
            exchange(&mut association, u64::from(number), &payload).map_err(wrong)?;
            open.push(association);
        }
        if let Some(hold) = run.hold {
            if run.json {
                say!("{}", json!({ "event": "holding", "associations": many }));
            }
            keep(&endpoint, hold).map_err(wrong)?;
        }
        open.into_iter().for_each(part);
        intervals.moved(Instant::now(), || u64::from(round + 1) * u64::from(many) * octets);
    }
    let (took, sender) =
        (begin.elapsed() - run.hold.unwrap_or_default() * run.repeat, processor() - before);
    let mut report = ask(&mut watching, 1).map_err(wrong)?;
    part(watching);
    let all = u64::from(many) * u64::from(run.repeat);
    (report.messages, report.octets) = (all, all * octets);
    Ok(Outcome::new(place, Workload::Associations, all, report, sender).lasting(took))
}
