//! The model check: two roles and the path between them, all that can happen, breadth first, so
//! that the first trouble has a shortest story.
//!
//! | file | what |
//! | --- | --- |
//! | `world.rs` | where everything stands, and what can happen next |
//! | `host.rs` | applications, as the model has them |
//! | `claims.rs` | whether a property is kept |
//! | `search.rs` | all worlds, and the story of one |

mod claims;
mod host;
mod search;
mod world;

use crate::Compiled;
use crate::program::{Claim, Property, RoleProgram};
use search::Search;
use world::Path;

/// How many worlds are looked at: some ten seconds of them.
const WORLDS_MOST: usize = 250_000;

/// How many ADUs are under way in each direction, where the model says nothing.
const HOLDS: u64 = 4;

/// What was found of a property.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// How many worlds were looked at.
    pub worlds: usize,
    /// How many ADUs waited for a role to hear them, at most.
    pub held_most: usize,
    /// Whether it holds.
    pub conclusion: Conclusion,
}

/// What is known of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// It holds in all worlds.
    Holds,
    /// It does not.
    Broken(Counterexample),
    /// There are more worlds than are looked at, and it holds in those.
    Undecided,
}

/// How a property is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// What is wrong, in a sentence.
    pub says: String,
    /// A line for each step, the shortest story there is.
    pub chart: Vec<String>,
}

/// Checks the properties of a protocol between its two roles, or between two ends of its only role.
///
/// # Errors
/// Where there are properties and more than two roles: no one pair is meant.
pub fn explore(compiled: &Compiled) -> Result<Vec<Checked>, &'static str> {
    if compiled.program.properties.is_empty() {
        return Ok(Vec::new());
    }
    let sides = match compiled.program.roles.len() {
        1 => [0, 0],
        2 => [0, 1],
        _ => return Err("properties are checked between two roles"),
    };
    let both = [(compiled, sides[0]), (compiled, sides[1])];
    let properties = compiled.program.properties.iter();
    Ok(properties.map(|property| check(both, compiled, property)).collect())
}

/// Checks the properties of a new version where one end has the old one: the new first role beside
/// the old second, and the other way round. Each name says which.
///
/// # Errors
/// Where there are properties, and the two versions do not have the same two roles.
pub fn explore_mixed(new: &Compiled, old: &Compiled) -> Result<Vec<Checked>, &'static str> {
    if new.program.properties.is_empty() {
        return Ok(Vec::new());
    }
    let names = |of: &Compiled| -> Vec<String> {
        of.program.roles.iter().map(|role| role.name.clone()).collect()
    };
    if names(new) != names(old) || new.program.roles.len() != 2 {
        return Err("both versions have the same two roles");
    }
    let [first, second] = [0, 1].map(|nth: usize| new.program.roles[nth].name.as_str());
    let mixed = [
        ([(new, 0), (old, 1)], format!("new {first}, old {second}")),
        ([(old, 0), (new, 1)], format!("old {first}, new {second}")),
    ];
    let mut all = Vec::new();
    for (sides, which) in mixed {
        for property in &new.program.properties {
            let checked = check(sides, new, property);
            all.push(Checked { name: format!("{} ({which})", checked.name), ..checked });
        }
    }
    Ok(all)
}

/// A compiled text, and the number of a role in it.
type Side<'a> = (&'a Compiled, usize);

fn role<'a>(side: Side<'a>) -> &'a RoleProgram {
    &side.0.program.roles[side.1]
}

fn check(sides: [Side<'_>; 2], model: &Compiled, property: &Property) -> Checked {
    let of = &model.program.model;
    let (loses, doubles) = match property.claim {
        Claim::Eventually { loses, doubles, .. } => {
            (loses.unwrap_or(of.loses), doubles.unwrap_or(of.doubles))
        }
        _ => (of.loses, of.doubles),
    };
    let path = Path {
        loses,
        doubles,
        reorders: of.reorders,
        forgets: of.holds == Some(0),
        most: of.holds.filter(|holds| *holds > 0).unwrap_or(HOLDS) as usize,
    };
    Search::new(sides, of, path, property).run(WORLDS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_worlds_than_are_looked_at_are_not_decided() {
        let endless = "protocol Endless version 1 {
            adu Ping { n: u64; }
            adu Pong { n: u64; }
            role One {
                sends Ping; receives Pong; output Done; var x: u64;
                loop { send Ping { n: x }; await Pong; x := x + 1; }
            }
            role Two { sends Pong; receives Ping; every Ping(p) { send Pong { n: p.n }; } }
            property done: never One.emit Done;
        }";
        let of = crate::compile(endless).expect("it compiles");
        let property = &of.program.properties[0];
        let path = Path { loses: 0, doubles: 0, reorders: false, forgets: false, most: 4 };
        let found = Search::new([(&of, 0), (&of, 1)], &of.program.model, path, property).run(99);
        assert_eq!((found.conclusion, found.worlds), (Conclusion::Undecided, 100));
    }
}
