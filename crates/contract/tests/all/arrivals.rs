//! Listeners, names that wait, arrivals and ends: both sides of a boundary, in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stackwright_contract::services::{Credit, Datagrams, DatagramsIndication, Ended};
use stackwright_contract::{Arrivals, Handle, Names, Party};
use stackwright_wire::SingleBuffer;

type Asks = Arrivals<u8, u8, Names<()>>;
type Answers = Arrivals<u8, u8>;

fn credit(octets: usize) -> Credit {
    Credit { octets, messages: 1 }
}

/// Ends a name, and returns all last words.
fn end(answers: &mut Answers, name: Handle, why: Ended) -> Vec<(Handle, Ended)> {
    let words = answers.end::<Datagrams<SingleBuffer>>(name, why);
    words.map(last_word).collect()
}

fn last_word(word: DatagramsIndication<SingleBuffer>) -> (Handle, Ended) {
    match word {
        DatagramsIndication::Ended { name, why } => (name, why),
        other => panic!("{other:?} is no last word"),
    }
}

fn expect(answers: &mut Answers, listener: Handle, name: Handle, octets: usize) -> Option<Ended> {
    let word = answers.expect::<Datagrams<SingleBuffer>>(listener, name, credit(octets))?;
    let (ended, why) = last_word(word);
    assert_eq!(ended, name);
    Some(why)
}

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

#[test]
fn arrivals_take_the_names_in_the_order_in_which_they_wait() {
    let mut answers = Answers::new();
    answers.listen(name(0), 7);
    for (index, octets) in [(1, 10), (2, 20), (3, 30)] {
        assert_eq!(expect(&mut answers, name(0), name(index), octets), None);
    }
    assert_eq!(end(&mut answers, name(2), Ended::Finished), [(name(2), Ended::Finished)]);
    assert_eq!(
        (answers.arrive(name(0)), answers.awaited(name(0))),
        (Some((name(1), credit(10))), 1)
    );
    answers.open(name(1), 1);
    assert_eq!(answers.arrive(name(0)), Some((name(3), credit(30))));
    assert_eq!((answers.arrive(name(0)), answers.arrive(name(1))), (None, None));
    assert_eq!(
        (answers.get(name(1)), answers.get(name(3)), answers.get(name(0))),
        (Some(&1), None, None)
    );
}

#[test]
fn an_arrival_at_any_of_several_listeners_takes_the_name_that_has_waited_longest() {
    let mut answers = Answers::new();
    let listeners = [0, 1, 2].map(name);
    listeners.into_iter().for_each(|listener| answers.listen(listener, 7));
    for (at, index) in [(1, 3), (0, 4), (1, 5), (0, 6)] {
        expect(&mut answers, name(at), name(index), 10);
    }
    end(&mut answers, name(4), Ended::Finished);
    let arrivals = std::iter::from_fn(|| answers.arrive_at_any(&listeners));
    let taken: Vec<_> = arrivals.map(|(name, ..)| name).collect();
    assert_eq!(taken, [3, 5, 6].map(name));
}

#[test]
fn names_that_wait_end_with_their_listener_and_open_ones_stay() {
    let mut answers = Answers::new();
    answers.listen(name(0), 7);
    for index in [1, 2, 3] {
        expect(&mut answers, name(0), name(index), 10);
    }
    answers.arrive(name(0));
    answers.open(name(1), 1);
    let all = [2, 3, 0].map(|index| (name(index), Ended::Unlistened));
    assert_eq!(end(&mut answers, name(0), Ended::Finished), all);
    assert_eq!(end(&mut answers, name(0), Ended::Finished), []);
    assert_eq!(expect(&mut answers, name(0), name(4), 10), Some(Ended::Unlistened));
    assert!(!answers.lives(name(4)));
    assert_eq!(end(&mut answers, name(1), Ended::Reset(3)), [(name(1), Ended::Reset(3))]);
}

#[test]
fn a_listener_that_failed_says_why() {
    let mut answers = Answers::new();
    answers.listen(name(0), 7);
    expect(&mut answers, name(0), name(1), 10);
    let all = [1, 0].map(|index| (name(index), Ended::Exhausted));
    assert_eq!(end(&mut answers, name(0), Ended::Exhausted), all);
}

#[test]
fn the_side_that_asks_knows_what_waits() {
    let mut asks = Asks::default();
    let listener = asks.listen(7);
    let [one, other] = [0; 2].map(|_| asks.expect(listener, Credit::NONE).expect("it listens"));
    assert_eq!(asks.awaited(listener), 2);
    assert_eq!((asks.arrived(other, || 5), asks.arrived(other, || 6)), (Some(listener), None));
    assert_eq!((asks.awaited(listener), asks.get(other)), (1, Some(&5)));
    assert!(matches!(asks.forget(listener), Some(Party::Listener(7))));
    assert_eq!(asks.expect(listener, Credit::NONE), None);
    assert!(matches!(asks.forget(one), Some(Party::Awaited(at)) if at == listener));
    assert!(asks.forget(one).is_none());
    let again = asks.open(|_| 8);
    assert_eq!((again.index, again.generation, asks.iter().count()), (one.index, 1, 2));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Listen,
    /// At the listener of this number, living or not.
    Await(usize, usize),
    Arrive(usize),
    Open,
    /// Of the name of this number.
    End(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Listen),
        4 => (0_usize..8, 1_usize..1000).prop_map(|(listener, octets)| Step::Await(listener, octets)),
        3 => (0_usize..8).prop_map(Step::Arrive),
        1 => Just(Step::Open),
        2 => (0_usize..64, any::<bool>()).prop_map(|(name, aborts)| Step::End(name, aborts)),
    ]
}

/// Both sides, and what they know of each other.
#[derive(Default)]
struct Boundary {
    asks: Asks,
    answers: Answers,
    /// Every name that was given, and how many last words it had.
    last_words: BTreeMap<Handle, usize>,
    listeners: Vec<Handle>,
    /// The names that wait, with their credit.
    waiting: BTreeMap<Handle, (Handle, usize)>,
}

impl Boundary {
    fn given(&mut self, name: Handle) -> Handle {
        assert_eq!(self.last_words.insert(name, 0), None, "a name is given once");
        name
    }

    fn ended(&mut self, name: Handle) {
        assert!(self.asks.forget(name).is_some(), "{name:?} lives at the side that asks");
        assert!(!self.answers.lives(name), "and no more at the one that answers");
        *self.last_words.get_mut(&name).expect("a name that was given") += 1;
        self.waiting.remove(&name);
    }

    fn end(&mut self, name: Handle, why: Ended) {
        let waited = |at: &Handle| self.waiting.values().filter(|(at_, _)| at_ == at).count();
        let most = 1 + waited(&name);
        let words = end(&mut self.answers, name, why);
        let lived = self.last_words[&name] == 0;
        assert_eq!(words.len(), if lived { most } else { 0 });
        words.into_iter().for_each(|(name, _)| self.ended(name));
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Listen => {
                let listener = self.asks.listen(1);
                self.given(listener);
                self.answers.listen(listener, 1);
                self.listeners.push(listener);
            }
            Step::Await(listener, octets) => {
                let Some(listener) = self.listeners.get(listener).copied() else { return };
                let lives = self.last_words[&listener] == 0;
                let Some(name) = self.asks.expect(listener, credit(octets)) else {
                    return assert!(!lives);
                };
                self.given(name);
                assert_eq!(expect(&mut self.answers, listener, name, octets), None);
                self.waiting.insert(name, (listener, octets));
            }
            Step::Arrive(listener) => {
                let Some(listener) = self.listeners.get(listener).copied() else { return };
                let waited = self.waiting.values().any(|(at, _)| *at == listener);
                let arrival = self.answers.arrive(listener);
                assert_eq!(arrival.is_some(), waited, "one arrives where a name waits");
                let Some((name, given)) = arrival else { return };
                let (at, octets) = self.waiting.remove(&name).expect("no arrival without a name");
                assert_eq!((at, credit(octets)), (listener, given), "its credit is what was given");
                self.answers.open(name, 2);
                assert_eq!(self.asks.arrived(name, || 2), Some(listener));
            }
            Step::Open => {
                let name = self.asks.open(|_| 2);
                self.given(name);
                self.answers.open(name, 2);
            }
            Step::End(name, aborts) => {
                let Some(name) = self.last_words.keys().nth(name).copied() else { return };
                self.end(name, if aborts { Ended::Aborted } else { Ended::Finished });
            }
        }
    }

    /// Checks that both sides hold what was asked, and no more.
    fn check(&self) {
        let living = self.last_words.iter().filter(|(_, words)| **words == 0).count();
        for at in &self.listeners {
            let waits = self.waiting.values().filter(|(waits, _)| waits == at).count();
            assert_eq!([self.answers.awaited(*at), self.asks.awaited(*at)], [waits; 2]);
        }
        let open = living - self.waiting.len() - self.answers.listeners().count();
        assert_eq!([self.answers.iter().count(), self.asks.iter().count()], [open; 2]);
        assert_eq!(self.answers.listeners().count(), self.asks.listeners().count());
    }
}

proptest! {
    #[test]
    fn a_name_has_one_last_word_whoever_ended_it(steps in prop::collection::vec(step(), 0..200)) {
        let mut boundary = Boundary::default();
        for step in steps {
            boundary.play(step);
            boundary.check();
        }
        for name in boundary.last_words.keys().copied().collect::<Vec<_>>() {
            boundary.end(name, Ended::Finished);
        }
        boundary.check();
        assert!(boundary.last_words.values().all(|words| *words == 1));
    }
}
