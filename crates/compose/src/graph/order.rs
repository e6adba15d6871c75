//! Which joints there are, and in which order timeouts and flushes pass.

use alloc::vec::Vec;

use stackwright_contract::Service;
use stackwright_wire::Message;

use super::place::{Below, Joint};
use super::web::{Step, Web};

impl<M: Message, B: Service + 'static> Web<M, B> {
    /// Finds the joints anew; nothing may wait in the old ones.
    pub(super) fn join(&mut self) {
        debug_assert_eq!(self.waiting.get(), 0, "a graph is changed between two batches");
        let lowers: Vec<Vec<usize>> =
            self.places.iter().map(|place| lowers(&place.below)).collect();
        self.joints.clear();
        for place in &mut self.places {
            place.joint = None;
        }
        for place in 0..lowers.len() {
            if lowers[place].is_empty() || self.places[place].joint.is_some() {
                continue;
            }
            for uppers in sharing(place, &lowers) {
                let mut below = Vec::new();
                for upper in &uppers {
                    self.places[*upper].joint = Some(self.joints.len());
                    for lower in &lowers[*upper] {
                        if !below.contains(lower) {
                            below.push(*lower);
                        }
                    }
                }
                self.joints.push(Joint::new(uppers, below));
            }
        }
        self.schedule();
    }

    /// Finds the order of a timeout, which is that of `Over` and `Beside`: lowers before uppers,
    /// from the left, and each joint is settled when its lowers are done, and when its uppers are.
    fn schedule(&mut self) {
        let (mut steps, mut order) = (Vec::new(), Vec::new());
        let mut done = alloc::vec![false; self.joints.len()];
        for joint in 0..self.joints.len() {
            self.visit(joint, &mut done, &mut steps, &mut order);
        }
        // What stands alone, without a lower or an upper.
        for place in 0..self.places.len() {
            if !steps.contains(&Step::Place(place)) {
                steps.push(Step::Place(place));
            }
        }
        (self.steps, self.order) = (steps, order);
        self.descent = self.descend();
    }

    /// Returns the order of a flush, which is that of `Over` and `Beside`: uppers before lowers,
    /// from the left, and each joint is settled when its uppers are done, and when its lowers are.
    fn descend(&self) -> Vec<Step> {
        // How many joints above each place have not been walked through.
        let mut above = alloc::vec![0; self.places.len()];
        for lower in self.joints.iter().flat_map(|joint| &joint.lowers) {
            above[*lower] += 1;
        }
        let (mut steps, mut done) = (Vec::new(), alloc::vec![false; self.joints.len()]);
        for joint in 0..self.joints.len() {
            self.descend_through(joint, &mut above, &mut done, &mut steps);
        }
        // What stands alone, without a lower or an upper.
        for place in 0..self.places.len() {
            if !steps.contains(&Step::Place(place)) {
                steps.push(Step::Place(place));
            }
        }
        steps
    }

    /// Walks through a joint, once everything above its uppers was walked through.
    fn descend_through(
        &self,
        joint: usize,
        above: &mut [usize],
        done: &mut [bool],
        steps: &mut Vec<Step>,
    ) {
        let Joint { uppers, lowers, .. } = &self.joints[joint];
        if done[joint] || uppers.iter().any(|upper| above[*upper] > 0) {
            return;
        }
        done[joint] = true;
        steps.extend(uppers.iter().map(|upper| Step::Place(*upper)));
        steps.push(Step::Settle(joint));
        for lower in lowers {
            above[*lower] -= 1;
            match self.places[*lower].joint {
                Some(below) => self.descend_through(below, above, done, steps),
                None if above[*lower] == 0 => steps.push(Step::Place(*lower)),
                None => {}
            }
        }
        steps.push(Step::Settle(joint));
    }

    fn visit(
        &self,
        joint: usize,
        done: &mut [bool],
        steps: &mut Vec<Step>,
        order: &mut Vec<usize>,
    ) {
        if core::mem::replace(&mut done[joint], true) {
            return;
        }
        let Joint { uppers, lowers, .. } = &self.joints[joint];
        for lower in lowers {
            match self.places[*lower].joint {
                Some(below) => self.visit(below, done, steps, order),
                None if steps.contains(&Step::Place(*lower)) => {}
                None => steps.push(Step::Place(*lower)),
            }
        }
        order.push(joint);
        steps.push(Step::Settle(joint));
        steps.extend(uppers.iter().map(|upper| Step::Place(*upper)));
        steps.push(Step::Settle(joint));
    }
}

/// Returns the uppers that share a joint with the one at `place`: all that share a lower with it,
/// or with one of those, as all uppers of a static `Fork` do. Where one of them stands above
/// another, each has its own: otherwise it would be told an answer while it still speaks.
fn sharing(place: usize, lowers: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut uppers = alloc::vec![place];
    let mut looked = 0;
    while let Some(upper) = uppers.get(looked).copied() {
        looked += 1;
        for other in 0..lowers.len() {
            if !uppers.contains(&other)
                && lowers[other].iter().any(|lower| lowers[upper].contains(lower))
            {
                uppers.push(other);
            }
        }
    }
    uppers.sort_unstable();
    if uppers.iter().any(|upper| uppers.iter().any(|other| stands_above(*upper, *other, lowers))) {
        return uppers.into_iter().map(|upper| alloc::vec![upper]).collect();
    }
    alloc::vec![uppers]
}

fn stands_above(upper: usize, other: usize, lowers: &[Vec<usize>]) -> bool {
    let mut reached = lowers[upper].clone();
    let mut looked = 0;
    while let Some(place) = reached.get(looked).copied() {
        looked += 1;
        for lower in &lowers[place] {
            if !reached.contains(lower) {
                reached.push(*lower);
            }
        }
    }
    reached.contains(&other)
}

fn lowers(below: &[Below]) -> Vec<usize> {
    let mut lowers = Vec::new();
    for below in below {
        if let Below::Place(lower, _) = below
            && !lowers.contains(lower)
        {
            lowers.push(*lower);
        }
    }
    lowers
}
