//! What fails, and what is given up.

use stackwright_contract::Duration;
use stackwright_contract::services::Failure;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask, TreeOptions};
use stackwright_simulator::DiskFaults;

use crate::trees::setting::{Desk, content};

fn filled(seed: u64) -> Desk {
    let desk = Desk::new(seed);
    for nth in 0..20 {
        desk.put(&format!("s/{}/{nth}", nth % 3), &"content ".repeat(nth * 100), 5);
        desk.put_right(&format!("t/{}/old {nth}", nth % 4), "old", 5);
    }
    desk
}

/// Every file of the target is whole, or is one that was there.
fn nothing_is_half(desk: &Desk) {
    let (source, target) = (content(&desk.left, "s"), content(&desk.right, "t"));
    for (path, file) in target {
        let Some((octets, _)) = file else { continue };
        match source.get(&path) {
            Some(Some((whole, _))) => assert_eq!(whole, &octets, "{path}"),
            _ => assert!(path.contains("old"), "{path}"),
        }
    }
}

#[test]
fn whatever_breaks_the_rest_is_done_and_another_run_makes_it_whole() {
    let options = TreeOptions { delete: true, early: true, ..TreeOptions::default() };
    let mut told_failures = 0;
    for broken in [CopySide::Left, CopySide::Right] {
        for operation in 1..150 {
            let mut desk = filled(operation);
            let disk = if broken == CopySide::Left { &desk.left } else { &desk.right };
            disk.borrow_mut().faults.breaks_at = Some(operation);
            let report = desk.mirror("s", "t", &options);
            told_failures += report.failed().len();
            nothing_is_half(&desk);
            match report.last {
                Told::TreeDone { totals, .. } => {
                    assert_eq!(totals.failed as usize, report.failed().len());
                    assert!(totals.failed <= 1);
                }
                // The first folder could not be read.
                Told::Failed { side, failure: Failure::Broken, .. } => {
                    assert_eq!(side, broken);
                    assert!(operation < 10, "{operation}");
                }
                ref other => panic!("{broken:?} at {operation}: {other:?}"),
            }
            for disk in [&desk.left, &desk.right] {
                disk.borrow_mut().faults = DiskFaults::default();
            }
            desk.mirror("s", "t", &options).totals();
            assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
        }
    }
    assert!(told_failures > 100, "{told_failures}");
}

#[test]
fn a_source_folder_that_cannot_be_listed_removes_nothing() {
    for operation in 1..40 {
        let mut desk = Desk::new(operation);
        desk.left.borrow_mut().put_folder("s/a");
        (0..40).for_each(|nth| desk.put(&format!("s/a/{nth:02}"), "x", 5));
        (0..40).for_each(|nth| desk.put_right(&format!("t/a/{nth:02}"), "x", 5));
        desk.left.borrow_mut().faults.breaks_at = Some(operation);
        let options = TreeOptions { delete: true, ..TreeOptions::default() };
        let report = desk.mirror("s", "t", &options);
        assert_eq!(report.removed(), [""; 0]);
        assert_eq!(content(&desk.right, "t").len(), 41);
    }
}

#[test]
fn a_full_disk_ends_the_tree() {
    let mut desk = filled(1);
    desk.right.borrow_mut().faults.full_after = Some(20_000);
    let report = desk.mirror("s", "t", &TreeOptions::default());
    assert!(
        matches!(report.last, Told::Failed { side: CopySide::Right, failure: Failure::Full, .. }),
        "{:?}",
        report.last
    );
    assert!(!report.copied().is_empty());
    nothing_is_half(&desk);
    desk.right.borrow_mut().faults = DiskFaults::default();
    assert_eq!(desk.mirror("s", "t", &TreeOptions::default()).totals().failed, 0);
}

#[test]
fn giving_up_ends_it_at_any_point_and_leaves_no_half_files() {
    let options = TreeOptions { delete: true, ..TreeOptions::default() };
    let mut ends = [0, 0];
    for steps in 0..400 {
        let mut desk = filled(steps);
        desk.ask("s", "t", &options);
        for _ in 0..steps {
            desk.world.step();
        }
        desk.world.ask(desk.station, Ask::GiveUp);
        let since = desk.world.now();
        let report = desk.finish();
        assert!(desk.world.now().since(since) < Duration::from_millis(10));
        match report.last {
            Told::TreeDone { .. } => ends[0] += 1,
            Told::Failed { failure: Failure::GivenUp, .. } => ends[1] += 1,
            ref other => panic!("after {steps} steps: {other:?}"),
        }
        nothing_is_half(&desk);
        // The name of the job is free again, whatever was under way.
        desk.mirror("s", "t", &options).totals();
        assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
    }
    assert!(ends[0] > 5 && ends[1] > 100, "{ends:?}");
}

#[test]
fn giving_up_removal_ends_it_at_any_point() {
    for steps in 0..60 {
        let mut desk = filled(steps);
        desk.world.ask(
            desk.station,
            Ask::RemoveTree {
                job: crate::trees::setting::JOB,
                side: CopySide::Right,
                path: "t".into(),
            },
        );
        for _ in 0..steps {
            desk.world.step();
        }
        desk.world.ask(desk.station, Ask::GiveUp);
        let report = desk.finish();
        assert!(matches!(
            report.last,
            Told::TreeDone { .. } | Told::Failed { failure: Failure::GivenUp, .. }
        ));
        // The last removal may have been under way.
        let is_left = desk.right.borrow().folders().contains(&"t".into());
        match desk.remove("t").last {
            Told::TreeDone { totals, .. } => assert!(is_left && totals.removed > 0),
            Told::Failed { failure: Failure::NotFound, .. } => assert!(!is_left),
            ref other => panic!("{other:?}"),
        }
        assert_eq!(desk.right.borrow().folders(), [""; 0]);
    }
}
