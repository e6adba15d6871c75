//! What happened on a channel, frame by frame, and when each transmitter was on.

use std::collections::VecDeque;

use stackwright::channel::{Activity, ChannelDescription, HdlcFrame, OnAir};
use stackwright::contract::Instant;

use super::frames::{Frames, Told};

/// How many frames of one station are remembered, and how often it was on the air.
const FRAMES_MOST: usize = 4096;

/// What happened.
pub(crate) struct Timeline {
    pub(crate) stations: Vec<Lane>,
    frames: Frames,
}

/// One station.
pub(crate) struct Lane {
    pub(crate) name: String,
    /// From when to when its transmitter was on; the last may be on still.
    pub(crate) on_air: VecDeque<(Instant, Option<Instant>)>,
    pub(crate) sent: VecDeque<Sent>,
    /// How many of its frames are forgotten.
    forgotten: usize,
    /// Which of its frames each station hears next; `None` where it does not hear it.
    next: Vec<Option<usize>>,
}

/// A frame that was sent.
pub(crate) struct Sent {
    pub(crate) begins: Instant,
    pub(crate) ends: Option<Instant>,
    pub(crate) told: Told,
    pub(crate) octets: usize,
    /// The stations that received it whole, those that received it altered, and those that lost
    /// it to another transmission.
    pub(crate) received: Vec<usize>,
    pub(crate) altered: Vec<usize>,
    pub(crate) collided: Vec<usize>,
}

/// Something to be told.
pub(crate) enum Happened {
    /// The transmitter of a station is on.
    KeysUp { time: Instant, station: usize },
    /// A station waits for the channel.
    Waits { time: Instant, station: usize },
    /// The last that hears a frame has heard it; its number among those that are remembered.
    Done { station: usize, frame: usize },
}

impl Timeline {
    pub(crate) fn new(description: &ChannelDescription) -> Self {
        let hearing = &description.conditions.hearing;
        let all = 0..description.stations.len();
        let lane = |(speaker, station): (usize, &stackwright::channel::StationDescription)| Lane {
            name: station.name.clone(),
            on_air: VecDeque::new(),
            sent: VecDeque::new(),
            forgotten: 0,
            next: all.clone().map(|other| hearing.hears(other, speaker).then_some(0)).collect(),
        };
        Timeline {
            stations: description.stations.iter().enumerate().map(lane).collect(),
            frames: Frames::default(),
        }
    }

    /// Adds what a station did, and tells what there is to be told of it.
    pub(crate) fn add(
        &mut self,
        activity: Activity<HdlcFrame>,
        mut tell: impl FnMut(Happened, &Timeline),
    ) {
        let Activity { time, station, what } = activity;
        let lane = &mut self.stations[station];
        match what {
            OnAir::Defers => tell(Happened::Waits { time, station }, self),
            OnAir::KeysUp => {
                bound(&mut lane.on_air);
                lane.on_air.push_back((time, None));
                tell(Happened::KeysUp { time, station }, self);
            }
            OnAir::KeysDown => {
                if let Some((_, ends)) = lane.on_air.back_mut() {
                    *ends = Some(time);
                }
            }
            OnAir::Begins(frame) => {
                let octets = frame.octets().unwrap_or_default();
                let told = self.frames.tell(octets);
                lane.forgotten += bound(&mut lane.sent);
                lane.sent.push_back(Sent {
                    begins: time,
                    ends: None,
                    told,
                    octets: octets.len(),
                    received: Vec::new(),
                    altered: Vec::new(),
                    collided: Vec::new(),
                });
            }
            OnAir::Leaves => {
                if let Some(sent) = lane.sent.back_mut() {
                    sent.ends = Some(time);
                }
                // Of one that nobody hears, nothing else comes.
                let frame = lane.sent.len().wrapping_sub(1);
                if lane.next.iter().all(Option::is_none) {
                    tell(Happened::Done { station, frame }, self);
                }
            }
            OnAir::Receives { from, altered } => {
                let outcome = if altered { Outcome::Altered } else { Outcome::Received };
                self.heard(time, from, station, outcome, tell);
            }
            OnAir::Loses { from } => self.heard(time, from, station, Outcome::Collided, tell),
        }
    }

    /// Each station hears the frames of another in the order in which they were sent.
    fn heard(
        &mut self,
        time: Instant,
        from: usize,
        listener: usize,
        outcome: Outcome,
        mut tell: impl FnMut(Happened, &Timeline),
    ) {
        let lane = &mut self.stations[from];
        let Some(next) = &mut lane.next[listener] else { return };
        let number = *next;
        *next += 1;
        let is_last = lane.next.iter().flatten().all(|next| *next > number);
        let Some(frame) = number.checked_sub(lane.forgotten) else { return };
        let Some(sent) = lane.sent.get_mut(frame) else { return };
        // Without a delay, the frame arrives before it is told that it has left.
        sent.ends.get_or_insert(time);
        match outcome {
            Outcome::Received => sent.received.push(listener),
            Outcome::Altered => sent.altered.push(listener),
            Outcome::Collided => sent.collided.push(listener),
        }
        if is_last {
            tell(Happened::Done { station: from, frame }, self);
        }
    }

    /// Returns the names of stations, in a sentence.
    pub(crate) fn names(&self, stations: &[usize]) -> String {
        let names: Vec<&str> =
            stations.iter().map(|station| self.stations[*station].name.as_str()).collect();
        match &names[..] {
            [] => "nobody".into(),
            [one] => (*one).into(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }
}

#[derive(Clone, Copy)]
enum Outcome {
    Received,
    Altered,
    Collided,
}

/// Makes place for another; returns how many were forgotten for that.
fn bound<T>(kept: &mut VecDeque<T>) -> usize {
    let forgotten = usize::from(kept.len() == FRAMES_MOST);
    kept.drain(..forgotten);
    forgotten
}
