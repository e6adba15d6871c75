//! A mirror of a random tree is equal to it, and a second run moves nothing.

use proptest::prelude::*;
use stackwright_copy::TreeOptions;

use crate::trees::setting::{Desk, content};

/// A path of up to four names, a content and a time. Few names, so that paths meet.
fn entry() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, u64, bool)> {
    (
        prop::collection::vec(0..5u8, 1..5),
        prop::collection::vec(any::<u8>(), 0..40),
        0..4u64,
        any::<bool>(),
    )
}

fn fill(desk: &Desk, left: bool, entries: &[(Vec<u8>, Vec<u8>, u64, bool)]) {
    let (root, disk) = if left { ("s", &desk.left) } else { ("t", &desk.right) };
    let mut disk = disk.borrow_mut();
    disk.put_folder(root);
    for (names, octets, modified, is_folder) in entries {
        let mut path = root.to_owned();
        for name in names {
            // Below a file there is nothing.
            if disk.files().contains(&path) {
                break;
            }
            path.push_str(&format!("/{name}"));
        }
        if disk.folders().contains(&path) || disk.files().contains(&path) {
        } else if *is_folder {
            disk.put_folder(&path);
        } else {
            disk.put(&path, octets.clone());
            disk.set_modified(&path, *modified);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn mirrors(
        source in prop::collection::vec(entry(), 0..30),
        target in prop::collection::vec(entry(), 0..30),
        at_once in 0..6usize,
        early: bool,
        seed: u64,
    ) {
        let mut desk = Desk::new(seed);
        fill(&desk, true, &source);
        fill(&desk, false, &target);
        let options = TreeOptions { at_once, early, delete: true, ..TreeOptions::default() };
        let dry = TreeOptions { dry_run: true, ..options.clone() };
        let before = content(&desk.right, "t");
        let would = desk.mirror("s", "t", &dry);
        prop_assert_eq!(&before, &content(&desk.right, "t"));

        let first = desk.mirror("s", "t", &options);
        prop_assert_eq!(first.failed(), Vec::<String>::new());
        // Equal up to what the comparison cannot see: size and time.
        let seen = |content: crate::trees::setting::Content| -> Vec<_> {
            let shape = |file: Option<(Vec<u8>, Option<u64>)>| file.map(|(octets, time)| (octets.len(), time));
            content.into_iter().map(|(path, file)| (path, shape(file))).collect()
        };
        prop_assert_eq!(seen(content(&desk.left, "s")), seen(content(&desk.right, "t")));
        prop_assert_eq!(would.copied(), first.copied());
        prop_assert_eq!(would.removed(), first.removed());
        let copied = first.copied();
        let source = content(&desk.left, "s");
        let now = content(&desk.right, "t");
        for path in &copied {
            prop_assert_eq!(&source[&path[2..]], &now[&path[2..]]);
        }

        let written = desk.right.borrow().written();
        let second = desk.mirror("s", "t", &options).totals();
        prop_assert_eq!((second.files, second.removed, second.failed), (0, 0, 0));
        prop_assert_eq!(desk.right.borrow().written(), written);
    }
}
