//! Answers from below.

use stackwright_contract::services::{
    Failure, FileVersion, FilesIndication, FilesRequest, Keep, Purpose,
};
use stackwright_contract::{Context, Handle, Life, Word};
use stackwright_wire::Message;

use crate::state::{Said, Step, Use};
use crate::{Copy, CopySide, Indication, NAME, Out};

impl<M: Message> Copy<M> {
    pub(crate) fn on_files(
        &mut self,
        cx: &Context,
        side: CopySide,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let name = indication.name();
        let Some(&of) = self.names_at(side).get(name) else {
            return cx.dropped(NAME, "a word for a file that is closed");
        };
        if indication.life() == Life::Ends {
            self.names_at(side).forget(name);
        }
        match of {
            Use::Copy(copy) => self.on_copy(cx, copy, side, indication, out),
            Use::Job(job) => self.on_job(job, side, indication, out),
            Use::Tree { job, unit, part } => {
                self.on_tree(cx, job, (unit, part), indication, out);
            }
            Use::Nobody => {}
        }
    }

    /// Handles an answer about a file under way.
    fn on_copy(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        match indication {
            FilesIndication::Closed { file, result } => {
                self.closed(cx, copy, side, file, result, out);
            }
            FilesIndication::Opened { file, size, modified, version } => {
                self.opened(cx, copy, side, file, (size, modified, version), out);
            }
            FilesIndication::Read { file, message, .. } => {
                self.read(cx, copy, file, message, out);
            }
            FilesIndication::Written { file, octets } => {
                self.written(cx, copy, side, file, octets, out)
            }
            FilesIndication::Digested { result, .. } => {
                let said = result.map(|(digest, count)| Said::Digest(digest, count));
                self.said(cx, copy, side, said, out);
            }
            FilesIndication::Stated { result, .. } => {
                let said = result.map(|status| Said::Status(status.size, status.version));
                self.said(cx, copy, side, said, out);
            }
            FilesIndication::Entries { .. }
            | FilesIndication::Room { .. }
            | FilesIndication::Done { .. } => {}
        }
    }

    /// Handles an answer to the one request of a job.
    fn on_job(
        &mut self,
        job: Handle,
        side: CopySide,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        match indication {
            FilesIndication::Opened { file, .. } => {
                Self::ask(out, side, FilesRequest::Next { file });
            }
            FilesIndication::Entries { file, entries, .. } if entries.is_empty() => {
                self.jobs.remove(job);
                self.leave(job);
                self.close(side, file, Keep::Nothing, out);
                out.indicate(Indication::Listed { job });
            }
            FilesIndication::Entries { file, entries, .. } => {
                Self::ask(out, side, FilesRequest::Next { file });
                out.indicate(Indication::Entries { job, entries });
            }
            FilesIndication::Stated { result: Ok(status), .. } => {
                self.jobs.remove(job);
                out.indicate(Indication::Stated { job, status });
            }
            FilesIndication::Done { result: Ok(()), .. } => {
                self.jobs.remove(job);
                out.indicate(Indication::Done { job });
            }
            FilesIndication::Closed { result: Err(failure), .. }
            | FilesIndication::Stated { result: Err(failure), .. }
            | FilesIndication::Done { result: Err(failure), .. } => {
                self.job_failed(job, side, failure, out);
            }
            // Not asked of a job.
            FilesIndication::Closed { result: Ok(()), .. }
            | FilesIndication::Read { .. }
            | FilesIndication::Written { .. }
            | FilesIndication::Digested { .. }
            | FilesIndication::Room { .. } => {}
        }
    }

    fn written(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        file: Handle,
        octets: usize,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        if copying.target != Some(file) || copying.from == side {
            return; // one of an earlier try
        }
        copying.between -= octets;
        copying.written += octets as u64;
        let moved = copying.there + copying.written;
        let (job, in_tree) = (copying.job, copying.in_tree);
        self.read_ahead(cx, copy, out);
        out.indicate(match in_tree {
            true => Indication::FileMoved { job, file: copy, octets: moved },
            false => Indication::Moved { job, octets: moved },
        });
        self.keep_when_whole(copy, out);
    }

    fn opened(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        file: Handle,
        (size, modified, version): (Option<u64>, Option<u64>, Option<FileVersion>),
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        if copying.source == Some(file) && side == copying.from {
            copying.source_open = true;
            (copying.size, copying.modified, copying.version) = (size, modified, version);
            let by_version = copying.resume.as_ref().is_some_and(|resume| resume.by_version);
            if by_version && copying.there > 0 && version != copying.noted {
                return self.begin_anew(cx, copy, out); // it has changed since it was asked for
            }
        } else if copying.target == Some(file) && side != copying.from {
            copying.target_open = true;
            copying.noted = version;
            if copying.resume.is_some() {
                return self.target_resumed(cx, copy, size.unwrap_or(0), out);
            }
        }
        if copying.source_open && copying.target_open {
            copying.step = Step::Moving;
            let (job, size, modified) = (copying.job, copying.size, copying.modified);
            let there = copying.there;
            if copying.resume.is_some()
                && copying.version != copying.noted
                && let (Some(file), Some(version)) = (copying.target, copying.version)
            {
                let side = copying.from.other();
                Self::ask(out, side, FilesRequest::Note { file, version });
            }
            let path = copying.in_tree.then(|| copying.target_path.clone());
            self.read_ahead(cx, copy, out);
            out.indicate(match path {
                Some(path) => Indication::FileBegan { job, file: copy, path, size, there },
                None => Indication::Began { job, size, modified, there },
            });
        } else if copying.held {
            let job = copying.job;
            self.source_ready(cx, job, copy, out);
        } else if copying.target.is_none() && copying.source_open {
            self.open_target(copy, Purpose::Create { from: 0 }, out);
        }
    }

    fn read(&mut self, cx: &Context, copy: Handle, source: Handle, message: M, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        if copying.source != Some(source) {
            return; // one of an earlier try
        }
        let (Some(wanted), Some(file)) = (copying.asked.pop_front(), copying.target) else {
            return;
        };
        let length = message.len();
        copying.pace_reads(cx.now());
        copying.between -= wanted - length;
        if length < wanted {
            self.pace.take_back(wanted - length);
        }
        // Reads are answered in order, and only the last may be short: each write follows the one
        // before.
        let offset = copying.next - copying.asked.iter().sum::<usize>() as u64 - wanted as u64;
        if length < wanted {
            copying.end.get_or_insert(offset + length as u64);
        }
        if copying.end.is_some() && copying.size.is_some_and(|size| offset + (length as u64) < size)
        {
            // A part of what was announced would pass for the whole.
            let from = copying.from;
            return self.fail(cx, copy, from, Failure::Short, out);
        }
        if length > 0 {
            Self::ask(out, copying.from.other(), FilesRequest::Write { file, offset, message });
        }
        self.keep_when_whole(copy, out);
    }

    fn closed(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        file: Handle,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get(copy) else { return };
        let (from, step) = (copying.from, copying.step);
        let own = if side == from { copying.source } else { copying.target };
        if own != Some(file) {
            return; // one of an earlier try
        }
        match result {
            Ok(()) if step == Step::Keeping && from != side => {
                if copying.is_checked(false) {
                    self.check(copy, Step::Confirming, out);
                } else {
                    self.copied(cx, copy, out);
                }
            }
            Ok(()) => {} // closed by this side
            // All of it was read: only the target can still fail.
            Err(_) if from == side && matches!(step, Step::Keeping | Step::Checking) => {}
            // All of it was sent, and perhaps only the answer is lost.
            Err(failure @ (Failure::Lost | Failure::Expired))
                if from != side && step == Step::Keeping =>
            {
                self.check(copy, Step::Doubted(failure), out);
            }
            Err(failure) => self.failed(cx, copy, side, failure, out),
        }
    }

    pub(crate) fn copied(&mut self, cx: &Context, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.forget(copy) else { return };
        if let Some(source) = copying.source {
            self.close(copying.from, source, Keep::Nothing, out);
        }
        if copying.in_tree {
            return self.file_copied(cx, copy, copying, out);
        }
        self.jobs.remove(copying.job);
        out.indicate(Indication::Copied {
            job: copying.job,
            octets: copying.there + copying.written,
            moved: copying.written,
            took: cx.now().since(copying.began),
        });
    }
}
