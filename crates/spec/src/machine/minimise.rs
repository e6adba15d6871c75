//! Partition refinement: states are in one class as long as they hear the same and their decisions
//! are the same, each target being replaced by its class.

use std::collections::HashMap;

use super::{Automaton, Decision, Place};
use crate::kernel::Set;

impl Automaton {
    /// Returns the automaton in which states that nothing can tell apart are one.
    #[must_use]
    pub fn minimised(&self) -> Automaton {
        let mut class = vec![0_u32; self.states.len()];
        loop {
            let mut smaller = Automaton::default();
            let mut numbers: HashMap<(bool, Set, Place), u32> = HashMap::new();
            let mut copied = HashMap::new();
            let mut refined = Vec::with_capacity(self.states.len());
            for (state, place) in self.states.iter().enumerate() {
                let place = smaller.copy(self, *place, &class, &mut copied);
                let fresh = numbers.len() as u32;
                // The state before the first instant stays apart: nothing leads back to it.
                let number =
                    *numbers.entry((state == 0, self.heard[state], place)).or_insert_with(|| {
                        smaller.states.push(place);
                        smaller.heard.push(self.heard[state]);
                        smaller.stands.push(Vec::new());
                        fresh
                    });
                smaller.stands[number as usize].extend_from_slice(&self.stands[state]);
                refined.push(number);
            }
            if refined == class {
                return smaller;
            }
            class = refined;
        }
    }

    fn copy(
        &mut self,
        from: &Automaton,
        place: Place,
        class: &[u32],
        copied: &mut HashMap<Place, Place>,
    ) -> Place {
        if let Some(there) = copied.get(&place) {
            return *there;
        }
        let decision = match from.decisions[place as usize] {
            Decision::Ask(want, yes, no) => {
                let yes = self.copy(from, yes, class, copied);
                let no = self.copy(from, no, class, copied);
                if yes == no {
                    copied.insert(place, yes);
                    return yes;
                }
                Decision::Ask(want, yes, no)
            }
            Decision::Act(act, then) => Decision::Act(act, self.copy(from, then, class, copied)),
            Decision::Go(state) => Decision::Go(class[state as usize]),
            Decision::End => Decision::End,
        };
        let there = self.enter(decision);
        copied.insert(place, there);
        there
    }
}
