//! The power is lost before each single operation of a transfer, in turn: the journal tells of no
//! more than the disk has, and what is resumed becomes the file.

use std::cell::{Cell, RefCell};
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stackwright::compose::{Beside, Over};
use stackwright::contract::Handle;
use stackwright::contract::services::Failure;
use stackwright::copy::{Config, Copy, CopySide, Indication, Request};
use stackwright_simulator::{Heard, SimulatedDisk, Tree, Unsynced, World};
use stackwright_wire::SingleBuffer;

use super::keeper::{Keeper, Store};
use super::tests::journal;
use super::{Journal, State};

const LENGTH: usize = 100 << 10;
/// In octets a second: the transfer takes a little more than six.
const RATE: Option<NonZero<u64>> = NonZero::new(16_000);
/// How much of the part a loss of power may cost: a journal's distance, and a write.
const COST: u64 = (64 << 10) + 400;

struct Simulated {
    tree: Rc<RefCell<Tree>>,
    now: Rc<Cell<Instant>>,
}

fn done<T>(result: Result<T, Failure>) -> io::Result<T> {
    result.map_err(|failure| io::Error::other(failure.to_string()))
}

impl Store for Simulated {
    fn now(&self) -> Instant {
        self.now.get()
    }

    fn part(&self) -> io::Result<Option<u64>> {
        Ok(self.tree.borrow().part("file").map(|part| part.len() as u64))
    }

    fn read_part(&self, octets: Range<u64>) -> io::Result<Vec<u8>> {
        let part = self.tree.borrow().part("file").unwrap_or_default();
        Ok(part[octets.start as usize..octets.end as usize].to_vec())
    }

    fn sync_part(&mut self) -> io::Result<()> {
        done(self.tree.borrow_mut().sync("file", true))
    }

    fn cut_part(&mut self, octets: u64) -> io::Result<()> {
        done(self.tree.borrow_mut().cut_part("file", octets as usize))
    }

    fn sync_target(&mut self) -> io::Result<()> {
        done(self.tree.borrow_mut().sync("file", false))
    }

    fn write(&mut self, journal: &str) -> io::Result<()> {
        done(self.tree.borrow_mut().replace("journal", journal.as_bytes()))
    }

    fn remove(&mut self) -> io::Result<()> {
        self.tree.borrow_mut().vanish("journal");
        Ok(())
    }
}

fn content() -> Vec<u8> {
    (0..LENGTH).map(|at| (at * 7 + at / 251) as u8 | 1).collect()
}

fn noted(tree: &Rc<RefCell<Tree>>) -> Option<Journal> {
    let octets = tree.borrow().octets("journal")?;
    Some(Journal::read(&String::from_utf8(octets).expect("text")).expect("never torn"))
}

/// Lets one program run to its end, or to that of the power. Returns where it went on, if it did.
fn run(source: &Rc<RefCell<Tree>>, tree: &Rc<RefCell<Tree>>) -> Option<u64> {
    let began = Instant::now();
    let now = Rc::new(Cell::new(began));
    let store = Simulated { tree: tree.clone(), now: now.clone() };
    let mut keeper = match noted(tree) {
        Some(found) => Keeper::found(store, found, true).ok(),
        None => {
            let new = Journal { known: 0, crc: Vec::new(), state: State::Running, ..journal() };
            Some(Keeper::new(store, new, true))
        }
    };
    let mut world = World::<SingleBuffer>::new(1);
    let [left, right] = [source, tree].map(|tree| SimulatedDisk::<SingleBuffer>::new(tree.clone()));
    let disks = Beside::new(left, right);
    let copy = Over::new(Copy::new(Config { rate: RATE }), disks);
    let station = world.add_at(&[], copy, Heard::default());
    let job = Handle { index: 0, generation: 0 };
    let (from, path) = (CopySide::Left, String::from("file"));
    let request =
        Request::Resume { job, from, source: path.clone(), target: path, checked_first: true };
    world.ask(station, request);
    let (mut seen, mut there) = (0, None);
    while world.step() {
        let heard: Vec<_> = world.application(station).0[seen..].to_vec();
        seen += heard.len();
        now.set(began + Duration::from_nanos(world.now().nanoseconds()));
        for told in heard {
            let kept = keeper.as_mut().map_or(Ok(()), |keeper| match told {
                Indication::Began { size, modified, there: begins, .. } => {
                    there = Some(begins);
                    keeper.began(size, modified, begins).map(|_| ())
                }
                Indication::Moved { octets, .. } => keeper.moved(octets),
                Indication::Copied { .. } => keeper.done(),
                Indication::Failed { failure, .. } => {
                    let state = State::Paused { why: failure.to_string(), again: None };
                    keeper.pause(state).map(|_| ())
                }
                _ => Ok(()),
            });
            if kept.is_err() {
                keeper = None;
            }
        }
    }
    there
}

/// A source, and an empty disk, on which no digest shows what a part is.
fn trees() -> [Rc<RefCell<Tree>>; 2] {
    let trees = [Tree::shared(), Tree::shared()];
    trees[0].borrow_mut().put("file", content());
    trees[0].borrow_mut().set_modified("file", 7);
    for tree in &trees {
        tree.borrow_mut().faults.no_digests = true;
    }
    trees
}

/// While it is resumed, too: neither the part nor the journal that were there are worse for it.
#[test]
fn a_disk_that_fills_up_keeps_what_is_there() {
    let [source, tree] = trees();
    for full_after in [70_000, 90_000] {
        tree.borrow_mut().faults.full_after = Some(full_after);
        run(&source, &tree);
        assert!(tree.borrow().octets("file").is_none());
        let (known, part) = (noted(&tree).expect("a journal").known, tree.borrow().part("file"));
        assert!(known >= 30_000 && part.is_some_and(|part| part.len() as u64 >= known), "{known}");
    }
    tree.borrow_mut().faults.full_after = None;
    assert!(run(&source, &tree) >= Some(30_000));
    assert!(tree.borrow().octets("file") == Some(content()));
}

#[test]
fn a_loss_of_power_costs_little_and_no_octet_is_wrong() {
    let [source, tree] = trees();
    assert_eq!(run(&source, &tree), Some(0));
    let operations = tree.borrow().operations();
    assert!(operations > 250, "{operations}");
    assert!(noted(&tree).is_none(), "what is done has none");
    let mut resumed = 0;
    for at in 1..=operations {
        for unsynced in [Unsynced::Kept, Unsynced::Zeros, Unsynced::Gone] {
            let [source, tree] = trees();
            tree.borrow_mut().faults.power_lost_at = Some(at);
            run(&source, &tree);
            let was = tree.borrow().part("file").map_or(0, |part| part.len() as u64);
            tree.borrow_mut().restart(unsynced);
            let known = noted(&tree).map_or(0, |journal| journal.known);
            if let Some(part) = tree.borrow().part("file") {
                let known = known as usize;
                assert!(part.get(..known) == Some(&content()[..known]), "{at} {unsynced:?}");
            }
            if known == 0 {
                // In its first seconds a transfer has no journal: only digests tell.
                for tree in [&source, &tree] {
                    tree.borrow_mut().faults.no_digests = false;
                }
            }
            let there = run(&source, &tree).expect("it is under way");
            assert!(
                known == 0 || was == 0 || was - there <= COST,
                "{at} {unsynced:?}: {there}, {was}"
            );
            resumed += u64::from(there > 0);
            let whole = tree.borrow().octets("file");
            assert!(whole == Some(content()), "{at} {unsynced:?}: it differs");
            assert!(noted(&tree).is_none(), "{at} {unsynced:?}");
        }
    }
    assert!(resumed > operations, "{resumed} of {} were resumed", 3 * operations);
}
