//! Requests: one message, its reply, the next.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use stackwright::contract::Guarantees;
use stackwright::contract::services::MessageProperties;
use stackwright::wire::{Header as _, Message as _};
use stackwright_endpoint::Error;

use super::arguments::Run;
use super::bulk::{PATIENCE, ask, connect, fits, part, patience, payload_of, worded};
use super::outcome::{Outcome, Workload};
use super::place::Place;
use super::processor;
use super::shown::Intervals;
use super::transport::{Association, Endpoint, Make, endpoint, failed};
use super::words::{Kind, SHORTEST, Word};
use crate::problem::Problem;

/// The octets of a request where nobody says it.
const SIZE: usize = 64;
/// The longest exchange that is told apart, in nanoseconds: a minute.
pub(crate) const LONGEST: u64 = 60_000_000_000;
/// Where one may be lost it is said again so soon.
pub(super) const AGAIN: Duration = Duration::from_millis(500);

pub(super) fn measure(run: &Run, place: &Place, make: &Make) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let endpoint = Endpoint::new(endpoint(&run.tuning), make.stacks()).map_err(wrong)?;
    let mut association = connect(&endpoint, place)?;
    let payload = payload(run);
    let octets = (payload.len() + Word::LENGTH) as u64;
    fits(&association, payload.len() + Word::LENGTH, place)?;
    // The first finds nothing warm.
    exchange(&mut association, 0, &payload).map_err(wrong)?;
    let mut latencies = Histogram::new_with_max(LONGEST, 3).map_err(std::io::Error::other)?;
    let (before, begin) = (processor(), Instant::now());
    let mut intervals = Intervals::new(run.json);
    let until = run.octets.is_none().then(|| begin + run.time);
    let most = run.octets.map_or(u64::MAX, |octets_most| octets_most.div_ceil(octets));
    let (mut done, mut now) = (0, begin);
    while done < most && until.is_none_or(|until| now < until) {
        exchange(&mut association, done + 1, &payload).map_err(wrong)?;
        let then = std::mem::replace(&mut now, Instant::now());
        latencies.saturating_record((now - then).as_nanos() as u64);
        done += 1;
        intervals.moved(now, || done * octets);
    }
    let took = now - begin;
    let sender = processor() - before;
    // It has counted the first, too.
    let mut report = ask(&mut association, done + 1).map_err(wrong)?;
    (report.messages, report.octets) = (done, done * octets);
    part(association);
    Ok(Outcome::new(place, Workload::Requests, done, report, sender).exchanges(latencies, took))
}

/// The octets of a short message, without its word.
pub(super) fn payload(run: &Run) -> Vec<u8> {
    let size =
        run.size.map_or(SIZE, |size| usize::try_from(size).unwrap_or(usize::MAX)).max(SHORTEST);
    payload_of(size - Word::LENGTH, fastrand::Rng::with_seed(1))
}

/// A request, and its reply.
pub(super) fn exchange(
    association: &mut Association,
    number: u64,
    payload: &[u8],
) -> Result<(), Error> {
    let lossless = association.facts().gives.has(Guarantees::RELIABLE);
    let begin = Instant::now();
    association.set_timeout(Some(if lossless { patience(association) } else { AGAIN }));
    loop {
        association
            .send_message(worded(Kind::Request, number, payload), MessageProperties::default())?;
        loop {
            match association.receive_message() {
                Ok((mut message, _)) => {
                    if message.pull() == Ok(Word { kind: Kind::Reply, number }) {
                        return Ok(());
                    }
                }
                Err(error) if error.is_not_yet() && !lossless && begin.elapsed() < PATIENCE => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
