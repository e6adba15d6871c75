//! Requests downward.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::services::{Failure, FilesRequest, Keep, Purpose};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::state::{AHEAD, Copying, Job, READ_AT_ONCE, Step, Use};
use crate::{Copy, CopySide, Indication, Out};

impl<M: Message> Copy<M> {
    pub(crate) fn copy(
        &mut self,
        cx: &Context,
        from: CopySide,
        source: String,
        target: String,
        early: bool,
        out: Out<'_, M>,
    ) {
        let nothing = Handle { index: 0, generation: 0 };
        let job = self.jobs.name(Job::Copy(Copying {
            from,
            target_path: target,
            source: nothing,
            source_open: false,
            target: None,
            target_open: false,
            size: None,
            began: cx.now(),
            next: 0,
            asked: VecDeque::new(),
            between: 0,
            written: 0,
            end: false,
            step: Step::Opening,
            message: PhantomData,
        }));
        let file = self.names_at(from).name(Use { job });
        if let Some(Job::Copy(copying)) = self.jobs.get_mut(job) {
            copying.source = file;
        }
        Self::ask(
            out,
            from,
            FilesRequest::Open { file, path: source, purpose: Purpose::Read { as_octets: false } },
        );
        if early {
            self.open_target(job, out);
        }
    }

    pub(crate) fn open_target(&mut self, job: Handle, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get(job) else { return };
        let (side, path) = (copying.from.other(), copying.target_path.clone());
        let file = self.names_at(side).name(Use { job });
        if let Some(Job::Copy(copying)) = self.jobs.get_mut(job) {
            copying.target = Some(file);
        }
        Self::ask(
            out,
            side,
            FilesRequest::Open { file, path, purpose: Purpose::Create { from: 0 } },
        );
    }

    pub(crate) fn list(&mut self, side: CopySide, path: String, out: Out<'_, M>) {
        let job = self.jobs.name(Job::List { side, folder: Handle { index: 0, generation: 0 } });
        let file = self.names_at(side).name(Use { job });
        if let Some(Job::List { folder, .. }) = self.jobs.get_mut(job) {
            *folder = file;
        }
        Self::ask(out, side, FilesRequest::Open { file, path, purpose: Purpose::List });
    }

    /// Requests as many octets as may be between the two sides.
    pub(crate) fn read_ahead(copying: &mut Copying<M>, out: Out<'_, M>) {
        while !copying.end && copying.between + READ_AT_ONCE <= AHEAD {
            copying.asked.push_back(READ_AT_ONCE);
            copying.between += READ_AT_ONCE;
            let offset = copying.next;
            copying.next += READ_AT_ONCE as u64;
            let request = FilesRequest::Read { file: copying.source, offset, length: READ_AT_ONCE };
            Self::ask(out, copying.from, request);
        }
    }

    /// Lets the target have its name where all octets were handed on. Answers about one file come
    /// in the order of the requests, so nothing has to be waited for; if one of them cannot be
    /// written, the file fails as a whole.
    pub(crate) fn keep_when_whole(copying: &mut Copying<M>, out: Out<'_, M>) {
        if let (Some(file), true, true, Step::Moving) =
            (copying.target, copying.end, copying.asked.is_empty(), copying.step)
        {
            copying.step = Step::Keeping;
            Self::ask(out, copying.from.other(), FilesRequest::Close { file, keep: Keep::Whole });
        }
    }

    pub(crate) fn fail(&mut self, job: Handle, side: CopySide, failure: Failure, out: Out<'_, M>) {
        match self.jobs.forget(job) {
            Some(Job::Copy(copying)) => {
                self.close(copying.from, copying.source, out);
                // A target that is getting its name was closed already.
                if let (Some(target), false) = (copying.target, copying.step == Step::Keeping) {
                    self.close(copying.from.other(), target, out);
                }
            }
            Some(Job::List { side, folder }) => self.close(side, folder, out),
            None => return,
        }
        out.indicate(Indication::Failed { side, failure });
    }

    /// Closes a file without keeping it, unless it closed already.
    pub(crate) fn close(&mut self, side: CopySide, file: Handle, out: Out<'_, M>) {
        if self.names_at(side).get(file).is_some() {
            Self::ask(out, side, FilesRequest::Close { file, keep: Keep::Nothing });
        }
    }

    pub(crate) fn give_up(&mut self, out: Out<'_, M>) {
        let jobs: Vec<Handle> = self.jobs.iter().map(|(name, _)| name).collect();
        for job in jobs {
            let side = match self.jobs.get(job) {
                // Whether the target gets its name could not be told; the answer comes soon.
                Some(Job::Copy(copying)) if copying.step == Step::Keeping => continue,
                Some(Job::Copy(copying)) => copying.from,
                Some(Job::List { side, .. }) => *side,
                None => continue,
            };
            self.fail(job, side, Failure::GivenUp, out);
        }
    }
}
