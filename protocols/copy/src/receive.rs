//! Answers from below.

use stackwright_contract::services::{Failure, FilesIndication, FilesRequest, Keep, Purpose};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::state::{Job, Said, Step, Use};
use crate::{Copy, CopySide, Indication, NAME, Out};

impl<M: Message> Copy<M> {
    pub(crate) fn on_files(
        &mut self,
        cx: &Context,
        side: CopySide,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let file = indication.name();
        let Some(&Use { job }) = self.names_at(side).get(file) else {
            return cx.dropped(NAME, "a word for a file that is closed");
        };
        match indication {
            FilesIndication::Closed { result, .. } => {
                self.names_at(side).forget(file);
                self.closed(cx, job, side, file, result, out);
            }
            FilesIndication::Opened { size, .. } => self.opened(job, side, file, size, out),
            FilesIndication::Read { message, .. } => {
                self.read(job, file, message, out);
            }
            FilesIndication::Written { octets, .. } => {
                if let Some(Job::Copy(copying)) = self.jobs.get_mut(job)
                    && copying.target == Some(file)
                    && copying.from != side
                {
                    copying.between -= octets;
                    copying.written += octets as u64;
                    let octets = copying.there + copying.written;
                    Self::read_ahead(copying, out);
                    out.indicate(Indication::Moved { job, octets });
                    self.keep_when_whole(job, out);
                }
            }
            FilesIndication::Entries { entries, .. } => {
                if self.jobs.get(job).is_none() {
                } else if entries.is_empty() {
                    self.jobs.remove(job);
                    self.close(side, file, Keep::Nothing, out);
                    out.indicate(Indication::Listed { job });
                } else {
                    Self::ask(out, side, FilesRequest::Next { file });
                    out.indicate(Indication::Entries { job, entries });
                }
            }
            FilesIndication::Digested { result, .. } => {
                self.names_at(side).forget(file);
                let said = result.map(|(digest, count)| Said::Digest(digest, count));
                self.said(cx, job, side, said, out);
            }
            FilesIndication::Stated { result, .. } => {
                self.names_at(side).forget(file);
                let said = result.map(|status| Said::Status(status.size, status.modified));
                self.said(cx, job, side, said, out);
            }
            FilesIndication::Room { .. } | FilesIndication::Done { .. } => {}
        }
    }

    fn opened(
        &mut self,
        job: Handle,
        side: CopySide,
        file: Handle,
        size: Option<u64>,
        out: Out<'_, M>,
    ) {
        match self.jobs.get_mut(job) {
            Some(Job::List { side, folder }) => {
                let (side, file) = (*side, *folder);
                Self::ask(out, side, FilesRequest::Next { file });
            }
            Some(Job::Copy(copying)) => {
                if copying.source == Some(file) && side == copying.from {
                    copying.source_open = true;
                    copying.size = size;
                } else if copying.target == Some(file) && side != copying.from {
                    copying.target_open = true;
                    if copying.resume.is_some() {
                        return self.target_resumed(job, size.unwrap_or(0), out);
                    }
                }
                if copying.source_open && copying.target_open {
                    copying.step = Step::Moving;
                    let (size, there) = (copying.size, copying.there);
                    Self::read_ahead(copying, out);
                    out.indicate(Indication::Began { job, size, there });
                } else if copying.target.is_none() && copying.source_open {
                    self.open_target(job, Purpose::Create { from: 0 }, out);
                }
            }
            None => {}
        }
    }

    fn read(&mut self, job: Handle, source: Handle, message: M, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get_mut(job) else { return };
        if copying.source != Some(source) {
            return; // one of an earlier try
        }
        let (Some(wanted), Some(file)) = (copying.asked.pop_front(), copying.target) else {
            return;
        };
        let length = message.len();
        copying.end |= length < wanted;
        copying.between -= wanted - length;
        // Reads are answered in order, and only the last may be short: each write follows the one
        // before.
        let offset = copying.next - copying.asked.iter().sum::<usize>() as u64 - wanted as u64;
        if copying.end && copying.size.is_some_and(|size| offset + (length as u64) < size) {
            // A part of what was announced would pass for the whole.
            let from = copying.from;
            return self.fail(job, from, Failure::Short, out);
        }
        if length > 0 {
            Self::ask(out, copying.from.other(), FilesRequest::Write { file, offset, message });
        }
        self.keep_when_whole(job, out);
    }

    fn closed(
        &mut self,
        cx: &Context,
        job: Handle,
        side: CopySide,
        file: Handle,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let Some(Job::Copy(copying)) = self.jobs.get(job) else {
            if let Err(failure) = result {
                self.fail(job, side, failure, out);
            }
            return;
        };
        let (from, step) = (copying.from, copying.step);
        let own = if side == from { copying.source } else { copying.target };
        if own != Some(file) {
            return; // one of an earlier try
        }
        match result {
            Ok(()) if step == Step::Keeping && from != side => {
                if copying.is_checked(false) {
                    self.check(job, Step::Confirming, out);
                } else {
                    self.copied(cx, job, out);
                }
            }
            Ok(()) => {} // closed by this side
            // All of it was read: only the target can still fail.
            Err(_) if from == side && matches!(step, Step::Keeping | Step::Checking) => {}
            Err(failure) => self.failed(job, side, failure, out),
        }
    }

    pub(crate) fn copied(&mut self, cx: &Context, job: Handle, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.remove(job) else { return };
        if let Some(source) = copying.source {
            self.close(copying.from, source, Keep::Nothing, out);
        }
        out.indicate(Indication::Copied {
            job,
            octets: copying.there + copying.written,
            moved: copying.written,
            took: cx.now().since(copying.began),
        });
    }
}
