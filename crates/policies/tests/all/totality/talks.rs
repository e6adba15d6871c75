//! What is promised is kept on a bad link.

use std::collections::HashSet;
use std::num::NonZeroU32;

use fastrand::Rng;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, Guarantees};
use stackwright_transport::rules::{Property, given, promised};
use stackwright_trial::choices::{Choice, built, names, parts};
use stackwright_trial::{Failure, Promise, Talk, Trial, bad};

use crate::totality::book::{Verdicts, ask};

/// One selection keeps what it promises, also when messages expire where they can.
fn try_out(choice: &Choice, seed: u64, messages: u64) -> Result<(), Failure> {
    let facts = parts(choice).facts();
    let checked = promised(&facts).has(Guarantees::CHECKED);
    let mut wishes = vec![None];
    if given(&facts).has(Property::EXPIRES) {
        wishes.push(NonZeroU32::new(100_000));
    }
    for lifetime in wishes {
        let talk = Talk {
            there: messages,
            back: messages / 2,
            longest: 4000,
            properties: MessageProperties { lifetime, ..MessageProperties::default() },
            promise: Promise::of(&facts, lifetime.is_some()),
            limit: Duration::from_secs(300),
            ..Talk::default()
        };
        let mut trial = Trial::new(|_| built(parts(choice)), &bad(seed, checked), seed);
        let outcome = trial.talk(&talk, seed, |_, _| {});
        if let Err(failure) = outcome {
            let reasons = trial.reasons();
            return Err(format!(
                "{}\nseed {seed}, {:?}, lifetime {lifetime:?}: {failure}\n{reasons:?}",
                names(choice),
                talk.promise
            ));
        }
    }
    Ok(())
}

/// Two policies of two slots.
type Pair = [(usize, usize); 2];

fn pairs(choice: &Choice) -> impl Iterator<Item = Pair> {
    let at = |slot: usize| (slot, choice[slot]);
    (0..choice.len()).flat_map(move |one| (0..one).map(move |other| [at(other), at(one)]))
}

/// One of the selections that `classes` stands for: where several policies of a slot are alike,
/// that which is in more of `open`.
fn pick(verdicts: &Verdicts, classes: &Choice, open: &HashSet<Pair>, random: &mut Rng) -> Choice {
    let mut choice = *classes;
    for (slot, class) in classes.iter().enumerate() {
        let alike = &verdicts.alike[slot][*class];
        choice[slot] = alike[random.usize(..alike.len())];
    }
    for slot in 0..choice.len() {
        let count = |policy: &usize| {
            let at = (slot, *policy);
            let other = (0..choice.len()).filter(|other| *other != slot);
            other.filter(|other| open.contains(&sorted(at, (*other, choice[*other])))).count()
        };
        choice[slot] = verdicts.alike[slot][classes[slot]]
            .iter()
            .copied()
            .max_by_key(count)
            .unwrap_or(choice[slot]);
    }
    choice
}

fn sorted(one: (usize, usize), other: (usize, usize)) -> Pair {
    if one < other { [one, other] } else { [other, one] }
}

/// Every pair of policies that is in any accepted selection.
fn all_pairs(verdicts: &Verdicts) -> HashSet<Pair> {
    let classes: HashSet<Pair> = verdicts.accepted.iter().flat_map(pairs).collect();
    let members = |(slot, class): (usize, usize)| {
        verdicts.alike[slot][class].iter().map(move |one| (slot, *one))
    };
    let mut all = HashSet::new();
    for [one, other] in classes {
        all.extend(
            members(one).flat_map(|one| members(other).map(move |other| sorted(one, other))),
        );
    }
    all
}

/// Selections in which each of these pairs is, in some: greedily, of some that are drawn the one
/// with most of what is open.
fn covering(verdicts: &Verdicts) -> Vec<Choice> {
    let mut open = all_pairs(verdicts);
    let mut random = Rng::with_seed(0);
    let mut chosen = Vec::new();
    while let Some(next) = open.iter().min().copied() {
        let has = |choice: &&Choice| {
            next.iter().all(|(slot, policy)| verdicts.alike[*slot][choice[*slot]].contains(policy))
        };
        let fitting: Vec<_> = verdicts.accepted.iter().filter(has).collect();
        let candidates = (0..40).map(|_| {
            let mut choice =
                pick(verdicts, fitting[random.usize(..fitting.len())], &open, &mut random);
            for (slot, policy) in next {
                choice[slot] = policy;
            }
            choice
        });
        let best = candidates
            .max_by_key(|choice| pairs(choice).filter(|pair| open.contains(pair)).count());
        let best = best.expect("some were drawn");
        for pair in pairs(&best) {
            open.remove(&pair);
        }
        chosen.push(best);
    }
    chosen
}

#[test]
fn every_accepted_pair_keeps_what_it_promises() {
    let verdicts = ask(|_, _| {});
    let chosen = covering(&verdicts);
    println!("{} pairs in {} selections", all_pairs(&verdicts).len(), chosen.len());
    let failures: Vec<_> = chosen
        .iter()
        .enumerate()
        .filter_map(|(seed, choice)| try_out(choice, seed as u64, 24).err())
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n\n{}",
        failures.len(),
        chosen.len(),
        failures.join("\n\n")
    );
}

/// Of all that the rule book accepts, as many are drawn as `TOTALITY` says; or `SELECTION` names
/// the one that failed.
#[test]
#[ignore = "selections that are drawn, in release: TOTALITY=10000; or one of them: SELECTION=n"]
fn selections_that_are_drawn_keep_what_they_promise() {
    let number = |name| std::env::var(name).ok().map(|value| value.parse().expect("a number"));
    let verdicts = ask(|_, _| {});
    let chosen: Vec<u64> = match number("SELECTION") {
        Some(nth) => vec![nth],
        None => {
            let mut random = Rng::new();
            let count = number("TOTALITY").unwrap_or(1000);
            (0..count).map(|_| random.u64(..verdicts.accepted())).collect()
        }
    };
    let mut failures = Vec::new();
    for nth in chosen {
        let failure = try_out(&verdicts.nth(nth).expect("a selection"), nth, 8).err();
        failures.extend(failure.map(|failure| format!("SELECTION={nth}: {failure}")));
        assert!(failures.len() < 20, "{}", failures.join("\n\n"));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
