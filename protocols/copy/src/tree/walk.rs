//! Folders: each is listed on both sides, and compared.
//!
//! The source's list is taken as fast as it comes, and remembered: a list that stands still holds a
//! session of a server, which may give up on it (vsftpd after 5 minutes, others after 30 seconds),
//! while the files of one folder may take hours.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::Handle;
use stackwright_contract::path::{join, split};
use stackwright_contract::pattern::{NoPattern, Pattern};
use stackwright_contract::services::{
    Failure, FileKind, FilesIndication, FilesRequest, FolderEntry, Keep, Purpose, Status,
};
use stackwright_wire::Message;

use super::files::Item;
use super::remove::{Doomed, Removal};
use super::{
    DEPTH_MOST, Entries, LIST_MOST, PATH_MOST, Part, SkipReason, Tree, Unit, WAITING_MOST, is_name,
};
use crate::state::Use;
use crate::{Copy, CopySide, Indication, Out};

/// A folder that waits.
pub(super) struct Folder {
    source: String,
    target: String,
    /// The path below the tree's folder.
    below: String,
    there: There,
    /// The pattern of what is copied of it.
    pattern: Option<Pattern>,
    /// What is known to be above it: the numbers of the folders.
    above: Vec<u64>,
    depth: usize,
}

/// Whether the target folder exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum There {
    Unknown,
    Yes,
    No,
}

impl Folder {
    /// Returns the folder where a tree begins. `None`: its pattern is too much work.
    pub(super) fn first(source: String, target: String) -> Option<Self> {
        let (folder, last) = split(source.trim_end_matches('/'));
        let (source, pattern) = match Pattern::parse(last) {
            Ok(pattern) => (folder.into(), Some(pattern)),
            Err(NoPattern::Name) => (source, None),
            Err(NoPattern::TooMuch) => return None,
        };
        let is_root = target.trim_end_matches('/').is_empty();
        let there = if is_root { There::Yes } else { There::Unknown };
        Some(Folder {
            source,
            target,
            below: String::new(),
            there,
            pattern,
            above: Vec::new(),
            depth: 0,
        })
    }

    /// Returns how many octets it takes as long as it waits.
    pub(super) fn octets(&self) -> usize {
        let paths = self.source.len() + self.target.len() + self.below.len();
        size_of::<Self>() + paths + size_of_val(&*self.above)
    }

    /// Returns how many octets a file in it takes as long as it waits, besides its name twice.
    fn octets_each(&self) -> usize {
        size_of::<Item>() + self.source.len() + self.target.len()
    }

    fn is_first(&self) -> bool {
        self.depth == 0
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
    }
}

/// A folder that is listed on both sides.
pub(super) struct Visit {
    folder: Folder,
    pub(super) source: List,
    pub(super) target: List,
    /// What is removed of the target before its files are copied.
    pub(super) removal: Removal,
    files: Vec<Item>,
    folders: Vec<Folder>,
    /// Whether both lists were compared.
    compared: bool,
    /// Whether what the source's list does not name is not there.
    is_trusted: bool,
}

/// The list of a folder, on one side.
#[derive(Default)]
pub(super) struct List {
    /// Its name, as long as it is open.
    pub(super) open: Option<Handle>,
    entries: Entries,
    /// How many octets become of these at most.
    octets: usize,
    /// Whether all of it is here.
    done: bool,
    left_out: Vec<String>,
    /// Whether it may not be all of the folder.
    is_doubtful: bool,
    too_long: bool,
}

impl List {
    /// Adds entries, each of which takes `each` octets and its name twice.
    fn add(&mut self, entries: Vec<FolderEntry>, left_out: Vec<String>, each: usize) {
        self.octets += left_out.iter().map(String::len).sum::<usize>();
        self.left_out.extend(left_out);
        for FolderEntry { name, status, .. } in entries {
            self.octets += each + 2 * name.len();
            if self.octets > LIST_MOST {
                self.too_long = true;
                return;
            }
            self.entries.push((name, status));
        }
    }

    /// Returns whether it tells everything that is in the folder: only then does what it does not
    /// name not exist.
    fn is_trusted(&self) -> bool {
        self.left_out.is_empty() && !self.is_doubtful && !self.too_long
    }

    /// Brings the entries in order. Of two with one name, the first counts.
    fn sort(&mut self) {
        self.entries.sort_by(|one, other| one.0.cmp(&other.0));
        self.entries.dedup_by(|one, other| one.0 == other.0);
    }

    fn find(&self, name: &str) -> Option<Status> {
        let found = self.entries.binary_search_by(|(one, _)| one.as_str().cmp(name));
        found.ok().map(|at| self.entries[at].1)
    }
}

/// What to do with a list after an answer about it.
enum Listed {
    /// It goes on.
    Open,
    Done,
    Failed(Failure),
}

impl<M: Message> Copy<M> {
    pub(super) fn visit(&mut self, tree: &mut Tree, job: Handle, folder: Folder, out: Out<'_, M>) {
        let (source, target, there) = (folder.source.clone(), folder.target.clone(), folder.there);
        let visit = Visit {
            folder,
            source: List::default(),
            target: List { done: there == There::No, ..List::default() },
            removal: Removal::default(),
            files: Vec::new(),
            folders: Vec::new(),
            compared: false,
            is_trusted: false,
        };
        let unit = tree.units.name(Unit::Visit(Box::new(visit)));
        let file = self.open_list(job, (unit, Part::Source), tree.from, source, out);
        let mut other = None;
        match there {
            There::Yes => {
                let side = tree.from.other();
                other = Some(self.open_list(job, (unit, Part::Target), side, target, out));
            }
            There::Unknown => {
                let side = tree.from.other();
                let part = Part::Target;
                let token = self.names_at(side).name(Use::Tree { job, unit, part });
                Self::ask(
                    out,
                    side,
                    FilesRequest::Stat { token, path: target, part: false, is_file: false },
                );
            }
            There::No => {}
        }
        if let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) {
            (visit.source.open, visit.target.open) = (Some(file), other);
        }
    }

    pub(super) fn open_list(
        &mut self,
        job: Handle,
        (unit, part): (Handle, Part),
        side: CopySide,
        path: String,
        out: Out<'_, M>,
    ) -> Handle {
        let file = self.names_at(side).name(Use::Tree { job, unit, part });
        Self::ask(out, side, FilesRequest::Open { file, path, purpose: Purpose::List });
        file
    }

    /// Handles an answer about the list of a source folder.
    pub(super) fn source_told(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let side = tree.from;
        let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) else { return };
        let each = visit.folder.octets_each();
        match self.list_told(&mut visit.source, (side, each), indication, out) {
            Listed::Open => {}
            Listed::Done => self.compare(tree, (job, unit), out),
            Listed::Failed(failure) => {
                let path = visit.folder.source.clone();
                self.visit_failed(tree, (job, unit), path, (side, failure), out);
            }
        }
    }

    /// Handles an answer about a target folder: whether it exists, its list, or that it was made.
    pub(super) fn target_told(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let side = tree.from.other();
        let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) else { return };
        let path = visit.folder.target.clone();
        let each = visit.folder.octets_each();
        let failure = match indication {
            FilesIndication::Stated { result: Ok(status), .. } => {
                if status.kind == FileKind::Folder {
                    visit.folder.there = There::Yes;
                    visit.target.open =
                        Some(self.open_list(job, (unit, Part::Target), side, path, out));
                    return;
                }
                Failure::Exists
            }
            FilesIndication::Stated { result: Err(Failure::NotFound), .. } => {
                visit.folder.there = There::No;
                visit.target.done = true;
                return self.compare(tree, (job, unit), out);
            }
            FilesIndication::Done { result: Ok(()), .. } => {
                visit.folder.there = There::Yes;
                return self.compare(tree, (job, unit), out);
            }
            FilesIndication::Stated { result: Err(failure), .. }
            | FilesIndication::Done { result: Err(failure), .. } => failure,
            told => match self.list_told(&mut visit.target, (side, each), told, out) {
                Listed::Open => return,
                Listed::Done => return self.compare(tree, (job, unit), out),
                Listed::Failed(failure) => failure,
            },
        };
        self.visit_failed(tree, (job, unit), path, (side, failure), out);
    }

    fn list_told(
        &mut self,
        list: &mut List,
        (side, each): (CopySide, usize),
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) -> Listed {
        match indication {
            FilesIndication::Entries { file, entries, left_out, is_doubtful } => {
                let is_end = entries.is_empty();
                list.is_doubtful |= is_doubtful;
                list.add(entries, left_out, each);
                if !is_end && !list.too_long {
                    Self::ask(out, side, FilesRequest::Next { file });
                    return Listed::Open;
                }
                list.open = None;
                list.done = true;
                list.sort();
                self.close(side, file, Keep::Nothing, out);
                Listed::Done
            }
            FilesIndication::Opened { file, .. } => {
                Self::ask(out, side, FilesRequest::Next { file });
                Listed::Open
            }
            FilesIndication::Closed { result: Err(failure), .. } if !list.done => {
                list.open = None;
                Listed::Failed(failure)
            }
            _ => Listed::Open,
        }
    }

    /// Fails a folder that is visited; where it is the first, the tree with it.
    fn visit_failed(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        path: String,
        (side, failure): (CopySide, Failure),
        out: Out<'_, M>,
    ) {
        let Some(Unit::Visit(visit)) = tree.units.get(unit) else { return };
        let is_first = visit.folder.is_first();
        self.drop_unit(tree, unit, out);
        if is_first {
            self.end_tree(tree, job, (side, failure), out);
        } else {
            self.tell_failure(tree, job, path, (side, failure), out);
        }
    }

    /// Compares the lists once both are here and the target folder exists, and goes on removing.
    fn compare(&mut self, tree: &mut Tree, (job, unit): (Handle, Handle), out: Out<'_, M>) {
        let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) else { return };
        if !(visit.source.done && visit.target.done) || visit.compared {
            return;
        }
        let lists = [(&visit.source, &visit.folder.source), (&visit.target, &visit.folder.target)];
        let too_long = lists.into_iter().find(|(list, _)| list.too_long);
        if let Some(path) = too_long.map(|(_, path)| path.clone()) {
            Self::skip(tree, job, path, SkipReason::TooLong, out);
            return self.drop_unit(tree, unit, out);
        }
        if visit.folder.there == There::No && !tree.options.dry_run {
            let (side, part, path) = (tree.from.other(), Part::Target, visit.folder.target.clone());
            let token = self.names_at(side).name(Use::Tree { job, unit, part });
            return Self::ask(out, side, FilesRequest::MakeFolder { token, path });
        }
        visit.compared = true;
        let folder = visit.folder.target.clone();
        let source = mem::take(&mut visit.source);
        tree.totals.folders += 1;
        out.indicate(Indication::Entered { job, folder });
        let path = visit.folder.source.clone();
        visit.is_trusted = source.is_trusted();
        for name in &source.left_out {
            Self::skip(tree, job, join(&path, name), SkipReason::Unread, out);
        }
        if tree.options.delete && source.is_trusted() {
            self.doom_strays(tree, unit, &source);
        } else if tree.options.delete || source.is_doubtful {
            Self::skip(tree, job, path, SkipReason::Doubtful, out);
        }
        for (name, status) in source.entries {
            self.meet(tree, (job, unit), name, status, out);
        }
        if let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) {
            visit.target = List { done: true, ..List::default() };
        }
        self.go_on_removing(tree, (job, unit), out);
    }

    /// Dooms what the target has and the source does not.
    fn doom_strays(&mut self, tree: &mut Tree, unit: Handle, source: &List) {
        let Tree { units, filters, .. } = tree;
        let Some(Unit::Visit(visit)) = units.get_mut(unit) else { return };
        let Visit { folder, target, removal, .. } = &mut **visit;
        for (name, status) in &target.entries {
            let is_folder = status.kind == FileKind::Folder;
            let is_stray = is_name(name)
                && source.find(name).is_none()
                && folder.is_wanted(name)
                && !filters.leaves(&join(&folder.below, name), is_folder);
            if is_stray {
                removal.doom(Doomed { path: join(&folder.target, name), is_folder });
            }
        }
    }

    /// Decides what becomes of something in a source folder.
    fn meet(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        name: String,
        status: Status,
        out: Out<'_, M>,
    ) {
        let Some(Unit::Visit(visit)) = tree.units.get_mut(unit) else { return };
        let folder = &visit.folder;
        if !folder.is_wanted(&name) {
            return;
        }
        let (source, target) = (join(&folder.source, &name), join(&folder.target, &name));
        let below = join(&folder.below, &name);
        let is_folder = status.kind == FileKind::Folder;
        let is_too_long = source.len().max(target.len()) > PATH_MOST;
        let is_loop = status.unique.is_some_and(|number| folder.above.contains(&number));
        let why = match status.kind {
            _ if is_too_long || !is_name(&name) => Some(SkipReason::BadName),
            _ if tree.filters.leaves(&below, is_folder) => Some(SkipReason::Excluded),
            FileKind::Link => Some(SkipReason::Link),
            FileKind::Other => Some(SkipReason::Other),
            FileKind::Folder if is_loop => Some(SkipReason::Loop),
            FileKind::Folder if folder.depth == DEPTH_MOST => Some(SkipReason::TooDeep),
            FileKind::Folder if tree.waiting > WAITING_MOST => Some(SkipReason::TooMany),
            FileKind::Folder | FileKind::File => None,
        };
        if let Some(why) = why {
            return Self::skip(tree, job, source, why, out);
        }
        let there = visit.target.find(&name);
        let kind = there.map(|status| status.kind);
        // A folder in the place of a file, or the other way round: what is there is no stray by its
        // name, but the source does not have it. Of a link, what it leads to is replaced.
        let is_in_the_way = match kind {
            Some(FileKind::Folder) => !is_folder,
            Some(_) => is_folder,
            None => false,
        };
        if is_in_the_way {
            if !tree.options.delete || !visit.is_trusted {
                let side = tree.from.other();
                return self.tell_failure(tree, job, target, (side, Failure::Exists), out);
            }
            let is_folder = kind == Some(FileKind::Folder);
            visit.removal.doom(Doomed { path: target.clone(), is_folder });
        }
        if is_folder {
            let is_there = kind == Some(FileKind::Folder);
            let mut above = folder.above.clone();
            above.extend(status.unique);
            let depth = folder.depth + 1;
            let there = if is_there { There::Yes } else { There::No };
            let pattern = None;
            let folder = Folder { source, target, below, there, pattern, above, depth };
            tree.waiting += folder.octets();
            visit.folders.push(folder);
        } else {
            let there = there.filter(|_| !is_in_the_way);
            visit.files.push(Item { source, target, status, there });
        }
    }

    /// Ends the visit to a folder of which nothing is to be removed any more.
    pub(super) fn leave_folder(&mut self, tree: &mut Tree, unit: Handle) {
        let Some(Unit::Visit(visit)) = tree.units.forget(unit) else { return };
        tree.files.extend(visit.files);
        tree.folders.extend(visit.folders.into_iter().rev());
    }
}
