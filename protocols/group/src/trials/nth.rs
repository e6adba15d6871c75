//! The n-th packet of each member is lost, doubled, late or altered, through everything that
//! changes a view.

use std::ops::Range;
use std::string::String;
use std::vec::Vec;
use std::{format, thread};

use stackwright_contract::Duration;
use stackwright_simulator::{Deed, seeds};

use super::calm::Calm;

/// The packets of a link that are tried.
const PACKETS: u64 = 200;
/// Between two of them, where not all are tried.
const STRIDE: u64 = 29;

const DEEDS: [Deed; 4] = [
    Deed::Lose,
    Deed::Duplicate { by: Duration::from_millis(30) },
    Deed::HoldBack { by: Duration::from_secs(1) },
    Deed::Alter { bit: 77 },
];

#[derive(Clone, Copy, Debug)]
enum Change {
    Join,
    Crash,
    Leave,
    Partition,
    Healing,
}

const CHANGES: [Change; 5] =
    [Change::Join, Change::Crash, Change::Leave, Change::Partition, Change::Healing];

/// Returns what was wrong.
fn run(change: Change, from: usize, nth: u64, deed: Deed) -> Option<String> {
    let mut calm = Calm::new(3, 4, nth, 0);
    let cut = |calm: &mut Calm| {
        for other in [0, 1, 3] {
            calm.cut(2, other, true);
            calm.cut(other, 2, true);
        }
    };
    if let Change::Healing = change {
        cut(&mut calm);
        assert!(calm.comes_together(&[0, 1], 3000), "they go on without the third");
    }
    // Where a link is cut, nothing else happens to its packets.
    let others: &[usize] = match change {
        Change::Partition if from == 2 => &[],
        Change::Partition => &[0, 1, 3],
        _ => &[0, 1, 2, 3],
    };
    if !matches!(change, Change::Healing) {
        calm.script(from, others, nth, deed);
    }
    let stay: &[usize] = match change {
        Change::Join => {
            calm.open(3);
            &[0, 1, 2, 3]
        }
        Change::Crash => {
            calm.crash(0);
            &[1, 2]
        }
        Change::Leave => {
            calm.leave(0);
            &[1, 2]
        }
        Change::Partition => {
            cut(&mut calm);
            &[0, 1]
        }
        Change::Healing => {
            for other in [0, 1, 3] {
                calm.cut(2, other, false);
                calm.cut(other, 2, false);
            }
            calm.script(from, others, nth, deed);
            &[0, 1, 2]
        }
    };
    (0..150).for_each(|_| calm.step(stay));
    let together = calm.comes_together(stay, 4000);
    let broken = calm.broken();
    let is_well = together && broken.is_empty();
    (!is_well).then(|| {
        let what = (change, from, nth, deed);
        let views: Vec<_> = stay.iter().map(|at| calm.view(*at)).collect();
        format!("{what:?}: together {together}, broken {broken:?}, {views:#?}")
    })
}

/// Tries a part of all combinations.
fn try_part(part: usize, parts: usize, step: u64, nth: Range<u64>) -> Vec<String> {
    let of = move |change: usize, from: usize, deed: usize| {
        let first = (change * 7 + from * 5 + deed * 3) as u64 % step;
        let all = nth.clone().skip(first as usize).step_by(step as usize);
        all.filter_map(move |nth| run(CHANGES[change], from, nth, DEEDS[deed]))
    };
    let all = (0..CHANGES.len() * 4 * DEEDS.len()).skip(part).step_by(parts);
    all.flat_map(|which| of(which / 16, which / 4 % 4, which % 4)).collect()
}

/// All packets with `SEEDS` in the environment, else one of many.
#[test]
fn the_nth_packet_of_any_member_breaks_nothing() {
    let step = if seeds(1).count() > 1 { 1 } else { STRIDE };
    let parts = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = thread::scope(|scope| {
        let start = |part| scope.spawn(move || try_part(part, parts, step, 0..PACKETS));
        let parts: Vec<_> = (0..parts).map(start).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} runs: {}", wrong.len(), wrong[0]);
}
