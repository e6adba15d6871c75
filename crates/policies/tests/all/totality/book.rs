//! What the rule book says to every selection.

use std::collections::HashSet;

use stackwright_transport::SLOTS;
use stackwright_transport::rules::{Facts, Misfit, Property, check};
use stackwright_trial::choices::{Choice, facts};

/// Policies of a slot of which the rule book knows the same, but for their names: it says the same
/// to all of them.
type Alike = Vec<usize>;

/// What the rule book said to all selections.
pub(crate) struct Verdicts {
    /// Of each slot.
    pub(crate) alike: Vec<Vec<Alike>>,
    /// One for many: of each slot, which of its `alike`.
    pub(crate) accepted: Vec<Choice>,
    refused: u64,
}

impl Verdicts {
    /// How many selections this one stands for.
    fn stands_for(&self, choice: &Choice) -> u64 {
        choice.iter().zip(&self.alike).map(|(class, alike)| alike[*class].len() as u64).product()
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.iter().map(|choice| self.stands_for(choice)).sum()
    }

    /// The nth of all that are accepted.
    pub(crate) fn nth(&self, mut nth: u64) -> Option<Choice> {
        for classes in &self.accepted {
            let count = self.stands_for(classes);
            if nth < count {
                return Some(std::array::from_fn(|slot| {
                    let alike = &self.alike[slot][classes[slot]];
                    let policy = alike[(nth % alike.len() as u64) as usize];
                    nth /= alike.len() as u64;
                    policy
                }));
            }
            nth -= count;
        }
        None
    }
}

fn alike(facts: &[Facts]) -> Vec<Alike> {
    let rules = |facts: &Facts| (facts.needs, facts.needs_one_of, facts.gives, facts.shuns);
    let mut classes: Vec<Alike> = Vec::new();
    for (index, one) in facts.iter().enumerate() {
        match classes.iter_mut().find(|class| rules(&facts[class[0]]) == rules(one)) {
            Some(class) => class.push(index),
            None => classes.push(vec![index]),
        }
    }
    classes
}

/// Asks about every selection, and lets `refused` hear of each that is refused.
pub(crate) fn ask(mut refused: impl FnMut(&[Facts], Misfit)) -> Verdicts {
    let facts = facts();
    let alike = facts.iter().map(|facts| alike(facts)).collect();
    let mut verdicts = Verdicts { alike, accepted: Vec::new(), refused: 0 };
    let mut choice: Choice = [0; SLOTS.len()];
    let mut parts: Vec<Facts> = facts.iter().map(|facts| facts[0]).collect();
    loop {
        match check(&parts) {
            Ok(()) => verdicts.accepted.push(choice),
            Err(misfit) => {
                verdicts.refused += verdicts.stands_for(&choice);
                refused(&parts, misfit);
            }
        }
        // The next selection, as an odometer counts.
        let Some(slot) =
            (0..SLOTS.len()).rfind(|slot| choice[*slot] + 1 < verdicts.alike[*slot].len())
        else {
            return verdicts;
        };
        choice[slot] += 1;
        choice[slot + 1..].fill(0);
        for slot in slot..SLOTS.len() {
            parts[slot] = facts[slot][verdicts.alike[slot][choice[slot]][0]];
        }
    }
}

/// Whether a refusal is true, and names what is at fault.
fn examine(parts: &[Facts], misfit: Misfit, known: &mut HashSet<String>) {
    let part =
        |name: &str| *parts.iter().find(|part| part.name == name).expect("it is one of them");
    let given = |what: Property| parts.iter().any(|part| part.gives.has(what));
    let each = |what: Property| what.words().collect::<Vec<_>>();
    let names = match misfit {
        Misfit::Missing(name, what) => {
            assert!(part(name).needs.has(what) && !given(what), "{}", misfit.explain().as_str());
            vec![name, each(what)[0]]
        }
        Misfit::MissingAll(name, what) => {
            assert_eq!(part(name).needs_one_of, what, "{}", misfit.explain().as_str());
            vec![name, each(what)[0]]
        }
        Misfit::Clash(name, other, what) => {
            let clashes = part(name).shuns.has(what) && part(other).gives.has(what);
            assert!(clashes, "{}", misfit.explain().as_str());
            vec![name, other, each(what)[0]]
        }
    };
    let sentence = misfit.explain();
    for name in names {
        assert!(sentence.as_str().contains(name), "{} names {name}", sentence.as_str());
    }
    known.insert(sentence.as_str().to_owned());
}

#[test]
fn every_selection_is_accepted_or_refused_with_a_true_sentence() {
    let mut sentences = HashSet::new();
    let mut last = None;
    let verdicts = ask(|parts, misfit| {
        // Neighbours are mostly refused for the same reason.
        if last != Some(misfit) {
            examine(parts, misfit, &mut sentences);
        }
        last = Some(misfit);
    });
    let all: u64 = facts().iter().map(|facts| facts.len() as u64).product();
    let (accepted, refused) = (verdicts.accepted(), verdicts.refused);
    println!("{accepted} accepted, {refused} refused in {} sentences", sentences.len());
    let mut sentences: Vec<_> = sentences.into_iter().collect();
    sentences.sort();
    println!("{}", sentences.join("\n"));
    assert_eq!(accepted + refused, all);
    for (slot, alike) in verdicts.alike.iter().enumerate() {
        for (class, policies) in alike.iter().enumerate() {
            let used = verdicts.accepted.iter().any(|choice| choice[slot] == class);
            assert!(used, "no selection has {}", facts()[slot][policies[0]].name);
        }
    }
}
