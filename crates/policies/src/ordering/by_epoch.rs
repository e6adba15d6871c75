//! In the order of each epoch.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use stackwright_contract::PhaseRule;
use stackwright_transport::component;
use stackwright_transport::slots::Ordering;
use stackwright_transport::words::{Epoch, EpochMark, Unit};
use stackwright_wire::Message;

use crate::switching::PhaseRules;

/// What a unit that waits costs beside its octets.
const OVERHEAD: usize = 128;

/// The epochs of which units may still come: that of the newest unit, the one before it, and where
/// a peer breaks the rules as many others.
const LIVE_MOST: usize = 4;

/// Delivers each unit by the rules of the [phase](crate::switching::InPhases) in which it was sent,
/// whatever arrived before it: in its turn within its epoch, or at once; behind a fence, when all
/// that was sent before its epoch was delivered.
///
/// What waits is bounded by the flow slot.
///
/// Choose it with [`InPhases`](crate::switching::InPhases).
///
/// ```
/// use stackwright_policies::ordering::ByEpoch;
/// use stackwright_policies::switching::PhaseRule;
/// use stackwright_wire::BufferTree;
/// let ordered = PhaseRule { ordered: true, ..PhaseRule::default() };
/// let rules = [Some(ordered), Some(PhaseRule::default()), None, None];
/// let by_epoch = ByEpoch::<BufferTree>::new(rules);
/// # let _ = by_epoch;
/// ```
#[derive(Debug)]
pub struct ByEpoch<M> {
    rules: PhaseRules,
    /// Of the unit that arrives next.
    mark: EpochMark,
    /// Those of which units may come, the newest last.
    live: VecDeque<Live>,
    waiting: BTreeMap<u64, (Epoch, Unit<M>)>,
    held: usize,
    /// All before this number were delivered, and these beyond it.
    delivered_upto: u64,
    delivered: BTreeSet<u64>,
}

/// An epoch of which units may come.
#[derive(Clone, Copy, Debug)]
struct Live {
    epoch: Epoch,
    /// The number of its first unit, once that has arrived.
    first: Option<u64>,
    /// The number that is delivered next, where it is ordered.
    next: u64,
}

impl<M> ByEpoch<M> {
    /// Creates the policy with these rules, before anything has arrived.
    pub const fn new(rules: PhaseRules) -> Self {
        ByEpoch {
            rules,
            mark: EpochMark { bits: 0, first: false },
            live: VecDeque::new(),
            waiting: BTreeMap::new(),
            held: 0,
            delivered_upto: 0,
            delivered: BTreeSet::new(),
        }
    }

    fn rule(&self, epoch: Epoch) -> PhaseRule {
        self.rules[epoch.phase()].unwrap_or_default()
    }

    /// Returns the epoch of a unit that has not arrived before, which is live from now on.
    fn file(&mut self, number: u64) -> Epoch {
        let newest = self.live.back().map_or(Epoch::FIRST, |live| live.epoch);
        let epoch = newest.nearest(self.mark.bits);
        let first = self.mark.first.then_some(number);
        match self.live.iter_mut().find(|live| live.epoch == epoch) {
            Some(live) if live.first.is_none() => {
                (live.first, live.next) = (first, first.unwrap_or(live.next));
            }
            Some(_) => {}
            None => {
                let place = self.live.partition_point(|live| live.epoch < epoch);
                self.live.insert(place, Live { epoch, first, next: number });
                // Units of a new epoch leave when all before the last one is settled.
                let before = epoch.serial().saturating_sub(1);
                self.live.retain(|live| live.epoch.serial() >= before);
                while self.live.len() > LIVE_MOST {
                    self.live.pop_front();
                }
            }
        }
        epoch
    }

    /// Returns the number of the next unit of an epoch that waits and may be delivered.
    fn due(&self, live: &Live) -> Option<u64> {
        let (rule, first) = (self.rule(live.epoch), live.first);
        if rule.fenced && first.is_none_or(|first| self.delivered_upto < first) {
            return None;
        }
        let next = match rule.ordered {
            true => first.map(|_| live.next)?,
            false => *self.waiting.range(first.unwrap_or(0)..).next()?.0,
        };
        let (epoch, _) = self.waiting.get(&next)?;
        (*epoch == live.epoch).then_some(next)
    }

    fn on_delivered(&mut self, epoch: Epoch, number: u64) {
        if let Some(live) = self.live.iter_mut().find(|live| live.epoch == epoch) {
            live.next = live.next.max(number + 1);
        }
        self.delivered.insert(number);
        while self.delivered.remove(&self.delivered_upto) {
            self.delivered_upto += 1;
        }
    }
}

impl<M: Message> Ordering<M> for ByEpoch<M> {
    fn on_mark(&mut self, mark: EpochMark) {
        self.mark = mark;
    }

    fn on_rule(&mut self, phase: u8, rule: PhaseRule) -> bool {
        let phase = usize::from(phase);
        let is_newest = self.live.back().is_some_and(|live| live.epoch.phase() == phase);
        let is_used = is_newest || self.waiting.values().any(|(epoch, _)| epoch.phase() == phase);
        match self.rules.get_mut(phase) {
            Some(known) if !is_used => *known = Some(rule),
            known => return known.copied().flatten() == Some(rule),
        }
        true
    }

    fn arrive(&mut self, unit: Unit<M>) -> Option<Unit<M>> {
        let number = unit.span.start;
        let epoch = self.file(number);
        let rule = self.rule(epoch);
        if !rule.ordered && !rule.fenced {
            self.on_delivered(epoch, number);
            return Some(unit);
        }
        self.held += unit.body.len() + OVERHEAD;
        self.waiting.insert(number, (epoch, unit));
        self.next()
    }

    fn next(&mut self) -> Option<Unit<M>> {
        if self.waiting.is_empty() {
            return None;
        }
        let number = self.live.iter().find_map(|live| self.due(live))?;
        let (epoch, unit) = self.waiting.remove(&number)?;
        self.held -= unit.body.len() + OVERHEAD;
        self.on_delivered(epoch, number);
        Some(unit)
    }

    fn held(&self) -> usize {
        self.held
    }

    fn early(&self) -> usize {
        self.held - OVERHEAD * self.waiting.len()
    }

    fn begin(&mut self, first: u64) {
        self.delivered_upto = first;
        self.live.push_back(Live { epoch: Epoch::FIRST, first: Some(first), next: first });
    }
}

component! {
    <M> ByEpoch<M>: "ordering by epoch", "delivers each message by the rules of its phase",
    needs: Property::REPEATS.and(Property::PHASES).and(Property::COUNTS_PACKETS),
    shuns: Property::EXPIRES.and(Property::FORGIVES),
}
