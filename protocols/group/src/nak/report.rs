//! Reports of the casts that members have received. What all have is dropped from the log.
//!
//! In a small view each member reports to all others. In a large one they would send as many
//! packets as the square of its members: there each reports to the first member alone, which says
//! what it has itself, and what a quorum and all of them have.
//!
//! ```text
//! member ── REPORT_TO_FIRST {rank, upto} of what came ──▸ first
//! first ── FIRST_SAYS {rank, upto, quorum, all} of what changed ──▸ all
//! ```
//! What is lost is said again: where nothing has changed since the last time, and each eighth time,
//! of all senders.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use stackwright_contract::services::{
    CastCounts, GroupKind, GroupNotice, GroupOrder, GroupProperties, GroupView, Rank,
};
use stackwright_contract::{Duration, Instant};
use stackwright_wire::Message;

use super::{FIRST_SAYS, InView, Nak, NakConfig, NakHeader, REPORT, REPORT_TO_FIRST};
use crate::layer::GroupPlace;
use crate::wire::{self, Reader};

/// In a large view a member reports at most once in this time for each of the members: so the first
/// hears and sends 20 000 packets a second.
const PACE: Duration = Duration::from_micros(50);

/// How often all senders are named, and not only those of whose casts something came.
const WHOLE: u32 = 8;

/// What a member of a large view knows for its reports.
pub(super) struct Star {
    /// At the first, of each other member whether it has the state, and what it has, as it said; at
    /// others, of the first.
    members: Vec<(bool, Vec<u32>)>,
    /// The senders of what came since the last report; at the first, or what others have.
    changed: BTreeSet<u16>,
    /// What a quorum has of each sender.
    quorum: Vec<u32>,
    /// How many reports left, and when the last one did.
    count: u32,
    last: Instant,
    pace: Duration,
}

impl Star {
    pub(super) fn new(view: &GroupView, now: Instant, report: Duration) -> Self {
        let members = view.members.len();
        let reporters = if view.me == Some(Rank(0)) { members } else { 1 };
        Star {
            members: alloc::vec![(false, Vec::new()); reporters],
            changed: BTreeSet::new(),
            quorum: alloc::vec![0; members],
            count: 0,
            last: now,
            pace: report.min(PACE * members as u32),
        }
    }

    /// Notes that something of a sender is new; returns when to report it.
    pub(super) fn change(&mut self, sender: usize) -> Instant {
        self.changed.insert(sender as u16);
        self.last + self.pace
    }

    /// Returns whether something is new.
    fn has_news(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes the senders that the next report names, of `all`.
    fn take(&mut self, now: Instant, all: &[u32]) -> Vec<u16> {
        self.last = now;
        self.count = self.count.wrapping_add(1);
        let changed = core::mem::take(&mut self.changed);
        if !changed.is_empty() && !self.count.is_multiple_of(WHOLE) {
            return changed.into_iter().collect();
        }
        let senders = all.iter().enumerate().filter(|(_, upto)| **upto > 0);
        senders.map(|(sender, _)| sender as u16).collect()
    }
}

impl<M: Message> InView<M> {
    /// At the first: counts again what a quorum, and all, have of the senders of which something
    /// changed.
    fn count(&mut self) {
        let Some(star) = &mut self.star else { return };
        let have = self.log.have();
        for sender in star.changed.iter().map(|sender| usize::from(*sender)) {
            let me = self.me;
            let of = |rank: usize| match star.members.get(rank) {
                _ if rank == me => have[sender],
                Some((_, upto)) => upto.get(sender).copied().unwrap_or(0),
                None => 0,
            };
            let others = (0..star.members.len()).filter(|rank| *rank != me);
            self.all[sender] = others.map(of).min().unwrap_or(u32::MAX);
            let counts = |rank: usize| if rank == me { self.votes } else { star.members[rank].0 };
            let mut held: Vec<u32> = (0..star.members.len())
                .filter(|rank| self.view.members[*rank].votes && counts(*rank))
                .map(of)
                .collect();
            // A quorum has one of the two counts in the middle: as a majority, or as half of them
            // with the first.
            held.sort_unstable_by(|one, other| other.cmp(one));
            let voters = self.view.members.iter().filter(|member| member.votes).count();
            let middle = [(voters / 2).checked_sub(1), Some(voters / 2)].into_iter().flatten();
            let has = |upto: u32| {
                self.view.is_quorum(|Rank(rank)| {
                    counts(usize::from(rank)) && of(usize::from(rank)) >= upto
                })
            };
            let upto = middle.filter_map(|place| held.get(place)).find(|upto| has(**upto));
            star.quorum[sender] = star.quorum[sender].max(upto.copied().unwrap_or(0));
        }
    }

    /// Finds out whether all members have what was here at the mark; then the next one is set.
    fn settle(&mut self) {
        while self.all.iter().zip(&self.mark.1).all(|(has, of)| has >= of) {
            self.settled = self.mark.0;
            let here = self.log.have();
            if self.mark.0 == self.sent && self.mark.1 == here {
                return;
            }
            self.mark = (self.sent, here.to_vec());
        }
    }
}

impl<M: Message> Nak<M> {
    pub(super) fn report(&mut self, at: &mut dyn GroupPlace<M>) {
        let (full, NakConfig { report, idle, patience, .. }) = (self.full, self.config);
        let now = at.cx().now();
        let Some(own) = &mut self.view else { return };
        let votes = own.votes;
        if full.is_some_and(|since| now.since(since) > patience) {
            (own.reports, own.came) = (now + report, false);
            return at.order(GroupOrder::Suspect(Rank(own.me as u16)));
        }
        // Who keeps a cast waits for what others say of it.
        let waits = own.star.as_ref().is_some_and(|star| star.has_news() || !own.log.is_empty());
        let idle = idle.filter(|_| !own.came && !own.frozen && !waits);
        own.pause = idle.map_or(report, |idle| (2 * own.pause).min(idle));
        (own.reports, own.came) = (now + own.pause, false);
        if own.star.is_some() {
            return self.report_in_star(at);
        }
        let have: &[u32] = if own.frozen { &[] } else { own.log.have() };
        let mut octets = Vec::new();
        wire::push_counts(&mut octets, have);
        let mut message = M::with_headroom(64, &octets);
        let detail = u8::from(votes);
        message.push(&NakHeader { kind: REPORT, detail, origin: 0, number: 0 });
        at.send(message.into(), GroupProperties::default());
        self.tell_own(at);
    }

    /// Says to the layers above what this member has.
    fn tell_own(&self, at: &mut dyn GroupPlace<M>) {
        if let Some(own) = self.view.as_ref().filter(|own| !own.frozen) {
            let (by, upto) = (Rank(own.me as u16), own.log.have().into());
            at.notice(GroupNotice::Held { by, votes: own.votes, upto });
        }
    }

    /// Reports to the first member; or says, as the first, what is known of all.
    fn report_in_star(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = self.view.as_mut().filter(|own| !own.frozen) else { return };
        let is_first = own.me == 0;
        if is_first {
            own.count();
        }
        let Some(star) = &mut own.star else { return };
        let have = own.log.have();
        let senders = star.take(at.cx().now(), have);
        let mut octets = Vec::from((senders.len() as u16).to_be_bytes());
        for sender in &senders {
            octets.extend(sender.to_be_bytes());
            let sender = usize::from(*sender);
            octets.extend(have[sender].to_be_bytes());
            if is_first {
                octets.extend(star.quorum[sender].to_be_bytes());
                octets.extend(own.all[sender].min(have[sender]).to_be_bytes());
            }
        }
        let kind = if is_first { FIRST_SAYS } else { REPORT_TO_FIRST };
        let mut message = M::with_headroom(64, &octets);
        message.push(&NakHeader { kind, detail: own.votes.into(), origin: 0, number: 0 });
        let to = if is_first { GroupKind::Cast } else { GroupKind::Send };
        at.send(message.into(), GroupProperties { kind: to, ..GroupProperties::default() });
        self.tell_own(at);
        if is_first {
            self.drop_stable(at);
        }
    }

    /// Handles a report of a small view.
    pub(super) fn reported(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        by: Rank,
        votes: bool,
        have: Vec<u32>,
    ) {
        let Some(own) = &mut self.view else { return };
        let members = own.view.members.len();
        if have.is_empty() || have.len() == members {
            at.notice(GroupNotice::Held { by, votes, upto: have.as_slice().into() });
        }
        // What it lacks, it may not know of.
        let here = own.log.have();
        if have.iter().zip(here).any(|(have, here)| have < here) {
            self.report_soon(at);
        }
        // Nothing is counted behind a promise.
        let Some(own) = self.view.as_mut().filter(|own| !own.frozen) else { return };
        if have.len() != members || own.star.is_some() {
            return;
        }
        let rank = usize::from(by.0);
        for (sender, upto) in have.iter().copied().enumerate() {
            if own.others[rank][sender] < upto {
                own.others[rank][sender] = upto;
                let others = own.others.iter().enumerate().filter(|(rank, _)| *rank != own.me);
                own.all[sender] = others.map(|(_, of)| of[sender]).min().unwrap_or(u32::MAX);
            }
        }
        let to = own.view.members[rank].participant;
        self.drop_stable(at);
        for (origin, upto) in have.into_iter().enumerate() {
            self.ask(at, to, origin, upto);
        }
    }

    /// A member seems not to know what this one has.
    fn report_soon(&mut self, at: &mut dyn GroupPlace<M>) {
        let soon = at.cx().now() + self.config.report;
        if let Some(own) = self.view.as_mut().filter(|own| own.reports > soon) {
            (own.pause, own.reports) = (self.config.report, soon);
        }
    }

    /// Drops what all members have.
    fn drop_stable(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &mut self.view else { return };
        // Where a member lacks what own casts follow, they wait there: so no more of them leave.
        if self.in_step {
            own.settle();
        }
        let settled = if self.in_step { own.settled } else { u32::MAX };
        let (all, me) = (&own.all, own.me);
        let upto = |origin: usize| all[origin].min(if origin == me { settled } else { u32::MAX });
        let back = own.log.drop_stable(upto, me);
        self.give(at, back);
    }

    /// Handles a report to the first of a large view.
    pub(super) fn reported_to_first(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        by: Rank,
        votes: bool,
        mut octets: Reader<'_>,
    ) {
        let rank = usize::from(by.0);
        let Some(own) = self.view.as_mut().filter(|own| !own.frozen && rank != own.me) else {
            return;
        };
        let (members, me) = (own.view.members.len(), own.me);
        let Some(star) = &mut own.star else { return };
        let Some((voted, has)) = star.members.get_mut(rank) else { return };
        let here = own.log.have();
        let (mut said, mut lacks) = (Vec::new(), false);
        has.resize(members, 0);
        let is_new = core::mem::replace(voted, votes) != votes;
        for _ in 0..octets.u16().unwrap_or(0) {
            let (Some(sender), Some(upto)) = (octets.u16(), octets.u32()) else { break };
            let Some(known) = has.get_mut(usize::from(sender)) else { continue };
            lacks |= upto < here[usize::from(sender)];
            if *known < upto {
                *known = upto;
                star.changed.insert(sender);
                said.push((usize::from(sender), upto));
            }
        }
        let upto: CastCounts = has.as_slice().into();
        if is_new {
            star.changed.extend((0..members as u16).filter(|at| here[usize::from(*at)] > 0));
        }
        if star.has_news() {
            own.reports = own.reports.min(star.last + star.pace);
        }
        let others = [by, Rank(me as u16)];
        at.notice(GroupNotice::Held { by, votes, upto });
        if lacks {
            self.report_soon(at);
        }
        self.ask_for(at, others, &said);
    }

    /// Handles what the first of a large view says.
    pub(super) fn first_says(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        votes: bool,
        mut octets: Reader<'_>,
    ) {
        let Some(own) = self.view.as_mut().filter(|own| own.me != 0) else { return };
        let (members, me) = (own.view.members.len(), own.me);
        let Some(star) = &mut own.star else { return };
        let here = own.log.have();
        let (mut said, mut lacks) = (Vec::new(), false);
        let Star { members: others, quorum: held, .. } = star;
        let Some((_, has)) = others.first_mut() else { return };
        has.resize(members, 0);
        for _ in 0..octets.u16().unwrap_or(0) {
            let (Some(sender), Some(upto)) = (octets.u16(), octets.u32()) else { break };
            let (Some(quorum), Some(all)) = (octets.u32(), octets.u32()) else { break };
            let sender = usize::from(sender);
            if sender >= members {
                continue;
            }
            lacks |= upto < here[sender];
            has[sender] = has[sender].max(upto);
            held[sender] = held[sender].max(quorum);
            // Nothing is counted behind a promise.
            if !own.frozen {
                own.all[sender] = own.all[sender].max(all);
                said.push((sender, upto));
            }
        }
        if said.is_empty() && !lacks {
            return;
        }
        let (quorum, by, upto) = (held.as_slice().into(), Rank(0), has.as_slice().into());
        at.notice(GroupNotice::HeldByQuorum(quorum));
        at.notice(GroupNotice::Held { by, votes, upto });
        if lacks {
            self.report_soon(at);
        }
        self.drop_stable(at);
        self.ask_for(at, [by, Rank(me as u16)], &said);
    }

    /// Asks for what others have of these senders: who said so, or the sender, which may be gone.
    fn ask_for(&mut self, at: &mut dyn GroupPlace<M>, [by, me]: [Rank; 2], said: &[(usize, u32)]) {
        for (sender, upto) in said.iter().copied() {
            let Some(own) = &self.view else { return };
            if own.log.have()[sender] < upto {
                let is_sender = sender != usize::from(me.0) && at.cx().random(2) == 0;
                let rank = if is_sender { sender } else { usize::from(by.0) };
                let to = own.view.members[rank].participant;
                self.ask(at, to, sender, upto);
            }
        }
    }
}
