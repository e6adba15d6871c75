//! What is copied, skipped and removed.

use stackwright_contract::services::{Attribute, FileKind};
use stackwright_copy::{
    Comparison, CopySide, FileChange, Indication as Told, Request as Ask, TreeOptions,
};

use crate::trees::setting::{Desk, JOB, content};

#[test]
fn a_tree_of_thousands_of_files_arrives_and_is_not_copied_twice() {
    let mut desk = Desk::new(1);
    for nth in 0..3000 {
        desk.put(&format!("s/{}/{}/{nth}", nth % 7, nth % 30), &nth.to_string(), 1000 + nth);
    }
    desk.left.borrow_mut().put_folder("s/empty/deeper");
    let options = TreeOptions { early: true, ..TreeOptions::default() };
    let totals = desk.mirror("/s", "/t", &options).totals();
    assert_eq!((totals.files, totals.failed, totals.same), (3000, 0, 0));
    assert_eq!(totals.folders, 1 + 7 + 210 + 2);
    assert_eq!(totals.moved, totals.octets);
    assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
    let written = desk.right.borrow().written();
    let totals = desk.mirror("/s", "/t", &options).totals();
    assert_eq!((totals.files, totals.same), (0, 3000));
    assert_eq!(desk.right.borrow().written(), written);
}

#[test]
fn no_more_files_than_requested_are_under_way() {
    for at_once in [1, 3, 8] {
        let mut desk = Desk::new(2);
        (0..60).for_each(|nth| desk.put(&format!("s/{}/{nth}", nth % 5), "some octets", 5));
        let options = TreeOptions { at_once, ..TreeOptions::default() };
        desk.ask("s", "t", &options);
        let mut most = 0;
        while desk.world.step() {
            let stack = desk.world.stack(desk.station);
            most = most.max(stack.lower.left.open_files());
        }
        // As many sources are open ahead; what is closed is open until the disk has said so.
        assert!((2 * at_once..=3 * at_once).contains(&most), "{most} of {at_once}");
        assert_eq!(desk.finish().totals().files, 60);
    }
}

#[test]
fn what_the_source_does_not_have_is_removed_only_if_that_is_asked() {
    let mut desk = Desk::new(3);
    desk.put("s/a", "a", 5);
    desk.put("s/b/c", "c", 5);
    desk.put_right("t/a", "a", 5);
    for stray in ["t/stray", "t/strays/x/y", "t/strays/z", "t/b/old"] {
        desk.put_right(stray, "old", 5);
    }
    desk.put_right("beside", "it", 5);
    desk.right.borrow_mut().put_link("t/link", "../beside");
    desk.right.borrow_mut().put_link("t/strays/out", "../../beside");
    let report = desk.mirror("s", "t", &TreeOptions::default());
    assert_eq!(report.removed(), [""; 0]);
    assert_eq!(report.copied(), ["t/b/c"]);

    let dry = TreeOptions { delete: true, dry_run: true, ..TreeOptions::default() };
    let would = desk.mirror("s", "t", &dry).removed();
    assert!(desk.right.borrow().octets("t/strays/x/y").is_some());
    let options = TreeOptions { delete: true, ..TreeOptions::default() };
    let report = desk.mirror("s", "t", &options);
    let strays = [
        "t/b/old",
        "t/link",
        "t/stray",
        "t/strays",
        "t/strays/out",
        "t/strays/x",
        "t/strays/x/y",
        "t/strays/z",
    ];
    assert_eq!(report.removed(), strays);
    assert_eq!(would, strays);
    assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
    assert!(desk.right.borrow().octets("beside").is_some(), "links are not followed");
}

#[test]
fn a_list_that_left_names_out_removes_nothing() {
    let mut desk = Desk::new(4);
    desk.put("s/a", "a", 5);
    desk.put_right("t/maybe", "there", 5);
    desk.left.borrow_mut().faults.leaves_out = 1;
    let options = TreeOptions { delete: true, ..TreeOptions::default() };
    let report = desk.mirror("s", "t", &options);
    assert_eq!((report.removed(), report.copied()), (vec![], vec!["t/a".into()]));
    let [names @ .., last] = &report.skipped()[..] else { panic!("{:?}", report.skipped()) };
    assert!(!names.is_empty() && names.iter().all(|name| name == "s/left out 0: Unread"));
    assert_eq!(last, "s: Doubtful");
    desk.left.borrow_mut().faults.leaves_out = 0;
    assert_eq!(desk.mirror("s", "t", &options).removed(), ["t/maybe"]);
}

#[test]
fn a_folder_in_the_place_of_a_file_goes_only_if_that_is_asked() {
    let mut desk = Desk::new(5);
    desk.put("s/a", "file", 5);
    desk.put("s/b/c", "below", 5);
    desk.put_right("t/a/x/y", "older", 5);
    desk.put_right("t/b", "older", 5);
    let report = desk.mirror("s", "t", &TreeOptions::default());
    assert_eq!(report.failed(), ["Right t/a: Exists", "Right t/b: Exists"]);
    let options = TreeOptions { delete: true, ..TreeOptions::default() };
    let report = desk.mirror("s", "t", &options);
    assert_eq!(report.removed(), ["t/a", "t/a/x", "t/a/x/y", "t/b"]);
    assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
}

#[test]
fn links_are_told_and_not_followed() {
    let mut desk = Desk::new(6);
    desk.put("s/a", "a", 5);
    desk.left.borrow_mut().put_link("s/loop", "../s");
    desk.left.borrow_mut().put_link("s/b", "a");
    desk.put_right("t/b", "older", 5);
    let options = TreeOptions { delete: true, ..TreeOptions::default() };
    let report = desk.mirror("s", "t", &options);
    assert_eq!(report.skipped(), ["s/b: Link", "s/loop: Link"]);
    assert_eq!(report.removed(), [""; 0], "the source has that name");
    assert_eq!(report.copied(), ["t/a"]);
}

#[test]
fn patterns_say_what_is_copied_and_what_is_left_alone() {
    let mut desk = Desk::new(7);
    for path in ["s/a.c", "s/a.o", "s/x/b.c", "s/x/b.o", "s/x/only.c", "s/.hidden.c"] {
        desk.put(path, "octets", 5);
    }
    desk.put_right("t/left.o", "o", 5);
    desk.put_right("t/stray.c", "c", 5);
    let options = TreeOptions {
        delete: true,
        include: vec!["*.c".into(), ".*.c".into()],
        exclude: vec!["x/only.c".into()],
        ..TreeOptions::default()
    };
    let report = desk.mirror("s", "t", &options);
    assert_eq!(report.copied(), ["t/.hidden.c", "t/a.c", "t/x/b.c"]);
    assert_eq!(report.removed(), ["t/stray.c"]);
    assert_eq!(report.skipped(), ["s/a.o: Excluded", "s/x/b.o: Excluded", "s/x/only.c: Excluded"]);

    let report = desk.mirror("s/*.o", "u", &TreeOptions::default());
    assert_eq!(report.copied(), ["u/a.o"]);
    let report = desk.mirror("s/?", "v", &TreeOptions::default());
    assert_eq!(report.copied(), ["v/x/b.c", "v/x/b.o", "v/x/only.c"]);
    let too_much = "*a".repeat(9);
    let report = desk.mirror(&too_much, "w", &TreeOptions::default());
    assert!(matches!(report.last, Told::Failed { .. }));
}

#[test]
fn the_comparison_is_as_requested() {
    let cases = [
        (Comparison::SizeAndTime, vec!["t/older", "t/shorter", "t/younger"]),
        (Comparison::Size, vec!["t/shorter"]),
        (Comparison::Never, vec!["t/older", "t/same", "t/shorter", "t/younger"]),
    ];
    for (compare, expected) in cases {
        let mut desk = Desk::new(8);
        for name in ["same", "older", "younger", "shorter"] {
            desk.put(&format!("s/{name}"), "12345", 50);
        }
        desk.put_right("t/same", "12345", 50);
        desk.put_right("t/older", "54321", 40);
        desk.put_right("t/younger", "54321", 60);
        desk.put_right("t/shorter", "1234", 50);
        let report = desk.mirror("s", "t", &TreeOptions { compare, ..TreeOptions::default() });
        assert_eq!(report.copied(), expected, "{compare:?}");
        assert_eq!(
            desk.mirror("s", "t", &TreeOptions::default()).copied(),
            match compare {
                Comparison::Size => vec!["t/older", "t/younger"],
                _ => vec![],
            }
        );
    }
}

#[test]
fn a_large_file_goes_on_where_it_was_interrupted() {
    let mut desk = Desk::new(9);
    let large: String = ('a'..='z').cycle().take(2 << 20).collect();
    desk.put("s/large", &large, 5);
    desk.put("s/small", "small", 5);
    desk.right.borrow_mut().put_folder("t");
    desk.right.borrow_mut().put_part("t/large", &large[..1_500_000]);
    let options = TreeOptions { resume: true, checked_first: true, ..TreeOptions::default() };
    let report = desk.mirror("s", "t", &options);
    let there = report.told.iter().find_map(|told| match told {
        Told::FileBegan { path, there, .. } if path == "t/large" => Some(*there),
        _ => None,
    });
    assert_eq!(there, Some(1_500_000));
    assert_eq!(report.totals().moved, (2 << 20) - 1_500_000 + 5);
    assert_eq!(content(&desk.left, "s"), content(&desk.right, "t"));
}

#[test]
fn a_folder_is_removed_with_everything_below_it() {
    let mut desk = Desk::new(10);
    for nth in 0..500 {
        desk.put_right(&format!("t/{}/{}/{nth}", nth % 3, nth % 11), "x", 5);
    }
    desk.put_right("beside/x", "x", 5);
    desk.right.borrow_mut().put_link("t/0/link", "../../beside");
    desk.right.borrow_mut().put_link("door", "beside");
    assert_eq!(desk.remove("t").totals().removed, 500 + 33 + 3 + 1 + 1);
    assert_eq!(desk.remove("door").removed(), ["door"]);
    assert!(desk.right.borrow().octets("beside/x").is_some(), "links are not followed");
    let report = desk.remove("nothing");
    assert!(matches!(report.last, Told::Failed { side: CopySide::Right, .. }));
}

#[test]
fn deeds_and_statuses_are_answered_side_by_side() {
    let mut desk = Desk::new(11);
    desk.put("a", "octets", 77);
    desk.put_right("b", "octets", 5);
    let (side, from) = (CopySide::Right, "b".into());
    let name = |index| stackwright_contract::Handle { index, generation: 0 };
    let asks = [
        Ask::Stat { job: name(0), side: CopySide::Left, path: "a".into() },
        Ask::Stat { job: name(1), side: CopySide::Left, path: "nothing".into() },
        Ask::Do { job: name(2), side, deed: FileChange::MakeFolder { path: "f".into() } },
        Ask::Do { job: name(3), side, deed: FileChange::Rename { from, to: "c".into() } },
        Ask::Do {
            job: name(4),
            side: CopySide::Left,
            deed: FileChange::Set { path: "a".into(), attribute: Attribute::Modified(99) },
        },
        Ask::Do { job: name(5), side, deed: FileChange::Remove { path: "nothing".into() } },
    ];
    asks.into_iter().for_each(|ask| desk.world.ask(desk.station, ask));
    while desk.world.step() {}
    let told = &desk.world.application(desk.station).0;
    assert_eq!(told.len(), 6, "{told:?}");
    for told in told {
        match told {
            Told::Stated { job, status } => {
                assert_eq!((*job, status.kind, status.size), (name(0), FileKind::File, 6));
            }
            Told::Done { job } => assert!((2..=4).contains(&job.index)),
            Told::Failed { job, .. } => assert!([1, 5].contains(&job.index)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(desk.left.borrow().modified("a"), Some(99));
    assert_eq!(desk.right.borrow().files(), ["c"]);
    assert_eq!(desk.right.borrow().folders(), ["f"]);
    assert_eq!(desk.world.stack(desk.station).upper.names(), 0);
    desk.world.application_mut(desk.station).0.clear();

    let ask = Ask::Stat { job: JOB, side, path: "c".into() };
    desk.world.ask(desk.station, ask);
    desk.world.ask(desk.station, Ask::GiveUp);
    desk.world.ask(desk.station, Ask::Stat { job: JOB, side, path: "c".into() });
    while desk.world.step() {}
    let told = &desk.world.application(desk.station).0;
    assert!(
        matches!(told[..], [Told::Failed { .. }, Told::Stated { .. }]),
        "the answer that crossed is nobody's: {told:?}"
    );
}
