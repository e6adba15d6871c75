//! The conformance table: the tests of a base, and which features each part needs.

use super::Needs;

/// A part of the conformance script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeaturePart {
    /// Its name, one word.
    pub name: &'static str,
    /// What it tests.
    pub purpose: &'static str,
    /// The features that it needs: a base without them refuses the part with a sentence.
    pub needs: Needs,
}

/// All parts, in the order in which they run.
pub const PARTS: [FeaturePart; 7] = [
    FeaturePart {
        name: "open",
        purpose: "opens an association and hears that it is open",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "listen",
        purpose: "gives a name to who arrives, and counts listeners",
        needs: Needs { listening: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "exchange",
        purpose: "sends, and delivers what comes back",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "demultiplex",
        purpose: "finds the association of each message among 1 000",
        needs: Needs { opening: true, sessions: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "timers",
        purpose: "fires each timer once, in order, and none that was cancelled",
        needs: Needs { timers: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "close",
        purpose: "closes what is shared below with the last that uses it",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    FeaturePart {
        name: "misuse",
        purpose: "drops and counts words for names that are over or never were",
        needs: Needs::NOTHING,
    },
];
