//! What was to be, what was, and the verdict.

use std::fmt;

use serde_json::{Value, json};

/// Above the rows.
pub(super) const TITLE: &str =
    "       what                                        expected           measured";

/// One comparison.
#[derive(Debug)]
pub(super) struct Row {
    /// What was measured, on which link.
    pub(super) what: String,
    /// What is demanded.
    pub(super) target: String,
    /// What came out.
    pub(super) measured: String,
    /// Whether that is what is demanded.
    pub(super) holds: bool,
    /// How to read the figures; empty where they speak for themselves.
    pub(super) note: String,
}

impl Row {
    /// Two counts that must be the same: the model's, and that of who received.
    pub(super) fn equal(
        what: impl Into<String>,
        model: u64,
        stranger: u64,
        note: impl Into<String>,
    ) -> Row {
        Row {
            what: what.into(),
            target: format!("{model} (model)"),
            measured: stranger.to_string(),
            // Of nothing, nothing is shown.
            holds: model == stranger && model > 0,
            note: note.into(),
        }
    }

    /// Two times in milliseconds that must be within one millisecond.
    pub(super) fn within_a_millisecond(
        what: impl Into<String>,
        target: f64,
        measured: f64,
        note: impl Into<String>,
    ) -> Row {
        Row {
            what: what.into(),
            target: format!("{target:.3} ± 1 ms"),
            measured: format!("{measured:.3} ms"),
            holds: (measured - target).abs() <= 1.0,
            note: note.into(),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let Row { what, target, measured, holds, note } = self;
        json!({ "what": what, "target": target, "measured": measured, "holds": holds, "note": note })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Row { what, target, measured, holds, note } = self;
        let verdict = if *holds { "ok" } else { "FAILS" };
        write!(f, "{verdict:<7}{what:<44}{target:<19}{measured}")?;
        if note.is_empty() { Ok(()) } else { write!(f, "\n         {note}") }
    }
}
