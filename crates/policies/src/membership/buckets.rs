//! The reports of a group, merged by question.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{DroppedMember, GroupCounts, MemberFault, Membership};
use stackwright_transport::words::{Nanoseconds, Report, SECOND, Signals, View};

/// The most members of a group. What others report is ignored.
const MEMBERS_MOST: usize = 1024;

/// How many dropped members are remembered: what they report later does not make them members
/// again.
const DROPPED_MOST: usize = 64;

/// Merges the reports of a group by question: what is acknowledged, and how far may be sent, are
/// the least of what the members have said, once all of them have answered (XTP's bucket
/// algorithm). What a member reports as missing without being asked counts at once.
///
/// A member is any peer that reports. Nothing is acknowledged before the group has formed: before
/// as many members as [expected](Buckets::new) have reported, or for some time if none are
/// expected. One that joins later begins with what is sent then.
///
/// What one member may cost the others is bounded. One that answers none of several questions in a
/// row (`mc_sreqs`), for as many timeouts, is dropped; so is one that [holds up](Buckets::patient)
/// the others for long. An association with a group that has dropped a member does not end as
/// finished.
///
/// Reports are not authenticated: a host that can send to the group can speak for its members.
///
/// ```
/// use stackwright_policies::membership::Buckets;
/// let group = Buckets::new(3).questions(8);
/// # let _ = group;
/// ```
#[derive(Clone, Debug)]
pub struct Buckets {
    expected: usize,
    questions: u32,
    gathers: Nanoseconds,
    patience: Nanoseconds,
    least: u64,
    /// In the order of their names.
    members: Vec<Member>,
    is_formed: bool,
    /// When the first report came.
    since: Option<Instant>,
    asked: u32,
    /// What the group said last: the question that all had answered, if any, what was acknowledged,
    /// and the credit.
    said: (Option<u32>, u64, Option<u64>),
    measures: bool,
    /// How many have left, and the last of them, of whom packets may still come.
    left: u64,
    gone: VecDeque<u64>,
    dropped: u64,
    /// The members that were dropped last, and how many of them were not told of.
    out: VecDeque<DroppedMember>,
    untold: usize,
}

#[derive(Clone, Debug)]
struct Member {
    name: u64,
    upto: u64,
    /// What it has beyond that: spans that rise, as many as a packet has room for.
    held: Vec<Range<u64>>,
    /// Unknown of one that has joined and not reported yet.
    credit: Option<u64>,
    answered: u32,
    /// Since when it was not heard, while a question waits for its answer.
    silent: Option<Instant>,
    /// Since when it holds up the others, and what it had taken then.
    holds: Option<(Instant, u64)>,
}

impl Member {
    /// Returns what it has from a number on.
    fn all(&self, from: u64) -> impl Iterator<Item = Range<u64>> {
        let first = from..self.upto;
        (!first.is_empty()).then_some(first).into_iter().chain(self.held.iter().cloned())
    }

    fn progress(&self) -> u64 {
        self.upto.saturating_add(self.credit.unwrap_or(0))
    }

    /// Returns whether the others wait for it: it misses something, or gives credit for less than
    /// `least` numbers, which may not be enough for a packet.
    fn holds_up(&self, view: &View, least: u64) -> bool {
        let enough = view.sent_upto.saturating_add(least);
        let is_shut = self.credit.is_some_and(|credit| credit < enough);
        self.upto < view.sent_upto || is_shut && !view.drained
    }
}

impl Default for Buckets {
    /// Creates a group of as many members as there are.
    fn default() -> Self {
        Buckets::new(0)
    }
}

impl Buckets {
    /// Creates a group of which `expected` members are waited for; if 0, members are gathered for
    /// half a second.
    pub const fn new(expected: usize) -> Self {
        Buckets {
            expected,
            questions: 6,
            gathers: SECOND / 2,
            patience: 30 * SECOND,
            least: 1,
            members: Vec::new(),
            is_formed: false,
            since: None,
            asked: 0,
            said: (None, 0, None),
            measures: false,
            left: 0,
            gone: VecDeque::new(),
            dropped: 0,
            out: VecDeque::new(),
            untold: 0,
        }
    }

    /// Sets how many questions in a row a member may leave without an answer.
    #[must_use]
    pub fn questions(self, questions: u32) -> Self {
        Buckets { questions, ..self }
    }

    /// Sets how long members are gathered, in nanoseconds, if none are expected.
    #[must_use]
    pub fn gathering(self, gathers: Nanoseconds) -> Self {
        Buckets { gathers, ..self }
    }

    /// Drops a member that holds up the others and takes fewer than `least` numbers within
    /// `patience` nanoseconds.
    #[must_use]
    pub fn patient(self, patience: Nanoseconds, least: u64) -> Self {
        Buckets { patience, least, ..self }
    }

    fn drop_member(&mut self, at: usize, why: MemberFault) {
        let member = self.members.remove(at).name;
        self.dropped += 1;
        self.out.push_back(DroppedMember { member, why });
        self.untold += 1;
        while self.out.len() > DROPPED_MOST {
            self.out.pop_front();
            self.untold = self.untold.min(self.out.len());
        }
    }

    /// Records what a member reports. Returns its place, and the question that it answers; `None`
    /// if it is no member.
    fn record(
        &mut self,
        view: &View,
        report: &mut Report,
        credit: Option<u64>,
    ) -> Option<(usize, Option<u32>)> {
        let place = self.members.binary_search_by_key(&report.member, |member| member.name);
        let at = match place {
            Ok(at) => at,
            Err(at) => {
                let is_out = self.out.iter().any(|out| out.member == report.member)
                    || self.gone.contains(&report.member);
                // What it misses is not there any more.
                let is_late = report.upto < view.settled_upto;
                if is_out || is_late || self.members.len() >= MEMBERS_MOST {
                    return None;
                }
                // It may answer the newest question with this report.
                let before = u32::from(report.answers.is_some());
                let answered = self.asked.wrapping_sub(before);
                let (name, upto) = (report.member, report.upto);
                let (held, silent, holds) = (Vec::new(), None, None);
                let member = Member { name, upto, held, credit, answered, silent, holds };
                self.members.insert(at, member);
                at
            }
        };
        let member = &mut self.members[at];
        // Reports overtake each other; each is true, and a later one tells more.
        if report.upto >= member.upto {
            member.upto = report.upto;
            mem::swap(&mut member.held, &mut report.held);
        }
        member.credit = member.credit.max(credit);
        let answer = report.answers.filter(|answer| {
            answer.wrapping_sub(member.answered) as i32 > 0
                && self.asked.wrapping_sub(*answer) as i32 >= 0
        });
        member.answered = answer.unwrap_or(member.answered);
        member.silent = (member.answered != self.asked).then_some(view.now);
        Some((at, answer))
    }

    /// Removes a member that leaves.
    fn part(&mut self, at: usize) {
        let member = self.members.remove(at).name;
        self.left += 1;
        self.gone.push_back(member);
        if self.gone.len() > MEMBERS_MOST {
            self.gone.pop_front();
        }
    }

    /// Drops a member that holds up the others for too long.
    fn judge(&mut self, view: &View, at: usize) {
        let member = &mut self.members[at];
        let progress = member.progress();
        if !member.holds_up(view, self.least) {
            member.holds = None;
            return;
        }
        let (since, from) = member.holds.unwrap_or((view.now, progress));
        if progress >= from.saturating_add(self.least) {
            member.holds = Some((view.now, progress));
        } else if view.now.nanoseconds_since(since) < self.patience {
            member.holds = Some((since, from));
        } else {
            self.drop_member(at, MemberFault::Slow);
        }
    }

    fn forms(&mut self, view: &View) -> bool {
        let since = *self.since.get_or_insert(view.now);
        self.is_formed |= match self.expected {
            0 => view.now.nanoseconds_since(since) >= self.gathers,
            expected => self.members.len() as u64 + self.left >= expected as u64,
        };
        self.is_formed
    }

    /// Writes what the whole group says, after a member gave this `answer`. Returns whether it is
    /// anything new.
    fn speaks(
        &mut self,
        answer: Option<u32>,
        report: &mut Report,
        credit: &mut Option<u64>,
    ) -> bool {
        let asked = self.asked;
        // Questions wrap: the oldest answer is the one with the most questions behind it.
        let Some(answered) = self
            .members
            .iter()
            .map(|member| member.answered)
            .max_by_key(|at| asked.wrapping_sub(*at))
        else {
            return false;
        };
        let upto = self.members.iter().map(|member| member.upto).min().unwrap_or(0);
        let allowed = self.members.iter().filter_map(|member| member.credit).min();
        let is_newer = |before: u32| answered.wrapping_sub(before) as i32 > 0;
        let is_answer = self.said.0.is_none_or(is_newer);
        let said = (Some(answered), upto, allowed);
        if said == self.said {
            return false;
        }
        self.said = said;
        // An older question that a newer answer completes, because the member's answer to it was
        // lost, or that a dropped member held open, says nothing of the round trip.
        self.measures = answer == Some(answered);
        report.clear();
        (report.upto, report.answers) = (upto, is_answer.then_some(answered));
        if is_answer {
            self.write_held(report);
        }
        *credit = allowed;
        true
    }

    /// Writes what all members have beyond the least that one of them has.
    fn write_held(&self, report: &mut Report) {
        let Some((first, others)) = self.members.split_first() else { return };
        report.held.extend(first.all(report.upto));
        for member in others {
            let shared = mem::take(&mut report.held);
            intersect(shared.into_iter(), member.all(report.upto), &mut report.held);
        }
    }
}

/// Writes what is in spans of both kinds. Each kind rises, and is looked at once.
fn intersect(
    mut ours: impl Iterator<Item = Range<u64>>,
    mut theirs: impl Iterator<Item = Range<u64>>,
    into: &mut Vec<Range<u64>>,
) {
    let (mut our, mut their) = (ours.next(), theirs.next());
    while let (Some(one), Some(other)) = (&our, &their) {
        let part = one.start.max(other.start)..one.end.min(other.end);
        let ends_first = one.end < other.end;
        into.extend(Some(part).filter(|part| !part.is_empty()));
        if ends_first {
            our = ours.next();
        } else {
            their = theirs.next();
        }
    }
}

impl Membership for Buckets {
    fn merge(
        &mut self,
        view: &View,
        signals: Signals,
        report: &mut Report,
        credit: &mut Option<u64>,
    ) -> bool {
        let said = credit.take();
        let (mut missing, mut answer) = (Vec::new(), None);
        let mut leaves = None;
        if let Some((at, answers)) = self.record(view, report, said) {
            answer = answers;
            if signals.has(Signals::END) {
                leaves = Some(at);
            } else {
                if answer.is_none() {
                    missing = mem::take(&mut report.missing);
                }
                self.judge(view, at);
            }
        }
        let forms = self.forms(view);
        // What the last one has is what the group has; of others, only those who stay count.
        let is_last = self.members.len() == 1;
        if let Some(at) = leaves.filter(|_| !is_last) {
            self.part(at);
        }
        let speaks = forms && self.speaks(answer, report, credit);
        if let Some(at) = leaves.filter(|_| is_last) {
            self.part(at);
        }
        // What answers a question tells what is lost.
        if missing.is_empty() || speaks && report.answers.is_some() {
            return speaks;
        }
        if !speaks {
            report.clear();
        }
        report.missing = missing;
        true
    }

    fn measures(&self) -> bool {
        self.measures
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        self.asked = number;
        // Before it has formed, the group is asked again and again.
        if !self.is_formed {
            return;
        }
        // Many questions may leave within a round trip.
        let questions = self.questions;
        let patience = view.rtt.timeout.saturating_mul(questions.into());
        for member in &mut self.members {
            member.silent.get_or_insert(view.now);
        }
        let is_silent = |member: &Member| {
            number.wrapping_sub(member.answered) > questions
                && member.silent.is_some_and(|at| view.now.nanoseconds_since(at) >= patience)
        };
        while let Some(at) = self.members.iter().position(is_silent) {
            self.drop_member(at, MemberFault::Silent);
        }
    }

    fn take_dropped(&mut self) -> Option<DroppedMember> {
        let at = self.out.len() - self.untold;
        let dropped = self.out.get(at).copied()?;
        self.untold -= 1;
        Some(dropped)
    }

    fn counts(&self) -> Option<GroupCounts> {
        let (members, left, dropped) = (self.members.len(), self.left, self.dropped);
        Some(GroupCounts { members, left, dropped })
    }
}

component! {
    Buckets: "a group, by questions", "merges the reports of a group by question",
    needs: Property::GROUP.and(Property::ASKS).and(Property::ANSWERS),
}

#[cfg(test)]
mod tests;
