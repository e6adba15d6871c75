//! Associations: many are opened, a message goes to and fro on each, and all are closed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::json;
use stackwright::contract::Guarantees;
use stackwright::contract::services::MessageProperties;
use stackwright::wire::{Header as _, Message as _};
use stackwright_endpoint::Error;

use super::arguments::Run;
use super::bulk::{PATIENCE, ask, connect, fits, part, worded};
use super::outcome::{Outcome, Workload};
use super::place::Place;
use super::processor;
use super::requests::{AGAIN, exchange, payload};
use super::shown::Intervals;
use super::transport::{Association, Endpoint, Make, endpoint, failed};
use super::words::{Kind, Word};
use crate::problem::Problem;
use crate::report::say;

/// So many are opened at the same time, as by a program that has many peers: one after the other
/// would measure the round trip.
const OPENING: usize = 256;
/// How long those that are closed are waited for.
const CLOSING: Duration = Duration::from_secs(1);
/// So often those are looked after on which nothing is said.
const LOOK: Duration = Duration::from_millis(100);

/// Keeps the associations of an endpoint for so long, without messages. Its stack runs: what is due
/// for idle ones is done.
fn keep(endpoint: &Endpoint, hold: Duration) -> Result<(), Error> {
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

pub(super) fn measure(
    run: &Run,
    place: &Place,
    many: u32,
    make: &Make,
) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let payload = payload(run);
    let octets = (payload.len() + Word::LENGTH) as u64;
    let config = endpoint(&run.tuning);
    let endpoint = || Endpoint::new(config, make.stacks()).map_err(wrong);
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
        let open = opened(&endpoint, place, many, &payload).map_err(wrong)?;
        if let Some(hold) = run.hold {
            if run.json {
                say!("{}", json!({ "event": "holding", "associations": many }));
            }
            keep(&endpoint, hold).map_err(wrong)?;
        }
        drop(open);
        let closing = Instant::now();
        while endpoint.totals().associations > 0 && closing.elapsed() < CLOSING {
            endpoint.wait(Some(LOOK)).map_err(wrong)?;
        }
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

/// Opens `many`, and makes an exchange on each.
fn opened(
    endpoint: &Endpoint,
    place: &Place,
    many: u32,
    payload: &[u8],
) -> Result<Vec<Association>, Error> {
    let mut open = Vec::new();
    let mut opening = HashMap::new();
    let (mut numbers, mut due, mut looked) = (0..many, Vec::new(), Instant::now());
    while open.len() < many as usize {
        while opening.len() < OPENING
            && let Some(number) = numbers.next()
        {
            let one = Exchange::new(endpoint.open(place.address), number);
            due.push(one.association.name());
            opening.insert(one.association.name(), one);
        }
        endpoint.wait(Some(if due.is_empty() { LOOK } else { Duration::ZERO }))?;
        due.extend(std::iter::from_fn(|| endpoint.take_changed()));
        // A request that was lost is repeated, and one that nobody answers given up.
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            due.extend(opening.keys());
        }
        for name in due.drain(..) {
            let Some(one) = opening.get_mut(&name) else { continue };
            if one.turn(payload)? {
                open.extend(opening.remove(&name).map(|one| one.association));
            }
        }
    }
    Ok(open)
}

/// A request and its reply, on an association that is opened for it.
struct Exchange {
    association: Association,
    number: u64,
    began: Instant,
    /// When the request left last.
    asked: Option<Instant>,
}

impl Exchange {
    fn new(mut association: Association, number: u32) -> Self {
        association.set_timeout(Some(Duration::ZERO));
        Exchange { association, number: number.into(), began: Instant::now(), asked: None }
    }

    /// Does what can be done now. Returns whether the reply has come.
    fn turn(&mut self, payload: &[u8]) -> Result<bool, Error> {
        let Exchange { association, number, began, asked } = self;
        let mut reply = || {
            let lossless = association.facts().gives.has(Guarantees::RELIABLE);
            if asked.is_none_or(|asked| !lossless && asked.elapsed() >= AGAIN) {
                let request = worded(Kind::Request, *number, payload);
                association.send_message(request, MessageProperties::default())?;
                *asked = Some(Instant::now());
            }
            loop {
                let (mut message, _) = association.receive_message()?;
                if message.pull() == Ok(Word { kind: Kind::Reply, number: *number }) {
                    return Ok(true);
                }
            }
        };
        reply().or_else(|why: Error| {
            if why.is_not_yet() && began.elapsed() < PATIENCE { Ok(false) } else { Err(why) }
        })
    }
}
