//! The feature model as values: what may be selected, what is completed, and what is refused with
//! which sentence.
//!
//! ```text
//! Protocol
//! ├── message   SingleBuffer | BufferTree
//! ├── session   Absent | Present
//! │     └── map    ChainedHash | ChainedHashCached | OpenAddressing
//! ├── events    Absent | Simple | DeltaList | TimingWheel
//! └── opening   Absent | Active | ActivePassive
//! ```
//!
//! 2 × 2 × 4 × 3 = 48 selections, without the map of a session. All functions are constant, so that
//! [`generate!`](crate::generate) and a program that reads a specification call the same ones and
//! give the same sentences.

mod parts;
mod refusal;
mod specification;

pub use parts::{FeaturePart, PARTS};
pub use refusal::Refusal;
pub use specification::Specification;

/// An alternative for each feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// How messages are held.
    pub message: Message,
    /// Whether associations are distinguished.
    pub session: Session,
    /// What fires timers.
    pub events: EventManager,
    /// How associations are opened.
    pub opening: Opening,
}

macro_rules! feature {
    ($(#[$doc:meta])* $feature:ident { $($(#[$said:meta])* $alternative:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $feature {
            $($(#[$said])* $alternative,)*
        }

        impl $feature {
            /// All alternatives, in the order of the model.
            pub const ALL: &'static [Self] = &[$($feature::$alternative),*];

            /// Returns the word that stands for it in a specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $($feature::$alternative => stringify!($alternative),)*
                }
            }

            /// Returns the alternative called `word`.
            pub(crate) const fn named(word: &str) -> Option<Self> {
                $(if specification::same(word, stringify!($alternative)) {
                    return Some($feature::$alternative);
                })*
                None
            }
        }
    };
}

feature! {
    /// How messages are held.
    Message {
        /// One buffer with headroom.
        SingleBuffer,
        /// A rope of shared slices.
        BufferTree,
    }
}

feature! {
    /// How a session is found by its key.
    Map {
        /// Chained hash.
        ChainedHash,
        /// Chained hash with a one-entry cache.
        ChainedHashCached,
        /// Open addressing with a cache.
        OpenAddressing,
    }
}

/// Whether associations are distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Session {
    /// All of them share one default endpoint.
    Absent,
    /// Each has a state of its own, found by its key.
    Present(Map),
}

impl Session {
    /// Returns the word that stands for it in a specification.
    pub const fn name(self) -> &'static str {
        match self {
            Session::Absent => "Absent",
            Session::Present(_) => "Present",
        }
    }
}

feature! {
    /// What fires timers.
    EventManager {
        /// Nothing fires timers.
        Absent,
        /// An ordered list.
        Simple,
        /// A list of differences.
        DeltaList,
        /// A hierarchical timing wheel.
        TimingWheel,
    }
}

feature! {
    /// How associations are opened.
    Opening {
        /// They are not: only the interface exists.
        Absent,
        /// They are opened by this side.
        Active,
        /// They are opened by this side, and by peers.
        ActivePassive,
    }
}

/// The features that a protocol, or a part of a test, requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// It opens associations.
    pub opening: bool,
    /// It accepts associations that peers open.
    pub listening: bool,
    /// It distinguishes associations.
    pub sessions: bool,
    /// It has timers.
    pub timers: bool,
}

impl Needs {
    /// Nothing in particular.
    pub const NOTHING: Needs =
        Needs { opening: false, listening: false, sessions: false, timers: false };
}

impl Selection {
    /// The selection of an empty specification.
    pub const DEFAULT: Selection = Selection {
        message: Message::BufferTree,
        session: Session::Present(Map::ChainedHashCached),
        events: EventManager::TimingWheel,
        opening: Opening::ActivePassive,
    };

    /// Returns the 48 selections, each with the default map.
    pub fn all() -> impl Iterator<Item = Selection> {
        Message::ALL.iter().flat_map(|message| {
            [Session::Absent, Session::Present(Map::ChainedHashCached)].into_iter().flat_map(
                move |session| {
                    EventManager::ALL.iter().flat_map(move |events| {
                        Opening::ALL.iter().map(move |opening| Selection {
                            message: *message,
                            session,
                            events: *events,
                            opening: *opening,
                        })
                    })
                },
            )
        })
    }

    /// Checks that the selection makes sense, and does not only build: a protocol that opens
    /// associations without distinguishing them gives all of them one endpoint.
    ///
    /// # Errors
    /// The refusal.
    pub const fn strict(&self) -> Result<(), Refusal<'static>> {
        match (self.session, self.opening) {
            (Session::Absent, Opening::Active | Opening::ActivePassive) => {
                Err(Refusal::OneEndpoint { opening: self.opening })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the selection has what `who` needs.
    ///
    /// # Errors
    /// The first feature that is missing.
    pub const fn offers<'a>(&self, needs: Needs, who: &'a str) -> Result<(), Refusal<'a>> {
        let missing = match (needs, self.session, self.events, self.opening) {
            (Needs { opening: true, .. }, _, _, Opening::Absent) => {
                "to open associations, and `opening` is Absent"
            }
            (Needs { listening: true, .. }, _, _, Opening::Absent) => {
                "to hear of arrivals, and `opening` is Absent"
            }
            (Needs { listening: true, .. }, _, _, Opening::Active) => {
                "to hear of arrivals, and `opening` is Active"
            }
            (Needs { sessions: true, .. }, Session::Absent, ..) => {
                "to tell associations apart, and `session` is Absent"
            }
            (Needs { timers: true, .. }, _, EventManager::Absent, _) => {
                "timers, and `events` is Absent"
            }
            _ => return Ok(()),
        };
        Err(Refusal::Needed { who, missing })
    }
}

/// Reads, completes and validates a specification: the generator, as a function.
///
/// # Errors
/// The refusal.
pub const fn select(specification: &str, strict: bool) -> Result<Selection, Refusal<'_>> {
    let selection = match Specification::parse(specification) {
        Ok(specification) => specification.complete(),
        Err(refusal) => return Err(refusal),
    };
    match selection {
        Ok(selection) if strict => match selection.strict() {
            Ok(()) => Ok(selection),
            Err(refusal) => Err(refusal),
        },
        Ok(selection) => Ok(selection),
        Err(refusal) => Err(refusal),
    }
}

/// Checks a specification in a constant, where a refusal is a compile error.
///
/// # Panics
/// If the specification is refused; the message is the refusal.
#[doc(hidden)]
#[track_caller]
pub const fn must_select(specification: &str, strict: bool) {
    if let Err(refusal) = select(specification, strict) {
        panic!("{}", refusal.explain().as_str());
    }
}

impl core::fmt::Display for Selection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Selection { message, session, events, opening } = self;
        write!(
            f,
            "message: {}, session: {}, events: {}, opening: {}",
            message.name(),
            session.name(),
            events.name(),
            opening.name()
        )?;
        match session {
            Session::Present(map) => write!(f, ", map: {}", map.name()),
            Session::Absent => Ok(()),
        }
    }
}
