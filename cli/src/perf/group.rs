//! Bulk to a group: messages as fast as all receivers take them. Nobody answers: what the group has
//! acknowledged is what all of its members have received.

use std::time::{Duration, Instant};

use stackwright::contract::ask::{NothingBelow, ask};
use stackwright::contract::services::{Ended, MessageProperties};
use stackwright::transport::GroupMembers;
use stackwright::transport::slots::GroupCounts;
use stackwright::wire::Header as _;
use stackwright_endpoint::Error;

use super::arguments::Run;
use super::bulk::{PATIENCE, connect, fits, part, payload_of, worded};
use super::outcome::{Outcome, Workload};
use super::place::Place;
use super::processor;
use super::shown::Intervals;
use super::transport::{Association, Endpoint, Make, endpoint, failed};
use super::words::{Kind, Report, SHORTEST, Word};
use crate::problem::Problem;

/// The octets of a message where nobody says it.
const SIZE: usize = 10_000;
/// Members that answer within this time are there from the beginning.
const JOINING: Duration = Duration::from_millis(500);
/// How soon it is looked whether all have received everything.
const LOOK: Duration = Duration::from_millis(1);

pub(super) fn measure(run: &Run, place: &Place, make: &Make) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let size =
        run.size.map_or(SIZE, |size| usize::try_from(size).unwrap_or(usize::MAX)).max(SHORTEST);
    let endpoint = Endpoint::new(endpoint(&run.tuning), make.stacks()).map_err(wrong)?;
    let mut association = connect(&endpoint, place)?;
    association.set_timeout(Some(PATIENCE));
    fits(&association, size, place)?;
    let (before, mut intervals) = (processor(), Intervals::new(run.json));
    let begin = Instant::now();
    let payload = payload_of(size - Word::LENGTH, fastrand::Rng::with_seed(1));
    let until = run.octets.is_none().then(|| begin + run.time);
    let messages = run.octets.map_or(u64::MAX, |octets| octets.div_ceil(size as u64));
    let mut room = 0;
    let mut sent = 0;
    let wanted = usize::from(run.members).max(1);
    // Where nothing is acknowledged, it is said how many have answered.
    let missing = |association: &Association, error| {
        let members = members(&endpoint, association).members;
        match error {
            Error::NotYet | Error::Ended(Ended::Expired | Ended::Unreachable)
                if members < wanted =>
            {
                let why = format!("{members} of {wanted} receivers are there");
                Problem::Nobody { url: place.url(), why }
            }
            error => failed(place, error),
        }
    };
    let mut first = None;
    while sent < messages && until.is_none_or(|until| Instant::now() < until) {
        room = room.max(association.statistics().credit.octets);
        // Those that are waited for are there from the beginning.
        if first.is_none() && begin.elapsed() >= JOINING {
            let there = members(&endpoint, &association);
            first = Some(there).filter(|there| there.members >= wanted);
        }
        let message = worded(Kind::Data, sent, &payload);
        association
            .send_message(message, MessageProperties::default())
            .map_err(|refused| missing(&association, refused.why))?;
        sent += 1;
        intervals.moved(Instant::now(), || {
            let waits = room.saturating_sub(association.statistics().credit.octets);
            (sent * size as u64).saturating_sub(waits as u64)
        });
    }
    let message = worded(Kind::End, sent, &[]);
    association
        .send_message(message, MessageProperties::default())
        .map_err(|refused| wrong(refused.why))?;
    settle(&mut association, room).map_err(|error| missing(&association, error))?;
    let took = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let counts = members(&endpoint, &association);
    let all = |counts: GroupCounts| counts.members as u64 + counts.left + counts.dropped;
    let late = first.map_or(0, |first| all(counts).saturating_sub(all(first)));
    let octets = sent * size as u64;
    let report = Report { octets, messages: sent, took, ..Report::default() };
    let outcome = Outcome::new(place, Workload::Bulk, sent, report, processor() - before);
    part(association);
    Ok(outcome.received_by(counts, late))
}

/// Waits until the group has acknowledged everything.
fn settle(association: &mut Association, room: usize) -> Result<(), Error> {
    while association.statistics().credit.octets < room {
        association.set_timeout(Some(LOOK));
        match association.receive_message() {
            Ok(_) => {}
            Err(error) if error.is_not_yet() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn members(endpoint: &Endpoint, association: &Association) -> GroupCounts {
    let name = association.name();
    endpoint.look(|stack| ask(stack, name, GroupMembers, &NothingBelow)).unwrap_or_default()
}
