//! E15: integrated layer processing: copy, check, mask and byte swap in one pass, and one after the
//! other.

use std::cell::RefCell;
use std::hint::black_box;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_wire::check::Cxor;
use stackwright_wire::stages::{ByteSwap, Stage, XorMask, copy_through, in_place};

use super::super::{About, AnyTable, Cell, Table};
use super::pieces::{Cache, Pieces};
use crate::measure::{Contestant, Course, Limit};

/// What a sample goes through, in octets.
const OCTETS: usize = 32 << 20;

/// Longer than the caches.
const LONGEST: usize = 64 << 20;
const HOT: [usize; 4] = [1500, 8192, 65_536, 1 << 20];
const COLD: [usize; 5] = [1500, 8192, 65_536, 1 << 20, LONGEST];

const ONE: &str = "one pass";
const SEPARATE: &str = "separate passes";

/// How many of what is done: the copy counts.
const STAGES: [usize; 3] = [2, 3, 4];
const NAMES: [&str; 4] = ["copy", "CXOR", "mask", "byte swap"];
const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// D. Clark and D. Tennenhouse, as the report quotes them in §1.3: copy and check, in Mb/s.
const DOCUMENT: [(&str, f64); 2] = [(SEPARATE, 60.0), (ONE, 90.0)];

/// How many stages, where the octets are, and the length of a piece.
type Task = (usize, Cache, usize);

/// The table.
pub(crate) const ONE_PASS: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "ilp",
        title: "several layers in one pass",
        measures: "Pieces of equal length are copied, checked by CXOR, XORed with a mask, and \
                   their words swapped: in one pass over all, and in a pass for each. The \
                   same piece again and again (hot), or one after the other of 64 MiB (cold).",
        source: "INRIA RR-2102 of 1993, §1.3, of a MIPS processor",
        axes: Axes { x: "octets", y: "Gb/s", log_x: true, log_y: false },
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, _| Ok(()),
    measure,
};

fn cells() -> Vec<Cell<Task>> {
    let tasks = STAGES.into_iter().flat_map(|stages| {
        let hot = HOT.map(|length| (stages, Cache::Hot, length));
        hot.into_iter().chain(COLD.map(|length| (stages, Cache::Cold, length)))
    });
    let cell = |task: Task| {
        let (stages, cache, length) = task;
        let (name, label) = (cache.name(), format!("{length} octets"));
        let group = format!("{}; {name}", NAMES[..stages].join(", "));
        let row = Row::new(format!("{stages}/{name}/{length}"), group, label, "Gb/s");
        let is_document = (stages, length) == (2, LONGEST);
        let document = if is_document { figures(DOCUMENT, "Mb/s") } else { Vec::new() };
        (row.at(length as f64).more_is_better().beside(document), task)
    };
    tasks.map(cell).collect()
}

fn measure(
    (): &mut (),
    &(stages, cache, length): &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let pieces = Pieces::new(cache, length);
    let from = pieces.octets(course.seed);
    let to = RefCell::new(vec![0; from.len()]);
    let rate = |pass: fn(usize, &[u8], &mut [u8]) -> u32| {
        let to = &mut *to.borrow_mut();
        Ok(pieces.rate(OCTETS, |at| {
            let check = pass(stages, &from[at.clone()], &mut to[at.clone()]);
            black_box(&mut to[at]);
            check
        }))
    };
    row.columns = course.compete([
        Contestant::ours(ONE, || rate(one_pass)),
        Contestant::peer(SEPARATE, || rate(separate_passes)),
    ])?;
    let least = match (length, stages) {
        (LONGEST, 2) => 1.2,
        (LONGEST, _) => 1.5,
        _ => 0.97,
    };
    row.compare(ONE, SEPARATE, Some(Target::AtLeast(least)));
    Ok(())
}

/// Copies `from` through as many stages, and returns the check of `from`.
#[inline(never)]
fn one_pass(stages: usize, from: &[u8], to: &mut [u8]) -> u32 {
    let (check, mask) = (Cxor::new(), XorMask::new(KEY));
    match stages {
        2 => through((check,), from, to).0,
        3 => through((check, mask), from, to).0,
        _ => through((check, mask, ByteSwap), from, to).0,
    }
    .value()
}

fn through<S: Stage>(mut stages: S, from: &[u8], to: &mut [u8]) -> S {
    copy_through([from], to, &mut stages);
    stages
}

/// The same, with a pass for each.
#[inline(never)]
fn separate_passes(stages: usize, from: &[u8], to: &mut [u8]) -> u32 {
    to.copy_from_slice(from);
    let check = Cxor::of(to);
    if stages > 2 {
        in_place(to, &mut XorMask::new(KEY));
    }
    if stages > 3 {
        in_place(to, &mut ByteSwap);
    }
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_do_the_same() {
        for stages in STAGES {
            for length in (0..600).chain([1500, 8192, 65_537]) {
                let from = Pieces::new(Cache::Hot, length.max(1)).octets(length as u64);
                let (mut fused, mut apart) = (vec![1; from.len()], vec![2; from.len()]);
                let checks = [
                    one_pass(stages, &from, &mut fused),
                    separate_passes(stages, &from, &mut apart),
                ];
                assert_eq!(checks, [Cxor::of(&from); 2], "{stages} stages, length {length}");
                assert_eq!(fused, apart, "{stages} stages, length {length}");
                assert_eq!(fused == from, stages == 2, "what alters octets does");
            }
        }
    }
}
