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

/// How far the time of a list without a zone may be ahead of the true one: the zones lie between
/// twelve hours behind UTC and fourteen ahead.
const ZONE: u64 = 14 * 3600;

/// Compares a file on both sides. `settable`: whether the target's side can set the time of a file,
/// once that is known; `asked`: whether the source's side and the target's were asked for the time.
///
/// A time that nobody tells proves nothing: such a file differs. Where the target's side cannot set
/// it, the target has the time when it was written, and is the same if the source was not changed
/// since.
///
/// What a list tells roughly is compared only if its side tells no better. A copy has the time of
/// the source's list, as far as that goes; but the time of a target that was set by nobody, in a
/// zone that is not known, is that of no source.
pub(super) fn verdict(
    comparison: Comparison,
    source: &Status,
    target: &Status,
    settable: Option<bool>,
    asked: [bool; 2],
) -> Verdict {
    if target.kind != FileKind::File || source.size != target.size {
        return Verdict::Differs;
    }
    match comparison {
        Comparison::Never => return Verdict::Differs,
        Comparison::Size => return Verdict::Same,
        Comparison::SizeAndTime => {}
    }
    if !source.is_timed() && !asked[0] || !target.is_timed() && !asked[1] {
        return Verdict::AskTimes;
    }
    let (Some(from), Some(there)) = (source.modified, target.modified) else {
        return Verdict::Differs;
    };
    let until = from.saturating_add(source.rough.max(1).into());
    match target.rough {
        0 if (from..until).contains(&there) => Verdict::Same,
        0 if from < there => match settable {
            Some(true) => Verdict::Differs,
            Some(false) => Verdict::Same,
            None => Verdict::AskWhetherSettable,
        },
        0 => Verdict::Differs,
        _ if settable != Some(true) && until.saturating_add(ZONE) <= there => Verdict::Same,
        _ => Verdict::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_first_then_times() {
        let file = |size, modified| Status { modified, ..Status::new(FileKind::File, size) };
        let by_time = |source, target, settable| {
            verdict(
                Comparison::SizeAndTime,
                &file(5, source),
                &file(5, target),
                settable,
                [false; 2],
            )
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
            assert_eq!(verdict(comparison, &five, &six, None, [false; 2]), Verdict::Differs);
        }
        assert_eq!(
            verdict(Comparison::Size, &five, &file(5, None), None, [false; 2]),
            Verdict::Same
        );
        assert_eq!(verdict(Comparison::Never, &five, &five, None, [false; 2]), Verdict::Differs);
        let nobody_knows = verdict(Comparison::SizeAndTime, &five, &file(5, None), None, [true; 2]);
        assert_eq!(nobody_knows, Verdict::Differs);
        let folder = Status { modified: Some(7), ..Status::new(FileKind::Folder, 5) };
        assert_eq!(verdict(Comparison::Size, &five, &folder, None, [false; 2]), Verdict::Differs);
    }

    #[test]
    fn a_rough_time_counts_where_there_is_no_better() {
        let file = |modified, rough| Status {
            modified: Some(modified),
            rough,
            ..Status::new(FileKind::File, 5)
        };
        let rough = |source, target, settable, asked| {
            verdict(Comparison::SizeAndTime, &source, &target, settable, asked)
        };
        let minute = file(600, 60);
        assert_eq!(rough(minute, file(600, 0), None, [false; 2]), Verdict::AskTimes);
        for (there, expected) in
            [(599, Verdict::Differs), (600, Verdict::Same), (659, Verdict::Same)]
        {
            assert_eq!(rough(minute, file(there, 0), Some(true), [true, false]), expected);
        }
        assert_eq!(rough(minute, file(660, 0), Some(true), [true; 2]), Verdict::Differs);
        assert_eq!(rough(minute, file(660, 0), Some(false), [true; 2]), Verdict::Same);
        // A target in a zone that is not known is younger only if it is so in every zone.
        for (there, settable, expected) in [
            (600, Some(false), Verdict::Differs),
            (600 + ZONE, Some(false), Verdict::Differs),
            (601 + ZONE, Some(false), Verdict::Same),
            (601 + ZONE, None, Verdict::Same),
            (601 + ZONE, Some(true), Verdict::Differs),
        ] {
            assert_eq!(rough(file(600, 0), file(there, 60), settable, [true; 2]), expected);
        }
    }
}
