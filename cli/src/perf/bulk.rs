//! Bulk: messages as fast as they go.

use std::time::{Duration, Instant};

use stackwright::contract::Guarantees;
use stackwright::contract::ask::{HowItSends, Longest, RoundTrip};
use stackwright::contract::services::MessageProperties;
use stackwright::wire::{Header as _, Message as _, take_copied};
use stackwright_endpoint::{Error, SendBuffer};
use stackwright_parts::Message;

use super::arguments::Run;
use super::one_way;
use super::outcome::{Outcome, Workload};
use super::place::{Place, Transport};
use super::processor;
use super::shown::Intervals;
use super::transport::{Association, Endpoint, Make, endpoint, failed};
use super::words::{Kind, Report, SHORTEST, Word};
use crate::problem::Problem;

/// Octets that are free before a message: headers are written there.
const HEADROOM: usize = 128;
/// The last octets of the first piece tell whether a message still holds the payload: the pieces of
/// another one would end elsewhere.
const MARK: usize = 8;
/// The octets of a message where nobody says it.
const SIZE: usize = 10_000;
/// So many messages may wait to be sent, however slow the way is.
const FEW: u64 = 4;
/// How soon it is looked whether fewer wait.
const LOOK: Duration = Duration::from_millis(1);
/// After so many octets one looks at the clock: a look costs a hundredth of what a message of
/// 10 kB does, and is not what is measured.
const CLOCK: u64 = 64 << 10;
/// A peer that says nothing for so long, and takes nothing, is not there.
pub(super) const PATIENCE: Duration = Duration::from_secs(35);
/// The same where nothing is lost, once there was a peer: transports have a limit of their own for
/// an outage, most of them 90 seconds.
pub(super) const OUTAGE: Duration = Duration::from_secs(100);
/// Where words may be lost, they are said again so soon, and then after twice as long.
pub(super) const AGAIN: Duration = Duration::from_millis(400);

pub(super) fn measure(run: &Run, place: &Place, make: &Make) -> Result<Outcome, Problem> {
    let wrong = |error| failed(place, error);
    let size =
        run.size.map_or(SIZE, |size| usize::try_from(size).unwrap_or(usize::MAX)).max(SHORTEST);
    let config = endpoint(&run.tuning);
    let is_answered = place.transport != Transport::UnacknowledgedXtp;
    let endpoint = if is_answered {
        Endpoint::new(config, make.stacks())
    } else {
        one_way::bound(place, config, make)
    };
    let mut endpoint = endpoint.map_err(wrong)?;
    let mut association = connect(&endpoint, place)?;
    fits(&association, size, place)?;
    let before = processor();
    let mut intervals = Intervals::new(run.json);
    let begin = Instant::now();
    let mut room = association.statistics().credit.octets;
    let payload = payload_of(size, fastrand::Rng::with_seed(1));
    let shared = shared(&payload[Word::LENGTH..]);
    let is_gapped = association.reserve(size, 1).is_gapped();
    take_copied(); // what is sent was written above, once for all messages
    let until = run.octets.is_none().then(|| begin + run.time);
    let messages = run.octets.map_or(u64::MAX, |octets| octets.div_ceil(size as u64));
    // What leaves at a rate needs no queue: all that waits then comes on top of the time.
    let pace = (place.transport == Transport::IsochronousXtp)
        .then(|| run.tuning.rate.unwrap_or(super::transport::RATE));
    let (mut sent, mut heard, mut steady) = (0, 0, false);
    let (mut now, mut looked) = (begin, 0);
    while sent < messages {
        if !steady || sent * size as u64 >= looked + CLOCK {
            (now, looked) = (Instant::now(), sent * size as u64);
        }
        if until.is_some_and(|until| now >= until) {
            break;
        }
        if !steady {
            let credit = association.statistics().credit.octets;
            if pace.is_some() {
                room = room.max(credit); // where no window bounds it, it grows at once
            }
            let waits = room.saturating_sub(credit) as u64;
            let moved = (sent * size as u64).saturating_sub(waits);
            let most = may_wait(moved, size, pace);
            if waits > most {
                look(&mut association).map_err(wrong)?;
                continue;
            }
            // From here on what may wait is bounded by the endpoint.
            steady = most >= room as u64;
        }
        let word = Word { kind: Kind::Data, number: sent };
        let taken = if is_gapped {
            let most =
                if steady { usize::try_from(messages - sent).unwrap_or(usize::MAX) } else { 1 };
            let buffer = written(association.reserve(size, most), word, &payload);
            let messages = buffer.messages() as u64;
            let taken = association.commit(buffer, MessageProperties::default());
            taken.map(|()| messages).map_err(Error::from)
        } else {
            let mut message = shared.share();
            message.push(&word);
            let taken = association.send_message(message, MessageProperties::default());
            taken.map(|()| 1).map_err(Error::from)
        };
        match taken {
            Ok(messages) => sent += messages,
            // What was sent waits where nobody sees it, as in the system's TCP: the server counts.
            Err(error) if error.is_not_yet() && said_more(&association, &mut heard) => {
                look(&mut association).map_err(wrong)?;
            }
            Err(error) => return Err(wrong(error)),
        }
        intervals.moved(now, || {
            let waits = room.saturating_sub(association.statistics().credit.octets);
            (sent * size as u64).saturating_sub(waits as u64)
        });
    }
    let report = if is_answered {
        ask(&mut association, sent)
    } else {
        one_way::ask(&mut endpoint, &association, sent)
    };
    let report = report.map_err(|error| {
        let waits = room.saturating_sub(association.statistics().credit.octets);
        let moved = (sent * size as u64).saturating_sub(waits as u64);
        unreported(place, association.facts().gives, error, moved)
    })?;
    let copied = [take_copied(), report.copied];
    let sends = association.ask(HowItSends);
    let outcome = Outcome::new(place, Workload::Bulk, sent, report, processor() - before);
    let outcome = outcome.changing(sends);
    part(association);
    Ok(if run.copies { outcome.copying(copied, size) } else { outcome })
}

/// Fills the buffer with messages that are `payload` behind their words; `word` is that of the
/// first. Writing is not what is measured, as it is not over other transports, which share one
/// payload: memory that still holds it is left as it is.
fn written(mut buffer: SendBuffer<Message>, word: Word, payload: &[u8]) -> SendBuffer<Message> {
    for (mut pieces, number) in buffer.each_mut().zip(word.number..) {
        let Some(first) = pieces.next() else { continue };
        let (now, mut rest) = payload.split_at(first.len());
        if first.last_chunk::<MARK>() != now.last_chunk() {
            first.copy_from_slice(now);
            for piece in pieces {
                let (now, later) = rest.split_at(piece.len());
                piece.copy_from_slice(now);
                rest = later;
            }
        }
        Word { number, ..word }.encode(&mut first[..Word::LENGTH]);
    }
    buffer
}

/// Returns how many octets may be queued after `moved` octets were sent. On a slow path little is,
/// because a run ends when the queue is empty; on a fast one, no window that opens lacks octets. At
/// a rate, a tenth of a second of it.
fn may_wait(moved: u64, size: usize, pace: Option<u64>) -> u64 {
    pace.map_or(2 * moved, |rate| rate / 10).max(FEW * size as u64)
}

/// How long the peer is waited for: where nothing is lost, for an outage, once it has answered.
pub(super) fn patience(association: &Association) -> Duration {
    let lossless = association.facts().gives.has(Guarantees::RELIABLE);
    if lossless && association.ask(RoundTrip).is_some() { OUTAGE } else { PATIENCE }
}

/// Gives what waits a moment to leave.
fn look(association: &mut Association) -> Result<(), Error> {
    association.set_timeout(Some(LOOK));
    let heard = association.receive_message();
    association.set_timeout(Some(patience(association)));
    heard.map(drop).or_else(|error| if error.is_not_yet() { Ok(()) } else { Err(error) })
}

/// Whether the server has said more than was `heard` before.
fn said_more(association: &Association, heard: &mut usize) -> bool {
    let before = std::mem::replace(heard, association.statistics().received.messages);
    *heard > before
}

/// An association with the server.
pub(super) fn connect(endpoint: &Endpoint, place: &Place) -> Result<Association, Problem> {
    let wrong = |error| failed(place, error);
    let mut association = endpoint.connect(place.address).map_err(wrong)?;
    association.set_timeout(Some(patience(&association)));
    Ok(association)
}

/// Checks that a message of `size` octets can be sent, before one is.
///
/// # Errors
/// What the most is.
pub(super) fn fits(association: &Association, size: usize, place: &Place) -> Result<(), Problem> {
    let known = association.ask(Longest).unwrap_or(usize::MAX);
    let longest = known.min(association.path().longest as usize);
    if size > longest { Err(failed(place, Error::TooLong { longest })) } else { Ok(()) }
}

/// Says why there is no report. Where a transport that loses nothing has `moved` something, a
/// server was there.
fn unreported(place: &Place, gives: Guarantees, error: Error, moved: u64) -> Problem {
    let was_there = gives.has(Guarantees::RELIABLE) && moved > 0;
    match error {
        Error::NotYet if was_there => Problem::Measurement {
            url: place.url(),
            why: format!(
                "the server was there, but counted nothing more for {OUTAGE:?}, and perf gave up"
            ),
        },
        Error::Ended(why) if was_there => Problem::Measurement {
            url: place.url(),
            why: format!("the transport ended the association before the report came: {why}"),
        },
        error => failed(place, error),
    }
}

/// Octets that nothing compresses.
pub(super) fn payload_of(octets: usize, mut random: fastrand::Rng) -> Vec<u8> {
    let mut payload = vec![0; octets];
    random.fill(&mut payload);
    payload
}

/// What all messages share: octets that have a word before them in each.
pub(super) fn shared(payload: &[u8]) -> Message {
    Message::with_headroom(HEADROOM + Word::LENGTH, payload)
}

/// A message with its word.
pub(super) fn worded(kind: Kind, number: u64, payload: &[u8]) -> Message {
    let mut message = shared(payload);
    message.push(&Word { kind, number });
    message
}

/// What has arrived of `sent` messages.
pub(super) fn ask(association: &mut Association, sent: u64) -> Result<Report, Error> {
    let lossless = association.facts().gives.has(Guarantees::RELIABLE);
    let mut patience = if lossless { patience(association) } else { AGAIN };
    let begin = Instant::now();
    loop {
        association.set_timeout(Some(PATIENCE));
        association.send_message(worded(Kind::End, sent, &[]), MessageProperties::default())?;
        association.set_timeout(Some(patience));
        loop {
            let room = association.statistics().credit.octets;
            let mut message = match association.receive_message() {
                Ok((message, _)) => message,
                // What was sent before the question has to leave before it.
                Err(error)
                    if error.is_not_yet() && association.statistics().credit.octets > room =>
                {
                    continue;
                }
                Err(error)
                    if error.is_not_yet() && !lossless && begin.elapsed() + patience < PATIENCE =>
                {
                    break;
                }
                Err(error) => return Err(error),
            };
            if let (Ok(Word { kind: Kind::Report, .. }), Ok(report)) =
                (message.pull(), message.pull())
            {
                return Ok(report);
            }
        }
        patience *= 2;
    }
}

/// Takes leave: what was measured is known, and nobody waits long for the last word.
pub(super) fn part(mut association: Association) {
    association.set_timeout(Some(Duration::from_secs(1)));
    // How it ends changes nothing.
    let _ = association.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_grows_with_what_has_moved() {
        assert_eq!(
            [0, 10_000, 20_000, 5 << 20].map(|moved| may_wait(moved, SIZE, None)),
            [40_000, 40_000, 40_000, 10 << 20]
        );
        assert_eq!([0, 5 << 20].map(|moved| may_wait(moved, 1000, Some(125_000))), [12_500; 2]);
    }
}
