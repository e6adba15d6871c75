//! Whom a member does not hear, and which of the others do not hear each other: one of the two
//! cannot stay.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use stackwright_contract::{Duration, Instant};

/// What is doubted of the members of a view, by rank.
pub(super) struct Doubts {
    /// Since when a member is suspected here.
    suspected: Vec<Option<Instant>>,
    /// Whom the others do not hear, and when they said so last.
    others: BTreeMap<u16, (Instant, Vec<u16>)>,
    /// Who is left out, so that those who stay hear each other.
    left_out: Vec<bool>,
    /// Who seems not to hear, and until when another proposes.
    yields: BTreeMap<u16, Instant>,
    /// Whether anybody may be one of these.
    any: bool,
}

impl Doubts {
    pub(super) fn new(members: usize) -> Self {
        let (suspected, left_out) = (alloc::vec![None; members], alloc::vec![false; members]);
        let (others, yields) = (BTreeMap::new(), BTreeMap::new());
        Doubts { suspected, others, left_out, yields, any: false }
    }

    /// Notes since when a member is suspected; `None`: it is not.
    pub(super) fn suspect(&mut self, rank: usize, since: Option<Instant>) {
        if let Some(suspected) = self.suspected.get_mut(rank) {
            *suspected = since.map(|since| suspected.unwrap_or(since));
            self.any |= since.is_some();
        }
    }

    /// Returns whether a member is suspected or left out.
    pub(super) fn has(&self, rank: usize) -> bool {
        self.suspected[rank].is_some() || self.left_out[rank]
    }

    /// Returns whether there is such a member.
    pub(super) fn any(&self) -> bool {
        self.any && (0..self.suspected.len()).any(|rank| self.has(rank))
    }

    /// Returns who is suspected here.
    pub(super) fn suspects(&self) -> Vec<u16> {
        let all = self.suspected.iter().enumerate().filter(|(_, since)| since.is_some());
        all.map(|(rank, _)| rank as u16).collect()
    }

    /// Returns whether this member is the one that does not hear, if others suspect these: it
    /// suspects two that most of the others do not. Of two it may be right before they notice.
    pub(super) fn is_deaf(&self, others: &[&[u16]]) -> bool {
        let suspects = self.suspects().into_iter();
        let is_alone = |rank: &u16| {
            2 * others.iter().filter(|said| said.contains(rank)).count() < others.len()
        };
        suspects.filter(is_alone).count() > 1
    }

    /// Notes that a member lets another propose.
    pub(super) fn yields(&mut self, rank: usize, until: Instant) {
        self.yields.insert(rank as u16, until);
    }

    /// Returns whether a member lets another propose.
    pub(super) fn has_yielded(&self, rank: usize) -> bool {
        self.yields.contains_key(&(rank as u16))
    }

    /// Returns who is left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = usize> {
        let members = if self.any { self.left_out.len() } else { 0 };
        (0..members).filter(|rank| self.left_out[*rank])
    }

    /// Returns who is suspected for so long that the others seem to hear it.
    pub(super) fn unheard(&self, now: Instant, patience: Duration) -> Vec<u16> {
        let is_long = |since: &Option<Instant>| since.is_some_and(|it| now.since(it) >= patience);
        let suspected = if self.any { &self.suspected[..] } else { &[] };
        let all = suspected.iter().enumerate().filter(|(_, since)| is_long(since));
        all.map(|(rank, _)| rank as u16).collect()
    }

    /// Notes whom another member does not hear.
    pub(super) fn hear(&mut self, by: usize, now: Instant, mut unheard: Vec<u16>) {
        unheard.retain(|rank| usize::from(*rank) < self.suspected.len());
        self.others.insert(by as u16, (now, unheard));
    }

    /// Leaves out who is in most pairs of members of which one does not hear the other, and then
    /// again. Of two that are in as many it is the one with the higher rank: so all who know of the
    /// same pairs leave out the same members. What was said before `patience` has passed.
    pub(super) fn weigh(&mut self, now: Instant, patience: Duration) {
        self.yields.retain(|_, until| *until > now);
        if self.others.is_empty() && !self.any {
            return;
        }
        self.others.retain(|_, (said, _)| now.since(*said) < patience);
        self.left_out.fill(false);
        self.any = self.suspected.iter().any(Option::is_some);
        let all = self.others.iter();
        let mut pairs: Vec<[usize; 2]> = all
            .flat_map(|(by, (_, unheard))| unheard.iter().map(|of| [*by, *of].map(usize::from)))
            .filter(|pair| pair.iter().all(|rank| self.suspected[*rank].is_none()))
            .collect();
        while !pairs.is_empty() {
            let mut of = alloc::vec![0; self.suspected.len()];
            pairs.iter().flatten().for_each(|rank| of[*rank] += 1);
            let worst = (0..of.len()).max_by_key(|rank| of[*rank]);
            pairs.retain(|pair| worst.is_none_or(|worst| !pair.contains(&worst)));
            worst.into_iter().for_each(|rank| self.left_out[rank] = true);
            self.any = true;
        }
    }
}
