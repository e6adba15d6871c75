//! Requests, each a transaction: an association of its own.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use stackwright::wire::Header as _;

use super::arguments::Run;
use super::bulk::{ask, connect, fits};
use super::outcome::{Outcome, Workload};
use super::place::Place;
use super::processor;
use super::requests::{LONGEST, exchange, payload};
use super::shown::Intervals;
use super::transport::{Endpoint, Make, endpoint, failed};
use super::words::{Report, Word};
use crate::problem::Problem;

/// What the other side has taken of the processor so far: a transaction that only asks for it.
fn taken(endpoint: &Endpoint, place: &Place) -> Result<u64, Problem> {
    let mut association = connect(endpoint, place)?;
    Ok(ask(&mut association, 0).map_err(|error| failed(place, error))?.processor)
}

pub(super) fn measure(run: &Run, place: &Place, make: &Make) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let endpoint = Endpoint::new(endpoint(&run.tuning), make.stacks()).map_err(wrong)?;
    let payload = payload(run);
    let octets = (payload.len() + Word::LENGTH) as u64;
    let mut latencies = Histogram::new_with_max(LONGEST, 3).map_err(std::io::Error::other)?;
    // It also finds nothing warm.
    let there = taken(&endpoint, place)?;
    let (before, begin) = (processor(), Instant::now());
    let mut intervals = Intervals::new(run.json);
    let until = run.octets.is_none().then(|| begin + run.time);
    let most = run.octets.map_or(u64::MAX, |octets_most| octets_most.div_ceil(octets));
    let (mut done, mut now) = (0, begin);
    while done < most && until.is_none_or(|until| now < until) {
        let mut association = connect(&endpoint, place)?;
        if done == 0 {
            fits(&association, payload.len() + Word::LENGTH, place)?;
        }
        exchange(&mut association, done, &payload).map_err(wrong)?;
        // Nothing more is said, and the side that opened lingers: that is not waited for.
        drop(association);
        let then = std::mem::replace(&mut now, Instant::now());
        latencies.saturating_record((now - then).as_nanos() as u64);
        done += 1;
        intervals.moved(now, || done * octets);
    }
    let (took, sender): (Duration, Duration) = (now - begin, processor() - before);
    let report = Report {
        octets: done * octets,
        messages: done,
        took: 0,
        processor: taken(&endpoint, place)?.saturating_sub(there),
        ..Report::default()
    };
    Ok(Outcome::new(place, Workload::Requests, done, report, sender).exchanges(latencies, took))
}
