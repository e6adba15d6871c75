//! The bars, and what misses them.

use std::fmt;

use stackwright_artp::Congestion;

use crate::Row;
use crate::trial::{Kind, Outcome, Trial};
use crate::watch::Figures;

/// The least share of the payload that a path without loss can carry, where its queue is as long as
/// the bandwidth-delay product, and where it is shorter.
const SHARE: f64 = 0.85;
const SHARE_SHALLOW: f64 = 0.7;

/// With random loss, what NewReno gets is the bar: that much of it, since the seeds differ.
const SHARE_OF_NEW_RENO: f64 = 0.7;

/// The most packets beyond those that arrived, where none is lost at random.
const RESENT: f64 = 0.10;
const RESENT_BESIDE: f64 = 12.0;

/// The most packets whose first copy had arrived.
const DUPLICATES: f64 = 0.01;
const DUPLICATES_BESIDE: f64 = 2.0;

/// The least index of two flows, from a megabit on and below.
const JAIN: f64 = 0.95;
const JAIN_SLOW: f64 = 0.85;

/// The most collapses of the window: one a step.
const COLLAPSES: u64 = 5;

/// A bar that was missed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Miss {
    /// Too little of the payload was delivered: this share.
    Slow(f64),
    /// Too many packets were sent again, for each that arrived.
    Resends(f64),
    /// Too many packets were sent again though they had arrived, for each that arrived.
    Duplicates(f64),
    /// The pace held the window back: this factor of a window for each round trip.
    Pace(f64),
    /// The window collapsed this often.
    Collapses(u64),
    /// Two flows do not share: Jain's index.
    Unfair(f64),
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::Slow(_) => write!(f, "slow"),
            Miss::Resends(share) => write!(f, "resends {share:.2}"),
            Miss::Duplicates(share) => write!(f, "duplicates {share:.3}"),
            Miss::Pace(factor) => write!(f, "pace {factor:.2} of the window"),
            Miss::Collapses(count) => write!(f, "{count} collapses"),
            Miss::Unfair(_) => write!(f, "unfair"),
        }
    }
}

/// Returns the bars that the candidate of a row misses.
pub fn misses(row: &Row) -> Vec<Miss> {
    let Some((judge, outcome)) = row.outcomes.first() else { return Vec::new() };
    match outcome {
        Outcome::Shared(index) => {
            let least = if row.trial.bits < 1_000_000 { JAIN_SLOW } else { JAIN };
            if *index < least { vec![Miss::Unfair(*index)] } else { Vec::new() }
        }
        Outcome::Alone(figures) => alone(&row.trial, *judge, figures, new_reno(row)),
    }
}

/// Returns what NewReno delivers.
fn new_reno(row: &Row) -> Option<f64> {
    row.outcomes.iter().find_map(|(judge, outcome)| match outcome {
        Outcome::Alone(figures) if *judge == Congestion::NewReno => Some(figures.share),
        _ => None,
    })
}

fn alone(trial: &Trial, judge: Congestion, figures: &Figures, new_reno: Option<f64>) -> Vec<Miss> {
    let mut misses = Vec::new();
    let steady = trial.kind == Kind::Steady;
    let least = match new_reno {
        Some(reference) if trial.loss > 0.0 || !steady => SHARE_OF_NEW_RENO * reference,
        _ if trial.queue >= 1.0 => SHARE,
        _ => SHARE_SHALLOW,
    };
    if figures.share < least {
        misses.push(Miss::Slow(figures.share));
    }
    let (arrived, of) = (figures.arrived as f64, |count: u64| count as f64);
    let most = RESENT * arrived + RESENT_BESIDE;
    if steady && trial.loss == 0.0 && of(figures.resent) > most {
        misses.push(Miss::Resends(of(figures.resent) / arrived));
    }
    let most = DUPLICATES * arrived + DUPLICATES_BESIDE;
    if steady && of(figures.duplicates) > most {
        misses.push(Miss::Duplicates(of(figures.duplicates) / arrived));
    }
    // BBR's pace follows from its model, and its window bounds what that may get wrong.
    if let Some(factor) = figures.pace.filter(|factor| *factor < 1.0)
        && judge != Congestion::Bbr
    {
        misses.push(Miss::Pace(factor));
    }
    if matches!(trial.kind, Kind::Steps { .. }) && figures.collapses > COLLAPSES {
        misses.push(Miss::Collapses(figures.collapses));
    }
    misses
}
