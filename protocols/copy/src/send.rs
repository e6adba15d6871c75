//! Requests downward.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::services::{Failure, FilesRequest, Keep, Purpose};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::state::{AHEAD, FileCopy, Job, READ_AT_ONCE, Step, Use};
use crate::{Copy, CopySide, FileChange, Indication, Out};

impl<M: Message> Copy<M> {
    /// Begins a copy. Returns the name of the file under way.
    pub(crate) fn copy(
        &mut self,
        cx: &Context,
        copying: FileCopy<M>,
        early: bool,
        out: Out<'_, M>,
    ) -> Handle {
        let copy = self.copies.name(copying);
        self.open_source(cx, copy, out);
        if early {
            self.open_target(copy, Purpose::Create { from: 0 }, out);
        }
        copy
    }

    /// Opens the source. Behind what is there already, the first read is requested at once, so that
    /// it need not be opened at its beginning.
    pub(crate) fn open_source(&mut self, cx: &Context, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get(copy) else { return };
        let (side, path) = (copying.from, copying.source_path.clone());
        let purpose = Purpose::Read { as_octets: false, versioned: copying.resume.is_some() };
        let file = self.names_at(side).name(Use::Copy(copy));
        Self::ask(out, side, FilesRequest::Open { file, path, purpose });
        let Some(copying) = self.copies.get_mut(copy) else { return };
        copying.source = Some(file);
        if copying.there > 0 {
            let at_once = self.pace.at_once().min(copying.at_once);
            self.pace.count(cx.now(), at_once);
            Self::read_once(copying, at_once, out);
        }
    }

    pub(crate) fn open_target(&mut self, copy: Handle, purpose: Purpose, out: Out<'_, M>) {
        let Some(copying) = self.copies.get(copy) else { return };
        let (side, path) = (copying.from.other(), copying.target_path.clone());
        let file = self.names_at(side).name(Use::Copy(copy));
        if let Some(copying) = self.copies.get_mut(copy) {
            copying.target = Some(file);
        }
        Self::ask(out, side, FilesRequest::Open { file, path, purpose });
    }

    pub(crate) fn list(&mut self, job: Handle, side: CopySide, path: String, out: Out<'_, M>) {
        let file = self.names_at(side).name(Use::Job(job));
        self.jobs.insert(job, Job::List { side, folder: file });
        Self::ask(out, side, FilesRequest::Open { file, path, purpose: Purpose::List });
    }

    /// Requests as many octets as may be between the two sides, and as the rate allows.
    pub(crate) fn read_ahead(&mut self, cx: &Context, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let ahead = AHEAD / READ_AT_ONCE * copying.at_once;
        let at_once = self.pace.at_once().min(copying.at_once);
        while copying.end.is_none() && copying.between + at_once <= ahead {
            if !self.pace.may_read(cx.now()) {
                if !mem::replace(&mut copying.waits, true) {
                    self.pace.waiting.push_back(copy);
                }
                return;
            }
            self.pace.count(cx.now(), at_once);
            Self::read_once(copying, at_once, out);
        }
    }

    /// Lets the copies go on that waited for the rate, the longest first.
    pub(crate) fn go_on_reading(&mut self, cx: &Context, out: Out<'_, M>) {
        while self.pace.may_read(cx.now())
            && let Some(copy) = self.pace.waiting.pop_front()
        {
            if let Some(copying) = self.copies.get_mut(copy) {
                copying.waits = false;
                self.read_ahead(cx, copy, out);
            }
        }
    }

    fn read_once(copying: &mut FileCopy<M>, length: usize, out: Out<'_, M>) {
        let Some(file) = copying.source else { return };
        copying.asked.push_back(length);
        copying.between += length;
        let offset = copying.next;
        copying.next += length as u64;
        Self::ask(out, copying.from, FilesRequest::Read { file, offset, length });
    }

    /// Lets the target have its name where all octets were handed on. Answers about one file come
    /// in the order of the requests, so nothing has to be waited for; if one of them cannot be
    /// written, the file fails as a whole. What was resumed is checked first.
    pub(crate) fn keep_when_whole(&mut self, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let is_whole =
            copying.end.is_some() && copying.asked.is_empty() && copying.step == Step::Moving;
        if !is_whole || copying.target.is_none() {
            return;
        }
        if copying.is_checked(true) {
            // A digest is that of what is written.
            if copying.between == 0 {
                self.check(copy, Step::Checking, out);
            }
        } else {
            self.keep(copy, out);
        }
    }

    pub(crate) fn keep(&mut self, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let Some(file) = copying.target else { return };
        copying.step = Step::Keeping;
        Self::ask(out, copying.from.other(), FilesRequest::Close { file, keep: Keep::Whole });
    }

    /// Fails a file under way, and its job with it unless that is a tree.
    pub(crate) fn fail(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.forget(copy) else { return };
        let keep = copying.worth(failure);
        self.close_both(&copying, keep, out);
        if copying.in_tree {
            self.file_failed(cx, copying, side, failure, out);
        } else {
            self.jobs.remove(copying.job);
            out.indicate(Indication::Failed { job: copying.job, side, failure });
        }
    }

    /// Fails a job that has no file under way.
    pub(crate) fn job_failed(
        &mut self,
        job: Handle,
        side: CopySide,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        if self.jobs.remove(job).is_some() {
            self.leave(job);
            out.indicate(Indication::Failed { job, side, failure });
        }
    }

    /// Forgets what the answers mean that are still to come for a job.
    pub(crate) fn leave(&mut self, job: Handle) {
        for names in [&mut self.left, &mut self.right] {
            let of_job = |of: &Use| match of {
                Use::Job(of) | Use::Tree { job: of, .. } => *of == job,
                Use::Copy(_) | Use::Nobody => false,
            };
            let left: Vec<Handle> =
                names.iter().filter(|(_, of)| of_job(of)).map(|(name, _)| name).collect();
            for name in left {
                names.get_mut(name).into_iter().for_each(|of| *of = Use::Nobody);
            }
        }
    }

    /// Carries out one change of a name or an attribute.
    pub(crate) fn deed(&mut self, job: Handle, side: CopySide, deed: FileChange, out: Out<'_, M>) {
        self.jobs.insert(job, Job::Ask { side });
        let token = self.names_at(side).name(Use::Job(job));
        let request = match deed {
            FileChange::MakeFolder { path } => FilesRequest::MakeFolder { token, path },
            FileChange::Rename { from, to } => FilesRequest::Rename { token, from, to },
            FileChange::Remove { path } => FilesRequest::Remove { token, path },
            FileChange::Set { path, attribute } => FilesRequest::Set { token, path, attribute },
        };
        Self::ask(out, side, request);
    }

    pub(crate) fn stat(&mut self, job: Handle, side: CopySide, path: String, out: Out<'_, M>) {
        self.jobs.insert(job, Job::Ask { side });
        let token = self.names_at(side).name(Use::Job(job));
        Self::ask(out, side, FilesRequest::Stat { token, path, part: false, is_file: false });
    }

    /// Closes both files; `keep` says what becomes of the target.
    pub(crate) fn close_both(&mut self, copying: &FileCopy<M>, keep: Keep, out: Out<'_, M>) {
        if let Some(source) = copying.source {
            self.close(copying.from, source, Keep::Nothing, out);
        }
        // A target that is getting its name was closed already.
        if let (Some(target), false) = (copying.target, copying.step == Step::Keeping) {
            self.close(copying.from.other(), target, keep, out);
        }
    }

    /// Closes a file unless it closed already.
    pub(crate) fn close(&mut self, side: CopySide, file: Handle, keep: Keep, out: Out<'_, M>) {
        if self.names_at(side).get(file).is_some() {
            Self::ask(out, side, FilesRequest::Close { file, keep });
        }
    }

    pub(crate) fn give_up(&mut self, cx: &Context, out: Out<'_, M>) {
        let jobs: Vec<Handle> = self.jobs.iter().map(|(name, _)| name).collect();
        for job in jobs {
            match self.jobs.get(job) {
                Some(&Job::Copy(copy)) => match self.copies.get(copy) {
                    // Whether the target gets its name could not be told; the answer comes soon.
                    Some(copying) if copying.is_kept() => {}
                    Some(copying) => {
                        let side = copying.from;
                        self.fail(cx, copy, side, Failure::GivenUp, out);
                    }
                    None => {}
                },
                Some(&Job::List { side, folder }) => {
                    self.job_failed(job, side, Failure::GivenUp, out);
                    self.close(side, folder, Keep::Nothing, out);
                }
                Some(&Job::Ask { side }) => self.job_failed(job, side, Failure::GivenUp, out),
                Some(Job::Tree(_)) => self.give_up_tree(cx, job, out),
                None => {}
            }
        }
    }
}
