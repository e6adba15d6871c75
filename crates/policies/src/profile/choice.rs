//! What was chosen, and why.

use alloc::vec::Vec;
use core::fmt;

use super::{Path, Requirements};

/// One policy of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// For which slot.
    pub slot: &'static str,
    /// What, as in its facts.
    pub name: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// Which policies make the transport that was wished for, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub(super) requirements: Requirements,
    pub(super) path: Path,
    pub(super) select: super::select::Selection,
}

impl Plan {
    /// What was wished.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// What is known of the way.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Slot by slot.
    pub fn choices(&self) -> impl Iterator<Item = Choice> {
        self.select.choices()
    }

    /// The choices in which `other` differs: what to exchange when the path has changed.
    pub fn differences<'a>(&'a self, other: &'a Plan) -> Vec<Choice> {
        let both = self.choices().zip(other.choices());
        both.filter(|(one, other)| one.name != other.name).map(|(_, other)| other).collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for choice in self.choices() {
            writeln!(f, "{:15} {:42} {}", choice.slot, choice.name, choice.reason)?;
        }
        Ok(())
    }
}
