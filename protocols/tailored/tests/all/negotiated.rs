//! Rules that two ends negotiate while data flow. `SEEDS=100 cargo test --release -p
//! stackwright-tailored negotiated` changes them 200 000 times.

use fastrand::Rng;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{CommandError, Duration, Instant};
use stackwright_contract::{PhaseRule, RuleRefusal};
use stackwright_policies::switching::{Negotiated, PhaseRules};
use stackwright_simulator::Conditions;
use stackwright_tailored::configurations::Adaptive;
use stackwright_tailored::header::{
    InternetCheck, ReportHeader, RuleActCode, RuleHeader, TailoredHeader, TailoredKind,
};
use stackwright_transport::configuration;
use stackwright_transport::rules::{Component as _, Facts};
use stackwright_transport::slots::{CommandAnswer, Switching};
use stackwright_transport::words::{Dropped, Epoch, EpochMark, RuleProposal, View};
use stackwright_trial::Trial;
use stackwright_trial::setting::{M, bad, seeds};
use stackwright_wire::Header as _;

use crate::phases::{ANY, ORDERED, ends, seal};

const FENCED: PhaseRule = PhaseRule { fenced: true, ..ANY };
const RULES: [PhaseRule; 5] =
    [ANY, ORDERED, FENCED, PhaseRule::STRONGEST, PhaseRule { resends: Some(1), ..ORDERED }];
pub(super) const KNOWN: PhaseRules = [Some(PhaseRule::STRONGEST), None, None, None];
const DELAY: Duration = Duration::from_millis(50);

/// What was sent: the rule that was required then, and how many had been required before.
#[derive(Default)]
struct Record {
    sent: Vec<(usize, PhaseRule)>,
    arrived: Vec<bool>,
    abandoned: Vec<bool>,
    settled: usize,
}

impl Record {
    fn send(&mut self, trial: &mut Trial<Adaptive<M>>, nth_rule: usize, rule: PhaseRule) {
        let nth = self.sent.len();
        self.sent.push((nth_rule, rule));
        self.arrived.push(false);
        self.abandoned.push(false);
        let mut octets = (nth as u32).to_be_bytes().to_vec();
        octets.resize(if nth.is_multiple_of(5) { 1500 } else { 40 }, nth as u8);
        let now = trial.now();
        trial.ends[0].send(now, &octets, MessageProperties::default());
    }

    /// Notes what arrives: it goes by a rule that promises no less than was required.
    fn hear(&mut self, octets: &[u8]) {
        let nth = u32::from_be_bytes(*octets.first_chunk().expect("a number")) as usize;
        assert!(!std::mem::replace(&mut self.arrived[nth], true), "message {nth} came twice");
        let (nth_rule, rule) = self.sent[nth];
        let later = (nth + 1..self.sent.len()).filter(|later| self.arrived[*later]);
        for later in later {
            let (later_rule, promised) = self.sent[later];
            let same = later_rule == nth_rule;
            assert!(!(same && rule.ordered), "{nth} came behind {later}");
            assert!(same || !promised.fenced, "{later} came through its fence, before {nth}");
        }
    }

    fn is_over(&mut self) -> bool {
        let is_settled = |nth: usize| self.arrived[nth] || self.abandoned[nth];
        while self.settled < self.sent.len() && is_settled(self.settled) {
            self.settled += 1;
        }
        self.settled == self.sent.len()
    }
}

/// Requires one random rule after the other while messages flow, over a bad link on which old
/// packets come again, and notes what arrives.
fn change(seed: u64, changes: usize) -> Record {
    let mut random = Rng::with_seed(seed);
    let mut trial = Trial::new(ends::<Adaptive<M>>(KNOWN), &bad(seed), seed);
    let (mut record, mut old) = (Record::default(), Vec::new());
    let (mut left, mut rule, mut is_awaited) = (changes, PhaseRule::STRONGEST, false);
    let now = trial.now();
    trial.ends[0].open(now);
    loop {
        let now = trial.now();
        while left > 0 && trial.ends[0].association.sending().waiting() < 24 {
            let asked = RULES[random.usize(..RULES.len())];
            if !is_awaited {
                let answer = trial.ends[0].association.require(now, asked);
                is_awaited = answer.is_none();
                // A rule without a message holds its phase; the same rule again begins none.
                if answer != Some(BUSY) && asked != rule {
                    assert!(answer.is_none_or(|answer| answer.is_ok()), "{answer:?}");
                    (left, rule) = (left - 1, asked);
                }
            }
            for _ in 0..random.usize(1..4) {
                record.send(&mut trial, changes - left, rule);
            }
        }
        trial.speak(|_, side, octets| {
            if old.len() < 200 || random.u8(..8) == 0 {
                old.push((1 - side, octets.to_vec()));
            }
        });
        if !old.is_empty() && random.u8(..16) == 0 {
            let (side, octets) = &old[random.usize(..old.len())];
            trial.inject(*side, octets);
        }
        let association = &mut trial.ends[0].association;
        while let Some(answer) = association.take_answer() {
            assert!(answer.is_ok() || answer == SILENT, "seed {seed}: {answer:?}");
            is_awaited = false;
        }
        while let Some(nth) = association.take_abandoned() {
            record.abandoned[nth as usize] = true;
        }
        while let Some((octets, _)) = trial.ends[1].take(now) {
            record.hear(&octets);
        }
        if left == 0 && record.is_over() {
            return record;
        }
        assert!(trial.step(), "seed {seed}: it stands still, {:?}", trial.reasons());
        assert!(trial.packets() < 400_000, "seed {seed}: a storm");
    }
}

const BUSY: Result<u32, CommandError> = Err(CommandError::Refused(RuleRefusal::Busy));
const SILENT: Result<u32, CommandError> = Err(CommandError::Refused(RuleRefusal::Silent));

#[test]
fn each_message_goes_by_a_rule_that_serves_what_was_required() {
    for seed in seeds(20) {
        let record = change(seed, 100);
        for (nth, (_, rule)) in record.sent.iter().enumerate() {
            assert!(record.arrived[nth] || rule.resends.is_some(), "seed {seed}: {nth} is lost");
        }
    }
}

/// A path of 100 ms there and back, over which the first message has come.
pub(super) fn open<C>(make: impl Fn(usize) -> stackwright_transport::Slots<C>) -> Trial<C>
where
    C: stackwright_transport::Configuration<Message = M>,
{
    let mut trial = Trial::new(make, &Conditions { delay: DELAY, ..Conditions::IDEAL }, 1);
    let now = trial.now();
    trial.ends[0].open(now);
    trial.ends[0].send(now, &[0], MessageProperties::default());
    trial.pass(now + Duration::from_secs(5));
    assert!(trial.ends[1].take(trial.now()).is_some());
    trial
}

/// Requires a rule, sends a message each 10 ms for a while, and returns how long the longest took;
/// and the answers.
pub(super) fn longest<C>(
    trial: &mut Trial<C>,
    rule: PhaseRule,
) -> (Duration, Vec<Result<u32, CommandError>>)
where
    C: stackwright_transport::Configuration<Message = M>,
{
    let (start, mut longest, mut answers) = (trial.now(), Duration::ZERO, Vec::new());
    answers.extend(trial.ends[0].association.require(start, rule));
    let (mut sent, mut arrived) = (0, 0);
    while arrived < 50 {
        let now = trial.now();
        let since = now.since(start);
        while sent < 50 && Duration::from_millis(10) * sent <= since {
            trial.ends[0].send(now, &[sent as u8], MessageProperties::default());
            sent += 1;
        }
        trial.speak(|_, _, _| {});
        answers.extend(trial.ends[0].association.take_answer());
        while let Some((octets, _)) = trial.ends[1].take(now) {
            let due = Duration::from_millis(10) * u32::from(octets[0]);
            (longest, arrived) = (longest.max(since - due), arrived + 1);
        }
        let next: Instant = start + Duration::from_millis(10) * sent;
        assert!(trial.until(next) || sent < 50 || trial.step(), "it stands still");
    }
    (longest, answers)
}

/// E21: messages do not wait where the new rule promises less, nor where both sides know it; where
/// it promises more, they wait a round trip for the answer.
#[test]
fn only_a_stronger_rule_waits_and_for_one_round_trip() {
    let mut trial = open(ends::<Adaptive<M>>(KNOWN));
    let cases = [(ANY, 0), (ORDERED, 2), (ANY, 0), (ORDERED, 0), (PhaseRule::STRONGEST, 0)];
    for (nth, (rule, waits)) in cases.into_iter().enumerate() {
        let (longest, answers) = longest(&mut trial, rule);
        assert_eq!(longest, DELAY + DELAY * waits, "change {nth}, to {rule:?}");
        assert_eq!(answers, [Ok(0)], "change {nth}");
    }
}

/// The receiver asks, and the sender grants it what its own application can do with.
#[test]
fn a_receiver_wishes_and_the_sender_grants_or_declines() {
    let mut trial = open(ends::<Adaptive<M>>(KNOWN));
    let wish = |trial: &mut Trial<Adaptive<M>>, rule| {
        let now = trial.now();
        assert_eq!(trial.ends[1].association.wish(now, rule), None);
        let busy = trial.ends[1].association.wish(now, rule);
        assert_eq!(busy, None, "its answer follows the first");
        trial.pass(now + Duration::from_secs(1));
        let first = trial.ends[1].association.take_answer();
        let second = trial.ends[1].association.take_answer();
        assert_eq!(second, Some(BUSY));
        let sends = trial.ends[0].association.how_it_sends();
        (first, sends.and_then(|report| report.rule))
    };
    assert_eq!(wish(&mut trial, ANY), (Some(Ok(0)), Some(ANY)));
    let (_, answers) = longest(&mut trial, ORDERED);
    assert_eq!(answers, [Ok(0)]);
    let declined = Some(Err(CommandError::Refused(RuleRefusal::TooWeak)));
    assert_eq!(wish(&mut trial, ANY), (declined, Some(ORDERED)), "its application requires more");
    assert_eq!(wish(&mut trial, PhaseRule::STRONGEST), (Some(Ok(0)), Some(PhaseRule::STRONGEST)));
}

/// Hears nothing of rules, where it is mute.
#[derive(Default)]
struct Mute(Negotiated, bool);

impl Switching for Mute {
    const SWITCHES: bool = true;
    const NEGOTIATES: bool = true;
    fn facts(&self) -> Option<Facts> {
        Some(Self::FACTS)
    }
    fn on_message(&mut self) -> Epoch {
        self.0.on_message()
    }
    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        self.0.may_leave(view, epoch)
    }
    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        self.0.mark(number, epoch)
    }
    fn on_left(&mut self, number: u64, epoch: Epoch) {
        self.0.on_left(number, epoch);
    }
    fn require(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        self.0.require(view, rule)
    }
    fn take_answer(&mut self) -> CommandAnswer {
        self.0.take_answer()
    }
    fn on_proposal(
        &mut self,
        view: &View,
        proposal: RuleProposal,
        learn: impl FnOnce(u8, PhaseRule) -> Result<(), RuleRefusal>,
    ) {
        if !self.1 {
            self.0.on_proposal(view, proposal, learn);
        }
    }
    fn proposal(&self, view: &View) -> Option<RuleProposal> {
        self.0.proposal(view)
    }
    fn on_proposed(&mut self, view: &View) {
        self.0.on_proposed(view);
    }
    fn on_time(&mut self, view: &View) {
        self.0.on_time(view);
    }
    fn deadline(&self) -> Instant {
        self.0.deadline()
    }
}

stackwright_transport::component! {
    Mute: "switching that hears nothing", "does not answer",
    needs: Property::EPOCHS.and(Property::COUNTS_PACKETS), gives: Property::PHASES,
}

impl stackwright_policies::profile::FromValues for Mute {
    fn from_values(values: &stackwright_policies::profile::PolicyValues) -> Self {
        Mute(Negotiated::new(values.phases), false)
    }
}

configuration! {
    MuteOnes<M> like Adaptive {} switching [Mute]
}

/// A peer that never answers: the question is asked six times, and then what waits goes by the
/// first rule, which serves it.
#[test]
fn where_a_peer_never_answers_the_first_rule_counts() {
    let known = [Some(PhaseRule::STRONGEST), Some(ANY), None, None];
    let make = ends::<MuteOnes<M>>(known);
    let mut trial = open(|side| make(side).switching_by(Mute(Negotiated::new(known), side == 1)));
    assert_eq!(longest(&mut trial, ANY).1, [Ok(0)], "both sides know it");
    let (start, mut asked, mut epoch) = (trial.now(), 0, Vec::new());
    assert_eq!(trial.ends[0].association.require(start, ORDERED), None);
    for nth in 0..20 {
        trial.ends[0].send(start, &[nth], MessageProperties::default());
    }
    let (mut arrived, mut answer) = (Vec::new(), None);
    while arrived.len() < 20 {
        trial.speak(|_, side, octets| {
            let header = TailoredHeader::decode(octets).expect("a header");
            asked += u32::from(side == 0 && rule_of(octets).is_some());
            if side == 0 && header.kind == TailoredKind::Unit {
                epoch.push(header.epoch & 3);
            }
        });
        answer = answer.or(trial.ends[0].association.take_answer());
        let now = trial.now();
        arrived.extend(std::iter::from_fn(|| Some(trial.ends[1].take(now)?.0[0])));
        assert!(arrived.len() == 20 || trial.step(), "it stands still");
    }
    assert_eq!((asked, answer), (6, Some(SILENT)));
    assert_eq!(arrived, Vec::from_iter(0..20), "in order");
    assert!(epoch.iter().all(|phase| *phase == 0), "{epoch:?}");
    let (_, answers) = longest(&mut trial, ANY);
    assert_eq!(answers, [Ok(0)], "the association goes on");
}

pub(super) const RULE_AT: usize =
    TailoredHeader::LENGTH + InternetCheck::LENGTH + ReportHeader::LENGTH;

/// Returns what a packet of an open association says of a rule.
pub(super) fn rule_of(octets: &[u8]) -> Option<RuleHeader> {
    let header = TailoredHeader::decode(octets).ok()?;
    let report = octets.get(TailoredHeader::LENGTH + InternetCheck::LENGTH..)?;
    let is_report = header.kind == TailoredKind::Report && !header.asks;
    let says = is_report && ReportHeader::decode(report).ok()?.proposes;
    if says { RuleHeader::decode(&octets[RULE_AT..]).ok() } else { None }
}

/// Forged proposals: of the phase in use, of the first, of numbers that were never allowed, of a
/// rule that nothing here can do, and answers to what nobody asked. Nothing changes.
#[test]
fn forged_proposals_change_nothing() {
    let mut trial = open(ends::<Adaptive<M>>(KNOWN));
    let now = trial.now();
    assert_eq!(trial.ends[0].association.require(now, ANY), None);
    let mut packet = None;
    while packet.is_none() {
        trial.speak(|_, side, octets| {
            if side == 0 && rule_of(octets).is_some() {
                packet = Some(octets.to_vec());
            }
        });
        assert!(packet.is_some() || trial.step());
    }
    trial.pass(now + Duration::from_secs(1));
    assert_eq!(longest(&mut trial, ORDERED).1, [Ok(0), Ok(0)]);
    let packet = packet.expect("a proposal");
    let usual = rule_of(&packet).expect("a rule");
    let phase_in_use = (1..4).map(|phase| RuleHeader { phase, nth: 200, ..usual });
    let forged = [
        RuleHeader { phase: 0, ..usual },
        RuleHeader { number: usual.number.wrapping_add(1 << 30), ..usual },
        RuleHeader { abandons: false, detail: 7, ..usual },
        RuleHeader { act: RuleActCode::Accept, ..usual },
        RuleHeader { act: RuleActCode::Refuse, detail: 99, ..usual },
        RuleHeader { act: RuleActCode::Grant, ..usual },
        RuleHeader { act: RuleActCode::Decline, detail: 3, ..usual },
        RuleHeader { act: RuleActCode::Wish, number: u32::MAX / 2, ..usual },
    ];
    for (nth, forged) in phase_in_use.chain(forged).enumerate() {
        let mut octets = packet.clone();
        forged.encode(&mut octets[RULE_AT..]);
        // No such act is defined.
        if nth == 0 {
            octets[RULE_AT] |= 0xe0;
        }
        seal(&mut octets);
        trial.inject(1, &octets);
        let (took, answers) = longest(&mut trial, [ANY, ORDERED][nth % 2]);
        assert!(answers == [Ok(0)] && took <= 3 * DELAY, "{forged:?}: {took:?}, {answers:?}");
    }
    let dropped: Vec<_> = trial.dropped().iter().map(|(_, why)| *why).collect();
    let malformed = dropped.iter().filter(|why| **why == Dropped::Malformed).count();
    let beyond = dropped.iter().filter(|why| **why == Dropped::BeyondWindow).count();
    assert_eq!((malformed, beyond), (3, 2), "{dropped:?}");
}

/// An application that changes its mind all the time, without a message between: where no phase is
/// free for its rule, the first one's counts, which promises more; while a question is on its way,
/// it is told that another change is under way.
#[test]
fn oscillating_requests_are_bounded() {
    let mut trial = open(ends::<Adaptive<M>>(KNOWN));
    let (mut taken, mut first, mut busy) = (0, 0, 0);
    for nth in 0..1000_u16 {
        let now = trial.now();
        let rule = PhaseRule { resends: Some(nth), ..ANY };
        match trial.ends[0].association.require(now, rule) {
            None => {
                let other = PhaseRule { resends: Some(nth + 1), ..ANY };
                assert_eq!(trial.ends[0].association.require(now, other), None, "in its turn");
                taken += 1;
            }
            answer => {
                assert_eq!(answer, Some(Ok(0)));
                let report = trial.ends[0].association.how_it_sends().expect("it changes");
                assert_eq!(report.rule, Some(PhaseRule::STRONGEST));
                assert!(report.changes.len() <= 10);
                first += 1;
            }
        }
        trial.pass(now + 3 * DELAY);
        while let Some(answer) = trial.ends[0].association.take_answer() {
            assert!(answer == Ok(0) || answer == BUSY, "{answer:?}");
            busy += u32::from(answer == BUSY);
        }
    }
    assert!(taken > 200 && first > 0, "{taken} taken, {first} times the first");
    assert_eq!(busy, taken, "one at a time");
    assert_eq!(longest(&mut trial, PhaseRule::STRONGEST).1, [Ok(0)]);
    assert_eq!(longest(&mut trial, ORDERED).1, [Ok(0)], "behind a message, it may ask again");
}
