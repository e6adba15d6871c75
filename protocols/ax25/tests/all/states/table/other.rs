//! Timers, words from above, and the TNC.

use super::reasons::*;
use super::{Input, StateRow, differs, erratum, known, silent};

pub(super) const OTHER: &[StateRow] = &[
    StateRow {
        input: Input::T1,
        cells: [
            known("", "0", "it does not run"),
            erratum("SABM P=1", "1 T1", RC_FROM_ONE),
            known("DISC P=1", "2 T1", "figure C4.3"),
            known("RR 0 P=1", "4 T1", "figure C4.4"),
            known("RR 0 P=1", "4 T1", "figure C4.5"),
            known("SABME P=1", "5 T1", "figure C4.6"),
        ],
    },
    StateRow {
        input: Input::T1Third,
        cells: [
            known("", "0", "it does not run"),
            erratum("Ended Unreachable", "0", RC_FROM_ONE),
            known("Ended Expired", "0", "figure C4.3: error H"),
            known("RR 0 P=1", "4 T1", "it is the second in state 4"),
            known("Ended Expired, DM F=0", "0", "figure C4.5: error I or T"),
            erratum("SABM P=1", "1 T1", SILENCE),
        ],
    },
    StateRow {
        input: Input::T2,
        cells: [
            known("", "0", "it does not run"),
            known("", "1 T1", "it does not run"),
            known("", "2 T1", "it does not run"),
            known("RR 1 F=0", "3 T3", "6.7.1.2"),
            known("RR 1 F=0", "4 T1", "6.7.1.2"),
            known("", "5 T1", "it does not run"),
        ],
    },
    StateRow {
        input: Input::T3,
        cells: [
            known("", "0", "it does not run"),
            known("", "1 T1", "it does not run"),
            known("", "2 T1", "it does not run"),
            known("RR 0 P=1", "4 T1", "figure C4.4"),
            known("RR 0 P=1", "4 T1", "figure C4.4, after the answer"),
            known("", "5 T1", "it does not run"),
        ],
    },
    StateRow {
        input: Input::Open,
        cells: [
            known("SABME P=1", "5 T1", "figure C4.1"),
            silent("Ended Unavailable", "1 T1", ONE_LINK),
            silent("Ended Unavailable", "2 T1", ONE_LINK),
            silent("Ended Unavailable", "3 T1", ONE_LINK),
            silent("Ended Unavailable", "4 T1", ONE_LINK),
            silent("Ended Unavailable", "5 T1", ONE_LINK),
        ],
    },
    StateRow {
        input: Input::Send,
        cells: [
            silent("", "0", "there is nothing to send on"),
            known("", "1 T1", "kept until the link is open"),
            silent("", "2 T1", "behind the end: dropped"),
            silent("", "3 T1", BURST),
            silent("", "4 T1", BURST),
            known("", "5 T1", "kept until the link is open"),
        ],
    },
    StateRow {
        input: Input::Finish,
        cells: [
            silent("", "0", "there is nothing to finish"),
            silent("", "1 T1", "released when it is open"),
            silent("", "2 T1", "it is being released"),
            silent("", "3 T1", DRAINED),
            silent("", "4 T1", DRAINED),
            silent("", "5 T1", "released when it is open"),
        ],
    },
    StateRow {
        input: Input::FinishDrained,
        cells: [
            silent("", "0", "there is nothing to finish"),
            silent("", "1 T1", "released when it is open"),
            silent("", "2 T1", "it is being released"),
            known("DISC P=1", "2 T1", "figure C4.4"),
            known("DISC P=1", "2 T1", "figure C4.4"),
            silent("", "5 T1", "released when it is open"),
        ],
    },
    StateRow {
        input: Input::Abort,
        cells: [
            silent("Ended Aborted", "0", "the name waits no longer"),
            erratum("Ended Aborted, DISC P=1", "2 T1", NOT_REQUEUED),
            silent("Ended Aborted", "2 T1", "the name is free; T1 goes on"),
            differs("Ended Aborted, DM F=0, DISC P=1", "2 T1", BROKEN_OFF),
            differs("Ended Aborted, DM F=0, DISC P=1", "2 T1", BROKEN_OFF),
            erratum("Ended Aborted, DISC P=1", "2 T1", NOT_REQUEUED),
        ],
    },
    StateRow {
        input: Input::Close,
        cells: [
            silent("Ended Finished", "0", "the name waits no longer"),
            silent("Ended Finished, DISC P=1", "2 T1", "a name that is not open ends at once"),
            silent("", "2 T1", "it is being released"),
            silent("", "3 T1", "released when everything is acknowledged"),
            silent("", "4 T1", "released when everything is acknowledged"),
            silent("Ended Finished, DISC P=1", "2 T1", "a name that is not open ends at once"),
        ],
    },
    StateRow {
        input: Input::RoomUsedUp,
        cells: [
            silent("", "0", ONE_DM),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3, ignored"),
            known("Delivered 8, RNR 1 F=0", "3 T1", BUSY),
            known("Delivered 8, RNR 1 F=0", "4 T1", BUSY),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::RoomBack,
        cells: [
            known("", "0", "as I, in order"),
            known("", "1 T1", "figure C4.2, ignored"),
            known("", "2 T1", "figure C4.3: DM where P=1"),
            known("Delivered 4, RR 1 P=1", "4 T1", FLOW_ON),
            silent("Delivered 4, RR 1 F=0", "4 T1", UNDER_WAY),
            known("", "5 T1", "figure C4.6, ignored"),
        ],
    },
    StateRow {
        input: Input::LineDown,
        cells: [
            silent("", "0", "there is no link"),
            silent("", "1", NO_TNC),
            silent("", "2", NO_TNC),
            silent("", "3", NO_TNC),
            silent("", "4", NO_TNC),
            silent("", "5", NO_TNC),
        ],
    },
    StateRow {
        input: Input::LineUp,
        cells: [
            silent("", "0", "there is no link"),
            silent("SABM P=1", "1 T1", TNC_LOST),
            silent("DISC P=1", "2 T1", TNC_LOST),
            silent("RR 0 P=1", "4 T1", "a question comes first, never data"),
            silent("RR 0 P=1", "4 T1", "a question comes first, never data"),
            silent("SABME P=1", "5 T1", TNC_LOST),
        ],
    },
];
