//! Cuts of one direction: a member does not hear another, which hears it. They stand, and the group
//! goes on.

use std::collections::BTreeSet;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::seeds;

use super::calm::Calm;
use super::seeds::at;

/// Nothing may stand still for longer: silence is noticed, lasts, and a view follows.
const PATIENCE: Duration = Duration::from_secs(2);

/// From whom to whom nothing arrives.
type Cuts = BTreeSet<(usize, usize)>;

/// Draws cuts at less than half of `count` members; returns the others, too. They hear each other.
fn drawn(random: &mut Rng, count: usize) -> (Cuts, Vec<usize>) {
    let mut members: Vec<usize> = (0..count).collect();
    random.shuffle(&mut members);
    let healthy = members.split_off(random.usize(1..=(count - 1) / 2));
    let mut cuts = Cuts::new();
    while cuts.is_empty() {
        for bad in &members {
            for other in (0..count).filter(|other| other != bad) {
                for cut in [(*bad, other), (other, *bad)] {
                    if random.u8(..4) == 0 {
                        cuts.insert(cut);
                    }
                }
            }
        }
    }
    (cuts, healthy)
}

/// Returns the two members of the view of this station that do not hear each other, if there are.
fn apart(calm: &Calm, station: usize, cuts: &Cuts) -> Option<(usize, usize)> {
    let view = calm.view(station)?;
    let is_in = |other: usize| view.members.iter().any(|member| member.participant == at(other));
    cuts.iter().copied().find(|(from, to)| is_in(*from) && is_in(*to))
}

/// Returns what stood still, while the cuts stand and another wants to join.
fn stuck(seed: u64, mutant: u8) -> Option<(Instant, Cuts)> {
    let count = 3 + (seed % 4) as usize;
    let mut random = Rng::with_seed(seed);
    let mut calm = Calm::new(count, count + 1, seed, mutant);
    let (cuts, healthy) = drawn(&mut random, count);
    cuts.iter().for_each(|(from, to)| calm.cut(*from, *to, true));
    let all: Vec<_> = (0..=count).collect();
    let joins = random.u64(..400);
    let mut since = std::vec![calm.world.now(); count];
    let (mut deliveries, mut delivered) = (0, calm.world.now());
    for turn in 0..800 {
        if turn == joins {
            calm.open(count);
        }
        calm.step(&all);
        let now = calm.world.now();
        for station in &healthy {
            if apart(&calm, *station, &cuts).is_none() {
                since[*station] = now;
            }
        }
        let so_far = calm.facts.borrow().deliveries;
        if so_far > deliveries {
            (deliveries, delivered) = (so_far, now);
        }
        let first = healthy.iter().map(|station| since[*station]).chain([delivered]).min();
        if first.is_some_and(|first| now.since(first) > PATIENCE) {
            return Some((now, cuts));
        }
    }
    assert_eq!(calm.broken(), [""; 0], "seed {seed}");
    calm.heal();
    assert!(calm.comes_together(&all, 8000), "seed {seed}: all are together again");
    None
}

/// Returns whether members that all others hear are left out, where the first does not hear them.
fn leaves_out_by_the_deaf(seed: u64, mutant: u8) -> bool {
    let count = 5 + (seed % 3) as usize;
    let mut random = Rng::with_seed(seed);
    let mut calm = Calm::new(count, count, seed, mutant);
    let mut unheard: Vec<usize> = (1..count).collect();
    random.shuffle(&mut unheard);
    unheard.truncate(random.usize(2..=(count - 1) / 2));
    unheard.iter().for_each(|other| calm.cut(*other, 0, true));
    let others: Vec<_> = (1..count).collect();
    for _ in 0..300 {
        calm.step(&others);
        if others.iter().any(|station| calm.view(*station).is_none()) {
            return true;
        }
    }
    assert!(calm.are_together(&others), "seed {seed}: they go on without it");
    assert_eq!(calm.broken(), [""; 0]);
    false
}

#[test]
fn who_does_not_hear_leaves_nobody_out() {
    for seed in seeds(20) {
        assert!(!leaves_out_by_the_deaf(seed, 0), "seed {seed}");
        assert!(leaves_out_by_the_deaf(seed, 14), "rule 14 is not missed with seed {seed}");
    }
}

#[test]
fn members_that_do_not_hear_each_other_stop_nobody() {
    let seeds = seeds(40);
    let all = seeds.clone().count();
    let missed = seeds.filter(|seed| {
        assert_eq!(stuck(*seed, 0), None, "seed {seed}");
        stuck(*seed, 13).is_some()
    });
    let missed = missed.count();
    assert!(2 * missed > all, "rule 13 is missed with {missed} seeds of {all}");
}

#[test]
fn who_takes_itself_for_deaf_lets_another_propose() {
    // The second time both of two that do not hear each other do so, and refuse each other's
    // ballots.
    for seed in [367, 854] {
        assert_eq!(stuck(seed, 0), None, "seed {seed}");
        assert!(stuck(seed, 15).is_some(), "rule 15 is not missed with seed {seed}");
    }
}
