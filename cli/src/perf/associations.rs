//! Associations: many are opened, a message goes to and fro on each, and all are closed.

use std::time::Instant;

use stackwright::wire::Header as _;
use stackwright_endpoint::Endpoint;

use super::arguments::Run;
use super::bulk::{ask, connect, part};
use super::outcome::{Outcome, Workload};
use super::place::{Place, Transport};
use super::processor;
use super::requests::{exchange, payload};
use super::shown::Intervals;
use super::transport::{Make, Stack, failed};
use super::words::Word;
use crate::problem::Problem;

/// ARTP has 255 sessions between two addresses; those that have just ended are not free yet.
const SESSIONS: u32 = 200;

pub(super) fn measure<S: Stack>(
    run: &Run,
    place: &Place,
    many: u32,
    make: impl Make<S>,
) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let payload = payload(run);
    let octets = (payload.len() + Word::LENGTH) as u64;
    let each = match place.transport {
        Transport::Artp | Transport::OrderedArtp => SESSIONS,
        Transport::Udp | Transport::Tcp => u32::MAX,
    };
    let config = place.transport.endpoint(&run.tuning);
    let (before, begin) = (processor(), Instant::now());
    let mut intervals = Intervals::new(run.json);
    let (mut endpoints, mut open) = (Vec::new(), Vec::new());
    for number in 0..many {
        if number % each == 0 {
            endpoints.push(Endpoint::new(config, make.clone()).map_err(wrong)?);
        }
        let Some(endpoint) = endpoints.last() else { break };
        let mut association = connect(endpoint, place)?;
        exchange(&mut association, u64::from(number), &payload).map_err(wrong)?;
        open.push(association);
        intervals.moved(Instant::now(), || u64::from(number) * octets);
    }
    let (exchanged, used) = (begin.elapsed(), processor());
    // The first has seen all the others come: what the other side took since then it took for all.
    let mut report = ask(&mut open[0], 1).map_err(wrong)?;
    (report.messages, report.octets) = (u64::from(many), u64::from(many) * octets);
    if let Some(hold) = run.hold {
        std::thread::sleep(hold);
    }
    let (closing, last) = (Instant::now(), processor());
    open.into_iter().for_each(part);
    let took = exchanged + closing.elapsed();
    let sender = used - before + (processor() - last);
    Ok(Outcome::new(place, Workload::Associations, u64::from(many), report, sender).lasting(took))
}
