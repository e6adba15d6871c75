//! The explicit automaton: a decision for each state, which asks only for what the reaction in that
//! state asks for.
//!
//! | file | what |
//! | --- | --- |
//! | `build.rs` | states, breadth first, within bounds |
//! | `decide.rs` | the decision of one state |
//! | `minimise.rs` | states that nothing can tell apart become one |
//! | `transitions.rs` | each path through a decision, as a list |

mod build;
mod decide;
mod minimise;
mod transitions;

use std::collections::HashMap;

use crate::kernel::Set;
use crate::program::RoleProgram;
use crate::react::{Act, Want};

pub(crate) use build::{Bounds, build};
pub(crate) use transitions::{Condition, Transition, transitions};

/// A place in the table of decisions.
pub(crate) type Place = u32;

/// A step of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Decision {
    /// Is it present, is the answer yes?
    Ask(Want, Place, Place),
    Act(Act, Place),
    Go(u32),
    /// The role is over.
    End,
}

/// An automaton.
#[derive(Clone, Debug, Default)]
pub struct Automaton {
    /// Equal decisions are one.
    pub(crate) decisions: Vec<Decision>,
    known: HashMap<Decision, Place>,
    /// What each state decides. The first is the one before the first instant.
    pub(crate) states: Vec<Place>,
    /// Which inputs each listens to.
    pub(crate) heard: Vec<Set>,
    /// Where control stands in each; several where states were found to be the same.
    pub(crate) stands: Vec<Vec<Set>>,
}

impl Automaton {
    /// Returns how many states there are, the one before the first instant included.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// Returns how many steps all decisions together have.
    #[must_use]
    pub fn decisions(&self) -> usize {
        self.decisions.len()
    }

    fn enter(&mut self, decision: Decision) -> Place {
        let fresh = self.decisions.len() as Place;
        *self.known.entry(decision).or_insert_with(|| {
            self.decisions.push(decision);
            fresh
        })
    }

    /// Returns which inputs a state listens to: those at which some branch looks in it, though it
    /// may do nothing then. What else comes is held.
    pub(crate) fn hears(&self, state: u32) -> Set {
        self.heard[state as usize]
    }

    /// Returns the names of the inputs that a state listens to.
    #[must_use]
    pub fn heard_in<'a>(&self, role: &'a RoleProgram, state: usize) -> Vec<&'a str> {
        let heard = self.hears(state as u32);
        heard.numbers().map(|signal| role.signals[usize::from(signal)].name.as_str()).collect()
    }
}
