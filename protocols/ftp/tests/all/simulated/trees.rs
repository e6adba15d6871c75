//! Trees between a server and a disk.

use stackwright_contract::Duration;
use stackwright_contract::services::Failure;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask, TreeOptions, TreeTotals};
use stackwright_ftp::client;
use stackwright_simulator::{Conditions, Fault, Habits, Which};

use crate::simulated::setting::{AGES, Disk, Pair, client_config, job, server_config};

const FILES: usize = 400;

fn fill(disk: &Disk) {
    let mut disk = disk.borrow_mut();
    for nth in 0..FILES {
        let path = format!("s/{}/{}/file {nth}", nth % 5, nth % 3);
        disk.put(&path, vec![nth as u8; nth * 3]);
        disk.set_modified(&path, 1_700_000_000 + nth as u64);
    }
    disk.put_folder("s/empty");
    disk.put_link("s/link", "0");
}

/// The files below a folder, with their octets and times.
fn content(disk: &Disk, folder: &str) -> Vec<(String, Vec<u8>, Option<u64>)> {
    let disk = disk.borrow();
    let files = disk.files().into_iter().filter_map(|path| {
        let below = path.strip_prefix(folder)?.to_owned();
        Some((below, disk.octets(&path).expect("it was listed"), disk.modified(&path)))
    });
    files.collect()
}

fn ask(pair: &mut Pair, from: CopySide, options: &TreeOptions) {
    let (source, target, options) = ("/s".into(), "/t".into(), options.clone());
    pair.world.application_mut(pair.client).0.clear();
    pair.world.ask(pair.client, Ask::Tree { job: job(0), from, source, target, options });
}

fn last(pair: &mut Pair) -> Told {
    let client = pair.client;
    let is_last = |told: &Told| matches!(told, Told::TreeDone { .. } | Told::Failed { .. });
    let ended = pair.world.run_until(|world| world.application(client).0.iter().any(is_last), AGES);
    assert!(ended, "{:?}", pair.world.application(client).0.last());
    pair.world.application(client).0.last().expect("it has one").clone()
}

fn mirror(pair: &mut Pair, from: CopySide, options: &TreeOptions) -> TreeTotals {
    ask(pair, from, options);
    match last(pair) {
        Told::TreeDone { totals, .. } => totals,
        other => panic!("{other:?}: {:?}", failures(pair)),
    }
}

fn failures(pair: &Pair) -> Vec<Told> {
    let heard = &pair.world.application(pair.client).0;
    heard.iter().filter(|told| matches!(told, Told::FileFailed { .. })).cloned().collect()
}

fn options(from: CopySide) -> TreeOptions {
    TreeOptions { early: from == CopySide::Left, delete: true, ..TreeOptions::default() }
}

#[test]
fn a_tree_is_mirrored_in_both_directions_and_a_second_run_moves_nothing() {
    for from in [CopySide::Left, CopySide::Right] {
        let mut pair = Pair::new(1);
        let (source, target) = match from {
            CopySide::Left => (pair.far.clone(), pair.near.clone()),
            CopySide::Right => (pair.near.clone(), pair.far.clone()),
        };
        fill(&source);
        target.borrow_mut().put("t/0/stray/x", "old");
        let totals = mirror(&mut pair, from, &options(from));
        assert_eq!((totals.files, totals.failed, totals.removed), (FILES as u64, 0, 2));
        assert_eq!(content(&source, "s"), content(&target, "t"));
        assert!(target.borrow().folders().contains(&"t/empty".into()));
        let written = target.borrow().written();
        let totals = mirror(&mut pair, from, &options(from));
        assert_eq!((totals.files, totals.same, totals.skipped), (0, FILES as u64, 1));
        assert_eq!(target.borrow().written(), written);

        let side = from.other();
        pair.world.application_mut(pair.client).0.clear();
        pair.world.ask(pair.client, Ask::RemoveTree { job: job(0), side, path: "/t".into() });
        assert!(matches!(last(&mut pair), Told::TreeDone { .. }));
        assert_eq!(target.borrow().folders(), [""; 0]);
        pair.settle();
    }
}

#[test]
fn a_connection_that_is_lost_ends_the_tree_and_the_next_run_does_the_rest() {
    let mut interrupted = 0;
    for nth in 0..30 {
        for from in [CopySide::Left, CopySide::Right] {
            let mut pair = Pair::new(nth);
            let delay = Duration::from_millis(5);
            pair.world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
            let (source, target) = match from {
                CopySide::Left => (pair.far.clone(), pair.near.clone()),
                CopySide::Right => (pair.near.clone(), pair.far.clone()),
            };
            fill(&source);
            let fault = Fault::Cut { after: 50 + nth * 150 };
            pair.world.network_mut().fail(Which::Nth(nth as usize % 4), fault);
            ask(&mut pair, from, &options(from));
            if let Told::Failed { failure, .. } = last(&mut pair) {
                assert!(matches!(failure, Failure::Lost | Failure::Unreachable), "{failure:?}");
                interrupted += 1;
            }
            let before = content(&target, "t").len() as u64;
            let totals = mirror(&mut pair, from, &options(from));
            // A file that was whole when its time was not set yet is copied again.
            assert!(totals.files <= FILES as u64 - before + 4, "{before} were there");
            assert_eq!(content(&source, "s"), content(&target, "t"));
            pair.settle();
        }
    }
    assert!(interrupted > 20, "{interrupted}");
}

#[test]
fn giving_up_ends_a_tree_and_leaves_nothing_open() {
    for from in [CopySide::Left, CopySide::Right] {
        for steps in (0..1500).step_by(53) {
            let mut pair = Pair::new(steps);
            fill(if from == CopySide::Left { &pair.far } else { &pair.near });
            ask(&mut pair, from, &options(from));
            for _ in 0..steps {
                pair.world.step();
            }
            pair.world.ask(pair.client, Ask::GiveUp);
            let told = last(&mut pair);
            assert!(
                matches!(told, Told::Failed { failure: Failure::GivenUp, .. }),
                "after {steps} steps: {told:?}"
            );
            pair.settle();
        }
    }
}

/// Returns how many round trips a file takes in one session, of many small ones.
fn round_trips(from: CopySide, greeting: &str) -> f64 {
    let mut server = server_config();
    server.greeting = greeting.into();
    let client = client::Config { sessions_most: 1, ..client_config() };
    let mut pair = Pair::with(1, server, client, Habits::default(), Habits::default());
    let delay = Duration::from_millis(50);
    pair.world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let disk = if from == CopySide::Left { &pair.far } else { &pair.near };
    let mut took = [0.0; 2];
    for (nth, took) in took.iter_mut().enumerate() {
        let files = [10, 110][nth];
        for file in 0..files {
            let path = format!("s{nth}/{file}");
            disk.borrow_mut().put(&path, vec![7; 1000]);
            disk.borrow_mut().set_modified(&path, 1_700_000_000);
        }
        let (source, target) = (format!("/s{nth}"), format!("/t{nth}"));
        let options = TreeOptions { at_once: 2, ..TreeOptions::default() };
        let since = pair.world.now();
        pair.world.application_mut(pair.client).0.clear();
        pair.world.ask(pair.client, Ask::Tree { job: job(0), from, source, target, options });
        let client = pair.client;
        let done = |told: &Told| matches!(told, Told::TreeDone { .. });
        let ended =
            pair.world.run_until(|world| world.application(client).0.iter().any(done), AGES);
        assert!(ended);
        *took = pair.world.now().since(since).as_secs_f64();
    }
    pair.settle();
    // The folders, the login and the first files take the same in both.
    (took[1] - took[0]) / 100.0 / (2.0 * delay.as_secs_f64())
}

#[test]
fn many_small_files_take_no_more_round_trips_than_they_need() {
    // A fetch: the transfer alone, because the port of its data connection came with the file
    // before. A store waits for 150 before it sends. (A simulated connection carries octets at
    // once; over TCP, a fetch takes one round trip more for the handshake, and a store none.)
    for (from, transfer) in [(CopySide::Left, 1.0), (CopySide::Right, 2.0)] {
        let ahead = round_trips(from, "Stackwright FTP");
        assert!((ahead - transfer).abs() < 0.1, "{from:?}: {ahead}");
        // Any other server may not let commands wait during a transfer.
        let plain = round_trips(from, "hello");
        assert!((plain - transfer - 1.0).abs() < 0.1, "{from:?}: {plain}");
    }
}

/// Mirrors small files, and large ones that are resumed, and waits for all of them.
fn large_and_small(from: CopySide, sessions_most: usize, at_once: usize, some_are_there: bool) {
    let client = client::Config { sessions_most, ..client_config() };
    let mut pair = Pair::with(1, server_config(), client, Habits::default(), Habits::default());
    let (source, target) = match from {
        CopySide::Left => (pair.far.clone(), pair.near.clone()),
        CopySide::Right => (pair.near.clone(), pair.far.clone()),
    };
    for nth in 0..24 {
        let length = if nth % 3 == 0 { (1 << 20) + 1 } else { 1000 };
        let path = format!("{}/{nth}", nth % 5);
        source.borrow_mut().put(&format!("s/{path}"), vec![nth as u8; length]);
        source.borrow_mut().set_modified(&format!("s/{path}"), 1_700_000_000);
        if some_are_there && nth % 2 == 0 {
            target.borrow_mut().put(&format!("t/{path}"), vec![7; length]);
        }
    }
    let checked_first = from == CopySide::Left;
    let options = TreeOptions { at_once, resume: true, checked_first, ..TreeOptions::default() };
    let totals = mirror(&mut pair, from, &options);
    assert_eq!(totals.files, 24, "{sessions_most} sessions, {at_once} at once");
    // Any timer takes longer.
    assert!(totals.took < Duration::from_secs(5), "{sessions_most} sessions, {at_once} at once");
    assert!(content(&source, "s") == content(&target, "t"));
    pair.settle();
}

#[test]
fn files_that_wait_for_a_session_and_those_that_have_one_do_not_wait_for_each_other() {
    for from in [CopySide::Left, CopySide::Right] {
        for sessions_most in 1..4 {
            for at_once in 1..5 {
                large_and_small(from, sessions_most, at_once, false);
                large_and_small(from, sessions_most, at_once, true);
            }
        }
    }
}
