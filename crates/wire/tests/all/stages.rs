//! Integrated layer processing: one pass gives what separate passes give, however the octets are
//! split.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::check::{Crc32c, Cxor, Internet};
use stackwright_wire::stages::{BLOCK, ByteSwap, Pass, Stage, XorMask, copy_through, in_place};
use stackwright_wire::{BufferTree, Message};

const KEY: [u8; 4] = [0x5a, 0x01, 0xff, 0x80];

fn octets(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n * 31 + n / 256 * 7 + 11) as u8).collect()
}

/// What each stage does, as plainly as it can be said.
fn masked(octets: &[u8]) -> Vec<u8> {
    octets.iter().enumerate().map(|(at, octet)| octet ^ KEY[at % 4]).collect()
}

fn swapped(octets: &[u8]) -> Vec<u8> {
    let whole = octets.len() - octets.len() % 4;
    let words = octets[..whole].chunks(4);
    words.flat_map(|word| word.iter().rev()).chain(&octets[whole..]).copied().collect()
}

/// A check before, between and behind what alters octets.
type All = ((Cxor, Internet), XorMask, (Internet, Crc32c), (ByteSwap, Cxor));

fn all() -> All {
    let checks = (Cxor::new(), Internet::new());
    (checks, XorMask::new(KEY), (Internet::new(), Crc32c::new()), (ByteSwap, Cxor::new()))
}

/// Holds what `stages` say of `octets`, and what is left of them, against separate passes.
fn assert_separate(stages: &All, octets: &[u8], result: &[u8]) {
    let ((cxor, internet), _, (internet_masked, crc), (_, cxor_swapped)) = stages;
    let length = octets.len();
    let masked = masked(octets);
    let swapped = swapped(&masked);
    assert_eq!(result, swapped, "length {length}");
    assert_eq!(cxor.value(), Cxor::of(octets), "length {length}");
    assert_eq!(internet.value(), Internet::of(octets), "length {length}");
    assert_eq!(internet_masked.value(), Internet::of(&masked), "length {length}");
    assert_eq!(crc.value(), Crc32c::of(&masked), "length {length}");
    assert_eq!(cxor_swapped.value(), Cxor::of(&swapped), "length {length}");
}

#[test]
fn every_length() {
    let octets = octets(1000);
    for length in 0..=octets.len() {
        let octets = &octets[..length];
        let (mut target, mut stages) = (vec![0; length], all());
        assert_eq!(copy_through([octets], &mut target, &mut stages), length);
        assert_separate(&stages, octets, &target);

        let (mut target, mut stages) = (octets.to_vec(), all());
        in_place(&mut target, &mut stages);
        assert_separate(&stages, octets, &target);
    }
}

/// Both joints at every place around the borders of blocks, empty leaves and odd ones.
#[test]
fn every_split() {
    let octets = octets(300);
    for first in 0..=octets.len() {
        for second in (first..=octets.len()).step_by(if first < 9 { 1 } else { 13 }) {
            let leaves = [&octets[..first], &octets[first..second], &octets[second..]];
            let (mut target, mut stages) = (vec![0; octets.len()], all());
            copy_through(leaves, &mut target, &mut stages);
            assert_separate(&stages, &octets, &target);
        }
    }
}

proptest! {
    #[test]
    fn any_leaves(leaves in vec(vec(any::<u8>(), 0..300), 0..10)) {
        let octets = leaves.concat();
        let (mut target, mut stages) = (vec![0; octets.len()], all());
        copy_through(leaves.iter().map(Vec::as_slice), &mut target, &mut stages);
        assert_separate(&stages, &octets, &target);
    }

    /// What has a state goes on where the pass before ended, in the middle of a word, too.
    #[test]
    fn several_passes(first in vec(any::<u8>(), 0..300), second in vec(any::<u8>(), 0..300)) {
        let whole = [&first[..], &second].concat();
        let mut target = whole.clone();
        let mut stages = (Cxor::new(), XorMask::new(KEY), Internet::new(), Crc32c::new());
        let (before, behind) = target.split_at_mut(first.len());
        in_place(before, &mut stages);
        in_place(behind, &mut stages);
        prop_assert_eq!(&target, &masked(&whole));
        prop_assert_eq!(stages.0.value(), Cxor::of(&whole));
        prop_assert_eq!(stages.2.value(), Internet::of(&target));
        prop_assert_eq!(stages.3.value(), Crc32c::of(&target));
    }
}

/// A message lends its leaves one by one.
#[test]
fn a_message() {
    let octets = octets(500);
    let mut message = BufferTree::with_headroom(0, &octets[..301]);
    message.join(BufferTree::with_headroom(0, &octets[301..]));
    let (mut target, mut stages) = (vec![0xee; 600], all());
    let mut pass = Pass::new(&mut target, &mut stages);
    message.each(|leaf| pass.add(leaf));
    let length = pass.finish();
    assert_separate(&stages, &octets, &target[..length]);
    assert!(target[length..].iter().all(|octet| *octet == 0xee), "nothing behind it is written");
}

#[test]
#[should_panic]
fn a_target_that_is_too_short_is_a_bug() {
    copy_through([&[1; 200][..]], &mut [0; 199], &mut (Cxor::new(),));
}

/// A stage sees every octet once, in order: whole blocks, then the rest.
#[test]
fn blocks_then_a_tail() {
    #[derive(Clone, Default)]
    struct Seen {
        octets: Vec<u8>,
        tail: usize,
    }
    impl Stage for Seen {
        fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
            assert!(N > 0 && N.is_multiple_of(BLOCK) && self.tail == 0, "{N} octets");
            self.octets.extend(&block[..]);
        }
        fn tail(&mut self, octets: &mut [u8]) {
            assert!(!octets.is_empty() && octets.len() < BLOCK && self.tail == 0);
            self.tail = octets.len();
            self.octets.extend(&octets[..]);
        }
    }
    for length in [0, 1, 31, 32, 33, 128, 129, 300] {
        let octets = octets(length);
        for split in 0..=length {
            let (mut target, mut seen) = (vec![0; length], Seen::default());
            let (first, second) = octets.split_at(split);
            copy_through([first, second], &mut target, &mut seen);
            assert_eq!((&seen.octets, &target), (&octets, &octets));
            assert_eq!(seen.tail, length % BLOCK);
        }
    }
}
