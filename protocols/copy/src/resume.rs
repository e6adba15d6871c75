//! What was left of an earlier copy: whether it is a beginning of the source.
//!
//! ```text
//! open the target ──▸ nothing there ──────────────────────────────▸ move all
//!        │                                                            ▴
//!        ▾                                                            │ no: it is removed, once
//! some octets there ──▸ same digest of as many octets of the source? ─┤
//!                       (or: the source is of the version noted?)     │
//!                                  └─▸ move the rest ──▸ same digest of all? ──▸ it has its name
//!                                                        (or: still that version?)
//! ```
//!
//! Which version of the source a beginning is of, is noted with it before its first octet, so that
//! two versions never become one file: without digests, that version is asked for before the rest
//! is requested, when it is opened, and when all of it is here. What cannot be shown to be the same
//! is another.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::marker::PhantomData;
use core::mem;

use stackwright_contract::services::{Failure, FilesRequest, Keep, Purpose};
use stackwright_contract::{Context, Handle, Instant};
use stackwright_wire::Message;

use crate::state::{FileCopy, READ_AT_ONCE, READ_LEAST, Resume, Said, Step, Use};
use crate::{Copy, CopySide, Out};

impl<M: Message> FileCopy<M> {
    pub(crate) fn new(
        began: Instant,
        job: Handle,
        from: CopySide,
        source: String,
        target: String,
        resume: Option<Box<Resume>>,
    ) -> Self {
        let is_on_disk = resume.as_ref().is_some_and(|resume| resume.checked_first);
        let at_once = if is_on_disk { READ_LEAST } else { READ_AT_ONCE };
        FileCopy {
            at_once,
            answered: None,
            job,
            in_tree: false,
            held: false,
            source_last: false,
            listed: None,
            roughly: None,
            from,
            source_path: source,
            target_path: target,
            resume,
            source: None,
            source_open: false,
            target: None,
            target_open: false,
            size: None,
            modified: None,
            version: None,
            there: 0,
            noted: None,
            began,
            next: 0,
            asked: VecDeque::new(),
            between: 0,
            written: 0,
            end: None,
            waits: false,
            step: Step::Opening,
            message: PhantomData,
        }
    }

    /// Adapts how many octets are read at once to how quickly reads are answered: a quarter of a
    /// second is quick, a second slow.
    pub(crate) fn pace_reads(&mut self, now: Instant) {
        let took = self.answered.replace(now).map(|before| now.since(before));
        self.at_once = match took {
            Some(took) if self.resume.as_ref().is_some_and(|resume| resume.checked_first) => {
                match took.as_millis() {
                    ..250 => READ_AT_ONCE.min(2 * self.at_once),
                    1000.. => READ_LEAST.max(self.at_once / 2),
                    _ => self.at_once,
                }
            }
            _ => self.at_once,
        };
    }

    /// Returns whether the whole target is compared with the source, before it gets its name or
    /// afterwards.
    pub(crate) fn is_checked(&self, first: bool) -> bool {
        let resume = self.resume.as_ref();
        self.there > 0 && resume.is_some_and(|resume| resume.checked_first == first)
    }

    /// Returns whether the target is getting its name, or has it.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.step, Step::Keeping | Step::Confirming)
    }

    /// Returns what becomes of the target after a failure.
    pub(crate) fn worth(&self, failure: Failure) -> Keep {
        let is_wrong = matches!(failure, Failure::Short | Failure::Damaged);
        // What was handed to the target may not be told as written yet.
        let handed = self.next - self.asked.iter().sum::<usize>() as u64;
        match self.resume {
            Some(_) if self.target_open && !is_wrong && self.there + handed > 0 => Keep::Part,
            _ => Keep::Nothing,
        }
    }
}

impl<M: Message> Copy<M> {
    /// Begins a copy that goes on where an earlier one ended. Returns the name of the file under
    /// way.
    pub(crate) fn resume(&mut self, copying: FileCopy<M>, out: Out<'_, M>) -> Handle {
        let copy = self.copies.name(copying);
        self.open_target(copy, Purpose::Resume, out);
        copy
    }

    /// Handles the target that is open: this many of its octets are there.
    pub(crate) fn target_resumed(
        &mut self,
        cx: &Context,
        copy: Handle,
        there: u64,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        if there == 0 {
            return self.open_source(cx, copy, out);
        }
        copying.there = there;
        copying.step = Step::Comparing;
        self.ask_digests(copy, 0..there, true, out);
    }

    /// Asks for the digests of all octets of both, or whether the source is still what it was.
    pub(crate) fn check(&mut self, copy: Handle, step: Step, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        copying.step = step;
        let resume = copying.resume.get_or_insert_with(|| Box::new(Resume::new(false)));
        let is_doubted = matches!(step, Step::Doubted(_));
        resume.by_version &= !is_doubted;
        let by_version = resume.by_version;
        // What was read is at its end, and whoever read it has a hand free.
        if let Some(source) = copying.source.take() {
            let from = copying.from;
            self.close(from, source, Keep::Nothing, out);
        }
        if by_version {
            self.ask_status(copy, out);
        } else {
            self.ask_digests(copy, 0..u64::MAX, step == Step::Checking, out);
        }
    }

    /// Asks for the version that the source has now; or, where it is not known whether the target
    /// has its name, for the size that it has.
    fn ask_status(&mut self, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let (from, path) = match copying.step {
            Step::Doubted(_) => (copying.from.other(), copying.target_path.clone()),
            _ => (copying.from, copying.source_path.clone()),
        };
        if let Some(resume) = &mut copying.resume {
            (resume.source, resume.target) = (None, None);
        }
        let token = self.names_at(from).name(Use::Copy(copy));
        Self::ask(out, from, FilesRequest::Stat { token, path, part: false, is_file: true });
    }

    fn ask_digests(
        &mut self,
        copy: Handle,
        octets: core::ops::Range<u64>,
        part: bool,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let (from, source, target) =
            (copying.from, copying.source_path.clone(), copying.target_path.clone());
        if let Some(resume) = &mut copying.resume {
            (resume.source, resume.target) = (None, None);
        }
        for (side, path, part) in [(from.other(), target, part), (from, source, false)] {
            let token = self.names_at(side).name(Use::Copy(copy));
            let octets = octets.clone();
            Self::ask(out, side, FilesRequest::Digest { token, path, octets, part });
        }
    }

    /// Handles what a side says of a file that is compared.
    pub(crate) fn said(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        said: Result<Said, Failure>,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let (from, there, step) = (copying.from, copying.there, copying.step);
        let end = copying.end;
        let (noted, version) = (copying.noted, copying.version);
        let Some(resume) = &mut copying.resume else { return };
        let said = match said {
            Ok(said) => said,
            // Whether it is the same will be known another time; but a digest that takes too long
            // would always do.
            Err(failure)
                if (step == Step::Comparing || resume.by_version)
                    && !matches!(step, Step::Doubted(_))
                    && !matches!(failure, Failure::Unsupported | Failure::Expired) =>
            {
                return self.fail(cx, copy, side, failure, out);
            }
            Err(_) => Said::Nothing,
        };
        if side == from {
            resume.source = Some(said);
        } else {
            resume.target = Some(said);
        }
        // Of what was opened meanwhile, it is that version, too.
        let is_noted = noted.is_some() && (step == Step::Comparing || version == noted);
        let same = match (resume.source, resume.target) {
            (Some(Said::Status(_, now)), _) => Some(is_noted && now == noted),
            (_, Some(Said::Status(size, _))) => Some(Some(size) == end),
            (Some(Said::Digest(source, count)), Some(Said::Digest(target, counted))) => {
                Some(source == target && count == counted)
            }
            (Some(_), None) | (None, Some(_)) if resume.by_version => Some(false),
            (Some(_), Some(_)) if is_noted || matches!(step, Step::Doubted(_)) => None,
            (Some(_), Some(_)) => Some(false),
            _ => return,
        };
        match (step, same) {
            (_, None) => {
                resume.by_version = true;
                self.ask_status(copy, out);
            }
            (Step::Comparing, Some(true)) => {
                copying.next = there;
                copying.step = Step::Opening;
                self.open_source(cx, copy, out);
            }
            (Step::Comparing, Some(false)) => self.begin_anew(cx, copy, out),
            (Step::Checking, Some(true)) => self.keep(copy, out),
            (Step::Confirming | Step::Doubted(_), Some(true)) => self.copied(cx, copy, out),
            (Step::Doubted(failure), Some(false)) => {
                self.fail(cx, copy, from.other(), failure, out);
            }
            (Step::Checking | Step::Confirming, Some(false)) => {
                self.failed(cx, copy, from.other(), Failure::Damaged, out);
            }
            _ => {}
        }
    }

    /// Handles the failure of a side: a copy that was resumed is begun anew where what was there is
    /// to blame.
    pub(crate) fn failed(
        &mut self,
        cx: &Context,
        copy: Handle,
        side: CopySide,
        failure: Failure,
        out: Out<'_, M>,
    ) {
        let Some(copying) = self.copies.get(copy) else {
            return self.fail(cx, copy, side, failure, out);
        };
        let is_target = side != copying.from;
        let resumes = copying.resume.as_ref().is_some_and(|resume| !resume.is_anew);
        // Where there is nothing to resume with, it is a plain copy.
        let cannot = is_target
            && !copying.target_open
            && matches!(failure, Failure::Unsupported | Failure::Denied);
        let is_rest_refused = !is_target && copying.there > 0 && copying.written == 0;
        let is_wrong = failure == Failure::Damaged
            || is_rest_refused
                && matches!(
                    failure,
                    Failure::Short | Failure::Unsupported | Failure::BadName | Failure::Broken
                );
        if copying.resume.is_some() && cannot {
            self.begin_plainly(cx, copy, out);
        } else if resumes && is_wrong {
            self.begin_anew(cx, copy, out);
        } else {
            self.fail(cx, copy, side, failure, out);
        }
    }

    /// Removes what is there, and begins with nothing, once.
    pub(crate) fn begin_anew(&mut self, cx: &Context, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let tried =
            copying.resume.as_mut().is_some_and(|resume| mem::replace(&mut resume.is_anew, true));
        if tried {
            // The target's side does not forget what is there.
            return self.begin_plainly(cx, copy, out);
        }
        self.forget_files(copy, out);
        self.open_target(copy, Purpose::Resume, out);
    }

    fn begin_plainly(&mut self, cx: &Context, copy: Handle, out: Out<'_, M>) {
        self.forget_files(copy, out);
        if let Some(copying) = self.copies.get_mut(copy) {
            copying.resume = None;
        }
        self.open_source(cx, copy, out);
    }

    /// Closes both files, and keeps nothing.
    fn forget_files(&mut self, copy: Handle, out: Out<'_, M>) {
        let Some(copying) = self.copies.get_mut(copy) else { return };
        let (source, target) =
            (mem::take(&mut copying.source_path), mem::take(&mut copying.target_path));
        let resume = copying.resume.take();
        let mut fresh =
            FileCopy::new(copying.began, copying.job, copying.from, source, target, resume);
        (fresh.in_tree, fresh.listed) = (copying.in_tree, copying.listed);
        fresh.roughly = copying.roughly;
        fresh.source_last = copying.source_last;
        let earlier = mem::replace(copying, fresh);
        self.close_both(&earlier, Keep::Nothing, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_as_long_as_their_link_is_quick() {
        let resume = Some(Box::new(Resume::new(true)));
        let (job, from) = (Handle { index: 0, generation: 0 }, CopySide::Left);
        let (source, target) = (String::new(), String::new());
        let mut copy = FileCopy::<stackwright_wire::SingleBuffer>::new(
            Instant::START,
            job,
            from,
            source,
            target,
            resume,
        );
        let mut now = Instant::START;
        let mut after = |milliseconds: u64| {
            now = now.later(milliseconds * 1_000_000);
            copy.pace_reads(now);
            copy.at_once
        };
        assert_eq!([3000, 3400, 3400].map(&mut after), [READ_LEAST; 3]);
        assert_eq!([1, 1, 400, 1, 1, 1].map(&mut after), [8, 16, 16, 32, 64, 64].map(|n| n << 10));
        assert_eq!(
            [2000, 2000, 2000, 2000, 2000].map(&mut after),
            [32, 16, 8, 4, 4].map(|n| n << 10)
        );
    }
}
