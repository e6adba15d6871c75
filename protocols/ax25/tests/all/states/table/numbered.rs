//! I and S frames.

use super::reasons::*;
use super::{Input, StateRow, differs, erratum, known, silent};

pub(super) const NUMBERED: &[StateRow] = &[
    StateRow {
        input: Input::INext,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Delivered 2", "3 T1", "figure C4.4"),
            known("Delivered 2", "4 T1", "figure C4.4"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::INextAcknowledges,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Credit 3, Delivered 2", "3 T3", "figure C4.4"),
            known("Credit 3, Delivered 2", "4 T1", "figure C4.4"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::INextAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            known("Delivered 2, RR 1 F=1", "3 T1", "figure C4.4"),
            known("Delivered 2, RR 1 F=1", "4 T1", "figure C4.4"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IAhead,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("REJ 0 F=0", "3 T1", "figure C4.4"),
            known("REJ 0 F=0", "4 T1", "figure C4.5"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IAheadAgain,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("", "3 T1", "6.4.4.1: one REJ for a gap"),
            known("", "4 T1", "6.4.4.1: one REJ for a gap"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IAheadAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            known("REJ 0 F=1", "3 T1", "figure C4.4"),
            known("REJ 0 F=1", "4 T1", "figure C4.5"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IRepeated,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            differs("", "3 T1", REPEATED),
            differs("", "4 T1", REPEATED),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IRepeatedAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            differs("RR 0 F=1", "3 T1", REPEATED_ASKS),
            differs("RR 0 F=1", "4 T1", REPEATED_ASKS),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IInvalid,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            differs("", "3 T1", INVALID_I),
            differs("", "4 T1", "as in state 3"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IResponse,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("", "3 T1", "error S, discarded"),
            known("", "4 T1", "error S, discarded"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::ILong,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            differs("Delivered 8, RNR 1 F=1", "3 T1", ERROR_O),
            differs("Delivered 8, RNR 1 F=1", "4 T1", ERROR_O),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::IOfAnother,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            silent("", "3 T1", OF_ANOTHER),
            silent("", "4 T1", OF_ANOTHER),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            erratum("RR 0 F=1", "3 T1", RESPONSE),
            erratum("RR 0 F=1", "4 T1", RESPONSE),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrAcknowledges,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Credit 3", "3 T3", "figure C4.4"),
            known("Credit 3", "4 T1", "figure C4.5"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrAnswersAll,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Credit 3", "3 T3", "figure C4.4"),
            known("Credit 3", "3 T3", "figure C4.5"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrAnswersNone,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            silent("I 0/0 P=1", "3 T1", AT_ONCE),
            known("I 0/0 P=1", "3 T1", AGREED),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrInvalid,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            differs("", "3 T1", ERROR_J),
            differs("", "4 T1", ERROR_J),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RrAnswersInvalid,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            differs("Ended Reset(0), DM F=0, DISC P=1", "2 T1", INVALID_ANSWER),
            differs("Ended Reset(0), DM F=0, DISC P=1", "2 T1", INVALID_ANSWER),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RnrAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            erratum("RR 0 F=1", "3 T1", RESPONSE),
            erratum("RR 0 F=1", "4 T1", RESPONSE),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::Rnr,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Credit 3", "3 T3", "figure C4.4"),
            known("Credit 3", "4 T1", "figure C4.5"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RnrAnswers,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("", "3 T1", "figure C4.5; T1 asks a busy peer again"),
            known("", "3 T1", "figure C4.5; T1 asks a busy peer again"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::Rej,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            silent("", "3 T1", ONE_CHANNEL),
            known("", "4 T1", "figure C4.5: sent again after the answer"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RejAnswers,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("I 0/0 P=1", "3 T1", "6.4.4.1"),
            known("I 0/0 P=1", "3 T1", "6.4.4.1"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RejAsks,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("DM F=1", "2 T1", "figure C4.3: DM where P=1"),
            erratum("RR 0 F=1", "3 T1", RESPONSE),
            erratum("RR 0 F=1", "4 T1", RESPONSE),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::Srej,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            silent("", "3 T1", AS_REJECT),
            silent("", "4 T1", AS_REJECT),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::SrejAnswers,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("I 0/0 P=1", "3 T1", SELECTIVE),
            known("I 0/0 P=1", "3 T1", SELECTIVE),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::SrejInvalid,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            silent("", "3 T1", "nothing can be sent again; ignored"),
            silent("", "4 T1", "nothing can be sent again; ignored"),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
];
