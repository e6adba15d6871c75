//! The feature model as values: what may be selected, what is completed, what is refused and in
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
//! 2 × 2 × 4 × 3 = 48 selections, the map of a session apart. All of it works in constants, so that
//! [`generate!`](crate::generate) and a program that reads a specification ask the same functions
//! and give the same sentences.

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
    /// Whether associations are told apart.
    pub session: Session,
    /// What fires timers.
    pub events: EventManager,
    /// How associations come about.
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

            /// As it stands in a specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $($feature::$alternative => stringify!($alternative),)*
                }
            }

            /// The alternative called `word`.
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

/// Whether associations are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Session {
    /// All of them share one default endpoint.
    Absent,
    /// Each has a state of its own, found by its key.
    Present(Map),
}

impl Session {
    /// As it stands in a specification.
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
        /// Nothing does.
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
    /// How associations come about.
    Opening {
        /// They do not: only the interface is there.
        Absent,
        /// They are opened from here.
        Active,
        /// They are opened from here, and arrive.
        ActivePassive,
    }
}

/// Which features a protocol, or a part of a test, cannot do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// It opens associations.
    pub opening: bool,
    /// It hears of associations that arrive.
    pub listening: bool,
    /// It tells associations apart.
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
    /// What is selected where a specification says nothing.
    pub const DEFAULT: Selection = Selection {
        message: Message::BufferTree,
        session: Session::Present(Map::ChainedHashCached),
        events: EventManager::TimingWheel,
        opening: Opening::ActivePassive,
    };

    /// The 48 selections, each with the default map.
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

    /// Whether it makes sense, and not only builds: who opens associations without telling them
    /// apart gives all of them one endpoint.
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

    /// Whether `who` finds here what it needs.
    ///
    /// # Errors
    /// The first thing that is missing.
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

/// The same for a constant, where a refusal is an error.
///
/// # Panics
/// With the refusal.
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
