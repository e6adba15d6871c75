//! A short specification, as `events: Simple, opening: ActivePassive`: read, completed, validated.
//! The generator's three steps (thesis §2.3.3), each a constant function.

use super::{EventManager, Map, Message, Opening, Refusal, Selection, Session};

/// The content of a specification. What it leaves out is completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Specification {
    message: Option<Message>,
    present: Option<bool>,
    map: Option<Map>,
    events: Option<EventManager>,
    opening: Option<Opening>,
}

const MESSAGES: &str = "SingleBuffer, BufferTree";
const SESSIONS: &str = "Absent, Present";
const MAPS: &str = "ChainedHash, ChainedHashCached, OpenAddressing";
const EVENTS: &str = "Absent, Simple, DeltaList, TimingWheel";
const OPENINGS: &str = "Absent, Active, ActivePassive";

impl Specification {
    /// The empty specification.
    pub const EMPTY: Specification =
        Specification { message: None, present: None, map: None, events: None, opening: None };

    /// Reads `feature: Alternative, feature: Alternative`.
    ///
    /// # Errors
    /// The first entry that is not valid.
    pub const fn parse(text: &str) -> Result<Specification, Refusal<'_>> {
        let mut specification = Specification::EMPTY;
        let mut rest = trimmed(text);
        while !rest.is_empty() {
            let (entry, more) = cut(rest, b',');
            let (feature, alternative) = cut(entry, b':');
            let (feature, alternative) = (trimmed(feature), trimmed(alternative));
            if feature.is_empty() || alternative.is_empty() {
                return Err(Refusal::Syntax { near: trimmed(entry) });
            }
            specification = match specification.with(feature, alternative) {
                Ok(specification) => specification,
                Err(refusal) => return Err(refusal),
            };
            rest = trimmed(more);
        }
        Ok(specification)
    }

    /// Adds one entry.
    ///
    /// # Errors
    /// If there is no such feature or alternative, or the feature was selected before.
    pub const fn with<'a>(mut self, feature: &'a str, word: &'a str) -> Result<Self, Refusal<'a>> {
        let several = has(word, b'+') || has(word, b'|');
        macro_rules! select {
            ($slot:ident, $feature:literal, $alternatives:expr, $found:expr) => {{
                if self.$slot.is_some() {
                    return Err(Refusal::Twice { feature: $feature });
                }
                if several {
                    return Err(Refusal::Several { feature: $feature, words: word });
                }
                match $found {
                    Some(found) => self.$slot = Some(found),
                    None => {
                        return Err(Refusal::UnknownAlternative {
                            feature: $feature,
                            word,
                            alternatives: $alternatives,
                        });
                    }
                }
            }};
        }
        if same(feature, "message") {
            if same(word, "Absent") {
                return Err(Refusal::Mandatory { feature: "message", alternatives: MESSAGES });
            }
            select!(message, "message", MESSAGES, Message::named(word));
        } else if same(feature, "session") {
            let found = if same(word, "Present") {
                Some(true)
            } else if same(word, "Absent") {
                Some(false)
            } else {
                None
            };
            select!(present, "session", SESSIONS, found);
        } else if same(feature, "map") {
            if same(word, "Absent") {
                return Err(Refusal::Mandatory { feature: "map", alternatives: MAPS });
            }
            select!(map, "map", MAPS, Map::named(word));
        } else if same(feature, "events") {
            select!(events, "events", EVENTS, EventManager::named(word));
        } else if same(feature, "opening") {
            if same(word, "Passive") {
                return Err(Refusal::PassiveAlone);
            }
            select!(opening, "opening", OPENINGS, Opening::named(word));
        } else {
            return Err(Refusal::UnknownFeature { word: feature });
        }
        Ok(self)
    }

    /// Completes what was left out, and checks that the result can be built.
    ///
    /// # Errors
    /// If it cannot.
    pub const fn complete(self) -> Result<Selection, Refusal<'static>> {
        let Selection { message, events, opening, .. } = Selection::DEFAULT;
        let session = match (self.present, self.map) {
            (Some(false), Some(_)) => return Err(Refusal::MapAlone),
            (Some(false), None) => Session::Absent,
            (_, Some(map)) => Session::Present(map),
            (_, None) => Selection::DEFAULT.session,
        };
        Ok(Selection {
            message: match self.message {
                Some(message) => message,
                None => message,
            },
            session,
            events: match self.events {
                Some(events) => events,
                None => events,
            },
            opening: match self.opening {
                Some(opening) => opening,
                None => opening,
            },
        })
    }
}

// Constants cannot call most methods of `str`: these three stand in for `==`, `split_once` and
// `trim`.

pub(super) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

const fn trimmed(text: &str) -> &str {
    match core::str::from_utf8(text.as_bytes().trim_ascii()) {
        Ok(text) => text,
        Err(_) => text, // what is cut at white space is a text still
    }
}

/// Returns what is before the first `mark`, and what is behind it.
const fn cut(text: &str, mark: u8) -> (&str, &str) {
    let octets = text.as_bytes();
    let mut index = 0;
    while index < octets.len() {
        if octets[index] == mark {
            let (before, behind) = text.split_at(index);
            return (before, behind.split_at(1).1);
        }
        index += 1;
    }
    (text, "")
}

const fn has(text: &str, mark: u8) -> bool {
    let (before, _) = cut(text, mark);
    before.len() < text.len()
}
