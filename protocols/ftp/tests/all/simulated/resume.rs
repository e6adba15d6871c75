//! Copies between a client and a server of ours that are cut off and go on.

use fastrand::Rng;
use stackwright_contract::services::Failure;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::client;
use stackwright_simulator::{Fault, Habits, Which, seeds};

use crate::simulated::setting::{
    AGES, Pair, Seed, any_magnitude, client_config, content, job, server_config,
};

const LENGTH: usize = 6_000_000;

fn ask(pair: &mut Pair, from: CopySide) {
    let (source, target) = ("/a".into(), "/b".into());
    let checked_first = from == CopySide::Left;
    pair.world.ask(pair.client, Ask::Resume { job: job(0), from, source, target, checked_first });
}

/// Copies to the end; how many octets were moved, if it is whole.
fn copy(pair: &mut Pair, from: CopySide) -> Result<u64, Failure> {
    let before = pair.last_words().len();
    ask(pair, from);
    pair.run_to(before + 1);
    match pair.last_words().pop() {
        Some(Told::Copied { octets, moved, .. }) => {
            assert_eq!(octets, LENGTH as u64);
            Ok(moved)
        }
        Some(Told::Failed { failure, .. }) => Err(failure),
        told => panic!("{told:?}"),
    }
}

fn pair(from: CopySide) -> Pair {
    pair_with(from, client_config().sessions_most)
}

fn pair_with(from: CopySide, sessions_most: usize) -> Pair {
    let client = client::Config { sessions_most, ..client_config() };
    let pair = Pair::with(1, server_config(), client, Habits::default(), Habits::default());
    let source = if from == CopySide::Left { &pair.far } else { &pair.near };
    source.borrow_mut().put("a", content(LENGTH, 1));
    pair
}

fn target(pair: &Pair, from: CopySide) -> Option<Vec<u8>> {
    let disk = if from == CopySide::Left { &pair.near } else { &pair.far };
    disk.borrow().octets("b")
}

/// Cuts off the next data association behind 700 000 octets.
fn cut(pair: &mut Pair) {
    let next = pair.world.network().associations().len() + 1;
    pair.world.network_mut().fail(Which::Nth(next), Fault::Cut { after: 700_000 });
}

const BOTH: [CopySide; 2] = [CopySide::Left, CopySide::Right];

#[test]
fn what_arrived_is_not_moved_again() {
    for (from, sessions) in BOTH.into_iter().flat_map(|from| [(from, 4), (from, 1)]) {
        let mut pair = pair_with(from, sessions);
        cut(&mut pair);
        assert_eq!(copy(&mut pair, from), Err(Failure::Lost), "{from:?}");
        assert!(target(&pair, from).is_none(), "{from:?}");
        pair.world.run_for(AGES);
        let moved = copy(&mut pair, from);
        assert!(
            moved.is_ok_and(|moved| (1..LENGTH as u64 - 300_000).contains(&moved)),
            "{moved:?}"
        );
        assert!(target(&pair, from) == Some(content(LENGTH, 1)));
        // The part is gone: the next copy moves all.
        assert_eq!(copy(&mut pair, from), Ok(LENGTH as u64));
        pair.settle();
    }
}

#[test]
fn another_source_is_moved_from_its_beginning() {
    for from in BOTH {
        let mut pair = pair(from);
        cut(&mut pair);
        assert_eq!(copy(&mut pair, from), Err(Failure::Lost));
        pair.world.run_for(AGES);
        let source = if from == CopySide::Left { &pair.far } else { &pair.near };
        source.borrow_mut().put("a", content(LENGTH, 2));
        assert_eq!(copy(&mut pair, from), Ok(LENGTH as u64), "{from:?}");
        assert!(target(&pair, from) == Some(content(LENGTH, 2)));
        pair.settle();
    }
}

#[test]
fn an_older_file_is_no_part() {
    for from in BOTH {
        let mut pair = pair(from);
        let disk = if from == CopySide::Left { &pair.near } else { &pair.far };
        disk.borrow_mut().put("b", content(500_000, 3));
        assert_eq!(copy(&mut pair, from), Ok(LENGTH as u64), "{from:?}");
        assert!(target(&pair, from) == Some(content(LENGTH, 1)));
        pair.settle();
    }
}

#[test]
fn giving_up_keeps_what_arrived() {
    for from in BOTH {
        let mut pair = pair(from);
        ask(&mut pair, from);
        let disk = if from == CopySide::Left { pair.near.clone() } else { pair.far.clone() };
        disk.borrow_mut().faults.delay = stackwright_contract::Duration::from_millis(10);
        assert!(pair.world.run_until(|_| disk.borrow().written() > 500_000, AGES));
        pair.world.ask(pair.client, Ask::GiveUp);
        pair.run_to(1);
        disk.borrow_mut().faults = Default::default();
        pair.world.run_for(AGES);
        assert!(target(&pair, from).is_none(), "{from:?}");
        let moved = copy(&mut pair, from);
        assert!(moved.is_ok_and(|moved| moved < LENGTH as u64), "{from:?}: {moved:?}");
        assert!(target(&pair, from) == Some(content(LENGTH, 1)));
        pair.settle();
    }
}

/// How long the files are that change.
const CHANGING: usize = 700_000;

/// A copy that is cut off and goes on, of a file that changes at any instant, with digests and
/// without: what gets the name is one version of it.
fn change(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let from = BOTH[random.usize(..2)];
    let mut pair = Pair::new(seed);
    let (source, disk) = match from {
        CopySide::Left => (pair.far.clone(), pair.near.clone()),
        CopySide::Right => (pair.near.clone(), pair.far.clone()),
    };
    let no_digests = random.bool();
    let mut versions = Vec::new();
    let put = |random: &mut Rng, versions: &mut Vec<Vec<u8>>| {
        let nth = versions.len() as u64;
        // Most have the same length, and some the same beginning.
        let mut octets = content(CHANGING, seed ^ nth << 32);
        match (random.u8(..6), versions.last()) {
            (0, _) => octets.truncate(random.usize(1..CHANGING)),
            (1, Some(before)) => {
                let same = random.usize(..before.len().min(CHANGING));
                octets[..same].copy_from_slice(&before[..same]);
            }
            _ => {}
        }
        source.borrow_mut().put("a", octets.clone());
        source.borrow_mut().set_modified("a", 1_000 + nth);
        versions.push(octets);
    };
    put(&mut random, &mut versions);
    for tries in 0.. {
        assert!(tries < 20, "it does not come to an end");
        for disk in [&pair.far, &pair.near] {
            disk.borrow_mut().faults.no_digests = no_digests;
        }
        if tries < 5 && random.u8(..4) > 0 {
            let next = pair.world.network().associations().len() + 1;
            let after = random.u64(..CHANGING as u64);
            pair.world.network_mut().fail(Which::Nth(next), Fault::Cut { after });
        }
        let before = pair.last_words().len();
        ask(&mut pair, from);
        let mut left = (versions.len() < 6).then(|| any_magnitude(&mut random, 600));
        while pair.last_words().len() == before {
            if left == Some(0) {
                put(&mut random, &mut versions);
            }
            left = left.and_then(|left| left.checked_sub(1));
            assert!(pair.world.step(), "it hangs");
        }
        if let Some(Told::Copied { .. }) = pair.last_words().last() {
            break;
        }
        pair.world.run_for(AGES);
    }
    let copied = disk.borrow().octets("b");
    let which = versions.iter().position(|version| copied.as_ref() == Some(version));
    assert!(
        which.is_some(),
        "{from:?}, without digests: {no_digests}: mixed of {}",
        versions.len()
    );
    pair.settle();
}

#[test]
fn what_is_resumed_is_the_version_that_was_begun() {
    for seed in seeds(100) {
        let _said = Seed(seed);
        change(seed);
    }
}
