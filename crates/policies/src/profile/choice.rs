//! The policies of a plan, and why.

use alloc::vec::Vec;
use core::fmt;

use super::{Path, Requirements};

/// One policy of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The slot.
    pub slot: &'static str,
    /// The name of the policy, as in its facts.
    pub name: &'static str,
    /// Its type, in this crate; `M` is the kind of message.
    pub policy: &'static str,
    /// Why it was selected.
    pub reason: &'static str,
}

/// The policies that meet the requirements of an application on a path. Displays as a table of
/// them, with reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub(super) requirements: Requirements,
    pub(super) path: Path,
    pub(super) select: super::select::Selection,
}

impl Plan {
    /// Returns the requirements.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Returns what was known about the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the choices, slot by slot.
    pub fn choices(&self) -> impl Iterator<Item = Choice> {
        self.select.choices()
    }

    /// Returns the choices of `other` that differ from these: what to exchange when the path has
    /// changed.
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
