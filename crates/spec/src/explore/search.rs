//! All worlds, breadth first, and the story of one.

use std::cell::Cell;
use std::collections::HashMap;

use super::claims::judge;
use super::world::{Next, Path, Setting, World};
use super::{Checked, Conclusion, Counterexample, Side};
use crate::program::{Claim, Model, Property};

/// How many steps are taken for each world that may be looked at.
const STEPS_MOST: usize = 16;

pub(super) struct Search<'a> {
    setting: Setting<'a>,
    property: &'a Property,
    numbers: HashMap<World, usize>,
    worlds: Vec<World>,
    /// Of each world: the one before it, and what happened.
    stories: Vec<(Option<usize>, String)>,
    /// From which worlds each is reached; kept only where it is asked for.
    before: Vec<Vec<usize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        sides: [Side<'a>; 2],
        model: &'a Model,
        path: Path,
        property: &'a Property,
    ) -> Self {
        Search {
            setting: Setting { sides, model, path, is_cut: Cell::new(false) },
            property,
            numbers: HashMap::new(),
            worlds: Vec::new(),
            stories: Vec::new(),
            before: Vec::new(),
        }
    }

    pub(super) fn run(mut self, most: usize) -> Checked {
        let (mut held_most, mut trouble, mut undecided) = (0, None, false);
        for next in self.setting.first() {
            trouble = trouble.or(self.reach(next, None));
        }
        let (mut done, mut steps) = (0, 0);
        while trouble.is_none() && !undecided && done < self.worlds.len() {
            let world = self.worlds[done].clone();
            for nth in 0..2 {
                held_most = held_most.max(self.setting.held(&world, nth));
            }
            for next in self.setting.next(&world) {
                steps += 1;
                trouble = trouble.or(self.reach(next, Some(done)));
            }
            done += 1;
            undecided = self.worlds.len() > most
                || steps > most.saturating_mul(STEPS_MOST)
                || self.setting.is_cut.get();
        }
        let conclusion = match trouble {
            Some(trouble) => Conclusion::Broken(trouble),
            None if undecided => Conclusion::Undecided,
            None => self.missed().map_or(Conclusion::Holds, Conclusion::Broken),
        };
        let (name, worlds) = (self.property.name.clone(), self.worlds.len());
        Checked { name, worlds, held_most, conclusion }
    }

    /// Numbers a world that was reached; gives what is wrong with the step to it.
    fn reach(&mut self, mut next: Next, from: Option<usize>) -> Option<Counterexample> {
        let wrong = judge(&self.property.claim, self.setting.sides, &mut next);
        let Next { world, line, .. } = next;
        if let Some(says) = wrong {
            let mut chart = self.story(from);
            chart.extend(line.lines().map(str::to_owned));
            return Some(Counterexample { says, chart });
        }
        let fresh = self.worlds.len();
        let number = *self.numbers.entry(world.clone()).or_insert(fresh);
        if number == fresh {
            self.worlds.push(world);
            self.stories.push((from, line));
            self.before.push(Vec::new());
        }
        if let (Some(from), Claim::Eventually { .. }) = (from, &self.property.claim) {
            self.before[number].push(from);
        }
        None
    }

    fn story(&self, mut at: Option<usize>) -> Vec<String> {
        let mut parts = Vec::new();
        while let Some(number) = at {
            let (before, line) = &self.stories[number];
            parts.push(line);
            at = *before;
        }
        parts.iter().rev().flat_map(|part| part.lines()).map(str::to_owned).collect()
    }

    /// Of `eventually`: a world from which it can never be done, the nearest.
    fn missed(&self) -> Option<Counterexample> {
        let Claim::Eventually { .. } = self.property.claim else { return None };
        let mut can = vec![false; self.worlds.len()];
        let mut open: Vec<usize> =
            (0..self.worlds.len()).filter(|number| self.worlds[*number].marks[0] == 1).collect();
        open.iter().for_each(|number| can[*number] = true);
        while let Some(number) = open.pop() {
            for before in &self.before[number] {
                if !can[*before] {
                    can[*before] = true;
                    open.push(*before);
                }
            }
        }
        let missed = can.iter().position(|can| !can)?;
        let says = String::from("from here on it cannot be done any more");
        Some(Counterexample { says, chart: self.story(Some(missed)) })
    }
}
