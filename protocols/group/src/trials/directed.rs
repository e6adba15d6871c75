//! Faults at the worst moment, for rules that chance seldom needs.

use stackwright_contract::Duration;
use stackwright_simulator::Deed;

use super::calm::Calm;

/// With a layer above that has a state, which nobody but the stack says.
#[test]
fn a_joiner_votes_when_it_has_the_state() {
    let mut calm = Calm::new(3, 4, 1, 0);
    calm.open(3);
    assert!(calm.passes(1000, |calm| calm.view(3).is_some()), "it joins");
    let votes = |calm: &Calm| calm.view(3).unwrap().members.last().unwrap().votes;
    assert!(!votes(&calm));
    assert!(calm.passes(1000, votes), "and votes");
}

/// Whether a joiner that was not told is in the view at once, and no other view is needed.
fn joins_at_once(seed: u64, mutant: u8) -> bool {
    let mut calm = Calm::new(3, 4, seed, mutant);
    calm.open(3);
    // It has heard which view there is, and named it.
    assert!(calm.passes(500, |calm| calm.has_joiners(0)), "it asks");
    (0..3).for_each(|from| calm.cut(from, 3, true));
    let has_joined = |calm: &Calm| (0..3).all(|at| calm.view(at).unwrap().members.len() == 4);
    assert!(calm.passes(1000, has_joined), "the others are in a view with it");
    let number = calm.view(0).unwrap().number;
    calm.heal();
    let joined = calm.passes(150, |calm| calm.view(3).is_some());
    joined && (0..4).all(|at| calm.view(at).unwrap().number == number)
}

/// Whether the group goes on where only an excluded member knows what was agreed: of five members
/// two are gone, and with the third, that proposed the next view, all that the last two know of it.
fn goes_on_by_the_excluded(seed: u64, mutant: u8) -> bool {
    let mut calm = Calm::new(5, 5, seed, mutant);
    calm.crash(3);
    // Nobody hears the fifth; it hears all.
    (0..4).for_each(|to| calm.cut(4, to, true));
    let is_accepted = |calm: &Calm| [1, 2].iter().all(|at| calm.accepted(*at));
    assert!(calm.passes(2000, is_accepted), "the next view is accepted");
    calm.cut(0, 1, true);
    calm.cut(0, 2, true);
    let is_told = |calm: &Calm| calm.view(4).is_none();
    assert!(calm.passes(50, is_told), "the excluded is told of the view without it");
    calm.crash(0);
    calm.heal();
    let went_on = calm.comes_together(&[1, 2, 4], 5000);
    assert_eq!(calm.broken(), [""; 0]);
    went_on
}

/// Whether the next view follows where a ballot has stopped two members, and nobody else heard it:
/// then all hear each other again, and suspect nobody.
fn goes_on_after_a_ballot_of_some(seed: u64, mutant: u8) -> bool {
    let mut calm = Calm::new(5, 5, seed, mutant);
    let number = calm.view(0).unwrap().number;
    (0..3).for_each(|from| calm.cut(from, 3, true));
    calm.world.run_for(Duration::from_millis(150));
    (0..3).for_each(|to| calm.cut(3, to, true));
    let has_stopped = |calm: &Calm, at: usize| calm.world.application(calm.members[at]).blocked;
    assert!(calm.passes(190, |calm| has_stopped(calm, 3) && has_stopped(calm, 4)));
    calm.heal();
    assert!((0..3).all(|at| !has_stopped(&calm, at)), "the others have not heard it");
    calm.passes(3000, |calm| {
        calm.view(0).unwrap().number > number && calm.are_together(&[0, 1, 2, 3, 4])
    })
}

#[test]
fn a_ballot_that_some_heard_is_followed_by_a_view() {
    for seed in 0..10 {
        assert!(goes_on_after_a_ballot_of_some(seed, 0), "seed {seed}");
        assert!(!goes_on_after_a_ballot_of_some(seed, 11), "rule 11 is not missed: {seed}");
    }
}

#[test]
fn a_joiner_that_was_not_told_is_told_again() {
    for seed in 0..10 {
        assert!(joins_at_once(seed, 0), "seed {seed}");
        assert!(!joins_at_once(seed, 7), "rule 7 is not missed with seed {seed}");
    }
}

#[test]
fn the_excluded_shows_the_way_out_of_the_old_view() {
    for seed in 0..10 {
        assert!(goes_on_by_the_excluded(seed, 0), "seed {seed}");
        assert!(!goes_on_by_the_excluded(seed, 8), "rule 8 is not missed with seed {seed}");
    }
}

/// The first of two leaves: the other needs it for a quorum, whatever is lost, until it goes on.
#[test]
fn who_leaves_takes_nobody_along() {
    for nth in 0..40 {
        for deed in [Deed::Lose, Deed::HoldBack { by: Duration::from_secs(2) }] {
            for leaves in [0, 1] {
                let mut calm = Calm::new(2, 2, nth, 0);
                calm.script(leaves, &[1 - leaves], nth, deed);
                calm.leave(leaves);
                let is_alone = calm.comes_together(&[1 - leaves], 3000);
                assert!(is_alone, "without {leaves}, packet {nth}: {deed:?}");
            }
        }
    }
}
