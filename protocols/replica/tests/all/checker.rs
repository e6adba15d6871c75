//! Whether there is an order in which what clients were told makes sense: Wing and Gong's check,
//! key by key, with all states that are possible after each reply (after Lowe).

use std::collections::HashSet;

/// Operations on a key that may be open at once; what is never known is open for ever.
pub(crate) const OPEN_MOST: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Set(i64),
    SetNew(i64),
    Get,
    Increment,
    Delete,
}

impl Act {
    /// Returns what the key has then, and the reply.
    fn apply(self, value: Option<i64>) -> (Option<i64>, Option<i64>) {
        match self {
            Act::Set(new) => (Some(new), Some(0)),
            Act::SetNew(new) => (value.or(Some(new)), Some(i64::from(value.is_none()))),
            Act::Get => (value, value),
            Act::Increment => {
                let next = value.unwrap_or(0) + 1;
                (Some(next), Some(next))
            }
            Act::Delete => (None, Some(i64::from(value.is_some()))),
        }
    }
}

/// What happened to a key, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Asked(usize, Act),
    Answered(usize, Option<i64>),
    /// It was not done, and never will be.
    Refused(usize),
    /// Its client waits no longer.
    Unknown,
}

/// The history of one key: operations are named by their number.
#[derive(Default)]
pub(crate) struct History {
    events: Vec<Event>,
    pub(crate) open: usize,
}

impl History {
    pub(crate) fn push(&mut self, event: Event) {
        match event {
            Event::Asked(..) => self.open += 1,
            Event::Answered(..) | Event::Refused(_) => self.open -= 1,
            Event::Unknown => {}
        }
        self.events.push(event);
    }

    /// Returns whether an order explains it.
    pub(crate) fn is_linearizable(&self) -> bool {
        // An operation that is open: its number, what it does, what it will be answered.
        type Open = (usize, Act, Option<Option<i64>>);
        let end = |number: usize| {
            self.events.iter().find(|event| {
                matches!(event, Event::Answered(of, _) | Event::Refused(of) if *of == number)
            })
        };
        let mut open: [Option<Open>; OPEN_MOST] = [None; OPEN_MOST];
        // What the key has, and which of those that are open were done.
        let mut states: HashSet<(Option<i64>, u16)> = HashSet::from([(None, 0)]);
        for event in &self.events {
            match *event {
                Event::Asked(number, act) => {
                    let reply = match end(number) {
                        // What was refused has no place in any order.
                        Some(Event::Refused(_)) => continue,
                        Some(Event::Answered(_, reply)) => Some(*reply),
                        _ => None,
                    };
                    let free = open.iter_mut().find(|slot| slot.is_none()).expect("few are open");
                    *free = Some((number, act, reply));
                }
                Event::Answered(number, _) => {
                    let is_it = |slot: &Option<Open>| slot.is_some_and(|(of, ..)| of == number);
                    let slot = open.iter().position(is_it).expect("it was asked");
                    let mut todo: Vec<_> = states.iter().copied().collect();
                    while let Some((value, done)) = todo.pop() {
                        // Others matter only as far as they come before it.
                        if done & 1 << slot != 0 {
                            continue;
                        }
                        for (place, next) in open.iter().enumerate() {
                            let Some((_, act, reply)) = next.filter(|_| done & 1 << place == 0)
                            else {
                                continue;
                            };
                            let (value, said) = act.apply(value);
                            let next = (value, done | 1 << place);
                            if reply.is_none_or(|reply| reply == said) && states.insert(next) {
                                todo.push(next);
                            }
                        }
                    }
                    states = states
                        .into_iter()
                        .filter(|(_, done)| done & 1 << slot != 0)
                        .map(|(value, done)| (value, done & !(1 << slot)))
                        .collect();
                    open[slot] = None;
                    if states.is_empty() {
                        return false;
                    }
                }
                Event::Refused(_) | Event::Unknown => {}
            }
        }
        true
    }
}

#[test]
fn the_checker_knows_what_no_order_explains() {
    let check = |events: &[Event]| {
        let mut history = History::default();
        events.iter().for_each(|event| history.push(*event));
        history.is_linearizable()
    };
    use Event::{Answered, Asked, Refused, Unknown};
    let (one, two) = (Asked(1, Act::Set(1)), Asked(2, Act::Get));
    assert!(check(&[one, Answered(1, Some(0)), two, Answered(2, Some(1))]));
    assert!(!check(&[one, Answered(1, Some(0)), two, Answered(2, None)]), "it is there");
    assert!(check(&[one, two, Answered(2, None), Answered(1, Some(0))]), "both at once");
    assert!(check(&[one, Unknown, two, Answered(2, Some(1))]), "it was done");
    assert!(check(&[one, Unknown, two, Answered(2, None)]), "or not yet");
    let again = [Asked(3, Act::Get), Answered(3, None)];
    assert!(!check(&[&[one, Unknown, two, Answered(2, Some(1))], &again[..]].concat()), "undone");
    assert!(!check(&[one, Refused(1), two, Answered(2, Some(1))]), "refused, and done");
    let twice = [Asked(1, Act::Increment), Asked(2, Act::Increment)];
    let told = [Answered(1, Some(1)), Answered(2, Some(1))];
    assert!(!check(&[&twice[..], &told].concat()), "one number twice");
}
