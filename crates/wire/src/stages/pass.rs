//! The pass itself: blocks that do not care where one leaf ends and the next begins.

use super::{BLOCK, Stage};
use crate::processor::{self, Work};

/// The length of most blocks: several of the least, so that a check has more to add at once.
const LONG: usize = 4 * BLOCK;

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
    let (blocks, tail) = octets.split_at_mut(octets.len() - octets.len() % BLOCK);
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
    #[inline]
    pub fn add(&mut self, leaf: &[u8]) {
        let leaf = if self.begun == 0 { leaf } else { self.complete(leaf) };
        let (blocks, rest) = leaf.split_at(leaf.len() - leaf.len() % BLOCK);
        let target = self.advance(blocks.len());
        processor::run(Through { blocks, target, stages: self.stages });
        self.keep(rest);
    }

    /// Completes a block that another leaf began, and returns the rest of this leaf.
    #[inline(never)]
    fn complete<'b>(&mut self, leaf: &'b [u8]) -> &'b [u8] {
        let (missing, rest) = leaf.split_at((BLOCK - self.begun).min(leaf.len()));
        self.keep(missing);
        if self.begun == BLOCK {
            self.begun = 0;
            let (block, _) = self.advance(BLOCK).as_chunks_mut::<BLOCK>();
            block.iter_mut().for_each(|block| self.stages.block(block));
        }
        rest
    }

    /// Has the last octets pass, and returns how many there were in all.
    #[inline]
    pub fn finish(self) -> usize {
        if self.begun > 0 {
            self.stages.tail(&mut self.target[..self.begun]);
        }
        self.passed + self.begun
    }

    /// Copies octets of a block that is not complete.
    #[inline]
    fn keep(&mut self, octets: &[u8]) {
        self.target[self.begun..][..octets.len()].copy_from_slice(octets);
        self.begun += octets.len();
    }

    /// Takes the next `octets` octets off the target.
    #[inline]
    fn advance(&mut self, octets: usize) -> &'a mut [u8] {
        let target = core::mem::take(&mut self.target);
        let (front, rest) = target.split_at_mut(octets);
        self.target = rest;
        self.passed += octets;
        front
    }
}

/// Whole blocks that are copied.
struct Through<'a, S> {
    blocks: &'a [u8],
    target: &'a mut [u8],
    stages: &'a mut S,
}

impl<S: Stage> Work for Through<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // A local copy is kept in registers.
        let mut stages = self.stages.clone();
        let (long, short) = self.blocks.as_chunks::<LONG>();
        let (long_to, short_to) = self.target.as_chunks_mut::<LONG>();
        copy(long, long_to, &mut stages);
        let (short, short_to) = (short.as_chunks::<BLOCK>().0, short_to.as_chunks_mut().0);
        copy(short, short_to, &mut stages);
        *self.stages = stages;
    }
}

#[inline(always)]
fn copy<const N: usize>(from: &[[u8; N]], to: &mut [[u8; N]], stages: &mut impl Stage) {
    for (from, to) in from.iter().zip(to) {
        let mut block = *from;
        stages.block(&mut block);
        *to = block;
    }
}

/// Whole blocks that stay where they are.
struct InPlace<'a, S> {
    blocks: &'a mut [u8],
    stages: &'a mut S,
}

impl<S: Stage> Work for InPlace<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut stages = self.stages.clone();
        let (long, short) = self.blocks.as_chunks_mut::<LONG>();
        alter(long, &mut stages);
        alter(short.as_chunks_mut::<BLOCK>().0, &mut stages);
        *self.stages = stages;
    }
}

#[inline(always)]
fn alter<const N: usize>(blocks: &mut [[u8; N]], stages: &mut impl Stage) {
    for at in blocks {
        let mut block = *at;
        stages.block(&mut block);
        *at = block;
    }
}
