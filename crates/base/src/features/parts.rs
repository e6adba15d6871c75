//! The conformance table: what a base is tried with, and which features each part needs.

use super::Needs;

/// A part of the conformance script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// In a word.
    pub name: &'static str,
    /// What is tried.
    pub purpose: &'static str,
    /// Without which it cannot be tried: a base without them refuses the part with a sentence.
    pub needs: Needs,
}

/// All parts, in the order in which they are tried.
pub const PARTS: [Part; 7] = [
    Part {
        name: "open",
        purpose: "opens an association and hears that it is open",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    Part {
        name: "listen",
        purpose: "gives a name to who arrives, and counts listeners",
        needs: Needs { listening: true, ..Needs::NOTHING },
    },
    Part {
        name: "exchange",
        purpose: "sends, and delivers what comes back",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    Part {
        name: "demultiplex",
        purpose: "finds the association of each message among 1 000",
        needs: Needs { opening: true, sessions: true, ..Needs::NOTHING },
    },
    Part {
        name: "timers",
        purpose: "fires each timer once, in order, and none that was cancelled",
        needs: Needs { timers: true, ..Needs::NOTHING },
    },
    Part {
        name: "close",
        purpose: "closes what is shared below with the last that uses it",
        needs: Needs { opening: true, ..Needs::NOTHING },
    },
    Part {
        name: "misuse",
        purpose: "drops and counts words for names that are over or never were",
        needs: Needs::NOTHING,
    },
];
