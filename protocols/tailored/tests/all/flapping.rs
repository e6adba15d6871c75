//! What a peer or a path that changes its mind again and again may cause.

use std::collections::BTreeSet;

use stackwright_contract::ask::SendingPart;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, Instant, PhaseRule, RuleRefusal};
use stackwright_policies::{congestion, ordering, switching};
use stackwright_simulator::Conditions;
use stackwright_tailored::configurations::{Adaptive, AnyOrder};
use stackwright_tailored::header::{RuleActCode, RuleHeader, TailoredHeader, TailoredKind};
use stackwright_transport::configuration;
use stackwright_trial::Trial;
use stackwright_trial::setting::M;
use stackwright_wire::Header as _;

use crate::negotiated::{KNOWN, RULE_AT, longest, open, rule_of};
use crate::phases::{ANY, ORDERED, ends, seal};

configuration! {
    /// Congestion control fits the path.
    Fitting<M> like Adaptive {
        Ordering: ordering::ByEpoch<M>,
        Congestion: congestion::Fitted,
    } switching [switching::Negotiated]
}

configuration! {
    /// Nothing is abandoned.
    Keeping<M> like AnyOrder {
        Ordering: ordering::ByEpoch<M>,
    } switching [switching::Negotiated]
}

/// A path of 200 ms and 200 kb/s.
fn path(loss: f64) -> Conditions {
    let delay = Duration::from_millis(100);
    Conditions { delay, rate: Some(25_000), loss: loss.into(), ..Conditions::IDEAL }
}

/// Every two seconds a quarter of the packets is lost, or none; and both applications change their
/// minds as often. The rules change with each, for they are asked for; the congestion control,
/// which nobody asks for, changes at most 60 times in an hour.
#[test]
fn a_path_that_flaps_for_an_hour_makes_few_switches() {
    let mut trial = Trial::new(ends::<Fitting<M>>(KNOWN), &path(0.0), 1);
    let start = trial.now();
    trial.ends[0].open(start);
    let (mut fitted, mut required, mut arrived) = (BTreeSet::new(), 0, 0_u64);
    for flap in 1..=1800 {
        let until = start + Duration::from_secs(2) * flap;
        trial.set_conditions(&path(if flap % 2 == 0 { 0.25 } else { 0.0 }));
        let now = trial.now();
        let rule = if flap % 2 == 0 { ANY } else { ORDERED };
        required += u32::from(trial.ends[0].association.require(now, rule).is_none());
        loop {
            let now = trial.now();
            while trial.ends[0].association.sending().waiting() < 24 {
                trial.ends[0].send(now, &[7; 500], MessageProperties::default());
            }
            trial.speak(|_, _, _| {});
            while trial.ends[0].association.take_answer().is_some() {}
            while trial.ends[1].take(now).is_some() {
                arrived += 1;
            }
            if !trial.until(until) {
                break;
            }
        }
        let report = trial.ends[0].association.how_it_sends().expect("it changes");
        let changes = report.changes.iter();
        let congestion = changes.filter(|one| matches!(one.to, SendingPart::Congestion(_)));
        fitted.extend(congestion.map(|change| change.at.since(Instant::START)));
    }
    assert!((2..=60).contains(&fitted.len()), "{} changes", fitted.len());
    assert!(required > 1 && arrived > 50_000, "{required} questions, {arrived} messages");
}

/// A peer proposes a rule that this side cannot keep: it is told why, and nothing changes.
#[test]
fn a_rule_that_this_side_does_not_know_is_refused() {
    let mut trial = open(ends::<Keeping<M>>(KNOWN));
    let now = trial.now();
    let never = Some(Err(stackwright_contract::CommandError::Refused(RuleRefusal::NeverAbandons)));
    let abandons = PhaseRule { resends: Some(1), ..ANY };
    assert_eq!(trial.ends[0].association.require(now, abandons), never, "no peer is asked");
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
    let mut packet = packet.expect("a proposal");
    let usual = rule_of(&packet).expect("a rule");
    let phase = if usual.phase == 3 { 2 } else { 3 };
    let forged = RuleHeader { abandons: true, detail: 1, phase, nth: usual.nth + 1, ..usual };
    forged.encode(&mut packet[RULE_AT..]);
    seal(&mut packet);
    trial.inject(1, &packet);
    let mut answers = Vec::new();
    let until = trial.now() + Duration::from_secs(1);
    loop {
        trial.speak(|_, side, octets| answers.extend(rule_of(octets).filter(|_| side == 1)));
        if !trial.until(until) {
            break;
        }
    }
    let refusals = answers.iter().filter(|answer| answer.act == RuleActCode::Refuse);
    let details: Vec<u16> = refusals.map(|answer| answer.detail).collect();
    assert_eq!(details, [RuleRefusal::NeverAbandons as u16], "{answers:?}");
    // The next question has another date.
    let now = trial.now();
    trial.ends[0].send(now, &[0], MessageProperties::default());
    trial.pass(now + Duration::from_secs(1));
    assert!(trial.ends[1].take(trial.now()).is_some());
    let (took, mut answers) = longest(&mut trial, ORDERED);
    assert_eq!(
        (took, answers.pop()),
        (Duration::from_millis(150), Some(Ok(0))),
        "a round trip more"
    );
}

/// The number of an epoch wraps after four: packets of sixteen switches ago look like those of
/// today, and none is taken for one.
#[test]
fn packets_of_sixteen_switches_ago_are_copies() {
    let mut trial = open(ends::<Adaptive<M>>(KNOWN));
    let mut old: Vec<Vec<u8>> = Vec::new();
    let mut epochs = BTreeSet::new();
    for switch in 0..33_u8 {
        let now = trial.now();
        let rule = if switch % 2 == 0 { ANY } else { ORDERED };
        let _ = trial.ends[0].association.require(now, rule);
        for nth in 0..4 {
            trial.ends[0].send(now, &[switch, nth], MessageProperties::default());
        }
        if switch >= 16 {
            for octets in &old[..4 * (usize::from(switch) - 15)] {
                trial.inject(1, octets);
            }
        }
        let (mut arrived, until) = (Vec::new(), now + Duration::from_secs(1));
        loop {
            trial.speak(|_, side, octets| {
                let header = TailoredHeader::decode(octets).expect("a header");
                if side == 0 && header.kind == TailoredKind::Unit {
                    epochs.insert(header.epoch);
                    old.push(octets.to_vec());
                }
            });
            while trial.ends[0].association.take_answer().is_some() {}
            let now = trial.now();
            arrived
                .extend(std::iter::from_fn(|| trial.ends[1].take(now)).map(|(octets, _)| octets));
            if !trial.until(until) {
                break;
            }
        }
        assert!(arrived.iter().map(|octets| &octets[..]).eq((0..4).map(|nth| [switch, nth])));
    }
    assert_eq!(old.len(), 4 * 33, "each left once");
    let serials: BTreeSet<u8> = epochs.iter().map(|epoch| epoch >> 2).collect();
    assert_eq!(serials.len(), 4, "33 numbers of which a packet tells 4 apart: {epochs:?}");
}
