//! Each path through a decision: what was heard and answered, what is done, where it leads.

use super::{Automaton, Decision, Place};
use crate::program::{RoleProgram, SignalKind};
use crate::react::{Act, Want};

/// What a path depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// A signal is present.
    Heard(u16),
    /// A signal that may come with others is absent.
    Without(u16),
    Answer(u16, bool),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Transition {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) acts: Vec<Act>,
    /// `None`: the role is over.
    pub(crate) to: Option<u32>,
}

/// Returns the paths of a state's decision, at most `most`. That in which nothing is heard is not
/// among them, unless it is the first instant's.
pub(crate) fn transitions(
    role: &RoleProgram,
    automaton: &Automaton,
    state: u32,
    most: usize,
) -> Vec<Transition> {
    let mut walk =
        Walk { role, automaton, most, path: Vec::new(), acts: Vec::new(), all: Vec::new() };
    walk.walk(automaton.states[state as usize]);
    let is_heard = |one: &Transition| {
        let heard = |condition: &Condition| matches!(condition, Condition::Heard(_));
        state == 0 || one.conditions.iter().any(heard)
    };
    walk.all.retain(is_heard);
    walk.all
}

struct Walk<'a> {
    role: &'a RoleProgram,
    automaton: &'a Automaton,
    most: usize,
    path: Vec<Condition>,
    acts: Vec<Act>,
    all: Vec<Transition>,
}

impl Walk<'_> {
    fn walk(&mut self, place: Place) {
        if self.all.len() >= self.most {
            return;
        }
        match self.automaton.decisions[place as usize] {
            Decision::Go(to) => self.leaf(Some(to)),
            Decision::End => self.leaf(None),
            Decision::Act(act, then) => {
                self.acts.push(act);
                self.walk(then);
                self.acts.pop();
            }
            Decision::Ask(want, yes, no) => {
                let (met, other) = match want {
                    Want::Signal(signal) => {
                        let kind = self.role.signals[usize::from(signal)].kind;
                        let together = kind == SignalKind::Together;
                        (Condition::Heard(signal), together.then_some(Condition::Without(signal)))
                    }
                    Want::Answer(question, _) => {
                        let no = Condition::Answer(question, false);
                        (Condition::Answer(question, true), Some(no))
                    }
                };
                self.path.push(met);
                self.walk(yes);
                self.path.pop();
                self.path.extend(other);
                self.walk(no);
                if other.is_some() {
                    self.path.pop();
                }
            }
        }
    }

    fn leaf(&mut self, to: Option<u32>) {
        self.all.push(Transition { conditions: self.path.clone(), acts: self.acts.clone(), to });
    }
}
