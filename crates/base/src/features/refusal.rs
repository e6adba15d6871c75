//! Why a selection is refused: one sentence each, composed at compile time and at run time by the
//! same function.

use stackwright_contract::rules::Sentence;

use super::Opening;

/// Why a specification, or a selection, is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal<'a> {
    /// A word where `feature: Alternative` was expected.
    Syntax {
        /// The text that was found.
        near: &'a str,
    },
    /// The model has no such feature.
    UnknownFeature {
        /// The text that was found.
        word: &'a str,
    },
    /// The feature has no such alternative.
    UnknownAlternative {
        /// The feature.
        feature: &'static str,
        /// The text that was found.
        word: &'a str,
        /// The alternatives that exist.
        alternatives: &'static str,
    },
    /// A feature is selected more than once.
    Twice {
        /// The feature.
        feature: &'static str,
    },
    /// Alternatives exclude each other.
    Several {
        /// The feature.
        feature: &'static str,
        /// The text that was found.
        words: &'a str,
    },
    /// A feature that cannot be absent.
    Mandatory {
        /// The feature.
        feature: &'static str,
        /// The alternatives that exist.
        alternatives: &'static str,
    },
    /// Passive opening without active opening: a listener can be asked to open as well, so passive
    /// opening depends on active opening (PIX's grammar, thesis fig. 2.6).
    PassiveAlone,
    /// A map without a session that it would find.
    MapAlone,
    /// In strict mode: associations that share one endpoint.
    OneEndpoint {
        /// How they would be opened.
        opening: Opening,
    },
    /// A protocol needs a feature that is absent.
    Needed {
        /// The protocol.
        who: &'a str,
        /// What is missing, and why.
        missing: &'static str,
    },
}

impl Refusal<'_> {
    /// Returns the refusal as a sentence.
    pub const fn explain(&self) -> Sentence {
        match *self {
            Refusal::Syntax { near } => Sentence::of(&[
                "a specification is written `feature: Alternative, ...`, and here stands `",
                near,
                "`",
            ]),
            Refusal::UnknownFeature { word } => Sentence::of(&[
                "there is no feature `",
                word,
                "`; there are message, session, map, events and opening",
            ]),
            Refusal::UnknownAlternative { feature, word, alternatives } => Sentence::of(&[
                "`",
                feature,
                "` has no alternative `",
                word,
                "`; there are ",
                alternatives,
            ]),
            Refusal::Twice { feature } => Sentence::of(&["`", feature, "` is selected twice"]),
            Refusal::Several { feature, words } => Sentence::of(&[
                "`",
                feature,
                "` takes one alternative, and `",
                words,
                "` exclude each other",
            ]),
            Refusal::Mandatory { feature, alternatives } => {
                Sentence::of(&["`", feature, "` cannot be absent; select ", alternatives])
            }
            Refusal::PassiveAlone => Sentence::of(&[
                "passive opening depends on active opening: select `opening: ActivePassive`",
            ]),
            Refusal::MapAlone => Sentence::of(&[
                "a map finds sessions, and `session` is Absent: leave `map` out, or select `session: Present`",
            ]),
            Refusal::OneEndpoint { opening } => Sentence::of(&[
                "`opening: ",
                opening.name(),
                "` without `session: Present`: all associations would share one endpoint",
            ]),
            Refusal::Needed { who, missing } => Sentence::of(&["`", who, "` needs ", missing]),
        }
    }
}

impl core::fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.explain().as_str())
    }
}

impl core::error::Error for Refusal<'_> {}
