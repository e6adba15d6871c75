//! U frames.

use super::reasons::*;
use super::{Input, StateRow, differs, erratum, known, silent};

pub(super) const UNNUMBERED: &[StateRow] = &[
    StateRow {
        input: Input::Sabm,
        cells: [
            known("Opened, UA F=1", "3 T3", "figure C4.1"),
            known("UA F=1", "1 T1", "figure C4.2"),
            known("DM F=1", "2 T1", "figure C4.3"),
            differs("UA F=1, I 0/0 P=1", "3 T1", REPEATED_OPENING),
            differs("UA F=1, I 0/0 P=1", "3 T1", REPEATED_OPENING),
            silent("UA F=1", "1 T1", PEER_WANTS_LESS),
        ],
    },
    StateRow {
        input: Input::Sabme,
        cells: [
            known("Opened, UA F=1", "3 T3", "figure C4.1"),
            silent("", "1 T1", WE_WANT_LESS),
            known("DM F=1", "2 T1", "figure C4.3"),
            differs("UA F=1, I 0/0 P=1", "3 T1", REPEATED_OPENING),
            differs("UA F=1, I 0/0 P=1", "3 T1", REPEATED_OPENING),
            known("UA F=1", "5 T1", "figure C4.6"),
        ],
    },
    StateRow {
        input: Input::SabmAnew,
        cells: [
            known("Opened, UA F=1", "3 T3", "as SABM"),
            known("UA F=1", "1 T1", "as SABM"),
            known("DM F=1", "2 T1", "as SABM"),
            differs("Ended Reset(0), DM F=1", "0", BEGUN_ANEW),
            differs("Ended Reset(0), DM F=1", "0", BEGUN_ANEW),
            silent("UA F=1", "1 T1", PEER_WANTS_LESS),
        ],
    },
    StateRow {
        input: Input::Disc,
        cells: [
            known("DM F=1", "0", "figure C4.1"),
            known("DM F=1", "1 T1", "figure C4.2"),
            known("UA F=1", "2 T1", "figure C4.3"),
            known("Ended Reset(0), UA F=1", "0", CUT_SHORT),
            known("Ended Reset(0), UA F=1", "0", CUT_SHORT),
            known("DM F=1", "5 T1", "figure C4.6"),
        ],
    },
    StateRow {
        input: Input::Ua,
        cells: [
            known("", "0", "figure C4.1: error C or D, ignored"),
            known("Opened", "3 T3", "figure C4.2"),
            known("Ended Finished", "0", "figure C4.3"),
            differs("", "3 T1", DOUBLED_UA),
            differs("", "4 T1", DOUBLED_UA),
            known("Opened, XID P=1", "3 T3", "figure C4.6"),
        ],
    },
    StateRow {
        input: Input::UaUnasked,
        cells: [
            known("", "0", "figure C4.1: error C or D, ignored"),
            known("", "1 T1", "error D, ignored"),
            known("", "2 T1", "error D, ignored"),
            differs("", "3 T1", "as UA with F=1"),
            differs("", "4 T1", "as UA with F=1"),
            known("", "5 T1", "error D, ignored"),
        ],
    },
    StateRow {
        input: Input::Dm,
        cells: [
            known("", "0", "figure C4.1, ignored"),
            known("Ended Refused(0)", "0", "figure C4.2"),
            known("Ended Finished", "0", "figure C4.3"),
            known("Ended Reset(0)", "0", "figure C4.4"),
            known("Ended Reset(0)", "0", "figure C4.5"),
            erratum("SABM P=1", "1 T1", DM_AS_FRMR),
        ],
    },
    StateRow {
        input: Input::DmUnasked,
        cells: [
            known("", "0", "figure C4.1, ignored"),
            known("", "1 T1", "DM answers with F=1"),
            known("", "2 T1", "DM answers with F=1"),
            known("Ended Reset(0)", "0", "figure C4.4"),
            known("Ended Reset(0)", "0", "figure C4.5"),
            known("", "5 T1", "DM answers with F=1"),
        ],
    },
    StateRow {
        input: Input::Frmr,
        cells: [
            known("", "0", "figure C4.1, ignored"),
            silent("", "1 T1", "ignored: T1 repeats the question"),
            silent("", "2 T1", "ignored: T1 repeats the question"),
            differs("Ended Reset(0), DM F=0, DISC P=1", "2 T1", ERROR_K),
            differs("Ended Reset(0), DM F=0, DISC P=1", "2 T1", ERROR_K),
            known("SABM P=1", "1 T1", "figure C4.6: version 2.0"),
        ],
    },
    StateRow {
        input: Input::XidAsks,
        cells: [
            known("XID F=1", "0", XID),
            known("XID F=1", "1 T1", XID),
            known("XID F=1", "2 T1", XID),
            known("XID F=1", "3 T1", XID),
            known("XID F=1", "4 T1", XID),
            known("XID F=1", "5 T1", XID),
        ],
    },
    StateRow {
        input: Input::XidAnswers,
        cells: [
            silent("", "0", "nothing was asked; ignored"),
            silent("", "1 T1", "nothing was asked; ignored"),
            silent("", "2 T1", "nothing was asked; ignored"),
            silent("", "3 T1", "nothing was asked; ignored"),
            silent("", "4 T1", "nothing was asked; ignored"),
            silent("", "5 T1", "nothing was asked; ignored"),
        ],
    },
    StateRow {
        input: Input::Test,
        cells: [
            known("TEST F=1", "0", "4.3.3.8"),
            known("TEST F=1", "1 T1", "4.3.3.8"),
            known("TEST F=1", "2 T1", "4.3.3.8"),
            known("TEST F=1", "3 T1", "4.3.3.8"),
            known("TEST F=1", "4 T1", "4.3.3.8"),
            known("TEST F=1", "5 T1", "4.3.3.8"),
        ],
    },
    StateRow {
        input: Input::Ui,
        cells: [
            known("DM F=1", "0", "figure C4.1: DM where P=1"),
            known("DM F=1", "1 T1", "DM where P=1"),
            known("DM F=1", "2 T1", "DM where P=1"),
            known("RR 0 F=1", "3 T1", "figure C4.4: P=1 is answered"),
            known("RR 0 F=1", "4 T1", "figure C4.4: P=1 is answered"),
            known("DM F=1", "5 T1", "DM where P=1"),
        ],
    },
    StateRow {
        input: Input::Unknown,
        cells: [
            silent("", "0", "ignored"),
            silent("", "1 T1", "ignored"),
            silent("", "2 T1", "ignored"),
            differs("", "3 T1", ERROR_L),
            differs("", "4 T1", ERROR_L),
            silent("", "5 T1", "ignored"),
        ],
    },
];
