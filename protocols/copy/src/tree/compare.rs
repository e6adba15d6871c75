//! What is the same on both sides.

use stackwright_contract::services::{FileKind, Status};

use super::Comparison;

/// What is known of a file that is on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Same,
    Differs,
    /// A side has not told when it was modified.
    AskTimes,
    /// The target is as long, and younger: that is how it looks where its side cannot set the time.
    AskWhetherSettable,
}

/// Compares a file on both sides. `settable`: whether the target's side can set the time of a file,
/// once that is known; `asked`: whether the sides were asked for the times.
///
/// A time that nobody tells proves nothing: such a file differs. Where the target's side cannot set
/// it, the target has the time when it was written, and is the same if the source was not changed
/// since.
pub(super) fn verdict(
    comparison: Comparison,
    source: &Status,
    target: &Status,
    settable: Option<bool>,
    asked: bool,
) -> Verdict {
    if target.kind != FileKind::File || source.size != target.size {
        return Verdict::Differs;
    }
    match comparison {
        Comparison::Never => return Verdict::Differs,
        Comparison::Size => return Verdict::Same,
        Comparison::SizeAndTime => {}
    }
    match (source.modified, target.modified) {
        (Some(source), Some(target)) if source == target => Verdict::Same,
        (Some(source), Some(target)) if source < target => match settable {
            Some(true) => Verdict::Differs,
            Some(false) => Verdict::Same,
            None => Verdict::AskWhetherSettable,
        },
        (Some(_), Some(_)) => Verdict::Differs,
        _ if asked => Verdict::Differs,
        _ => Verdict::AskTimes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_first_then_times() {
        let file = |size, modified| Status { modified, ..Status::new(FileKind::File, size) };
        let by_time = |source, target, settable| {
            verdict(Comparison::SizeAndTime, &file(5, source), &file(5, target), settable, false)
        };
        assert_eq!(by_time(Some(7), Some(7), None), Verdict::Same);
        assert_eq!(by_time(Some(7), Some(6), None), Verdict::Differs);
        assert_eq!(by_time(Some(7), Some(6), Some(false)), Verdict::Differs);
        assert_eq!(by_time(Some(7), Some(8), None), Verdict::AskWhetherSettable);
        assert_eq!(by_time(Some(7), Some(8), Some(true)), Verdict::Differs);
        assert_eq!(by_time(Some(7), Some(8), Some(false)), Verdict::Same);
        assert_eq!(by_time(None, Some(8), None), Verdict::AskTimes);
        assert_eq!(by_time(Some(8), None, None), Verdict::AskTimes);
        let (five, six) = (file(5, Some(7)), file(6, Some(7)));
        for comparison in [Comparison::SizeAndTime, Comparison::Size, Comparison::Never] {
            assert_eq!(verdict(comparison, &five, &six, None, false), Verdict::Differs);
        }
        assert_eq!(verdict(Comparison::Size, &five, &file(5, None), None, false), Verdict::Same);
        assert_eq!(verdict(Comparison::Never, &five, &five, None, false), Verdict::Differs);
        let nobody_knows = verdict(Comparison::SizeAndTime, &five, &file(5, None), None, true);
        assert_eq!(nobody_knows, Verdict::Differs);
        let folder = Status { modified: Some(7), ..Status::new(FileKind::Folder, 5) };
        assert_eq!(verdict(Comparison::Size, &five, &folder, None, false), Verdict::Differs);
    }
}
