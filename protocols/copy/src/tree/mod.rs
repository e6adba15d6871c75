//! Folders with everything below them: copied, and removed.
//!
//! At most [`TreeOptions::at_once`] things are under way: folders that are visited, files that are
//! copied, questions about files. The sources of as many files are opened ahead. A folder is
//! visited when no file waits, so that what is remembered does not grow with the tree.
//!
//! ```text
//! folder ──▸ list it on both sides ──▸ compare ──▸ remove ──▸ files wait ──▸ copy ──▸ set the time
//!    ▴                                   └─▸ folders below it wait
//!    └──────────────────────────────────────────────┘
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `words.rs` | options and totals |
//! | `walk.rs` | folders: they are listed on both sides |
//! | `compare.rs` | what is the same on both sides |
//! | `files.rs` | files: questions, copies, their time |
//! | `remove.rs` | removal of files and folders |
//! | `filter.rs` | names that are left alone |

mod compare;
mod files;
mod filter;
mod remove;
mod walk;
mod words;

pub use words::{Comparison, SkipReason, TreeOptions, TreeTotals};

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::services::{Failure, FilesIndication, Keep, Status};
use stackwright_contract::{Context, Handle, Instant, Names};
use stackwright_wire::Message;

use crate::state::Job;
use crate::{Copy, CopySide, Indication, Out};
use files::{Item, Question};
use filter::Filters;
use remove::Removal;
use walk::{Folder, Visit};

/// The most folders above a file. A folder that is deeper is told, and left alone: a loop of links
/// ends there if nothing else shows it.
const DEPTH_MOST: usize = 128;
/// The most octets of a path: what a request of FTP takes, and what systems open.
const PATH_MOST: usize = 4096;
/// The most octets of the entries of one list, and of what is to be removed at once. More of them
/// are more memory than a peer may claim.
const LIST_MOST: usize = 256 << 20;
/// The most octets of the folders that wait.
const WAITING_MOST: usize = 128 << 20;

/// The most files that are given their time at once.
const SETTINGS_MOST: usize = 64;

/// A tree under way.
pub(crate) struct Tree {
    /// The side of the source; where everything is removed, the other one.
    from: CopySide,
    /// The path of the target.
    target: String,
    options: TreeOptions,
    filters: Filters,
    began: Instant,
    totals: TreeTotals,
    /// Folders that wait; the last is the next.
    folders: Vec<Folder>,
    /// How many octets these take, and those of the folders that are visited.
    waiting: usize,
    /// Files that wait.
    files: VecDeque<Item>,
    units: Names<Unit>,
    /// How many files have begun.
    copies: usize,
    /// How many of them are under way: their targets were requested.
    under_way: usize,
    /// How many of these open their source last, or with the target.
    source_last: usize,
    /// Those whose sources are open: their targets are requested next.
    ready: VecDeque<Handle>,
    /// How many files are given their time.
    settings: usize,
    /// Whether the source's side, and the target's, tell no better time of a file than their lists
    /// do.
    tells_no_better: [bool; 2],
    /// Whether the target's side can set when a file was modified, once that is known.
    settable: Option<bool>,
    /// Why it ends before its end.
    ending: Option<(CopySide, Failure)>,
}

/// Something under way that is no copy.
enum Unit {
    Visit(Box<Visit>),
    Question(Box<Question>),
    /// The time of a file is set.
    Setting,
    /// `RemoveTree`.
    Removal(Removal),
}

/// What an answer is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Source,
    Target,
    /// The list of the nth folder on the way to what is removed.
    Frame(usize),
    /// Something in that folder.
    Removed(usize),
}

impl Tree {
    fn new(from: CopySide, target: String, options: TreeOptions, began: Instant) -> Option<Self> {
        Some(Tree {
            from,
            target,
            filters: Filters::parse(&options)?,
            options,
            began,
            totals: TreeTotals::default(),
            folders: Vec::new(),
            waiting: 0,
            files: VecDeque::new(),
            units: Names::default(),
            copies: 0,
            under_way: 0,
            source_last: 0,
            ready: VecDeque::new(),
            settings: 0,
            tells_no_better: [false; 2],
            settable: None,
            ending: None,
        })
    }

    fn at_once(&self) -> usize {
        self.options.at_once.max(1)
    }

    /// Returns whether a file whose source is open may go on.
    fn has_room(&self) -> bool {
        self.units.len() - self.settings + self.under_way < self.at_once()
    }

    /// Returns whether something may begin that is no file opened ahead. Those keep their room:
    /// each may have the session of a server that the other would wait for.
    fn has_room_beside(&self) -> bool {
        self.units.len() - self.settings + self.copies < self.at_once()
    }

    /// Returns whether the source of a file is opened ahead: a session of a server that has done
    /// one file finds the next. Not while a file is under way whose source is opened last: it would
    /// wait for that session, and keep the room.
    fn opens_ahead(&self, item: &Item) -> bool {
        self.source_last == 0 && !self.options.early && !self.resumes(item)
    }

    /// Returns whether the next file may begin.
    fn may_begin(&self, item: &Item) -> bool {
        let is_ahead = self.opens_ahead(item);
        let ahead = self.copies - self.under_way;
        self.settings < SETTINGS_MOST
            && if is_ahead && item.there.is_none() {
                ahead < self.at_once()
            } else {
                self.has_room_beside()
            }
    }
}

/// Returns whether a failure is about the whole side, and not about one file.
fn is_of_side(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::Lost
            | Failure::Unreachable
            | Failure::NotLoggedIn
            | Failure::Expired
            | Failure::Untrusted { .. }
            | Failure::Insecure(..)
            | Failure::Full
    )
}

/// Returns whether a name may be one in a target folder: it leads nowhere else, and no side takes
/// it for the end of a command.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0', '\r', '\n'])
}

impl<M: Message> Copy<M> {
    pub(crate) fn begin_tree(
        &mut self,
        cx: &Context,
        job: Handle,
        from: CopySide,
        (source, target): (String, String),
        options: TreeOptions,
        out: Out<'_, M>,
    ) {
        let begun = Tree::new(from, target, options, cx.now())
            .and_then(|tree| Some((Folder::first(source, tree.target.clone())?, tree)));
        let Some((folder, mut tree)) = begun else {
            let failure = Failure::BadName;
            return out.indicate(Indication::Failed { job, side: from, failure });
        };
        tree.waiting += folder.octets();
        tree.folders.push(folder);
        self.jobs.insert(job, Job::Tree(None));
        self.go_on(cx, job, Box::new(tree), out);
    }

    pub(crate) fn begin_removal(
        &mut self,
        cx: &Context,
        job: Handle,
        side: CopySide,
        path: String,
        out: Out<'_, M>,
    ) {
        let tree = Tree::new(side.other(), path.clone(), TreeOptions::default(), cx.now());
        let Some(mut tree) = tree else { return };
        let unit = tree.units.name(Unit::Removal(Removal::of(path)));
        self.jobs.insert(job, Job::Tree(None));
        self.go_on_removing(&mut tree, (job, unit), out);
        self.go_on(cx, job, Box::new(tree), out);
    }

    fn take_tree(&mut self, job: Handle) -> Option<Box<Tree>> {
        match self.jobs.get_mut(job) {
            Some(Job::Tree(tree)) => tree.take(),
            _ => None,
        }
    }

    pub(crate) fn on_tree(
        &mut self,
        cx: &Context,
        job: Handle,
        (unit, part): (Handle, Part),
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let Some(mut tree) = self.take_tree(job) else { return };
        match (tree.units.get(unit), part) {
            (Some(Unit::Visit(_)), Part::Source) => {
                self.source_told(&mut tree, (job, unit), indication, out);
            }
            (Some(Unit::Visit(_)), Part::Target) => {
                self.target_told(&mut tree, (job, unit), indication, out);
            }
            (Some(Unit::Visit(_) | Unit::Removal(_)), Part::Frame(depth)) => {
                self.frame_told(&mut tree, (job, unit), depth, indication, out);
            }
            (Some(Unit::Visit(_) | Unit::Removal(_)), Part::Removed(depth)) => {
                self.removed(&mut tree, (job, unit), depth, indication, out);
            }
            (Some(Unit::Question(_)), part) => {
                self.question_answered(cx, &mut tree, (job, unit), part, indication, out);
            }
            (Some(Unit::Setting), _) => self.time_set(&mut tree, (job, unit), indication, out),
            (None, _) => {} // it was given up
            (Some(_), _) => {}
        }
        self.go_on(cx, job, tree, out);
    }

    /// Begins what can be begun, and ends the tree when nothing is left of it.
    fn go_on(&mut self, cx: &Context, job: Handle, mut tree: Box<Tree>, out: Out<'_, M>) {
        while tree.ending.is_none() {
            if tree.has_room()
                && let Some(copy) = tree.ready.pop_front()
            {
                self.open_held(&mut tree, copy, out);
            } else if let Some(item) = tree.files.pop_front() {
                if !tree.may_begin(&item) {
                    tree.files.push_front(item);
                    break;
                }
                self.begin_item(cx, &mut tree, job, item, out);
            } else if tree.has_room_beside()
                && let Some(folder) = tree.folders.pop()
            {
                tree.waiting -= folder.octets();
                self.visit(&mut tree, job, folder, out);
            } else {
                break;
            }
        }
        if !tree.units.is_empty() || tree.copies > 0 {
            if let Some(Job::Tree(place)) = self.jobs.get_mut(job) {
                *place = Some(tree);
            }
            return;
        }
        self.jobs.remove(job);
        self.leave(job);
        out.indicate(match tree.ending {
            Some((side, failure)) => Indication::Failed { job, side, failure },
            None => {
                let totals = TreeTotals { took: cx.now().since(tree.began), ..tree.totals };
                Indication::TreeDone { job, totals }
            }
        });
    }

    /// Ends a tree before its end. Copies whose targets are getting their names end by themselves.
    fn end_tree(
        &mut self,
        tree: &mut Tree,
        job: Handle,
        (side, failure): (CopySide, Failure),
        out: Out<'_, M>,
    ) {
        if tree.ending.is_some() {
            return;
        }
        tree.ending = Some((side, failure));
        tree.files.clear();
        tree.folders.clear();
        tree.ready.clear();
        tree.settings = 0;
        let units: Vec<Handle> = tree.units.iter().map(|(name, _)| name).collect();
        for unit in units {
            self.drop_unit(tree, unit, out);
        }
        let of_tree: Vec<Handle> = self
            .copies
            .iter()
            .filter(|(_, copying)| copying.in_tree && copying.job == job && !copying.is_kept())
            .map(|(name, _)| name)
            .collect();
        for copy in of_tree {
            let Some(copying) = self.copies.forget(copy) else { continue };
            let keep = copying.worth(failure);
            self.close_both(&copying, keep, out);
            tree.end_copy(&copying);
        }
    }

    /// Forgets a unit, and closes what it has open.
    fn drop_unit(&mut self, tree: &mut Tree, unit: Handle, out: Out<'_, M>) {
        let (from, target_side) = (tree.from, tree.from.other());
        let (source, target, removal) = match tree.units.forget(unit) {
            Some(Unit::Visit(visit)) => (visit.source.open, visit.target.open, Some(visit.removal)),
            Some(Unit::Removal(removal)) => (None, None, Some(removal)),
            _ => return,
        };
        let listed = removal.and_then(|removal| removal.open());
        for (side, file) in [(from, source), (target_side, target), (target_side, listed)] {
            if let Some(file) = file {
                self.close(side, file, Keep::Nothing, out);
            }
        }
    }

    pub(crate) fn give_up_tree(&mut self, cx: &Context, job: Handle, out: Out<'_, M>) {
        let Some(mut tree) = self.take_tree(job) else { return };
        let side = tree.from;
        self.end_tree(&mut tree, job, (side, Failure::GivenUp), out);
        self.go_on(cx, job, tree, out);
    }

    /// Tells a failure that is about one file or folder; one that is about the whole side ends the
    /// tree.
    fn tell_failure(
        &mut self,
        tree: &mut Tree,
        job: Handle,
        path: String,
        (side, failure): (CopySide, Failure),
        out: Out<'_, M>,
    ) {
        if tree.ending.is_some() {
            return;
        }
        tree.totals.failed += 1;
        out.indicate(Indication::FileFailed { job, path, side, failure });
        if is_of_side(failure) {
            self.end_tree(tree, job, (side, failure), out);
        }
    }

    fn skip(tree: &mut Tree, job: Handle, path: String, why: SkipReason, out: Out<'_, M>) {
        match why {
            SkipReason::Same => tree.totals.same += 1,
            _ => tree.totals.skipped += 1,
        }
        out.indicate(Indication::Skipped { job, path, why });
    }
}

/// Entries of a folder as they are remembered.
type Entries = Vec<(String, Status)>;
