//! The pass itself: blocks that do not care where one leaf ends and the next begins.

use super::{BLOCK, Stage};
use crate::processor::{self, Work};

/// Copies `leaves`, one behind the other, to the front of `target`, through `stages`. Returns how
/// many octets there were.
///
/// # Panics
/// Where `target` is shorter than all leaves.
#[inline]
pub fn copy_through<'a>(
    leaves: impl IntoIterator<Item = &'a [u8]>,
    target: &mut [u8],
    stages: &mut impl Stage,
) -> usize {
    let mut pass = Pass::new(target, stages);
    leaves.into_iter().for_each(|leaf| pass.add(leaf));
    pass.finish()
}

/// Has `octets` pass through `stages` where they are.
#[inline]
pub fn in_place(octets: &mut [u8], stages: &mut impl Stage) {
    let (blocks, tail) = octets.as_chunks_mut();
    processor::run(InPlace { blocks, stages });
    if !tail.is_empty() {
        stages.tail(tail);
    }
}

/// A pass that is given its leaves one by one, as [`Message::each`](crate::Message::each) lends
/// them.
#[derive(Debug)]
pub struct Pass<'a, S> {
    /// What is behind the blocks that have passed.
    target: &'a mut [u8],
    /// The octets of a block in front of it that have not passed: another leaf has to complete it.
    begun: usize,
    /// The octets of all blocks that have passed.
    passed: usize,
    stages: &'a mut S,
}

impl<'a, S: Stage> Pass<'a, S> {
    /// Creates a pass into `target` through `stages`.
    pub fn new(target: &'a mut [u8], stages: &'a mut S) -> Self {
        Pass { target, begun: 0, passed: 0, stages }
    }

    /// Copies the next leaf.
    ///
    /// # Panics
    /// Where it does not fit into the rest of the target.
    pub fn add(&mut self, leaf: &[u8]) {
        let missing = if self.begun == 0 { 0 } else { (BLOCK - self.begun).min(leaf.len()) };
        let (completes, leaf) = leaf.split_at(missing);
        self.keep(completes);
        if self.begun == BLOCK {
            let (block, _) = self.advance(BLOCK).as_chunks_mut();
            block.iter_mut().for_each(|block| self.stages.block(block));
            self.begun = 0;
        }
        let (blocks, rest) = leaf.as_chunks();
        let (target, _) = self.advance(blocks.len() * BLOCK).as_chunks_mut();
        processor::run(Through { blocks, target, stages: self.stages });
        self.keep(rest);
    }

    /// Has the last octets pass, and returns how many there were in all.
    pub fn finish(self) -> usize {
        if self.begun > 0 {
            self.stages.tail(&mut self.target[..self.begun]);
        }
        self.passed + self.begun
    }

    /// Copies octets of a block that is not complete.
    fn keep(&mut self, octets: &[u8]) {
        self.target[self.begun..][..octets.len()].copy_from_slice(octets);
        self.begun += octets.len();
    }

    /// Takes the next `octets` octets off the target.
    fn advance(&mut self, octets: usize) -> &'a mut [u8] {
        let target = core::mem::take(&mut self.target);
        let (front, rest) = target.split_at_mut(octets);
        self.target = rest;
        self.passed += octets;
        front
    }
}

struct Through<'a, S> {
    blocks: &'a [[u8; BLOCK]],
    target: &'a mut [[u8; BLOCK]],
    stages: &'a mut S,
}

impl<S: Stage> Work for Through<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Local copies can be kept in registers.
        let mut stages = self.stages.clone();
        for (from, to) in self.blocks.iter().zip(self.target) {
            let mut block = *from;
            stages.block(&mut block);
            *to = block;
        }
        *self.stages = stages;
    }
}

struct InPlace<'a, S> {
    blocks: &'a mut [[u8; BLOCK]],
    stages: &'a mut S,
}

impl<S: Stage> Work for InPlace<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut stages = self.stages.clone();
        for at in self.blocks {
            let mut block = *at;
            stages.block(&mut block);
            *at = block;
        }
        *self.stages = stages;
    }
}
