//! Removal of files, and of folders with everything below them: depth first, without following
//! links.
//!
//! What is removed is on the side of the target.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::Handle;
use stackwright_contract::path::join;
use stackwright_contract::services::{Failure, FileKind, FilesIndication, FilesRequest, Keep};
use stackwright_wire::Message;

use super::{DEPTH_MOST, LIST_MOST, PATH_MOST, Part, SkipReason, Tree, Unit, is_name};
use crate::state::Use;
use crate::{Copy, Indication, Out};

/// What is removed, and how far that is.
#[derive(Default)]
pub(super) struct Removal {
    /// The folder in which something is removed, and those above it, each of which is doomed. The
    /// first stands for the beginning.
    frames: Vec<Frame>,
    /// Whether it is not known what the first is: it may be a link to a folder, which is no folder.
    is_unknown: bool,
}

/// Something that is to be removed.
pub(super) struct Doomed {
    pub(super) path: String,
    pub(super) is_folder: bool,
}

#[derive(Default)]
struct Frame {
    path: String,
    /// Its list, as long as it is open.
    open: Option<Handle>,
    doomed: Vec<Doomed>,
    /// How many octets its list took.
    octets: usize,
    /// What is being removed.
    under_way: Vec<(Handle, String)>,
    /// Whether something in it stays, and so the folder.
    stays: bool,
}

impl Removal {
    /// Returns the removal of one file or folder.
    pub(super) fn of(path: String) -> Self {
        let mut removal = Removal { is_unknown: true, ..Removal::default() };
        removal.doom(Doomed { path, is_folder: false });
        removal
    }

    /// Adds something at the beginning.
    pub(super) fn doom(&mut self, doomed: Doomed) {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        self.frames[0].doomed.push(doomed);
    }

    /// Returns the list that is open.
    pub(super) fn open(&self) -> Option<Handle> {
        self.frames.last()?.open
    }
}

impl Tree {
    fn removal(&mut self, unit: Handle) -> Option<&mut Removal> {
        match self.units.get_mut(unit)? {
            Unit::Visit(visit) => Some(&mut visit.removal),
            Unit::Removal(removal) => Some(removal),
            Unit::Question(_) | Unit::Setting => None,
        }
    }
}

impl<M: Message> Copy<M> {
    /// Removes what can be removed now; at the end the unit is done with it.
    pub(super) fn go_on_removing(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        out: Out<'_, M>,
    ) {
        let at_once = tree.at_once();
        loop {
            let Some(removal) = tree.removal(unit) else { return };
            let depth = removal.frames.len().wrapping_sub(1);
            let Some(frame) = removal.frames.last_mut() else { break };
            if frame.open.is_some() {
                return;
            }
            if frame.doomed.is_empty() && frame.under_way.is_empty() {
                let Some(done) = removal.frames.pop() else { break };
                match removal.frames.last_mut() {
                    None => break,
                    Some(above) if done.stays => above.stays = true,
                    // It is empty now.
                    Some(_) => self.remove(tree, (job, unit), depth - 1, done.path, out),
                }
                continue;
            }
            let Some(next) = frame.doomed.pop_if(|_| frame.under_way.len() < at_once) else {
                return;
            };
            if !next.is_folder {
                self.remove(tree, (job, unit), depth, next.path, out);
            } else if depth > DEPTH_MOST {
                frame.stays = true;
                Self::skip(tree, job, next.path, SkipReason::TooDeep, out);
            } else {
                self.enter_doomed(tree, (job, unit), next.path, out);
            }
        }
        match tree.units.get(unit) {
            Some(Unit::Visit(_)) => self.leave_folder(tree, unit),
            _ => drop(tree.units.forget(unit)),
        }
    }

    fn enter_doomed(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        path: String,
        out: Out<'_, M>,
    ) {
        let side = tree.from.other();
        let Some(removal) = tree.removal(unit) else { return };
        let part = Part::Frame(removal.frames.len());
        let open = self.open_list(job, (unit, part), side, path.clone(), out);
        removal.frames.push(Frame { path, open: Some(open), ..Frame::default() });
    }

    /// Removes one thing in the nth frame.
    fn remove(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        depth: usize,
        path: String,
        out: Out<'_, M>,
    ) {
        if tree.options.dry_run {
            tree.totals.removed += 1;
            return out.indicate(Indication::Removed { job, path });
        }
        let side = tree.from.other();
        let part = Part::Removed(depth);
        let Some(frame) = tree.removal(unit).and_then(|removal| removal.frames.get_mut(depth))
        else {
            return;
        };
        let token = self.names_at(side).name(Use::Tree { job, unit, part });
        frame.under_way.push((token, path.clone()));
        Self::ask(out, side, FilesRequest::Remove { token, path });
    }

    /// Handles the answer to a removal in the nth frame.
    pub(super) fn removed(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        depth: usize,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let FilesIndication::Done { token, result } = indication else { return };
        let side = tree.from.other();
        let Some(removal) = tree.removal(unit) else { return };
        let was_unknown = core::mem::take(&mut removal.is_unknown);
        let Some(frame) = removal.frames.get_mut(depth) else { return };
        let Some(at) = frame.under_way.iter().position(|(name, _)| *name == token) else { return };
        let (_, path) = frame.under_way.swap_remove(at);
        match result {
            Ok(()) => {
                tree.totals.removed += 1;
                out.indicate(Indication::Removed { job, path });
            }
            // Whatever it says: what was no file, link or empty folder may be a full one.
            Err(failure)
                if was_unknown && failure != Failure::Denied && !super::is_of_side(failure) =>
            {
                return self.enter_doomed(tree, (job, unit), path, out);
            }
            Err(failure) if was_unknown => {
                return self.end_tree(tree, job, (side, failure), out);
            }
            Err(failure) => {
                frame.stays = true;
                self.tell_failure(tree, job, path, (side, failure), out);
            }
        }
        self.go_on_removing(tree, (job, unit), out);
    }

    /// Handles an answer about the list of the nth frame.
    pub(super) fn frame_told(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        depth: usize,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let side = tree.from.other();
        let is_job = matches!(tree.units.get(unit), Some(Unit::Removal(_)));
        let root = tree.target.len();
        let Tree { units, filters, .. } = tree;
        let removal = match units.get_mut(unit) {
            Some(Unit::Visit(visit)) => &mut visit.removal,
            Some(Unit::Removal(removal)) => removal,
            _ => return,
        };
        let above: usize = removal.frames.iter().take(depth).map(|frame| frame.octets).sum();
        let Some(frame) = removal.frames.get_mut(depth) else { return };
        let name = indication.name();
        if frame.open != Some(name) {
            return; // it was closed from here
        }
        match indication {
            FilesIndication::Opened { file, .. } => {
                Self::ask(out, side, FilesRequest::Next { file });
            }
            FilesIndication::Entries { file, entries, .. } => {
                let is_end = entries.is_empty();
                for entry in entries {
                    let is_folder = entry.status.kind == FileKind::Folder;
                    let path = join(&frame.path, &entry.name);
                    let below = path.get(root..).unwrap_or_default().trim_start_matches('/');
                    let is_path = is_name(&entry.name) && path.len() <= PATH_MOST;
                    if !is_path || !is_job && filters.leaves(below, is_folder) {
                        frame.stays = true;
                    } else {
                        frame.octets += size_of::<Doomed>() + path.len();
                        frame.doomed.push(Doomed { path, is_folder });
                    }
                }
                let is_too_long = above + frame.octets > LIST_MOST;
                if !is_end && !is_too_long {
                    return Self::ask(out, side, FilesRequest::Next { file });
                }
                frame.open = None;
                self.close(side, file, Keep::Nothing, out);
                self.go_on_removing(tree, (job, unit), out);
            }
            FilesIndication::Closed { result, .. } => {
                frame.open = None;
                frame.stays = true;
                let path = frame.path.clone();
                let failure = result.err().unwrap_or(Failure::Lost);
                if is_job && depth == 1 {
                    return self.end_tree(tree, job, (side, failure), out);
                }
                self.tell_failure(tree, job, path, (side, failure), out);
                self.go_on_removing(tree, (job, unit), out);
            }
            _ => {}
        }
    }
}
