//! Answers from below.

use stackwright_contract::services::{Failure, FilesIndication, FilesRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use crate::state::{Job, Step, Use};
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
                self.closed(cx, job, side, result, out);
            }
            FilesIndication::Opened { size, .. } => self.opened(job, side, size, out),
            FilesIndication::Read { message, .. } => {
                self.read(job, message, out);
            }
            FilesIndication::Written { octets, .. } => {
                if let Some(Job::Copy(copying)) = self.jobs.get_mut(job) {
                    copying.between -= octets;
                    copying.written += octets as u64;
                    let octets = copying.written;
                    Self::read_ahead(copying, out);
                    out.indicate(Indication::Moved { octets });
                }
            }
            FilesIndication::Entries { entries, .. } => {
                if self.jobs.get(job).is_none() {
                } else if entries.is_empty() {
                    self.jobs.forget(job);
                    self.close(side, file, out);
                    out.indicate(Indication::Listed);
                } else {
                    Self::ask(out, side, FilesRequest::Next { file });
                    out.indicate(Indication::Entries { entries });
                }
            }
            FilesIndication::Stated { .. }
            | FilesIndication::Digested { .. }
            | FilesIndication::Room { .. }
            | FilesIndication::Done { .. } => {}
        }
    }

    fn opened(&mut self, job: Handle, side: CopySide, size: Option<u64>, out: Out<'_, M>) {
        match self.jobs.get_mut(job) {
            Some(Job::List { side, folder }) => {
                let (side, file) = (*side, *folder);
                Self::ask(out, side, FilesRequest::Next { file });
            }
            Some(Job::Copy(copying)) => {
                if side == copying.from {
                    copying.source_open = true;
                    copying.size = size;
                } else {
                    copying.target_open = true;
                }
                if copying.source_open && copying.target_open {
                    copying.step = Step::Moving;
                    let size = copying.size;
                    Self::read_ahead(copying, out);
                    out.indicate(Indication::Began { size });
                } else if copying.target.is_none() {
                    self.open_target(job, out);
                }
            }
            None => {}
        }
    }

    fn read(&mut self, job: Handle, message: M, out: Out<'_, M>) {
        let Some(Job::Copy(copying)) = self.jobs.get_mut(job) else { return };
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
        Self::keep_when_whole(copying, out);
    }

    fn closed(
        &mut self,
        cx: &Context,
        job: Handle,
        side: CopySide,
        result: Result<(), Failure>,
        out: Out<'_, M>,
    ) {
        let keeping = match self.jobs.get(job) {
            Some(Job::Copy(copying)) if copying.step == Step::Keeping => Some(copying.from),
            _ => None,
        };
        match result {
            Ok(()) if keeping.is_some_and(|from| from != side) => {
                let Some(Job::Copy(copying)) = self.jobs.forget(job) else { return };
                self.close(copying.from, copying.source, out);
                out.indicate(Indication::Copied {
                    octets: copying.written,
                    took: cx.now().since(copying.began),
                });
            }
            Ok(()) => {} // closed by this side
            // All of it was read: only the target can still fail.
            Err(_) if keeping == Some(side) => {}
            Err(failure) => self.fail(job, side, failure, out),
        }
    }
}
