//! The files of a tree: questions about them, their copies, and their time.

use alloc::boxed::Box;
use alloc::string::String;

use stackwright_contract::services::{
    Attribute, Failure, FilesIndication, FilesRequest, Purpose, Status,
};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::compare::{Verdict, verdict};
use super::{Part, SkipReason, Tree, Unit};
use crate::state::{FileCopy, Resume, Use};
use crate::{Copy, CopySide, Indication, Out};

/// From how many octets on a file is resumed. To move a smaller one again is cheaper than to ask
/// what is there of it.
const RESUMED_FROM: u64 = 1 << 20;

/// A file that waits.
pub(super) struct Item {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) status: Status,
    /// What has the name on the target's side, where it may be the same.
    pub(super) there: Option<Status>,
}

/// A file of which it is asked whether it is the same on both sides.
pub(super) struct Question {
    item: Item,
    /// How many answers are still to come.
    open: usize,
    /// Whether the sides were asked.
    asked: bool,
}

impl Tree {
    pub(super) fn resumes(&self, item: &Item) -> bool {
        self.options.resume && item.status.size >= RESUMED_FROM
    }

    pub(super) fn end_copy<M>(&mut self, copying: &FileCopy<M>) {
        self.copies -= 1;
        self.under_way -= usize::from(!copying.held);
        self.source_last -= usize::from(copying.source_last);
    }
}

impl<M: Message> Copy<M> {
    /// Handles a source that is open before its target was requested.
    pub(crate) fn source_ready(
        &mut self,
        cx: &Context,
        job: Handle,
        copy: Handle,
        out: Out<'_, M>,
    ) {
        let Some(mut tree) = self.take_tree(job) else { return };
        tree.ready.push_back(copy);
        self.go_on(cx, job, tree, out);
    }

    /// Requests the target of a file whose source is open.
    pub(super) fn open_held(&mut self, tree: &mut Tree, copy: Handle, out: Out<'_, M>) {
        // It may have failed meanwhile.
        let Some(copying) = self.copies.get_mut(copy) else { return };
        copying.held = false;
        tree.under_way += 1;
        self.open_target(copy, Purpose::Create { from: 0 }, out);
    }

    pub(super) fn begin_item(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        job: Handle,
        item: Item,
        out: Out<'_, M>,
    ) {
        self.judge(cx, tree, job, Question { item, open: 0, asked: false }, out);
    }

    fn judge(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        job: Handle,
        question: Question,
        out: Out<'_, M>,
    ) {
        let Question { item, asked, .. } = &question;
        let Some(there) = &item.there else {
            return self.begin_copy(cx, tree, job, question.item, out);
        };
        // A dry run sets nothing, not even what changes nothing.
        let settable = tree.settable.or(tree.options.dry_run.then_some(true));
        let asked = [*asked || tree.tells_no_better[0], *asked || tree.tells_no_better[1]];
        match verdict(tree.options.compare, &item.status, there, settable, asked) {
            Verdict::Same => {
                Self::skip(tree, job, question.item.source, SkipReason::Same, out);
            }
            // It waits for its turn again.
            Verdict::Differs if question.asked => {
                tree.files.push_front(Item { there: None, ..question.item });
            }
            Verdict::Differs => self.begin_copy(cx, tree, job, question.item, out),
            Verdict::AskTimes => self.ask_times(tree, job, question, out),
            // A time that is set as it is changes nothing.
            Verdict::AskWhetherSettable => {
                let (path, modified) = (item.target.clone(), there.modified.unwrap_or(0));
                let question = Question { open: 1, asked: true, ..question };
                let unit = tree.units.name(Unit::Question(Box::new(question)));
                self.set_time(tree, (job, unit), path, modified, out);
            }
        }
    }

    fn ask_times(&mut self, tree: &mut Tree, job: Handle, question: Question, out: Out<'_, M>) {
        let item = &question.item;
        let [source, target] = tree.tells_no_better;
        let unknown = |status: Option<Status>| status.is_some_and(|it| !it.is_timed());
        let source = (!source && unknown(Some(item.status))).then(|| item.source.clone());
        let target = (!target && unknown(item.there)).then(|| item.target.clone());
        let open = usize::from(source.is_some()) + usize::from(target.is_some());
        let question = Box::new(Question { open, asked: true, ..question });
        let unit = tree.units.name(Unit::Question(question));
        let sides = [(tree.from, Part::Source, source), (tree.from.other(), Part::Target, target)];
        for (side, part, path) in sides {
            if let Some(path) = path {
                let token = self.names_at(side).name(Use::Tree { job, unit, part });
                Self::ask(
                    out,
                    side,
                    FilesRequest::Stat { token, path, part: false, is_file: true },
                );
            }
        }
    }

    pub(super) fn question_answered(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        part: Part,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let Some(Unit::Question(question)) = tree.units.get_mut(unit) else { return };
        let failed = match indication {
            FilesIndication::Done { result, .. } => {
                match result {
                    Ok(()) => tree.settable = Some(true),
                    Err(Failure::Unsupported) => tree.settable = Some(false),
                    Err(_) => question.item.there = None, // it is replaced
                }
                result.err().map(|failure| (tree.from.other(), failure))
            }
            FilesIndication::Stated { result, .. } => {
                let side = if part == Part::Source { tree.from } else { tree.from.other() };
                let status = match part {
                    Part::Source => Some(&mut question.item.status),
                    _ => question.item.there.as_mut(),
                };
                match (result, status) {
                    (Ok(told), Some(status)) => {
                        status.size = told.size;
                        if told.modified.is_some() {
                            (status.modified, status.rough) = (told.modified, told.rough);
                        } else if status.modified.is_some() {
                            // What the list tells is all that this side knows.
                            tree.tells_no_better[usize::from(part != Part::Source)] = true;
                        }
                        None
                    }
                    (Err(failure), _) => Some((side, failure)),
                    _ => None,
                }
            }
            _ => None,
        };
        question.open -= 1;
        let is_last = question.open == 0;
        if let Some((side, failure)) = failed
            && super::is_of_side(failure)
        {
            return self.end_tree(tree, job, (side, failure), out);
        }
        if is_last && let Some(Unit::Question(question)) = tree.units.forget(unit) {
            self.judge(cx, tree, job, *question, out);
        }
    }

    fn begin_copy(
        &mut self,
        cx: &Context,
        tree: &mut Tree,
        job: Handle,
        item: Item,
        out: Out<'_, M>,
    ) {
        let (resumes, ahead) = (tree.resumes(&item), tree.opens_ahead(&item));
        let Item { source, target, status, .. } = item;
        if tree.options.dry_run {
            tree.totals.files += 1;
            tree.totals.octets += status.size;
            let (file, octets) = (Handle { index: 0, generation: 0 }, status.size);
            let path = target;
            return out.indicate(Indication::FileCopied { job, file, path, octets, moved: 0 });
        }
        let resume = resumes.then(|| Box::new(Resume::new(tree.options.checked_first)));
        let mut copying = FileCopy::new(cx.now(), job, tree.from, source, target, resume);
        copying.in_tree = true;
        let listed = status.modified;
        (copying.listed, copying.roughly) =
            if status.is_timed() { (listed, None) } else { (None, listed) };
        copying.held = ahead;
        copying.source_last = resumes || tree.options.early;
        tree.copies += 1;
        tree.under_way += usize::from(!copying.held);
        tree.source_last += usize::from(copying.source_last);
        if resumes {
            self.resume(copying, out);
        } else {
            self.copy(cx, copying, tree.options.early, out);
        }
    }

    /// Handles the end of a copy: the target gets the time of the source.
    pub(crate) fn file_copied(
        &mut self,
        cx: &Context,
        copy: Handle,
        copying: FileCopy<M>,
        out: Out<'_, M>,
    ) {
        let job = copying.job;
        let Some(mut tree) = self.take_tree(job) else { return };
        tree.end_copy(&copying);
        let (octets, moved) = (copying.there + copying.written, copying.written);
        tree.totals.files += 1;
        tree.totals.octets += octets;
        tree.totals.moved += moved;
        let path = copying.target_path.clone();
        out.indicate(Indication::FileCopied { job, file: copy, path, octets, moved });
        if let Some(modified) = copying.listed.or(copying.modified).or(copying.roughly)
            && tree.settable != Some(false)
            && tree.ending.is_none()
        {
            let unit = tree.units.name(Unit::Setting);
            tree.settings += 1;
            self.set_time(&tree, (job, unit), copying.target_path, modified, out);
        }
        self.go_on(cx, job, tree, out);
    }

    pub(crate) fn file_failed(
        &mut self,
        cx: &Context,
        copying: FileCopy<M>,
        side: CopySide,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let job = copying.job;
        let Some(mut tree) = self.take_tree(job) else { return };
        tree.end_copy(&copying);
        let is_source = side == copying.from;
        let path = if is_source { copying.source_path } else { copying.target_path };
        self.tell_failure(&mut tree, job, path, (side, failure), out);
        self.go_on(cx, job, tree, out);
    }

    fn set_time(
        &mut self,
        tree: &Tree,
        (job, unit): (Handle, Handle),
        path: String,
        modified: u64,
        out: Out<'_, M>,
    ) {
        let side = tree.from.other();
        let token = self.names_at(side).name(Use::Tree { job, unit, part: Part::Target });
        let attribute = Attribute::Modified(modified);
        Self::ask(out, side, FilesRequest::Set { token, path, attribute });
    }

    /// Handles the answer to the time of a file that was copied. The file is whole whatever it is.
    pub(super) fn time_set(
        &mut self,
        tree: &mut Tree,
        (job, unit): (Handle, Handle),
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        tree.units.forget(unit);
        tree.settings -= 1;
        match indication {
            FilesIndication::Done { result: Ok(()), .. } => tree.settable = Some(true),
            FilesIndication::Done { result: Err(Failure::Unsupported), .. } => {
                tree.settable = Some(false);
            }
            FilesIndication::Done { result: Err(failure), .. } if super::is_of_side(failure) => {
                let side = tree.from.other();
                self.end_tree(tree, job, (side, failure), out);
            }
            _ => {}
        }
    }
}
