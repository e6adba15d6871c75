//! Requests downward.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::Handle;
use stackwright_contract::services::{Failure, FilesRequest, Keep, Purpose};
use stackwright_wire::Message;

use crate::state::{AHEAD, FileCopy, Job, READ_AT_ONCE, Step, Use};
use crate::{Copy, CopySide, Indication, Out};

impl<M: Message> Copy<M> {
    pub(crate) fn copy(&mut self, job: Handle, copying: FileCopy<M>, early: bool, out: Out<'_, M>) {
        self.jobs.insert(job, Job::Copy(copying));
        self.open_source(job, out);
        if early {
            self.open_target(job, Purpose::Create { from: 0 }, out);
        }
    }

    /// Opens the source. Behind what is there already, the first read is requested at once, so that
    /// it need not be opened at its beginning.
    pub(crate) fn open_source(&mut self, job: Handle, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get(job) else { return };
        let (side, path) = (copying.from, copying.source_path.clone());
        let file = self.names_at(side).name(Use { job });
        let purpose = Purpose::Read { as_octets: false };
        Self::ask(out, side, FilesRequest::Open { file, path, purpose });
        let Some(Job::Copy(copying)) = self.jobs.get_mut(job) else { return };
        copying.source = Some(file);
        if copying.there > 0 {
            Self::read_once(copying, out);
        }
    }

    pub(crate) fn open_target(&mut self, job: Handle, purpose: Purpose, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get(job) else { return };
        let (side, path) = (copying.from.other(), copying.target_path.clone());
        let file = self.names_at(side).name(Use { job });
        if let Some(Job::Copy(copying)) = self.jobs.get_mut(job) {
            copying.target = Some(file);
        }
        Self::ask(out, side, FilesRequest::Open { file, path, purpose });
    }

    pub(crate) fn list(&mut self, job: Handle, side: CopySide, path: String, out: Out<'_, M>) {
        let file = self.names_at(side).name(Use { job });
        self.jobs.insert(job, Job::List { side, folder: file });
        Self::ask(out, side, FilesRequest::Open { file, path, purpose: Purpose::List });
    }

    /// Requests as many octets as may be between the two sides.
    pub(crate) fn read_ahead(copying: &mut FileCopy<M>, out: Out<'_, M>) {
        while !copying.end && copying.between + READ_AT_ONCE <= AHEAD {
            Self::read_once(copying, out);
        }
    }

    fn read_once(copying: &mut FileCopy<M>, out: Out<'_, M>) {
        let Some(file) = copying.source else { return };
        copying.asked.push_back(READ_AT_ONCE);
        copying.between += READ_AT_ONCE;
        let offset = copying.next;
        copying.next += READ_AT_ONCE as u64;
        let request = FilesRequest::Read { file, offset, length: READ_AT_ONCE };
        Self::ask(out, copying.from, request);
    }

    /// Lets the target have its name where all octets were handed on. Answers about one file come
    /// in the order of the requests, so nothing has to be waited for; if one of them cannot be
    /// written, the file fails as a whole. What was resumed is checked first.
    pub(crate) fn keep_when_whole(&mut self, job: Handle, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get_mut(job) else { return };
        let is_whole = copying.end && copying.asked.is_empty() && copying.step == Step::Moving;
        if !is_whole || copying.target.is_none() {
            return;
        }
        if copying.is_checked(true) {
            // A digest is that of what is written.
            if copying.between == 0 {
                self.check(job, Step::Checking, out);
            }
        } else {
            self.keep(job, out);
        }
    }

    pub(crate) fn keep(&mut self, job: Handle, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get_mut(job) else { return };
        let Some(file) = copying.target else { return };
        copying.step = Step::Keeping;
        Self::ask(out, copying.from.other(), FilesRequest::Close { file, keep: Keep::Whole });
    }

    pub(crate) fn fail(&mut self, job: Handle, side: CopySide, failure: Failure, out: Out<'_, M>) {
        match self.jobs.remove(job) {
            Some(Job::Copy(copying)) => {
                let keep = copying.worth(failure);
                self.close_both(&copying, keep, out);
            }
            Some(Job::List { side, folder }) => self.close(side, folder, Keep::Nothing, out),
            None => return,
        }
        out.indicate(Indication::Failed { job, side, failure });
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

    pub(crate) fn give_up(&mut self, out: Out<'_, M>) {
        let jobs: Vec<Handle> = self.jobs.iter().map(|(name, _)| name).collect();
        for job in jobs {
            let side = match self.jobs.get(job) {
                // Whether the target gets its name could not be told; the answer comes soon.
                Some(Job::Copy(copying))
                    if matches!(copying.step, Step::Keeping | Step::Confirming) =>
                {
                    continue;
                }
                Some(Job::Copy(copying)) => copying.from,
                Some(Job::List { side, .. }) => *side,
                None => continue,
            };
            self.fail(job, side, Failure::GivenUp, out);
        }
    }
}
