//! Rules that the two ends negotiate while data flow.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_contract::ask::{ChangeReason, SendingChange, SendingPart};
use stackwright_contract::{CommandError, Instant};
use stackwright_contract::{PhaseRule, RuleRefusal};
use stackwright_transport::component;
use stackwright_transport::rules::{Component as _, Facts};
use stackwright_transport::slots::{CommandAnswer, Switching};
use stackwright_transport::words::{
    Epoch, EpochMark, MILLISECOND, RuleAct, RuleProposal, SECOND, View,
};

use super::{InPhases, PhaseRules};
use crate::keep;

/// How many times a question is asked before the peer counts as silent.
const TRIES: u8 = 6;

/// How long a question waits for its answer at least, in nanoseconds.
const WAIT_LEAST: u64 = 10 * MILLISECOND;

/// Goes by the rule that the application [requires](stackwright_contract::Command::Require) and the
/// peer accepts, or that the peer [wishes](stackwright_contract::Command::Wish).
///
/// - A rule that promises less than the one before takes effect when it is accepted, and no message
///   waits for that. Messages that are promised more wait for the answer, a round trip.
/// - A rule that both sides know already, such as one that was in force before, takes effect at
///   once.
/// - The sender of messages owns their rule: the peer wishes, and is not granted less than what the
///   application required. So no two proposals cross.
/// - A phase is given another rule only when no unit of it is on its way, nor of one of the two
///   phases before it, which is why there is one proposal at a time.
/// - Where the peer refuses, or does not answer six times, messages that wait go by the rule of the
///   first phase, which both sides know; a rule beyond that cannot be required. Where all phases
///   are in use, messages go by it, too.
///
/// Choose it where an application finds out while data flow which promises it needs.
///
/// ```
/// use stackwright_policies::switching::{Negotiated, PhaseRule};
/// use stackwright_transport::slots::Switching;
/// use stackwright_transport::words::View;
/// let mut rules = Negotiated::new([Some(PhaseRule::STRONGEST), None, None, None]);
/// assert_eq!(rules.require(&View::START, PhaseRule::default()), None, "the peer is asked");
/// assert!(rules.proposal(&View::START).is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Negotiated {
    phases: InPhases,
    /// The phase of the epoch before the newest.
    before: usize,
    /// Whether the newest epoch has messages that were promised less, and whether the next message
    /// begins another one behind them.
    is_mixed: bool,
    renews: bool,
    /// The rule that was required last.
    required: Option<PhaseRule>,
    ours: Option<Change>,
    wish: Option<Question>,
    /// The dates of the newest questions: of this side's two kinds, and of the peer's.
    asked: [(u64, u8); 2],
    heard: [Option<RuleProposal>; 2],
    answer: Option<RuleProposal>,
    /// Epochs whose messages waited for a rule that was refused: they go by the first phase's.
    fallen: [Option<Epoch>; 2],
    changes: Vec<SendingChange>,
    /// The answers to commands, in their order.
    answers: VecDeque<Awaited>,
}

/// A change of the rule by which this side sends.
#[derive(Clone, Copy, Debug)]
struct Change {
    phase: u8,
    rule: PhaseRule,
    /// Whether messages wait for it, in the epoch behind this one: the newest when it was required.
    waits: bool,
    behind: Epoch,
    /// Whether the application awaits its outcome; else the peer wished it.
    is_commanded: bool,
    question: Option<Question>,
}

/// A question that is repeated.
#[derive(Clone, Copy, Debug)]
struct Question {
    says: RuleProposal,
    tries: u8,
    /// When it is asked again.
    at: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Awaited {
    Done(Result<u32, CommandError>),
    Change,
    Wish,
}

/// The places of a kind of question.
const PROPOSALS: usize = 0;
const WISHES: usize = 1;

/// Returns why a rule was changed.
fn reason(is_commanded: bool) -> ChangeReason {
    if is_commanded { ChangeReason::Required } else { ChangeReason::Wished }
}

impl Question {
    fn is_due(&self, now: Instant) -> bool {
        self.tries < TRIES && self.at <= now
    }

    fn on_asked(&mut self, view: &View) {
        let wait = if view.rtt.timeout == 0 { SECOND } else { view.rtt.timeout };
        self.at = view.now.later(wait.max(WAIT_LEAST) << self.tries);
        self.tries += 1;
    }

    fn is_answered_by(&self, answer: &RuleProposal) -> bool {
        (self.says.phase, self.says.date) == (answer.phase, answer.date)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.tries >= TRIES && self.at <= now
    }
}

impl Negotiated {
    /// Creates the policy with the rules that both sides know from the beginning. That of the first
    /// phase is the strongest of all that can be required.
    pub fn new(rules: PhaseRules) -> Self {
        Negotiated { phases: InPhases::new(rules), ..Negotiated::default() }
    }

    fn rule_of(&self, phase: usize) -> PhaseRule {
        self.phases.rules[phase].unwrap_or_default()
    }

    /// Returns the rule by which the next message goes.
    fn entered(&self) -> PhaseRule {
        match self.ours {
            Some(Change { waits: true, rule, .. }) => rule,
            _ => self.rule_of(usize::from(self.phases.entered)),
        }
    }

    /// Returns the epoch of messages, other than it was when they were sent if it has fallen.
    fn actual(&self, epoch: Epoch) -> Epoch {
        match self.fallen.contains(&Some(epoch)) {
            true => epoch.in_phase(0),
            false => epoch,
        }
    }

    /// Returns the date of a new question; `None` if there were too many with this number.
    fn date(&self, kind: usize, number: u64) -> Option<(u64, u8)> {
        let (last, nth) = self.asked[kind];
        if number > last { Some((number, 0)) } else { Some((last, nth.checked_add(1)?)) }
    }

    /// Begins a change to `rule`. Returns whether the peer has to be asked.
    fn change(
        &mut self,
        view: &View,
        rule: PhaseRule,
        is_commanded: bool,
    ) -> Result<bool, RuleRefusal> {
        if self.ours.is_some() {
            return Err(RuleRefusal::Busy);
        }
        if !self.rule_of(0).serves(rule) {
            return Err(RuleRefusal::BeyondFirst);
        }
        let waits = !self.entered().serves(rule);
        // Where no message waits, the first ones still go by the rule before, and those that go by
        // this one must not overtake them.
        let behind_those = PhaseRule { fenced: rule.fenced || rule.ordered && !waits, ..rule };
        for rule in [rule, behind_those] {
            self.renews = self.is_mixed;
            if rule == self.entered() {
                return Ok(false);
            }
            let known = self.phases.rules.iter().position(|known| *known == Some(rule));
            if let Some(phase) = known {
                if !self.phases.enter(phase as u8) {
                    return Err(RuleRefusal::Busy);
                }
                self.note(view.now, reason(is_commanded));
                return Ok(false);
            }
        }
        let behind = self.phases.newest;
        let used = [behind.phase(), self.before, usize::from(self.phases.entered)];
        let mut phases = 1..Epoch::PHASES as u8;
        let phase = phases.find(|phase| !used.contains(&usize::from(*phase)));
        let date = self.date(PROPOSALS, view.sent_upto);
        let may = |phase: &u8| date.is_some() && behind.next(*phase).is_some();
        let Some(phase) = phase.filter(may) else {
            // None can be agreed on now: the first one promises all that can be required.
            if !self.phases.enter(0) {
                return Err(RuleRefusal::Busy);
            }
            self.note(view.now, reason(is_commanded));
            return Ok(false);
        };
        let rule = behind_those;
        self.ours = Some(Change { phase, rule, waits, behind, is_commanded, question: None });
        if waits {
            self.phases.entered = phase;
        }
        Ok(true)
    }

    /// Records how a change of this side's ended.
    fn settle(&mut self, now: Instant, change: Change, outcome: Result<(), RuleRefusal>) {
        self.ours = None;
        let (phase, newest) = (change.phase, self.phases.newest);
        match outcome {
            Ok(()) => self.phases.entered = phase,
            Err(_) => {
                self.phases.rules[usize::from(phase)] = None;
                if self.phases.entered == phase {
                    self.phases.entered = 0;
                }
                if change.waits && newest > change.behind {
                    self.fallen[newest.serial() as usize % 2] = Some(newest);
                }
            }
        }
        self.note(
            now,
            outcome.map_or_else(ChangeReason::Refused, |()| reason(change.is_commanded)),
        );
        if change.is_commanded {
            self.tell(Awaited::Change, outcome);
        }
    }

    /// Notes the rule of the next message.
    fn note(&mut self, at: Instant, why: ChangeReason) {
        let to = SendingPart::Rule(self.entered());
        keep(&mut self.changes, SendingChange { at, to, why });
    }

    /// Records the outcome of a command.
    fn tell(&mut self, which: Awaited, outcome: Result<(), RuleRefusal>) {
        if let Some(awaited) = self.answers.iter_mut().find(|awaited| **awaited == which) {
            *awaited = Awaited::Done(outcome.map(|()| 0).map_err(CommandError::Refused));
        }
    }

    /// Returns the proposal that is due. The first one is when all units but those of the newest
    /// epoch that has begun are settled.
    fn proposes(&self, view: &View) -> Option<RuleProposal> {
        let change = self.ours?;
        if let Some(question) = change.question {
            return question.is_due(view.now).then_some(question.says);
        }
        let newest = if change.waits { change.behind } else { self.phases.newest };
        let (begun, first) = self.phases.begun[0];
        let may = self.actual(newest) == begun && first <= view.settled_upto;
        let date = self.date(PROPOSALS, view.sent_upto).filter(|_| may)?;
        let Change { phase, rule, .. } = change;
        Some(RuleProposal { act: RuleAct::Propose, phase, rule, date })
    }

    fn wishes(&self, view: &View) -> Option<RuleProposal> {
        self.wish.filter(|wish| wish.is_due(view.now)).map(|wish| wish.says)
    }

    /// Returns what the peer is answered that asks for a rule.
    fn answered(
        &mut self,
        view: &View,
        asked: &RuleProposal,
        learn: impl FnOnce(u8, PhaseRule) -> Result<(), RuleRefusal>,
    ) -> RuleAct {
        if asked.act == RuleAct::Propose {
            return learn(asked.phase, asked.rule)
                .map_or_else(RuleAct::Refuse, |()| RuleAct::Accept);
        }
        if self.required.is_some_and(|required| !asked.rule.serves(required)) {
            return RuleAct::Decline(RuleRefusal::TooWeak);
        }
        match self.change(view, asked.rule, false) {
            Ok(_) => RuleAct::Grant,
            Err(why) => RuleAct::Decline(why),
        }
    }
}

impl Switching for Negotiated {
    const SWITCHES: bool = true;
    const NEGOTIATES: bool = true;

    fn facts(&self) -> Option<Facts> {
        Some(Self::FACTS)
    }

    fn enter(&mut self, phase: u8) -> bool {
        self.ours.is_none() && self.phases.enter(phase)
    }

    fn on_message(&mut self) -> Epoch {
        let newest = self.phases.newest;
        let is_same = usize::from(self.phases.entered) == newest.phase();
        if core::mem::take(&mut self.renews) && is_same {
            self.phases.newest = newest.next(self.phases.entered).unwrap_or(newest);
        }
        let epoch = self.phases.on_message();
        let promises_more = self.ours.is_some_and(|change| !change.waits);
        if epoch != newest {
            self.before = newest.phase();
        }
        self.is_mixed = promises_more || self.is_mixed && epoch == newest;
        epoch
    }

    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        let waits = self.ours.is_some_and(|change| change.waits && epoch > change.behind);
        !waits && self.phases.may_leave(view, self.actual(epoch))
    }

    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        self.phases.mark(number, self.actual(epoch))
    }

    fn on_left(&mut self, number: u64, epoch: Epoch) {
        self.phases.on_left(number, self.actual(epoch));
    }

    fn resends(&self, epoch: Epoch, usual: Option<u16>) -> Option<u16> {
        self.phases.resends(self.actual(epoch), usual)
    }

    fn require(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        match self.change(view, rule, true) {
            Ok(asks) => {
                self.required = Some(rule);
                if !asks {
                    return self.in_turn(Some(Ok(0)));
                }
                self.answers.push_back(Awaited::Change);
                None
            }
            Err(why) => self.in_turn(Some(Err(CommandError::Refused(why)))),
        }
    }

    fn wish(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        let date = self.date(WISHES, view.received_upto).filter(|_| self.wish.is_none());
        let Some(date) = date else {
            return self.in_turn(Some(Err(CommandError::Refused(RuleRefusal::Busy))));
        };
        self.asked[WISHES] = date;
        let says = RuleProposal { act: RuleAct::Wish, phase: 0, rule, date };
        self.wish = Some(Question { says, tries: 0, at: view.now });
        self.answers.push_back(Awaited::Wish);
        None
    }

    fn in_turn(&mut self, answer: CommandAnswer) -> CommandAnswer {
        match answer {
            Some(done) if !self.answers.is_empty() => {
                self.answers.push_back(Awaited::Done(done));
                None
            }
            answer => answer,
        }
    }

    fn take_answer(&mut self) -> CommandAnswer {
        let Some(Awaited::Done(done)) = self.answers.front().copied() else { return None };
        self.answers.pop_front();
        Some(done)
    }

    fn on_proposal(
        &mut self,
        view: &View,
        proposal: RuleProposal,
        learn: impl FnOnce(u8, PhaseRule) -> Result<(), RuleRefusal>,
    ) {
        let outcome = match proposal.act {
            RuleAct::Propose | RuleAct::Wish => {
                let kind = if proposal.act == RuleAct::Wish { WISHES } else { PROPOSALS };
                let answer = match self.heard[kind] {
                    Some(last) if proposal.date < last.date => return, // an old copy
                    // Asked again: the answer was lost.
                    Some(last) if proposal.date == last.date => last,
                    _ => RuleProposal { act: self.answered(view, &proposal, learn), ..proposal },
                };
                (self.heard[kind], self.answer) = (Some(answer), Some(answer));
                return;
            }
            RuleAct::Accept | RuleAct::Grant => Ok(()),
            RuleAct::Refuse(why) | RuleAct::Decline(why) => Err(why),
        };
        let is_of_wish = matches!(proposal.act, RuleAct::Grant | RuleAct::Decline(_));
        let answers = |question: &Question| question.is_answered_by(&proposal);
        if is_of_wish && self.wish.as_ref().is_some_and(answers) {
            self.wish = None;
            self.tell(Awaited::Wish, outcome);
        }
        if let Some(change) = self.ours.filter(|_| !is_of_wish)
            && change.question.as_ref().is_some_and(answers)
        {
            self.settle(view.now, change, outcome);
        }
        self.on_time(view);
    }

    fn rule(&self) -> Option<PhaseRule> {
        Some(self.entered())
    }

    fn changes(&self) -> &[SendingChange] {
        &self.changes
    }

    fn proposal(&self, view: &View) -> Option<RuleProposal> {
        self.answer.or_else(|| self.proposes(view)).or_else(|| self.wishes(view))
    }

    fn on_proposed(&mut self, view: &View) {
        if self.answer.take().is_some() {
            return;
        }
        if let Some(says) = self.proposes(view)
            && let Some(change) = &mut self.ours
        {
            let new = Question { says, tries: 0, at: view.now };
            change.question.get_or_insert(new).on_asked(view);
            // Before, units of an earlier epoch in this phase may have been on their way.
            self.phases.rules[usize::from(says.phase)] = Some(says.rule);
            self.asked[PROPOSALS] = says.date;
        } else if let Some(wish) = &mut self.wish {
            wish.on_asked(view);
        }
    }

    fn on_time(&mut self, view: &View) {
        if self.wish.is_some_and(|wish| wish.is_over(view.now)) {
            self.wish = None;
            self.tell(Awaited::Wish, Err(RuleRefusal::Silent));
        }
        if let Some(change) = self.ours
            && change.question.is_some_and(|question| question.is_over(view.now))
        {
            self.settle(view.now, change, Err(RuleRefusal::Silent));
        }
    }

    fn deadline(&self) -> Instant {
        let ours = self.ours.and_then(|change| change.question);
        let questions = ours.into_iter().chain(self.wish);
        questions.map(|question| question.at).min().unwrap_or(Instant::END)
    }
}

component! {
    Negotiated: "switching by negotiation", "has messages go by the rules on which both ends agree",
    needs: Property::EPOCHS.and(Property::COUNTS_PACKETS), gives: Property::PHASES,
    // As with phases that both sides know.
    shuns: Property::EXPIRES,
}
