//! Two disks and a copy.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stackwright_compose::{Beside, Over};
use stackwright_contract::Handle;
use stackwright_copy::{
    Copy, CopySide, Indication as Told, Request as Ask, TreeOptions, TreeTotals,
};
use stackwright_simulator::{Heard, SimulatedDisk, StationId, Tree, World};
use stackwright_wire::SingleBuffer as M;

pub(crate) type Stack = Over<Copy<M>, Beside<SimulatedDisk<M>, SimulatedDisk<M>>>;

/// The name of all jobs here: each ends before the next begins.
pub(crate) const JOB: Handle = Handle { index: 0, generation: 0 };

pub(crate) struct Desk {
    pub(crate) world: World<M>,
    pub(crate) station: StationId<Stack, Heard<Told>>,
    /// The disk of the sources.
    pub(crate) left: Rc<RefCell<Tree>>,
    /// The disk of the targets.
    pub(crate) right: Rc<RefCell<Tree>>,
}

/// What was told of one job.
pub(crate) struct Report {
    pub(crate) told: Vec<Told>,
    /// Its last word.
    pub(crate) last: Told,
}

impl Desk {
    pub(crate) fn new(seed: u64) -> Self {
        let mut world = World::new(seed);
        let (left, right) = (Tree::shared(), Tree::shared());
        let disks =
            Beside::new(SimulatedDisk::new(left.clone()), SimulatedDisk::new(right.clone()));
        let station = world.add_at(&[], Over::new(Copy::default(), disks), Heard::default());
        Desk { world, station, left, right }
    }

    /// Puts a file on the left, modified at this time.
    pub(crate) fn put(&self, path: &str, octets: &str, modified: u64) {
        let mut disk = self.left.borrow_mut();
        disk.put(path, octets);
        disk.set_modified(path, modified);
    }

    pub(crate) fn put_right(&self, path: &str, octets: &str, modified: u64) {
        let mut disk = self.right.borrow_mut();
        disk.put(path, octets);
        disk.set_modified(path, modified);
    }

    pub(crate) fn ask(&mut self, source: &str, target: &str, options: &TreeOptions) {
        let (from, source, target) = (CopySide::Left, source.into(), target.into());
        let options = options.clone();
        self.world.ask(self.station, Ask::Tree { job: JOB, from, source, target, options });
    }

    /// Runs until nothing is left to do. Nothing may be open then.
    pub(crate) fn finish(&mut self) -> Report {
        while self.world.step() {}
        let stack = self.world.stack(self.station);
        assert_eq!(stack.upper.names(), 0);
        assert_eq!((stack.lower.left.open_files(), stack.lower.right.open_files()), (0, 0));
        let mut told = std::mem::take(&mut self.world.application_mut(self.station).0);
        let is_last = |told: &Told| matches!(told, Told::TreeDone { .. } | Told::Failed { .. });
        assert_eq!(told.iter().filter(|told| is_last(told)).count(), 1, "{told:?}");
        let last = told.pop().expect("it has a last word");
        assert!(is_last(&last), "{last:?}");
        Report { told, last }
    }

    pub(crate) fn mirror(&mut self, source: &str, target: &str, options: &TreeOptions) -> Report {
        self.ask(source, target, options);
        self.finish()
    }

    pub(crate) fn remove(&mut self, path: &str) -> Report {
        let path = path.into();
        self.world.ask(self.station, Ask::RemoveTree { job: JOB, side: CopySide::Right, path });
        self.finish()
    }
}

impl Report {
    pub(crate) fn totals(&self) -> TreeTotals {
        match self.last {
            Told::TreeDone { totals, .. } => totals,
            ref other => panic!("{other:?}"),
        }
    }

    pub(crate) fn skipped(&self) -> Vec<String> {
        let skipped = self.told.iter().filter_map(|told| match told {
            Told::Skipped { path, why, .. } => Some(format!("{path}: {why:?}")),
            _ => None,
        });
        sorted(skipped.collect())
    }

    pub(crate) fn copied(&self) -> Vec<String> {
        let copied = self.told.iter().filter_map(|told| match told {
            Told::FileCopied { path, .. } => Some(path.clone()),
            _ => None,
        });
        sorted(copied.collect())
    }

    pub(crate) fn removed(&self) -> Vec<String> {
        let removed = self.told.iter().filter_map(|told| match told {
            Told::Removed { path, .. } => Some(path.clone()),
            _ => None,
        });
        sorted(removed.collect())
    }

    pub(crate) fn failed(&self) -> Vec<String> {
        let failed = self.told.iter().filter_map(|told| match told {
            Told::FileFailed { path, side, failure, .. } => {
                Some(format!("{side:?} {path}: {failure:?}"))
            }
            _ => None,
        });
        sorted(failed.collect())
    }
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// The files and folders below a folder: octets and time of each file.
pub(crate) type Content = BTreeMap<String, Option<(Vec<u8>, Option<u64>)>>;

pub(crate) fn content(disk: &Rc<RefCell<Tree>>, folder: &str) -> Content {
    let disk = disk.borrow();
    let below = |path: &String| Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
    let folders = disk.folders().into_iter().filter_map(|path| Some((below(&path)?, None)));
    let files = disk.files().into_iter().filter_map(|path| {
        let octets = disk.octets(&path).expect("it was listed");
        Some((below(&path)?, Some((octets, disk.modified(&path)))))
    });
    folders.chain(files).collect()
}
