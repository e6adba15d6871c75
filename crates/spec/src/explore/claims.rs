//! Whether a property is kept: a mark in each world remembers what it has to.

use super::host::of_variables;
use super::world::{Next, World};
use super::{Side, role};
use crate::program::{Claim, Deed};

/// Marks a world by what was done on the way to it; gives what is wrong.
pub(super) fn judge(claim: &Claim, sides: [Side<'_>; 2], next: &mut Next) -> Option<String> {
    if let Some(out) = &next.failed {
        return Some(format!("`{out}` has left its range"));
    }
    for (end, deed, value) in std::mem::take(&mut next.done) {
        if let Some(wrong) = done(claim, end, deed, value, &mut next.world) {
            return Some(wrong.to_owned());
        }
    }
    let Claim::Always(expression, of) = claim else { return None };
    for (side, end) in sides.into_iter().zip(&next.world.ends) {
        if side.1 != *of {
            continue;
        }
        let names = role(side).variables.iter().map(|one| one.name.as_str());
        let values: Vec<(&str, u64)> = names.zip(end.variables.iter().copied()).collect();
        if of_variables(expression, &values) == 0 {
            return Some("it is not true here".into());
        }
    }
    None
}

fn done(
    claim: &Claim,
    end: usize,
    deed: Deed,
    value: u64,
    world: &mut World,
) -> Option<&'static str> {
    // What is ordered is so at each end; the rest is about both.
    let [both, _] = &mut world.marks;
    match claim {
        Claim::Never { what, before } => {
            if Some(deed) == *before {
                *both = 1;
            }
            (deed == *what && *both == 0).then_some(match before {
                Some(_) => "it is done before",
                None => "it is done",
            })
        }
        Claim::Ordered(what) if deed == *what => {
            let last = &mut world.marks[end];
            let expected = *last + 1;
            *last = value;
            (value != expected).then_some(if value < expected {
                "an old one is taken for a new one"
            } else {
                "one is left out"
            })
        }
        Claim::Eventually { what, .. } if deed == *what => {
            *both = 1;
            None
        }
        _ => None,
    }
}
