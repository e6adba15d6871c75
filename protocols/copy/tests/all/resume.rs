//! Copies that are interrupted and go on, between two disks.

use std::cell::RefCell;
use std::rc::Rc;

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::Failure;
use stackwright_contract::{Duration, Handle};
use stackwright_copy::{Copy, CopySide, Indication as Told, Request as Ask};
use stackwright_simulator::{DiskFaults, Heard, SimulatedDisk, StationId, Tree, World};
use stackwright_wire::SingleBuffer as M;

type Stack = Over<Copy<M>, Beside<SimulatedDisk<M>, SimulatedDisk<M>>>;

/// The name of all jobs here: each ends before the next begins.
const JOB: Handle = Handle { index: 0, generation: 0 };

struct Desk {
    world: World<M>,
    station: StationId<Stack, Heard<Told>>,
    left: Rc<RefCell<Tree>>,
    right: Rc<RefCell<Tree>>,
    checked_first: bool,
}

const LENGTH: usize = 3_000_000;

fn content(seed: u8) -> Vec<u8> {
    (0..LENGTH).map(|index| (index * 7 + index / 251) as u8 ^ seed).collect()
}

impl Desk {
    fn new(checked_first: bool) -> Self {
        let mut world = World::new(1);
        let (left, right) = (Tree::shared(), Tree::shared());
        let disks =
            Beside::new(SimulatedDisk::new(left.clone()), SimulatedDisk::new(right.clone()));
        let station = world.add_at(&[], Over::new(Copy::default(), disks), Heard::default());
        left.borrow_mut().put("a", content(0));
        Desk { world, station, left, right, checked_first }
    }

    fn ask(&mut self) {
        let (from, source, target) = (CopySide::Left, "a".into(), "b".into());
        let checked_first = self.checked_first;
        self.world.ask(self.station, Ask::Resume { job: JOB, from, source, target, checked_first });
    }

    /// Copies to the end: the last word.
    fn run(&mut self) -> Told {
        self.ask();
        self.finish()
    }

    fn finish(&mut self) -> Told {
        while self.world.step() {}
        let stack = self.world.stack(self.station);
        assert_eq!(stack.upper.names(), 0);
        assert_eq!((stack.lower.left.open_files(), stack.lower.right.open_files()), (0, 0));
        self.world.application(self.station).0.last().expect("it has a last word").clone()
    }

    /// Gives up when some of it is written; a part is left.
    fn interrupt(&mut self) {
        self.right.borrow_mut().faults.delay = Duration::from_millis(10);
        self.ask();
        while self.right.borrow().written() < 300_000 {
            assert!(self.world.step());
        }
        self.world.ask(self.station, Ask::GiveUp);
        let last = self.finish();
        assert!(matches!(last, Told::Failed { failure: Failure::GivenUp, .. }), "{last:?}");
        self.right.borrow_mut().faults = DiskFaults::default();
        assert_eq!(self.right.borrow().files(), [""; 0], "it has no name");
    }

    fn is_whole(&self, seed: u8) {
        assert!(self.right.borrow().octets("b") == Some(content(seed)));
    }
}

fn moved(told: &Told) -> u64 {
    match told {
        Told::Copied { octets, moved, .. } => {
            assert_eq!(*octets, LENGTH as u64);
            *moved
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_there_is_not_moved_again() {
    for checked_first in [false, true] {
        let mut desk = Desk::new(checked_first);
        desk.interrupt();
        let moved = moved(&desk.run());
        assert!((1..LENGTH as u64 - 300_000 + 1).contains(&moved), "{moved}");
        desk.is_whole(0);
        // There is no part any more.
        assert_eq!(self::moved(&desk.run()), LENGTH as u64);
    }
}

/// Without digests, the version that was noted with the part decides.
#[test]
fn what_is_there_is_gone_on_with_where_its_version_is_the_same() {
    for checked_first in [false, true] {
        let mut desk = Desk::new(checked_first);
        for disk in [&desk.left, &desk.right] {
            disk.borrow_mut().faults.no_digests = true;
        }
        desk.left.borrow_mut().set_modified("a", 7);
        desk.interrupt();
        desk.right.borrow_mut().faults.no_digests = true;
        let moved = moved(&desk.run());
        assert!((1..LENGTH as u64 - 300_000 + 1).contains(&moved), "{moved}");
        desk.is_whole(0);
    }
}

/// What cannot be shown to be the same is another: a source without a time, or whose time is
/// another, whatever its octets are, and whatever the clocks say.
#[test]
fn without_digests_another_version_is_begun_anew() {
    for (before, after) in [(None, None), (None, Some(7)), (Some(7), Some(8)), (Some(8), Some(7))] {
        for seed in [0, 1] {
            let mut desk = Desk::new(true);
            for disk in [&desk.left, &desk.right] {
                disk.borrow_mut().faults.no_digests = true;
            }
            before.into_iter().for_each(|time| desk.left.borrow_mut().set_modified("a", time));
            desk.interrupt();
            desk.right.borrow_mut().faults.no_digests = true;
            if seed != 0 {
                desk.left.borrow_mut().put("a", content(seed));
            }
            after.into_iter().for_each(|time| desk.left.borrow_mut().set_modified("a", time));
            assert_eq!(moved(&desk.run()), LENGTH as u64, "{before:?} {after:?} {seed}");
            desk.is_whole(seed);
        }
    }
}

#[test]
fn what_is_no_beginning_of_the_source_is_begun_anew() {
    for checked_first in [false, true] {
        let mut desk = Desk::new(checked_first);
        desk.interrupt();
        desk.left.borrow_mut().put("a", content(1));
        assert_eq!(moved(&desk.run()), LENGTH as u64);
        desk.is_whole(1);
    }
}

#[test]
fn a_source_that_changes_while_the_rest_is_moved_is_begun_anew_once() {
    for checked_first in [false, true] {
        let mut desk = Desk::new(checked_first);
        desk.interrupt();
        desk.right.borrow_mut().faults.delay = Duration::from_millis(10);
        desk.ask();
        let written = desk.right.borrow().written();
        while desk.right.borrow().written() < written + 100_000 {
            assert!(desk.world.step());
        }
        desk.left.borrow_mut().put("a", content(1));
        let told = desk.finish();
        assert_eq!(moved(&told), LENGTH as u64);
        desk.is_whole(1);
    }
}

/// At whichever step the source changes, what gets the name is one version of it.
#[test]
fn two_versions_never_become_one_file() {
    for no_digests in [false, true] {
        for steps in (0..400).step_by(9) {
            let mut desk = Desk::new(true);
            let without = |desk: &Desk| {
                for disk in [&desk.left, &desk.right] {
                    disk.borrow_mut().faults.no_digests = no_digests;
                }
            };
            without(&desk);
            desk.left.borrow_mut().set_modified("a", 7);
            desk.interrupt();
            without(&desk);
            desk.ask();
            for _ in 0..steps {
                desk.world.step();
            }
            desk.left.borrow_mut().put("a", content(1));
            desk.left.borrow_mut().set_modified("a", 8);
            assert!(matches!(desk.finish(), Told::Copied { .. }), "{steps}");
            let stored = desk.right.borrow().octets("b");
            assert!(stored == Some(content(0)) || stored == Some(content(1)), "{steps}: mixed");
        }
    }
}

#[test]
fn a_source_that_is_gone_leaves_the_part() {
    let mut desk = Desk::new(true);
    desk.interrupt();
    let hidden = desk.left.borrow().octets("a").expect("it is there");
    desk.left.borrow_mut().vanish("a");
    assert!(matches!(desk.run(), Told::Failed { failure: Failure::NotFound, .. }));
    desk.left.borrow_mut().put("a", hidden);
    assert!(moved(&desk.run()) < LENGTH as u64);
    desk.is_whole(0);
}

#[test]
fn whatever_breaks_the_next_try_makes_the_file_whole() {
    for operation in (1..100).step_by(7) {
        for left in [false, true] {
            let mut desk = Desk::new(true);
            let disk = if left { &desk.left } else { &desk.right };
            disk.borrow_mut().faults.breaks_at = Some(operation);
            let first = desk.run();
            let disk = if left { &desk.left } else { &desk.right };
            disk.borrow_mut().faults = DiskFaults::default();
            if !matches!(first, Told::Copied { .. }) {
                moved(&desk.run());
            }
            desk.is_whole(0);
        }
    }
}

#[test]
fn a_file_that_is_complete_but_for_its_name_gets_it() {
    let mut desk = Desk::new(true);
    desk.right.borrow_mut().put_part("b", content(0));
    assert_eq!(moved(&desk.run()), 0);
    desk.is_whole(0);
}
