//! Copies between two disks, on which anything may go wrong.

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
}

impl Desk {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed);
        let (left, right) = (Tree::shared(), Tree::shared());
        let disks =
            Beside::new(SimulatedDisk::new(left.clone()), SimulatedDisk::new(right.clone()));
        let station = world.add_at(&[], Over::new(Copy::default(), disks), Heard::default());
        Desk { world, station, left, right }
    }

    fn copy(&mut self, source: &str, target: &str, early: bool) {
        let (from, source, target) = (CopySide::Left, source.into(), target.into());
        self.world.ask(self.station, Ask::Copy { job: JOB, from, source, target, early });
    }

    /// The last words, once there is nothing left to do.
    fn run(&mut self) -> Vec<Told> {
        while self.world.step() {}
        let stack = self.world.stack(self.station);
        assert_eq!(stack.upper.names(), 0);
        assert_eq!((stack.lower.left.open_files(), stack.lower.right.open_files()), (0, 0));
        let heard = &self.world.application(self.station).0;
        heard
            .iter()
            .filter(|told| !matches!(told, Told::Began { .. } | Told::Moved { .. }))
            .cloned()
            .collect()
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn files_of_all_sizes_arrive_as_they_were() {
    for edge in [0_usize, 64 << 10, 256 << 10, 1 << 20, 3 << 20] {
        for length in [edge, edge + 1, edge.saturating_sub(1)] {
            let mut desk = Desk::new(length as u64);
            desk.left.borrow_mut().put("a", content(length));
            desk.copy("a", "b", length.is_multiple_of(2));
            assert!(
                matches!(desk.run()[..], [Told::Copied { octets, .. }] if octets == length as u64)
            );
            assert!(desk.right.borrow().octets("b") == Some(content(length)));
            assert!(desk.right.borrow().most_held() <= 1 << 20, "what is ahead is bounded");
        }
    }
}

#[test]
fn whatever_breaks_the_target_is_whole_or_as_it_was() {
    for early in [false, true] {
        for broken in [CopySide::Left, CopySide::Right] {
            for operation in 1..40 {
                let mut desk = Desk::new(operation);
                desk.left.borrow_mut().put("a", content(400_000));
                desk.right.borrow_mut().put("b", "older");
                let disk = if broken == CopySide::Left { &desk.left } else { &desk.right };
                disk.borrow_mut().faults.breaks_at = Some(operation);
                desk.copy("a", "b", early);
                let words = desk.run();
                let now = desk.right.borrow().octets("b");
                match words[..] {
                    [Told::Copied { octets: 400_000, .. }] => {
                        assert!(now == Some(content(400_000)))
                    }
                    [Told::Failed { side, failure: Failure::Broken, .. }] => {
                        assert_eq!(side, broken);
                        assert_eq!(
                            now.as_deref(),
                            Some(&b"older"[..]),
                            "{broken:?} at {operation}"
                        );
                    }
                    ref other => panic!("{broken:?} at {operation}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_full_disk_and_a_source_that_shrinks_are_told_as_they_are() {
    let mut desk = Desk::new(1);
    desk.left.borrow_mut().put("a", content(500_000));
    desk.right.borrow_mut().faults.full_after = Some(200_000);
    desk.copy("a", "b", false);
    assert_eq!(
        desk.run(),
        [Told::Failed { job: JOB, side: CopySide::Right, failure: Failure::Full }]
    );
    assert_eq!(desk.right.borrow().files(), [""; 0]);

    let mut desk = Desk::new(1);
    desk.left.borrow_mut().put("a", content(3_000_000));
    desk.left.borrow_mut().faults =
        DiskFaults { delay: Duration::from_millis(9), ..DiskFaults::default() };
    desk.copy("a", "b", false);
    let written = desk.right.clone();
    assert!(desk.world.run_until(|_| written.borrow().written() > 0, Duration::from_secs(9)));
    desk.left.borrow_mut().shrink("a", 2_000_000);
    assert_eq!(
        desk.run(),
        [Told::Failed { job: JOB, side: CopySide::Left, failure: Failure::Short }]
    );
    assert_eq!(desk.right.borrow().files(), [""; 0]);
}

#[test]
fn giving_up_leaves_no_trace_and_comes_too_late_for_a_target_that_gets_its_name() {
    for early in [false, true] {
        let (mut given_up, mut copied) = (0, 0);
        for steps in 0..80 {
            let mut desk = Desk::new(steps);
            desk.left.borrow_mut().put("a", content(400_000));
            desk.copy("a", "b", early);
            for _ in 0..steps {
                desk.world.step();
            }
            desk.world.ask(desk.station, Ask::GiveUp);
            let words = desk.run();
            let there = desk.right.borrow().octets("b").is_some();
            match words[..] {
                [Told::Copied { .. }] => copied += usize::from(there),
                [Told::Failed { failure: Failure::GivenUp, .. }] => given_up += usize::from(!there),
                ref other => panic!("after {steps} steps: {other:?}"),
            }
        }
        assert_eq!(given_up + copied, 80);
        assert!(given_up > 5 && copied > 5, "{given_up} given up, {copied} copied");
    }
}

#[test]
fn a_folder_is_listed_to_its_end() {
    let mut desk = Desk::new(1);
    for nth in 0..100 {
        desk.right.borrow_mut().put(&format!("folder/{nth}"), "x");
    }
    desk.world
        .ask(desk.station, Ask::List { job: JOB, side: CopySide::Right, path: "folder".into() });
    let words = desk.run();
    let entries = |told: &Told| match told {
        Told::Entries { entries, .. } => entries.len(),
        _ => 0,
    };
    assert_eq!(words.iter().map(entries).sum::<usize>(), 100);
    assert_eq!(words.last(), Some(&Told::Listed { job: JOB }));
}
